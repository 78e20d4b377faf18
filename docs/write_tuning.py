"""Write into docs/tuning.md what its commands print: ``python docs/write_tuning.py``."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PAGE = Path(__file__).parent / "tuning.md"
BEGIN, END = "<!-- written by docs/write_tuning.py -->", "<!-- end -->"
GENERATE = "dwindle generate ads --examples 4000"
TUNE = "dwindle tune train.vw --interactions 'q*a' --learning-rate 1 --passes 1,3 --folds 3 --model ads.parquet"
TEST = "dwindle generate ads --examples 4000 --first 4000"
EVALUATE = "dwindle evaluate ads.parquet test.vw"


def with_output(page: str) -> str:
    """Run the commands in an empty folder; return the page with them and what they print."""
    with TemporaryDirectory() as folder:
        for command, file in ((GENERATE, "train.vw"), (TEST, "test.vw")):
            (Path(folder) / file).write_text(_run(command, folder).stdout)
        tuned = _run(f"{TUNE} --no-picture", folder).stderr
        table = re.search(r"^ +kept .*?(?=\n\nkept )", tuned, re.DOTALL | re.MULTILINE)
        evaluated = _run(EVALUATE, folder).stdout
    assert table
    block = (
        f"```\n$ {GENERATE} > train.vw\n$ {TUNE}\n{table[0]}\n```\n\n"
        "Look at the chosen model on other examples:\n\n"
        f"```\n$ {TEST} > test.vw\n$ {EVALUATE}\n{evaluated.rstrip()}\n```"
    )
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def _run(command: str, folder: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours in a folder."""
    return subprocess.run(  # noqa: S603  (our own command)
        [sys.executable, "-m", *shlex.split(command)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )


if __name__ == "__main__":
    PAGE.write_text(with_output(PAGE.read_text()))
