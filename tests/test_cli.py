"""The command line, run as a user would."""

import json
import subprocess
import sys

import pytest


def dwindle(*args, check=True):
    return subprocess.run(
        [sys.executable, "-m", "dwindle", *args], capture_output=True, text=True, check=check
    )


def test_help_lists_the_commands_and_imports_no_numba():
    assert "demo" in dwindle("--help").stdout
    code = "import sys; from dwindle.cli import main; main(['--help'], standalone_mode=False); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


def test_every_command_s_help_ends_with_an_example_that_runs():
    text = dwindle("demo", "--help").stdout
    example = next(line.split() for line in text.splitlines() if line.strip().startswith("dwindle "))
    assert "kept" in dwindle(*example[1:]).stdout


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
