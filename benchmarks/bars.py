"""What is aimed at, as ratios of medians in one run on two cores of a quiet machine."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

AT_LEAST, AT_MOST = "at least", "at most"
MET, WORK_ALONE, NOT_MET = "met", "met excluding start-up", "not met"

# What is said of the contestants; benchmarks/tools.py says which settings are compared.
FASTER = "times as fast as Vowpal Wabbit"
PLAINLY = "times as fast as Vowpal Wabbit --sgd"
BY_DEFAULT = "times as fast as Vowpal Wabbit, without options"
PREDICTING = "times as fast as Vowpal Wabbit in predicting"
UNFITTED = "times as fast as Vowpal Wabbit at its default -b"
AS_LONG_AS_ONE = "times as long as one gravity"
FASTER_THAN_SKLEARN = "times as fast as SGDClassifier(l1)"
FASTER_THAN_ORDERED = "times as fast as SGDClassifier(l1, shuffle=False)"
FASTER_THAN_RIVER = "times as fast as River"
SECONDS = "seconds"
OF_READING = "times as long as a random read"
OF_NAMELESS = "times as long as without names"


class Bar(NamedTuple):
    """A limit on the worst of some figures, and where benchmarks/found.md says what limits it."""

    workload: str
    cases: str  # a pattern that matches the whole name of a case
    what: str
    sense: str
    limit: float
    see: str

    def holds(self, value: float) -> bool:
        """Whether the value is on the right side of it."""
        return value >= self.limit if self.sense == AT_LEAST else value <= self.limit

    def share(self, value: float) -> float:
        """How many times the limit the value is, turned so that more is better."""
        return value / self.limit if self.sense == AT_LEAST else self.limit / value

    def verdict(self, figure: dict[str, Any]) -> str:
        """Whether a figure meets it, by the whole command or by its work alone."""
        if self.holds(figure["value"]["median"]):
            return MET
        work = figure["work"]
        return WORK_ALONE if work is not None and self.holds(work) else NOT_MET


BASE = r"(?!.*(50 MB|1 GB|gz|zst|svmlight|Arrow)).*"  # every shape, 400 MB as text
SMALLER = r".*50 MB"
PARSING, LEARNING, NEW, START, THREADS, DICTS, ARROW = (
    "Parsing", "Learning", "New features", "Start-up", "Threads", "Dicts", "Arrow",
)  # fmt: skip

BARS = (
    Bar("shapes", "values %.7e", FASTER, AT_LEAST, 2, LEARNING),
    Bar("shapes", "values %.7e, 1 GB", FASTER, AT_LEAST, 2.5, LEARNING),
    Bar("shapes", "real text", FASTER, AT_LEAST, 2, LEARNING),
    Bar("shapes", "values none", FASTER, AT_LEAST, 2, LEARNING),
    Bar("shapes", "values repr", FASTER, AT_LEAST, 2, PARSING),
    Bar("shapes", "values mixed", FASTER, AT_LEAST, 2, LEARNING),
    Bar("shapes", "Arrow", FASTER, AT_LEAST, 1.5, ARROW),
    Bar("shapes", BASE, FASTER, AT_LEAST, 1.3, LEARNING),
    Bar("shapes", BASE, PLAINLY, AT_LEAST, 1.3, START),
    Bar("shapes", SMALLER, FASTER, AT_LEAST, 1.3, START),
    Bar("shapes", BASE, PREDICTING, AT_LEAST, 3, START),
    Bar("shapes", SMALLER, PREDICTING, AT_LEAST, 3, START),
    Bar("streams", "eat, 1.5 M rows", FASTER, AT_LEAST, 2, NEW),
    Bar("streams", "eat, 10 M rows", FASTER, AT_LEAST, 3, LEARNING),
    Bar("streams", "ads, first seen", FASTER, AT_LEAST, 1.5, NEW),
    Bar("streams", "ads, within a budget", FASTER, AT_LEAST, 1.2, NEW),
    Bar("streams", ".*", AS_LONG_AS_ONE, AT_MOST, 1.5, LEARNING),
    Bar("memory", "partial_fit, plain", FASTER_THAN_SKLEARN, AT_LEAST, 2.5, LEARNING),
    Bar("memory", "partial_fit, adaptive", FASTER_THAN_SKLEARN, AT_LEAST, 2, LEARNING),
    Bar("memory", "learn_one, (plain|adaptive)", FASTER_THAN_RIVER, AT_LEAST, 20, DICTS),
    Bar("start", "--help", SECONDS, AT_MOST, 0.3, START),
    Bar("start", "ten lines", SECONDS, AT_MOST, 0.25, START),
    Bar("growth", r"10\^[678] live", OF_READING, AT_MOST, 2.5, LEARNING),
    Bar("names", ".*", OF_NAMELESS, AT_MOST, 1.15, NEW),
)


class Held(NamedTuple):
    """A bar, and the worst of the figures that it is about."""

    bar: Bar
    figure: dict[str, Any]
    n: int  # figures that it is about

    @property
    def verdict(self) -> str:
        """Whether the worst meets it."""
        return self.bar.verdict(self.figure)


def held(results: dict[str, Any]) -> Iterator[Held]:
    """Hold the bars against the figures of a run, as far as it has them."""
    for bar in BARS:
        figures = [
            figure
            for workload in results["workloads"]
            for figure in workload["figures"]
            if workload["workload"] == bar.workload
            and figure["what"] == bar.what
            and re.fullmatch(bar.cases, figure["case"])
        ]
        if figures:
            worst = min(figures, key=lambda each: bar.share(each["value"]["median"]))
            yield Held(bar, worst, len(figures))
