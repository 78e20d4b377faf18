"""Writes docs/command-line.md: what each command answers to --help, and what it prints.

python docs/write_command_line.py
"""

import os
import subprocess
import sys
from pathlib import Path

from dwindle.cli import COMMANDS

HERE = Path(__file__).parent
HEAD = """# The command line

<!-- written by docs/write_command_line.py -->

```
dwindle train train.vw --gravity 1e-6 --model ads.parquet
dwindle tune train.vw --model ads.parquet
dwindle evaluate ads.parquet test.vw
dwindle predict ads.parquet test.vw --proba > chances.txt
dwindle inspect ads.parquet --top 20
zcat day*.gz | dwindle train - --model ads.parquet
dwindle convert train.vw train.arrow
```

Results go to standard output, everything else to standard error.
Exit code 0 is done, 1 bad data, 2 bad usage.
A bad line stops a run with one line, `file:line: what was expected, what was found`, and leaves the earlier model as it was; `--skip-bad` counts and goes on.
With `--passes` text is parsed once: later passes read what was parsed from a temporary file, in the folder that TMPDIR names; nothing is left of it, whatever ends the run.
With `--holdout` every N-th example, or a file, is not learned from but measured on after each pass; the run ends when that gets no better, and the model is that of the best pass.
Ctrl-C writes a checkpoint and says how to resume; a run killed and resumed gives the same model to the bit.
`dwindle tune` finds the settings by itself, see [how](tuning.md); stopped, the same command goes on.

A model is a Parquet file with the columns `namespace`, `feature`, `id` and `weight`, heaviest first, so that `pandas.read_parquet("ads.parquet")` shows it.
In Python the same is `dwindle.runs.train.train`, `dwindle.runs.tune.tune.tune`, `dwindle.runs.predict.predict` and `evaluate`, `dwindle.runs.convert.convert`, and `dwindle.model.model.Model.load`.

The table that `train` prints has a row at 1, 2, 4, 8, ... examples.
Every figure in it was measured before learning: *loss* is the mean so far, *since last* the mean since the row above, *alive* the features whose weight is not zero, *seen* an estimate of the distinct features so far.
"""


def main() -> None:
    """Write the page."""
    text = HEAD
    for command in COMMANDS:
        said = subprocess.run(  # noqa: S603  (our own command)
            [sys.executable, "-m", "dwindle", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COLUMNS": "80"},
        )
        text += f"\n## dwindle {command}\n\n```\n{said.stdout.strip()}\n```\n"
    (HERE / "command-line.md").write_text(text)


if __name__ == "__main__":
    main()
