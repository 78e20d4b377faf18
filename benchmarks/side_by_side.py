"""How the benchmarks measure: contestants in turn, many rounds, medians and ratios from one run."""

import os
import re
import select
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Contestant = Sequence[str] | Callable[[], Any]  # a command, or what is done in this process


class Run(NamedTuple):
    """What a contestant took in one round."""

    seconds: float
    processor: float
    peak_bytes: int | None = None  # of a process of its own


class Spread(NamedTuple):
    """A figure, and the least and the most it was in a round."""

    median: float
    least: float
    most: float


def interleaved(contestants: Mapping[str, Contestant], rounds: int) -> dict[str, list[Run]]:
    """What each contestant takes in each round; one round before them warms up, unmeasured."""
    runs: dict[str, list[Run]] = {name: [] for name in contestants}
    for measured in [False, *[True] * rounds]:
        for name, contestant in contestants.items():
            run = _called(contestant) if callable(contestant) else _commanded(contestant)
            if measured:
                runs[name].append(run)
    return runs


def once(commands: Iterable[Sequence[str]]) -> None:
    """Run commands one after the other, unmeasured."""
    for command in commands:
        _commanded(command)


def spread(each: Iterable[float]) -> Spread:
    """The median and the extremes."""
    known = list(each)
    return Spread(statistics.median(known), min(known), max(known))


def seconds(runs: Iterable[Run]) -> Spread:
    """On the clock on the wall."""
    return spread(run.seconds for run in runs)


def ratio(above: Iterable[float], below: Iterable[float]) -> Spread:
    """A ratio of medians, with the least and the most that it was in a round."""
    above, below = list(above), list(below)
    each = [a / b for a, b in zip(above, below, strict=True)]
    return Spread(statistics.median(above) / statistics.median(below), min(each), max(each))


def _called(work: Callable[[], Any]) -> Run:
    begin, used = time.perf_counter(), time.process_time()
    work()
    return Run(time.perf_counter() - begin, time.process_time() - used)


def _commanded(command: Sequence[str]) -> Run:
    os.sync()  # who makes sure that a file is on the disk would wait for what others have written
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603  (ours)
    peak = _watched(process.pid)
    seconds = time.perf_counter() - begin
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Run(seconds, used.ru_utime + used.ru_stime, peak)


def _watched(pid: int) -> int:
    """The most memory a process has had, looked at until it ends.

    Linux counts in ``ru_maxrss`` what its parent had when it was started, so it does not serve.
    """
    peak = 0
    status = Path(f"/proc/{pid}/status")
    ended = select.poll()
    process = os.pidfd_open(pid)
    try:
        ended.register(process, select.POLLIN)
        while not ended.poll(10):  # milliseconds
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
            peak = max(peak, int(found[1]) * 1024 if found else 0)
    finally:
        os.close(process)
    return peak
