"""What it costs to know the names of the features, on a log of clicks in which most die young.

The log is that of ``dwindle generate ads``, parsed and learned from within a budget of live
features, by truncated gradient and by FTRL-Proximal; once with the names, as usual, once without.
"""

from typing import NamedTuple

from benchmarks.bars import OF_NAMELESS
from benchmarks.results import Figure, Found, row
from benchmarks.side_by_side import Plan, interleaved, ratio
from benchmarks.tools import DWINDLE
from dwindle import FTRL, Adaptive, Learner, Logistic, Truncation
from dwindle.algorithm.updates import Update
from dwindle.datasets.ads import Ads


class Size(NamedTuple):
    """How many examples, and how many features may live."""

    examples: int
    max_live: int


FULL, SMALL = Size(30_000, 10**6), Size(3000, 50_000)
UPDATES: dict[str, tuple[Update, float]] = {
    "truncated gradient": (Adaptive(), 0.0),
    "FTRL-Proximal": (FTRL(), 1.0),
}
WITHOUT = "without names"


def measure(size: Size, plan: Plan) -> Found:
    """Both updates, with names and without."""
    rows, figures = [], []
    for case, (update, gravity) in UPDATES.items():
        shrinkage = Truncation(gravity)

        def learned(
            *, named: bool, update: Update = update, shrinkage: Truncation = shrinkage
        ) -> None:
            learner = Learner(Logistic(), shrinkage, update, max_live=size.max_live)
            for batch in Ads().batches(size.examples):
                learner.learn(batch if named else batch._replace(names=None))
            len(learner.table.names)  # all are spelled

        runs = interleaved(
            {DWINDLE: lambda: learned(named=True), WITHOUT: lambda: learned(named=False)},
            plan.rounds,
        )
        rows += [row(case, name, each) for name, each in runs.items()]
        times = [[run.seconds for run in runs[name]] for name in (DWINDLE, WITHOUT)]
        figures.append(Figure(case, OF_NAMELESS, ratio(*times)))
    return Found(f"names of {size.max_live:,} live features", rows, figures)
