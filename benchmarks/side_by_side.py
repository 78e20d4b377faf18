"""How the benchmarks measure: contestants in turn, some rounds, medians and ratios from one run."""

import os
import re
import select
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Contestant = Sequence[str] | Callable[[], Any]  # a command, or what is done in this process

ONE_CORE = ("taskset", "-c", "0")
TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds
BUSY = (0, 1, 2, 5, 6, 7)  # user, nice, system, interrupts and what the host took, of /proc/stat


class Plan(NamedTuple):
    """How much is measured, and where files go."""

    rounds: int
    folder: Path  # generated data, which is kept
    out: Path  # models and predictions, which are not
    pattern: str = ""  # of the cases that are wanted
    only_write: bool = False  # the data

    def wants(self, case: str) -> bool:
        """Whether a case is to be measured."""
        return bool(re.search(self.pattern, case))


class Run(NamedTuple):
    """What a contestant took in one round, and what else ran on the machine."""

    seconds: float
    processor: float
    peak_bytes: int | None = None  # of a process of its own
    load: float = 0.0  # the load average of the machine before it, our own runs included
    others: float = 0.0  # processors that other programs used meanwhile


class Spread(NamedTuple):
    """A figure, and the least and the most it was in a round."""

    median: float
    least: float
    most: float


def interleaved(
    contestants: Mapping[str, Contestant], rounds: int, warm_up: Iterable[str] | None = None
) -> dict[str, list[Run]]:
    """What each contestant takes in each round, every other round in opposite order.

    One round before them warms up, unmeasured: with all, or with those that are named.
    """
    runs: dict[str, list[Run]] = {name: [] for name in contestants}
    for name in contestants if warm_up is None else warm_up:
        _run(contestants[name])
    for number in range(rounds):
        for name in [*contestants][:: -1 if number % 2 else 1]:
            runs[name].append(_run(contestants[name]))
    return runs


def placed(command: Sequence[str]) -> Sequence[str]:
    """What to put before a command so that it is fastest: nothing, or what keeps it on one core.

    Threads that hand over every example to each other may lose more by that than they gain.
    """
    if not shutil.which(ONE_CORE[0]):
        return ()
    ways: dict[str, Sequence[str]] = {"all": command, "one": [*ONE_CORE, *command]}
    runs = interleaved(ways, 1, warm_up=())
    return ONE_CORE if runs["one"][0].seconds < runs["all"][0].seconds else ()


def once(commands: Iterable[Sequence[str]]) -> None:
    """Run commands one after the other, unmeasured."""
    for command in commands:
        _run(command)


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


def _run(contestant: Contestant) -> Run:
    if not callable(contestant):
        os.sync()  # who makes sure that a file is on the disk would wait for what others wrote
    load, busy, own = os.getloadavg()[0], _busy(), time.process_time()
    run = _called(contestant) if callable(contestant) else _commanded(contestant)
    ours = time.process_time() - own + (0 if callable(contestant) else run.processor)
    others = max(0.0, _busy() - busy - ours) / max(run.seconds, TICK)
    return run._replace(load=load, others=others)


def _busy() -> float:
    """Seconds that all processors have worked, or the host of this machine has taken away."""
    ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    return sum(int(ticks[k]) for k in BUSY) * TICK


def _called(work: Callable[[], Any]) -> Run:
    begin, used = time.perf_counter(), time.process_time()
    work()
    return Run(time.perf_counter() - begin, time.process_time() - used)


def _commanded(command: Sequence[str]) -> Run:
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603  (ours)
    peak = _watched(process.pid)
    seconds = time.perf_counter() - begin
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    is_pipe = "sh" in command  # whose parts have the memory
    return Run(seconds, used.ru_utime + used.ru_stime, None if is_pipe else peak)


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
