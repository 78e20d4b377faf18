"""How the benchmarks measure: contestants in turn, many rounds, medians and ratios from one run."""

import json
import os
import platform
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple


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


class Run(NamedTuple):
    """What a process took."""

    seconds: float
    processor: float
    peak_bytes: int


def commands(contestants: dict[str, list[str]], rounds: int) -> dict[str, list[Run]]:
    """What each command takes in each round; one round before them warms up, unmeasured."""
    runs: dict[str, list[Run]] = {name: [] for name in contestants}
    for measured in [False, *[True] * rounds]:
        for name, command in contestants.items():
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603  (ours)
            peak = _watched(process)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise subprocess.CalledProcessError(process.returncode, command)
            if measured:
                seconds = time.perf_counter() - begin
                runs[name].append(Run(seconds, used.ru_utime + used.ru_stime, peak))
    return runs


def _watched(process: subprocess.Popen[bytes]) -> int:
    """The most memory the process has had, looked at until it ends.

    Linux counts in ``ru_maxrss`` what its parent had when it was started, so it does not serve.
    """
    peak = 0
    status = Path(f"/proc/{process.pid}/status")
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
        peak = max(peak, int(found[1]) * 1024 if found else 0)
        time.sleep(0.01)
    return peak


def report(
    title: str,
    rows: list[dict[str, Any]],
    packages: tuple[str, ...] = ("dwindle", "numba", "numpy", "scikit-learn"),
) -> None:
    """One JSON line a row, after a line that says where and with what it was measured."""
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    print(
        f"{title}\n{platform.processor() or platform.machine()}, Python "
        f"{platform.python_version()}, {versions}"
    )
    for row in rows:
        print(json.dumps(row))
