"""fwumious_wabbit's benchmark: who eats what, with an interaction, next to Vowpal Wabbit.

Twelve namespaces of one name each; animal times food tells everything. Logistic, a rate for each
feature, dwindle with gravity on and Vowpal Wabbit without.
"""

from pathlib import Path

from benchmarks import data
from benchmarks.files import measured_three_ways, megabytes
from benchmarks.results import Found
from benchmarks.tools import Settings

FULL, SMALL = 10_000_000, 20_000  # rows, as many as theirs
SETTINGS = Settings(
    ours=["--loss", "logistic", "--gravity", "1e-9"],
    theirs=["--loss_function", "logistic", "--interactions", "AB", "-b", "24"],
    reading=["--interactions", "A*B"],
)


def measure(size: int, rounds: int, folder: Path) -> Found:
    """Text, cached and predicting."""
    train, test = folder / "eat.vw", folder / "eat-test.vw"
    data.eat(train, size)
    labels = data.eat(test, size, seed=1)
    found = measured_three_ways(train, test, labels, SETTINGS, rounds)
    return Found(f"who eats what: {size:,} rows, {megabytes([train]):,.0f} MB of text", *found)
