"""Bad usage ends a command with one line; a bug in dwindle shows its traceback."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import dwindle
from dwindle import DataError, SettingError, TruncatedGradientRegressor
from dwindle.cli import main

TEXT = b"1 |ad shoes |user 7:2\n-1 |ad hats |user 8\n" * 20
PLANTED = """
import sys
import dwindle.engine.learner as learner
from dwindle.cli import main

def broken(*_):
    raise {error}("planted")

learner.Learner.learn = broken
sys.argv[0] = "dwindle"
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("error", ["ValueError", "KeyError", "TypeError", "IndexError"])
def test_a_bug_shows_its_traceback(error, data, tmp_path):
    command = ["train", str(data), "--quiet", "--model", str(tmp_path / "m")]
    code = PLANTED.format(error=error)
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, check=False)
    told = done.stderr.decode()
    assert done.returncode == 1
    assert told.startswith("Traceback")
    assert "in broken" in told
    assert "planted" in told.splitlines()[-1]


SETTINGS = [
    "train DATA --gravity -1",
    "train DATA --gravity inf",
    "train DATA --threshold nan",
    "train DATA --learning-rate 0",
    "train DATA --power-t -1",
    "train DATA --shrinkage rounding",
    "train DATA --shrinkage rounding --update ftrl --threshold 1",
    "train DATA --update rda --threshold 1",
    "train DATA --loss poisson --update ftrl --gravity 0.1 --truncate-every 3",
    "train DATA --memory 1MB",
    "train DATA --memory plenty",
    "train DATA --max-live 0",
    "train DATA --holdout 1",
    "train DATA --interactions ad",
    "train DATA --interactions a*b*c*d",
    "train DATA --checkpoint-every often",
    "train DATA --no-such-option",
    "train DATA --truncate-every 0",
    "tune DATA --gravity 1e-3,heavy",
    "tune DATA --tolerance much",
    "tune DATA --folds 1",
    "tune DATA --keep -1",
    "tune DATA --picture nowhere/p.png",
    "tune DATA --metric beauty",
    "generate ads -n 0 --output -",
    "convert DATA out.unknown",
    "convert DATA out.arrow.gz",
]
DATA = [
    "train none.vw",
    "train DATA --model nowhere/m",
    "train DATA --holdout none.vw",
    "predict none.parquet DATA",
    "predict DATA DATA",
    "inspect DATA",
    "merge DATA DATA --model m",
    "convert none.vw out.arrow",
    "train BAD",
    "train DATA --learning-rate 1e300 --loss squared",
]


@pytest.mark.parametrize(
    ("command", "code"), [(each, 2) for each in SETTINGS] + [(each, 1) for each in DATA]
)
@pytest.mark.usefixtures("signals_as_before")
def test_bad_usage_and_bad_data_are_told_in_one_line(command, code, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.vw").write_text("yes | a\n")
    words = command.replace("DATA", str(data)).replace("BAD", "bad.vw").split()
    if words[0] in {"train", "tune"} and "--model" not in words:
        words += ["--model", "m"]
    if words[0] in {"train", "tune"}:
        words.append("--quiet")
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code, done.output
    assert isinstance(done.exception, SystemExit)
    assert ("No such option" in done.stderr) == ("--no-such" in command)
    # What click itself refuses comes with two lines of usage.
    assert len(done.stderr.strip().splitlines()) == (4 if "Usage" in done.stderr else 1)


def test_every_refused_setting_is_told_as_one():
    """A plain ValueError would be taken for a bug; scikit-learn's users expect it of bad arrays."""
    source = Path(dwindle.__file__).parent
    plain = [
        p.relative_to(source) for p in source.rglob("*.py") if "raise ValueError(" in p.read_text()
    ]
    assert {str(path.parent) for path in plain} <= {"estimators"}


def test_a_refused_setting_is_still_a_value_error():
    with pytest.raises(SettingError, match="gravity must be") as caught:
        TruncatedGradientRegressor(gravity=-1).fit([[1.0]], [1.0])
    assert isinstance(caught.value, ValueError)
    assert not isinstance(caught.value, DataError)
