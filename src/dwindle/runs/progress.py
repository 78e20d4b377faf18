"""What is known of a run while it goes on: every figure measured before learning."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import number, real, whole
from dwindle._base.packing import packed, unpacked
from dwindle._base.text import counted
from dwindle.algorithm.losses import is_classification
from dwindle.engine import kernels
from dwindle.features.batch import Batch
from dwindle.jit.compile import kernel
from dwindle.runs.label_order import LabelOrder
from dwindle.runs.progress_table import Row

BINS = 2**16
FEW = 2  # labels that are counted without sorting
MANY = 10_000  # distinct labels counted one by one; beyond, they are rounded
GOLDEN = (5**0.5 - 1) / 2
ALL_ALIKE = "all labels are the same: there is nothing to tell apart"
NO_BINS = np.empty((2, 0))


class Ranking:
    """The AUC of a stream, computed from counts of predictions in narrow bins of 1 / (1 + exp(-p)).

    Within a bin predictions count as ties, so the error is at most half the chance that a positive
    and a negative share one.
    """

    def __init__(self, count: NDArray[np.float64] | None = None) -> None:
        self.count = np.zeros((2, BINS)) if count is None else count

    def auc(self) -> float:
        """Compute the chance that a positive outranks a negative."""
        filled = np.flatnonzero(self.count.any(axis=0))
        are_few = len(filled) < BINS // 8  # at the beginning, when rows of the table come often
        negative, positive = self.count[:, filled] if are_few else self.count
        pairs = negative.sum() * positive.sum()
        if not pairs:
            return float("nan")
        below = np.cumsum(negative) - negative / 2
        # Not @: the threads of BLAS would spin for a while after it and take a core from us.
        return float((positive * below).sum() / pairs)


class LabelCounts:
    """The total weight of each label, for the best constant prediction."""

    def __init__(self, weight: Mapping[float, float] | None = None) -> None:
        self.weight = dict(weight or {})

    def add(self, label: NDArray[np.float32], importance: NDArray[np.float32]) -> None:
        """Add labels by their importance."""
        known = list(self.weight)[:FEW]
        values, weights = np.array(known, np.float32), np.array([*map(self.weight.get, known)])
        n_others = _weigh(label, importance, values, weights)  # in order, whatever the batches
        self.weight |= zip(known, weights.tolist(), strict=True)
        if not n_others:
            return
        others = (importance > 0) & ~np.isin(label, values)
        label, importance = label[others], importance[others]
        distinct, place = np.unique(label, return_inverse=True)
        total = np.array([self.weight.get(value, 0.0) for value in distinct.tolist()])
        np.add.at(total, place, importance)
        for value, weight in zip(distinct.tolist(), total.tolist(), strict=True):
            if value in self.weight or len(self.weight) < MANY:
                self.weight[value] = weight
            else:
                near = float(f"{value:.3g}")
                self.weight[near] = self.weight.get(near, 0.0) + weight

    def deviation(self) -> float:
        """Return the standard deviation of the labels; 1 if all are the same."""
        if not self.weight:
            return 1.0
        label, weight = np.array([*self.weight]), np.array([*self.weight.values()])
        mean = np.average(label, weights=weight)
        return float(np.sqrt(np.average((label - mean) ** 2, weights=weight))) or 1.0

    def best_constant(self, loss: Any) -> tuple[float, float]:
        """Find the constant with the least mean loss, and that loss, by golden-section search."""
        if not self.weight:
            return 0.0, float("nan")
        label = np.array(list(self.weight), np.float32)
        weight = np.array(list(self.weight.values())) / sum(self.weight.values())
        values = kernels.values.of(loss)

        def mean(constant: float) -> float:
            return float((weight * values(loss, np.full(len(label), constant), label)).sum())

        low, high = min(float(label.min()), -50.0), max(float(label.max()), 50.0)
        while high - low > 1e-9 * max(1.0, abs(low), abs(high)):
            left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            if mean(left) <= mean(right):
                high = right
            else:
                low = left
        middle = (low + high) / 2
        return middle, mean(middle)


@kernel
def _weigh(label: Any, importance: Any, value: Any, weight: Any) -> int:
    """Add the weights of labels to those of known values; returns how many labels have none.

    Without a branch for each label, which cannot be predicted.
    """
    n_others = 0
    for i in range(len(label)):
        other = importance[i] > 0.0
        for k in range(len(value)):
            is_it = label[i] == value[k]
            weight[k] += importance[i] if is_it else 0.0
            other &= not is_it
        n_others += other
    return n_others


class Figures(NamedTuple):
    """How good the predictions of a whole pass were, each made before learning from its example.

    Only those of the first pass are about examples never seen before.
    """

    examples: int
    weight: float  # the sum of their importances
    loss: float
    auc: float
    accuracy: float = float("nan")  # of several classes
    late_loss: float = float("nan")  # of the later half or more of the pass


class Progress:
    """Counts of all examples so far, and the mean loss and AUC of those of this pass."""

    def __init__(self, loss: Any, *, ranks: bool | None = None) -> None:
        self.loss = loss
        ranks = is_classification(loss) if ranks is None else ranks
        self.ranking = Ranking() if ranks else None
        self.labels = LabelCounts()
        self.order = LabelOrder()
        self.examples = 0
        self.feature_count = 0
        self.unlabelled = 0  # examples, or of importance 0
        self.skipped = 0
        self.total, self.weight = 0.0, 0.0  # of the losses, and of the examples they are of
        self._marks = [(0.0, 0.0)]  # what these were at the last rows of the table, up to three
        self._tally = kernels.tally.of(loss)

    def add(
        self,
        batch: Batch,
        prediction: NDArray[np.float64],
        label: NDArray[np.float32],
        importance: NDArray[np.float32],
    ) -> None:
        """Add examples that were predicted, then learned from."""
        self.count(batch)
        self.measure(prediction, label, importance)

    def count(self, batch: Batch) -> None:
        """Count examples; `measure` adds their losses, perhaps on another thread."""
        self.examples += batch.n_examples
        self.feature_count += len(batch.key)

    def measure(
        self,
        prediction: NDArray[np.float64],
        label: NDArray[np.float32],
        importance: NDArray[np.float32],
    ) -> None:
        """Add the losses and labels of examples that were counted."""
        count = NO_BINS if self.ranking is None else self.ranking.count
        self.total, self.weight = self._tally(
            self.loss, prediction, label, importance, self.total, self.weight, count
        )
        self._note(label, importance)

    def _note(self, label: NDArray[np.float32], importance: NDArray[np.float32]) -> None:
        """Note the labels of the next examples."""
        self.labels.add(label, importance)
        self.order.add(label, importance)

    def absorb(self, other: Self) -> None:
        """Add what is known of other examples; which came first is not known any more."""
        for name in ("examples", "feature_count", "unlabelled", "skipped", "total", "weight"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for label, weight in other.labels.weight.items():
            self.labels.weight[label] = self.labels.weight.get(label, 0.0) + weight
        if self.ranking is not None and other.ranking is not None:
            self.ranking.count += other.ranking.count

    @property
    def mean_loss(self) -> float:
        """The mean loss so far."""
        return self.total / self.weight if self.weight else float("nan")

    @property
    def accuracy(self) -> float:
        """The accuracy so far, of several classes; two have an AUC."""
        return float("nan")

    def doubts(self) -> Iterator[str]:
        """Say what is wrong with the labels of the first pass, if anything is."""
        if self.unlabelled:
            n = f"{self.unlabelled:,} of {counted(self.examples, 'example')}"
            yield f"{n} have no label, or importance 0: nothing is learned from them"
        if self.has_one_class:
            yield ALL_ALIKE
        if fault := self.order.fault(self.labels.weight):
            yield fault

    @property
    def has_one_class(self) -> bool:
        """Whether labels are classes and only one of them was there."""
        return is_classification(self.loss) and len(self.labels.weight) == 1

    def best_constant_loss(self) -> float:
        """Return the least loss that a constant has."""
        return self.labels.best_constant(self.loss)[1]

    @property
    def auc(self) -> float:
        """The AUC so far, where there is one."""
        return float("nan") if self.ranking is None else self.ranking.auc()

    def row(self, alive: int, seen: int, number: int, passes: int) -> Row:
        """Return a line of the table, in pass ``number`` of ``passes``."""
        auc = None if self.ranking is None else self.auc
        figures = self.examples, self.mean_loss, self.since_last(), auc, alive, seen
        return Row(*figures, number, passes, self.accuracy)

    def next_pass(self) -> Figures:
        """Begin to measure anew, for the next pass; return the figures of this one."""
        late = self._since(self._marks[0])
        figures = Figures(self.examples, self.weight, self.mean_loss, self.auc, self.accuracy, late)
        self.total, self.weight, self._marks = 0.0, 0.0, [(0.0, 0.0)]
        if self.ranking is not None:
            self.ranking = Ranking()
        return figures

    def since_last(self) -> float:
        """Return the mean loss since the last call."""
        found = self._since(self._marks[-1])
        self._marks = [*self._marks[-2:], (self.total, self.weight)]
        return found

    def _since(self, mark: tuple[float, float]) -> float:
        total, weight = self.total - mark[0], self.weight - mark[1]
        return total / weight if weight else float("nan")

    def state(self) -> dict[str, Any]:
        """Return everything, fit for JSON."""
        ranks = None if self.ranking is None else packed(self.ranking.count)
        return {
            "examples": self.examples,
            "feature_count": self.feature_count,
            "unlabelled": self.unlabelled,
            "skipped": self.skipped,
            "total": self.total,
            "weight": self.weight,
            "marks": self._marks,
            "labels": list(self.labels.weight.items()),
            "order": self.order.state(),
            "ranking": ranks,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        # An earlier version does not count the unlabelled.
        for name in ("examples", "feature_count", "skipped", "unlabelled"):
            setattr(self, name, whole(state.get(name, 0), name))
        self.total, self.weight = (real(state[name], name) for name in ("total", "weight"))
        marks = state.get("marks") or [state["since"]]  # of an earlier version
        self._marks = [(real(total, "marks"), real(weight, "marks")) for total, weight in marks]
        self.labels = LabelCounts(
            {number(y, "a label"): number(w, "its weight", 0.0) for y, w in state["labels"]}
        )
        self.order = LabelOrder.of(state.get("order", [0, 0, 0, None]))
        if self.ranking is not None:
            self.ranking = Ranking(unpacked(state["ranking"], "ranking", self.ranking.count))
