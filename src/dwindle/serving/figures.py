"""Counts and latencies of a server, and the same as text for Prometheus."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

BOUNDS = [1e-4 * 2 ** (k / 2) for k in range(34)]  # seconds, from 0.1 ms to 9 s


class Latency:
    """Times in buckets that grow by half an octave."""

    def __init__(self) -> None:
        self.count = [0] * (len(BOUNDS) + 1)
        self.total = 0.0
        self._before = list(self.count)

    def add(self, seconds: float) -> None:
        """Count a time."""
        self.count[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def recent(self, *shares: float) -> list[float]:
        """Return upper bounds of quantiles since the last call; nan if there was nothing."""
        count = [now - before for now, before in zip(self.count, self._before, strict=True)]
        self._before = list(self.count)
        return [_quantile(count, share) for share in shares]


def _quantile(count: list[int], share: float) -> float:
    """Return the upper bound of the bucket in which a quantile is.

    >>> _quantile([0, 3, 1] + [0] * 32, 0.5) == BOUNDS[1]
    True
    """
    wanted, below = share * sum(count), 0
    for bound, n in zip(BOUNDS, count, strict=False):
        below += n
        if below >= wanted > 0:
            return bound
    return float("nan")


class Figures:
    """What a server has done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[tuple[str, int]] = Counter()  # by path and status
        self.examples: Counter[tuple[str, str]] = Counter()  # by path and outcome
        self.latency = {"/predict": Latency(), "/learn": Latency()}
        self.log_seconds = Latency()
        self.log_bytes = 0
        self.snapshots = 0
        self.snapshot_seconds = 0.0

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self.requests[path, status] += 1
            if path in self.latency:
                self.latency[path].add(seconds)

    def counted(self, path: str, good: int, bad: int) -> None:
        """Count the examples of a request."""
        with self._lock:
            self.examples[path, "taken"] += good
            if bad:
                self.examples[path, "refused"] += bad

    def logged(self, n_bytes: int, seconds: float) -> None:
        """Count a record of the log."""
        self.log_bytes += n_bytes
        self.log_seconds.add(seconds)

    def kept(self, seconds: float) -> None:
        """Count a snapshot."""
        self.snapshots += 1
        self.snapshot_seconds = seconds


class Sheet:
    """Metrics in Prometheus' text format."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(self, name: str, kind: str, about: str, values: dict[str, float]) -> None:
        """Add a metric; values are by their labels, as ``path="/learn"``, or by ""."""
        self._lines += [f"# HELP dwindle_{name} {about}", f"# TYPE dwindle_{name} {kind}"]
        for labels, value in values.items():
            self._lines.append(f"dwindle_{name}{f'{{{labels}}}' if labels else ''} {value:.12g}")

    def gauge(self, name: str, about: str, value: float) -> None:
        """Add a number that goes up and down."""
        self.add(name, "gauge", about, {"": value})

    def histogram(self, name: str, about: str, by: dict[str, Latency]) -> None:
        """Add latencies, by their labels."""
        full = f"dwindle_{name}"
        self._lines += [f"# HELP {full} {about}", f"# TYPE {full} histogram"]
        for labels, each in by.items():
            self._lines += _buckets(full, labels, each)

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(self._lines) + "\n"


def _buckets(name: str, labels: str, latency: Latency) -> Iterator[str]:
    before = f"{labels}," if labels else ""
    own = f"{{{labels}}}" if labels else ""
    below = 0
    for bound, n in zip(BOUNDS, latency.count, strict=False):
        below += n
        yield f'{name}_bucket{{{before}le="{bound:.6g}"}} {below}'
    total = sum(latency.count)
    yield f'{name}_bucket{{{before}le="+Inf"}} {total}'
    yield f"{name}_sum{own} {latency.total:.9g}"
    yield f"{name}_count{own} {total}"
