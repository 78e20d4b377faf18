"""Streams of which many features come for the first time, or none, next to Vowpal Wabbit.

*eat* is fwumious_wabbit's benchmark: who eats what, twelve namespaces of one name each; animal
times food tells everything. *ads* is the log of `dwindle generate ads`, with its products of query
and ad: five of six features are seen once. There gravity is 1e-5, at which one feature in twenty is
kept; with *all kept* it is 1e-7, and ten million names are written with the model, in one round
only. *Within a budget* never more than a million features are alive. *Stationary* is a log of
clicks whose names are all met soon. Settings otherwise as for *shapes*.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.files import Case, races, stored
from benchmarks.results import Found
from benchmarks.side_by_side import Plan
from benchmarks.tools import ADAPTIVE, OURS, Reading
from dwindle.datasets.ads import Ads


class Size(NamedTuple):
    """Rows."""

    some: int
    many: int
    ads: int
    stationary: int


FULL, SMALL = Size(1_500_000, 10_000_000, 60_000, 500_000), Size(10_000, 20_000, 500, 2_000)
FOOD = Reading(["--interactions", "A*B"], ["--interactions", "AB"])
QUERIES = Reading(["--interactions", "q*a"], ["--interactions", "qa"])
PULLED = {
    name: ["1e-5" if word == "1e-7" else word for word in words] for name, words in OURS.items()
}
KEPT = {ADAPTIVE: OURS[ADAPTIVE]}
BUDGET = {ADAPTIVE: [*OURS[ADAPTIVE], "--max-live", "1000000"]}
VOCABULARY = 10**5


def measure(size: Size, plan: Plan) -> Found:
    """Race each case."""
    return Found("streams with an interaction, and without", *races(cases(size, plan), plan))


def cases(size: Size, plan: Plan) -> Iterator[Case]:
    """All that are wanted, their data written."""
    for name, rows in (("eat, 1.5 M rows", size.some), ("eat, 10 M rows", size.many)):
        if plan.wants(name):
            write = partial(data.eat, rows=rows, every_pair=True)
            is_long = rows == size.many
            text = stored(plan, f"eat-{rows}", write, FOOD)
            yield Case(name, text, FOOD, unfitted=not is_long, predicts=not is_long, fewer=is_long)
    log = partial(stored, plan, f"ads-{size.ads}", partial(_log, size.ads), QUERIES)
    if plan.wants(name := "ads, first seen"):
        yield Case(name, log(), QUERIES, ours=PULLED, unfitted=True)
    if plan.wants(name := "ads, all kept"):
        yield Case(name, log(), QUERIES, ours=KEPT, predicts=False, fewer=plan.rounds - 1)
    if plan.wants(name := "ads, within a budget"):
        yield Case(name, log(), QUERIES, ours=BUDGET, predicts=False)
    if plan.wants(name := "stationary"):
        write = partial(data.ads, rows=size.stationary, vocabulary=VOCABULARY)
        yield Case(name, stored(plan, f"stationary-{size.stationary}", write))


def _log(rows: int, path: Path) -> data.Labels:
    labels: list[bool] = []
    with path.open("wb") as file:
        for text in Ads().text(rows):
            file.write(text)
            labels += [line[:1] != b"-" for line in text.splitlines()]
    return np.array(labels)
