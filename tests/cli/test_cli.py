"""The command line, run as a user would."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dwindle.cli import COMMANDS
from helpers import commands

ROOT = Path(__file__).parents[2]


def dwindle(*args, **how):
    return commands.dwindle(*args, text=True, **how)


def test_help_lists_the_commands_and_imports_no_numba():
    assert "demo" in dwindle("--help").stdout
    code = "import sys; from dwindle.cli import main; main(['--help'], standalone_mode=False); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with the files that the examples speak of."""
    here = tmp_path_factory.mktemp("workplace")
    lines = [f"{1 if i % 3 else -1} |ad shoe{i % 3} |by hour:{i % 24 / 24}\n" for i in range(300)]
    for name in ("train.vw", "test.vw", "monday.vw", "tuesday.vw"):
        (here / name).write_text("".join(lines))
    for name in ("ads", "monday", "tuesday"):
        dwindle("train", "train.vw", "--model", f"{name}.parquet", "--quiet", cwd=here)
    dwindle("train", "train.vw", "--model", "path.parquet", "--path", "--quiet", cwd=here)
    rows = [f"{i % 3 // 2},shoe{i % 3},{i % 24}\n" for i in range(300)]
    (here / "shop.csv").write_text("label,ad,hour\n" + "".join(rows))
    dwindle("train", "shop.csv", "--model", "shop.parquet", "--quiet", cwd=here)
    dwindle("export", "ads.parquet", "weights.txt", "--to", "vw-names", cwd=here)
    return here


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_s_help_ends_with_an_example_that_runs(command, workplace):
    text = dwindle(command, "--help").stdout
    lines = (line.strip().removeprefix("RUN pip install dwindle && ") for line in text.splitlines())
    example = [line.split() for line in lines if line.startswith("dwindle ")]
    assert example
    if command == "serve":  # until it is stopped: see tests/serving
        return
    for _, *args in example:
        assert dwindle(*args, cwd=workplace).returncode == 0


def test_the_page_of_the_command_line_shows_the_help_as_it_is():
    page = (ROOT / "docs" / "command-line.md").read_text()
    for command in COMMANDS:
        assert dwindle(command, "--help").stdout.strip() in page, "run docs/write_command_line.py"


def test_the_demo_drops_the_random_features_and_keeps_the_accuracy():
    lines = dwindle("demo", "--json").stdout.splitlines()
    without, *_, once_a_pass = map(json.loads, lines)
    assert without["gravity"] == 0
    assert (without["kept"], without["random_kept"]) == (1030, 1000)
    assert once_a_pass["random_kept"] == 0
    assert 0 < once_a_pass["kept"] <= 30
    assert once_a_pass["accuracy"] >= without["accuracy"] - 0.01
    assert once_a_pass["auc"] >= without["auc"] - 0.005


def test_the_demo_prints_a_table_and_the_model():
    text = dwindle("demo").stdout
    for word in ("accuracy", "AUC", "kept", "of them random", "worst radius"):
        assert word in text


def test_an_unknown_command_is_bad_usage():
    done = dwindle("learn", check=False)
    assert done.returncode == 2
    assert "No such command 'learn'" in done.stderr


@pytest.mark.parametrize("option", ["--version", "-h"])
def test_short_answers(option):
    assert "dwindle" in dwindle(option).stdout
