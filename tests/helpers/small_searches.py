"""Small searches over planted data, and the command that makes them."""

import shlex

from dwindle.runs.tune.grid import Grid
from helpers import commands, planted_data

FAST = ("--learning-rate", "0.3", "--pass-decay", "0.5", "--passes", "1,3", "--gravity", "0.01,0.03", "--folds", "3")  # fmt: skip
GRID = Grid((0.3,), (0.5,), (0.0, 0.01, 0.03), passes=(1, 3))
# Runs by the end of each part: all gravities and folds at once; then what is chosen and the best
# without gravity, each fold alone.
PARTS = (1, 4, 7)
RUNS = PARTS[-1]
EXAMPLES = planted_data.rows(300)


def dwindle(*args, check=True):
    return commands.dwindle(*args, check=check, text=True)


def command_in(stderr):
    [line] = [line for line in stderr.splitlines() if line.startswith("command ")]
    program, *args = shlex.split(line.removeprefix("command"))
    assert program == "dwindle"
    return args
