"""Write docs/command-line.md: an introduction, and the --help of each command.

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
dwindle predict ads.parquet test.vw --proba > probabilities.txt
dwindle inspect ads.parquet --top 20
zcat day*.gz | dwindle train - --model ads.parquet
dwindle convert train.vw train.arrow
```

- **Output.** Results go to standard output, everything else to standard error.
- **Exit codes.** 0: success; 1: bad data; 2: bad usage; 130 and 143: stopped by Ctrl-C and by SIGTERM; 141: the reader of a pipe went away, as in `dwindle predict ... | head -1`. That is how `cat` ends too, so with `set -o pipefail` such a line of a script fails unless it says `|| [ $? -eq 141 ]`.
- **Malformed lines** stop a run with one message, `file:line: what was expected, what was found`, and leave an earlier model as it was. With `--skip-bad` they are counted and skipped. A line may have 268,435,456 bytes (2^28); a longer one stops the run in any case.
- **Several passes** (`--passes`) parse text once. Later passes read a temporary file in the folder that TMPDIR names; it is gone when the run ends, however it ends. With `--interactions` a file is parsed in each pass instead, since the products would take more room than the data.
- **Holdout** (`--holdout`): every N-th example, or a file, is not learned from but measured on after each pass. The run stops when that gets no better, and the model is that of the best pass.
- **Sorted data** (all examples of one class, then all of the other) is bad for every online learner: what was learned first is forgotten. A note says so. `--shuffle N` shuffles the examples within windows of N, which are kept in memory, in each pass anew; `--seed` changes the order.
- **Learning on** from yesterday's model: [`--start-from`](learning-on.md).
- **Ctrl-C** and SIGTERM write a checkpoint and print how to resume, also while the run waits for a pipe; a third one ends it at once, without a checkpoint. A run that was stopped and resumed gives the same model, to the bit.
- **Defaults per project.** A `dwindle.toml` in the folder where a command runs has defaults of options: `label-column = "clicked"` for every command that has it, `[train]` and `gravity = 1e-6` for one. The command line comes first; a key that is no option is refused by name. [`dwindle config`](#dwindle-config) prints them; `DWINDLE_CONFIG` names another file.
- **Completion** of commands, options, choices and file names: `eval "$(_DWINDLE_COMPLETE=bash_source dwindle)"` in `~/.bashrc`; for other shells `zsh_source` or `fish_source`.
- **Other programs' options**, as `--l1` or `--alpha`, are answered with their name here.
- **`dwindle tune`** [finds good settings](tuning.md); if it is stopped, the same command continues.

A model is a Parquet file with the columns `namespace`, `feature`, `id` and `weight`, heaviest first: `pandas.read_parquet("ads.parquet")` shows it. Where values are not all 1, `scale` is the largest of each feature.
In Python the same functions are `dwindle.train`, `tune`, `predict`, `evaluate`, `explain`, `convert` and `merge`, and `dwindle.Model.load` opens a model: see [the API](api.md).

The table that `train` prints has a row at 1, 2, 4, 8, ... examples and at the end of each pass.
Every figure in it is measured before learning from the example: *loss* is the mean of this pass so far, *since last* the mean since the row above, *alive* the features whose weight is not zero, *seen* an estimate of the distinct features so far.
With several passes, only the first predicts examples that it has never seen. The summary therefore gives loss and AUC of the first pass, shows the last pass apart (*while learning*), and the holdout if there is one: that is the figure to trust. A red line at the end says if the model is worse than the best constant prediction: on the holdout, or else in the later half of the last pass.
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
