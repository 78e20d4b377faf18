"""What is read off auto.json: means over seeds, their spread, and the bars that were set."""

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

TUNED_ON = ("rcv1", "ad", "krvskp", "spambase", "wbc")  # the choice of gravity
BEHIND_L1 = 0.001  # what the mean AUC may be below that of L1 with cross-validation
BEHIND_VW = 0.005  # what the AUC may be below that of Vowpal Wabbit's defaults, on any set
GONE = 0.95  # of the random features, on every set


class Bar(NamedTuple):
    """What was measured, and whether it is enough."""

    told: str
    met: bool


class Part:
    """The runs on some sets."""

    def __init__(self, results: dict[str, Any], part: str | None = None) -> None:
        self.sets = [each for each in results["sets"] if part in {None, each["part"]}]
        names = {each["set"] for each in self.sets}
        self._runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for run in results["runs"]:
            if run["set"] in names:
                self._runs.setdefault((run["set"], run["method"]), []).append(run)

    def __bool__(self) -> bool:
        return bool(self.sets)

    def values(self, name: str, method: str, what: str) -> list[float]:
        """Return the figure of each seed; nothing if the method was not run on the set."""
        return [float(run[what]) for run in self._runs.get((name, method), ())]

    def mean(self, name: str, method: str, what: str) -> float:
        """Return the mean over the seeds."""
        return fmean(self.values(name, method, what))

    def common(self, methods: Iterable[str]) -> list[str]:
        """Return the sets on which all of the methods were run."""
        wanted = list(methods)
        return [
            each["set"]
            for each in self.sets
            if all((each["set"], method) in self._runs for method in wanted)
        ]

    def gone(self, name: str, method: str) -> float:
        """Return the share of the random features that is gone, the mean over the seeds."""
        n = next(each["random"] for each in self.sets if each["set"] == name)
        return 1 - self.mean(name, method, "random") / int(n)

    def with_random(self) -> list[str]:
        """Return the sets that have random features."""
        return [each["set"] for each in self.sets if each["random"]]


def spread(values: Sequence[float]) -> float | None:
    """Return the standard deviation over the seeds, if there are several."""
    return stdev(values) if len(values) > 1 else None


def mean_auc(part: Part, method: str, names: Sequence[str]) -> float:
    """Return the mean over the sets."""
    return fmean(part.mean(name, method, "auc") for name in names)


def mean_kept(part: Part, method: str, names: Sequence[str]) -> float:
    """Return the geometric mean over sets and seeds; a model without features counts as one."""
    logs = (
        fmean(math.log(max(kept, 1)) for kept in part.values(name, method, "kept"))
        for name in names
    )
    return math.exp(fmean(logs))


def total_seconds(part: Part, method: str, names: Sequence[str]) -> float:
    """Return the sum over the sets, of one seed each."""
    return sum(part.mean(name, method, "seconds") for name in names)


# The bars


def as_accurate(part: Part) -> Bar | None:
    """Compare the mean AUC with that of L1 with cross-validation."""
    names = part.common(["auto", "liblinear"])
    if not names:
        return None
    ours, theirs = (mean_auc(part, method, names) for method in ("auto", "liblinear"))
    return Bar(f"{ours:.4f} against {theirs:.4f}", ours >= theirs - BEHIND_L1)


def as_small(part: Part) -> Bar | None:
    """Compare the features kept with those of L1 with cross-validation."""
    names = part.common(["auto", "liblinear"])
    if not names:
        return None
    ours, theirs = (mean_kept(part, method, names) for method in ("auto", "liblinear"))
    return Bar(f"{ours:,.0f} against {theirs:,.0f}", ours <= theirs)


def never_behind(part: Part) -> Bar | None:
    """Compare the AUC with that of Vowpal Wabbit's defaults, where it is furthest behind."""
    names = part.common(["auto", "vw"])
    if not names:
        return None

    def lead(name: str) -> float:
        return part.mean(name, "auto", "auc") - part.mean(name, "vw", "auc")

    worst = min(names, key=lead)
    return Bar(f"{lead(worst):+.4f} ({worst})", lead(worst) >= -BEHIND_VW)


def noise_gone(part: Part) -> Bar | None:
    """Return the share of random features that is gone, where it is least."""
    names = [name for name in part.with_random() if name in part.common(["auto"])]
    if not names:
        return None
    worst = min(names, key=lambda name: part.gone(name, "auto"))
    share = part.gone(worst, "auto")
    return Bar(f"{100 * share:.1f} % ({worst})", share >= GONE)


BARS: dict[str, Callable[[Part], Bar | None]] = {
    f"mean AUC, beside L1 with cross-validation: at most {BEHIND_L1:g} less": as_accurate,
    "features kept, geometric mean, beside the same: no more": as_small,
    f"AUC beside Vowpal Wabbit's defaults, the worst set: at most {BEHIND_VW:g} less": never_behind,
    f"random features gone, the worst set: at least {100 * GONE:.0f} %": noise_gone,
}
