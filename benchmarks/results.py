"""What a run comes to: what each contestant took, and figures that may be held against bars."""

import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.side_by_side import Run, Spread, ratio, seconds

PACKAGES = ("dwindle", "numba", "numpy", "pyarrow", "scikit-learn", "river", "vowpalwabbit")


class Row(NamedTuple):
    """What one contestant took, medians over the rounds."""

    case: str
    contestant: str
    seconds: Spread
    processor: float
    peak_mb: float | None = None  # of a process of its own
    start: float | None = None  # seconds of the same on ten lines
    more: dict[str, Any] = {}  # noqa: RUF012  (never written to)
    command: str = ""
    load: float = 0.0  # the highest load average before a round
    others: float = 0.0  # processors that other programs used meanwhile
    split: dict[str, float] = {}  # noqa: RUF012  (never written to)  # shares: see `split`


class Figure(NamedTuple):
    """A number that may have a bar; ``work`` is the same with the time for ten lines taken off."""

    case: str
    what: str
    value: Spread
    work: float | None = None
    unit: str = "x"


class Found(NamedTuple):
    """What a workload came to."""

    title: str
    rows: list[Row]
    figures: list[Figure]


def row(
    case: str, contestant: str, runs: Sequence[Run], start: Sequence[Run] = (), **more: Any
) -> Row:
    """The medians of a contestant; the peak is the highest."""
    peaks = [run.peak_bytes for run in runs if run.peak_bytes is not None]
    return Row(
        case,
        contestant,
        seconds(runs),
        statistics.median(run.processor for run in runs),
        max(peaks) / 1e6 if peaks else None,
        seconds(start).median if start else None,
        more,
        load=max(run.load for run in runs),
        others=statistics.median(run.others for run in runs),
    )


def speed(
    case: str,
    what: str,
    theirs: Sequence[Run],
    ours: Sequence[Run],
    starts: tuple[Sequence[Run], Sequence[Run]] | None = None,
) -> Figure:
    """How many times as long theirs takes; ``starts`` are the runs of both on ten lines."""
    value = ratio([run.seconds for run in theirs], [run.seconds for run in ours])
    work = None
    if starts:
        peer, own = (
            seconds(whole).median - seconds(start).median
            for whole, start in zip((theirs, ours), starts, strict=True)
        )
        work = peer / own if own > 0 else None
    return Figure(case, what, value, work)


def as_json(workload: str, description: str, found: Found) -> dict[str, Any]:
    """The rows and figures of a workload."""
    figures = [each._asdict() | {"value": each.value._asdict()} for each in found.figures]
    rows = [each._asdict() | {"seconds": each.seconds._asdict()} for each in found.rows]
    named = {"workload": workload, "description": description, "title": found.title}
    return named | {"rows": rows, "figures": figures}


def about(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The machine, the versions and the settings of a run."""
    return {
        "machine": {
            "processor": _found(r"model name\s*: (.*)", "/proc/cpuinfo") or platform.machine(),
            "cores": os.cpu_count(),
            "memory_gb": round(int(_found(r"MemTotal:\s+(\d+)", "/proc/meminfo") or 0) / 2**20),
            "system": platform.system(),
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
        "load": os.getloadavg()[0],
        **settings,
    }


def _found(pattern: str, path: str) -> str:
    found = re.search(pattern, Path(path).read_text())
    return found[1].strip() if found else ""
