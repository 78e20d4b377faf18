"""How well each lane predicts, and which of them is the model.

Every lane predicts each example before it learns from it. Its loss and, for two classes, its AUC
are counted in segments of the stream, of equal numbers of examples: at most `SEGMENTS`, which are
joined in pairs when there are more. So the last quarter of the stream is known without knowing its
length, and does not depend on batches.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import SettingError
from dwindle._base.packing import packed, unpacked
from dwindle.algorithm.losses import is_classification, value
from dwindle.engine import kernels
from dwindle.engine.state_checks import check_scores
from dwindle.jit.compile import helper, kernel

SEGMENTS = 16
LENGTH, EXAMPLES, DONE = range(3)  # elements of ``position``
SHORTEST = 16  # examples of the first segments
JUDGED = 4  # the last 1/JUDGED of the stream is judged,
# or as many examples as this, if there are so many. The slack of a loss is a standard error, which
# grows where examples are few, so it takes more of them; that of an AUC is always the same.
AT_LEAST = {"auc": 128, "loss": 500}
# Scores of two classes are counted in bins: between 1/2 and 16 either side of 0 they are 1/32 wide,
# and nearer to 0 and farther from it a sixteenth of an octave, from 2^-14 to 2^10.
MIDDLE, FAR, PER_UNIT = 0.5, 16.0, 32
PER_OCTAVE_BITS = 4  # the first bits of a number's fraction, which tell 16 parts of an octave
DROPPED_BITS = 23 - PER_OCTAVE_BITS


def _first_bits(score: float) -> int:
    return int(np.float32(score).view(np.int32)) >> DROPPED_BITS


NEAR_BITS, FAR_BITS = _first_bits(2.0**-14), _first_bits(FAR)
N_NEAR = _first_bits(MIDDLE) - NEAR_BITS
N_NOT_FAR = N_NEAR + int((FAR - MIDDLE) * PER_UNIT)
SIDE = N_NOT_FAR + _first_bits(2.0**10) - FAR_BITS  # bins of scores of 0 or more
BINS = 2 * SIDE


class Lane(NamedTuple):
    """A lane: what holds its weights down, its size, and how well it predicted before learning."""

    gravity: float
    evidence: float
    kept: int
    loss: float  # mean over the first pass
    auc: float  # nan unless there are two classes
    judged: float  # of the metric, over the last part of the first pass, which decides
    chosen: bool


class Choice(NamedTuple):
    """The rule by which a lane is chosen: the sparsest one as good as the best.

    For ``auc`` within ``tolerance`` of the best, 0.002 if it is None. For ``loss`` within that
    share of the best, 1 % if it is None, or, unless there are two classes, within one standard
    error of their difference. ``auto`` is ``auc`` for two classes, else ``loss``. With ``keep``,
    only lanes of at most so many features compete, and the best of them is chosen; the sparsest, if
    all have more.
    """

    metric: str = "auto"
    tolerance: float | None = None
    keep: int | None = None

    def check(self, loss: Any) -> None:
        """Refuse a metric that is not known, or not defined for the loss, and other mistakes."""
        if self.metric not in {"auto", "auc", "loss"}:
            raise SettingError(f"choose_by must be auto, auc or loss, got {self.metric!r}")
        if self.metric == "auc" and not is_classification(loss):
            raise SettingError(f"choose_by auc needs two classes, which {loss} does not have")
        if self.keep is not None and not self.keep >= 0:
            raise SettingError(f"keep must be 0 or more, got {self.keep}")
        if self.tolerance is not None and not self.tolerance >= 0.0:
            raise SettingError(f"tolerance must be 0 or more, got {self.tolerance}")


@helper
def bin_of(score: Any) -> Any:
    """Return the bin of a score in single precision."""
    size = abs(np.float32(score))
    bits = int(np.float32(size).view(np.int32)) >> DROPPED_BITS
    if size < MIDDLE:
        place = max(bits - NEAR_BITS, 0)
    elif size < FAR:
        place = N_NEAR + int((np.float64(size) - MIDDLE) * PER_UNIT)
    else:
        place = min(N_NOT_FAR + bits - FAR_BITS, SIDE - 1)
    return SIDE - 1 - place if score < 0.0 else SIDE + place


def bin_edges() -> NDArray[np.float64]:
    """Return where the bins of scores of 0 or more begin, and where the last one ends."""

    def octaves(first: int, n: int) -> Any:
        return (np.arange(first, first + n, dtype=np.int32) << DROPPED_BITS).view(np.float32)

    near = octaves(NEAR_BITS, N_NEAR)
    near[0] = 0.0
    middle = MIDDLE + np.arange(N_NOT_FAR - N_NEAR) / PER_UNIT
    return np.concatenate([near, middle, octaves(FAR_BITS, SIDE - N_NOT_FAR + 1)])


@kernel
def count_examples(
    loss: Any,
    predicted: Any,
    label: Any,
    importance: Any,
    ranks: bool,
    weight: Any,
    total: Any,
    products: Any,
    count: Any,
) -> None:
    """Add examples: if ``ranks``, to the bins of each lane's scores.

    Else to the sums of each lane's losses, times h and times h^2, h being the importance, and of
    the products of any two lanes', times h^2.
    """
    n_lanes = total.shape[1]
    found = np.empty(n_lanes)
    for i in range(len(label)):
        h = importance[i]
        if h == 0.0:
            continue
        weight[0] += h
        weight[1] += h * h
        if ranks:  # the loss follows from the bins: exp and log would take most of the time
            positive = int(label[i] > 0.0)
            for a in range(n_lanes):
                count[a, positive, bin_of(predicted[i, a])] += h
            continue
        for a in range(n_lanes):
            found[a] = value(loss, np.float64(predicted[i, a]), label[i])
            total[0, a] += h * found[a]
            total[1, a] += h * h * found[a]
            for b in range(a + 1):
                products[a, b] += h * h * found[a] * found[b]


class LaneScores:
    """What is known of the predictions of the first pass; if ``whole``, all of them are judged."""

    def __init__(self, loss: Any, n_lanes: int, *, whole: bool = False) -> None:
        self.loss = loss
        self.ranks = is_classification(loss)
        self.whole = whole
        self.position = np.array([SHORTEST, 0, 0])  # where kernels can change it
        shape = SEGMENTS, n_lanes
        self.weight = np.zeros((SEGMENTS, 2))  # the sums of h and h^2, h being the importance
        self.total = np.zeros((SEGMENTS, 2, n_lanes))
        self.products = np.zeros((*shape, n_lanes))
        self.count = np.zeros((*shape, 2, BINS if self.ranks else 0))

    @property
    def length(self) -> int:
        """The number of examples of a segment."""
        return self.position.item(LENGTH)

    @property
    def examples(self) -> int:
        """The number of examples so far."""
        return self.position.item(EXAMPLES)

    @property
    def done(self) -> bool:
        """Whether no more examples are counted: the first pass is over."""
        return bool(self.position[DONE])

    @done.setter
    def done(self, done: bool) -> None:
        self.position[DONE] = done

    @property
    def full(self) -> bool:
        """Whether segments must be joined before more examples are added."""
        return self.examples == SEGMENTS * self.length and not self.done

    def add(
        self,
        predicted: NDArray[np.float32],
        label: NDArray[np.float32],
        importance: NDArray[np.float32],
    ) -> None:
        """Add examples that were predicted by all lanes, before learning."""
        done, n = 0, len(label)
        while done < n and not self.done:
            if self.full:
                self.join()
            k = self.examples // self.length
            upto = min(n, done + self.length - self.examples % self.length)
            part = slice(done, upto)
            count_examples(
                *(self.loss, predicted[part], label[part], importance[part], self.ranks),
                *(self.weight[k], self.total[k], self.products[k], self.count[k]),
            )
            self.position[EXAMPLES] += upto - done
            done = upto

    def join(self) -> None:
        """Join the segments in pairs."""
        self.position[LENGTH] *= 2
        for array in (self.weight, self.total, self.products, self.count):
            array[: SEGMENTS // 2] = array[::2] + array[1::2]
            array[SEGMENTS // 2 :] = 0

    @property
    def losses(self) -> NDArray[np.float64]:
        """The mean loss of each lane, over the whole pass."""
        return self._losses(0)

    def _losses(self, first: int) -> NDArray[np.float64]:
        total = self.total[first:, 0].sum(0)
        if self.ranks:
            edges = bin_edges()
            centres = (edges[:-1] + edges[1:]) / 2
            scores = np.concatenate([-centres[::-1], centres])
            found = [
                kernels.values(self.loss, scores, np.full(BINS, label, np.float32))
                for label in (-1.0, 1.0)
            ]
            total = (self.count[first:].sum(0) * np.array(found)).sum((1, 2))
        return np.asarray(total / max(float(self.weight[first:, 0].sum()), 1e-300))

    @property
    def aucs(self) -> NDArray[np.float64]:
        """The AUC of each lane over the whole pass; nan if there are not two classes."""
        return self._aucs(0)

    def _aucs(self, first: int) -> NDArray[np.float64]:
        return np.array([auc(lane) for lane in self.count[first:].sum(0)])

    def _first_judged(self, metric: str) -> int:
        """Return the first segment that is judged by this metric."""
        if self.whole:
            return 0
        wanted = max(self.examples / JUDGED, min(AT_LEAST[metric], self.examples))
        return max(int((self.examples - wanted) // self.length), 0)

    def judged(self, metric: str) -> NDArray[np.float64]:
        """Return the AUC, or the mean loss, of each lane over the last part of the pass."""
        first = self._first_judged(metric)
        if metric == "auc":
            return self._aucs(first)
        return self._losses(first)

    def metric(self, rule: Choice) -> str:
        """Return by what lanes are judged: the AUC needs two classes, both seen."""
        if rule.metric == "loss" or not self.ranks or np.isnan(self.judged("auc")).any():
            return "loss"
        return "auc"

    def choose(self, rule: Choice, kept: NDArray[np.int64]) -> int:
        """Return the lane that the rule chooses, given the size of each lane's model."""
        if not self.examples:
            return 0
        metric = self.metric(rule)
        score = self.judged(metric) * (1.0 if metric == "auc" else -1.0)
        if rule.keep is not None:
            return best_within(rule.keep, kept, score)
        score = np.nan_to_num(score, nan=-np.inf)
        best = int(np.argmax(score))
        slack = self._slack(metric, rule.tolerance, best)
        good = score >= score[best] - slack
        least = np.where(good, kept, np.iinfo(np.int64).max)
        return int(np.flatnonzero(least == least.min())[-1])  # of equals, the strongest gravity

    def _slack(self, metric: str, tolerance: float | None, best: int) -> NDArray[np.float64]:
        """Return by how much each lane may be worse than the best."""
        n_lanes = self.total.shape[2]
        if metric == "auc":
            return np.full(n_lanes, 0.002 if tolerance is None else tolerance)
        share = 0.01 if tolerance is None else tolerance
        within = np.full(n_lanes, share * abs(self.judged("loss")[best]))
        return within if self.ranks else np.maximum(within, self._standard_errors(best))

    def _standard_errors(self, best: int) -> NDArray[np.float64]:
        """Return the standard error of the mean of d, each lane's loss less the best one's.

        It is the root of the sum of h^2 (d - mean)^2, by the sum of h, h being the importance.
        """
        first = self._first_judged("loss")
        n, squares = self.weight[first:].sum(0)
        total, weighted = self.total[first:].sum(0)
        if not n:
            return np.zeros(len(total))
        lower = self.products[first:].sum(0)
        products = lower + np.tril(lower, -1).T
        own = np.diag(products)
        mean = (total - total[best]) / n
        apart = own + own[best] - 2.0 * products[best]
        apart += mean * (mean * squares - 2.0 * (weighted - weighted[best]))
        return np.asarray(np.sqrt(np.maximum(apart, 0.0)) / n)

    def state(self) -> dict[str, Any]:
        """Return everything, fit for JSON."""
        arrays = {name: packed(getattr(self, name)) for name in _ARRAYS}
        return {"length": self.length, "examples": self.examples, "done": self.done} | arrays

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        check_scores(state, SHORTEST, SEGMENTS)
        self.position[:] = state["length"], state["examples"], state["done"]
        for name in _ARRAYS:
            array = getattr(self, name)
            array[...] = unpacked(state[name], name, array)


_ARRAYS = ("weight", "total", "products", "count")


def best_within(keep: int, kept: NDArray[np.int64], score: NDArray[np.float64]) -> int:
    """Return the lane of most ``score`` with at most ``keep`` features; the sparsest, if none has.

    >>> best_within(10, np.array([90, 9, 3]), np.array([0.9, 0.8, 0.7]))
    1
    """
    fits = kept <= keep
    if not fits.any():
        return int(np.argmin(kept))
    return int(np.argmax(np.where(fits, np.nan_to_num(score, nan=-np.inf), -np.inf)))


def auc(count: NDArray[np.float64]) -> float:
    """Return the chance that a positive outranks a negative, by their counts in bins of scores."""
    if not count.size:
        return math.nan
    negative, positive = count
    pairs = negative.sum() * positive.sum()
    if not pairs:
        return math.nan
    below = np.cumsum(negative) - negative / 2
    return float((positive * below).sum() / pairs)
