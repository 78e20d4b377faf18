"""Small searches over planted data, and the command that makes them."""

import shlex

from dwindle.runs.tune.grid import Grid
from helpers import commands, planted_data

FAST = ("--learning-rate", "0.3", "--pass-decay", "0.5", "--passes", "1,3", "--gravity", "0.01,0.03", "--folds", "3")  # fmt: skip
GRID = Grid((0.3,), (0.5,), (0.0, 0.01, 0.03), passes=(1, 3))
RUNS = 3  # one for each fold: all gravities are learned at once
EXAMPLES = planted_data.rows(300)


def dwindle(*args, check=True):
    return commands.dwindle(*args, check=check, text=True)


def command_in(stderr):
    [line] = [line for line in stderr.splitlines() if line.startswith("command ")]
    program, *args = shlex.split(line.removeprefix("command"))
    assert program == "dwindle"
    return args
