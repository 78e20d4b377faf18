"""How the benchmarks measure: contestants in turn, many rounds, medians and ratios from one run."""

import json
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any


def interleaved(contestants: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant in each round; one round before them warms up, unmeasured."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for measured in [False, *[True] * rounds]:
        for name, contestant in contestants.items():
            begin = time.perf_counter()
            contestant()
            if measured:
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def ratio(seconds: dict[str, list[float]], slower: str, faster: str) -> dict[str, float]:
    """How many times as long ``slower`` takes: over the rounds, the median and the extremes."""
    each = [s / f for s, f in zip(seconds[slower], seconds[faster], strict=True)]
    figures = {"median": statistics.median(each), "least": min(each), "most": max(each)}
    return {name: round(figure, 2) for name, figure in figures.items()}


def report(title: str, rows: list[dict[str, Any]]) -> None:
    """One JSON line a row, after a line that says where and with what it was measured."""
    packages = ("dwindle", "numba", "numpy", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(
        f"{title}\n{platform.processor() or platform.machine()}, Python "
        f"{platform.python_version()}, {versions}"
    )
    for row in rows:
        print(json.dumps(row))
