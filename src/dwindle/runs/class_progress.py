"""What is known of a run of several classes while it goes on."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import number, numbers
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest, against_rest
from dwindle.runs.class_metrics import best_constant_loss
from dwindle.runs.progress import NO_BINS, Figures, Progress


class ClassProgress(Progress):
    """Counts and figures of several classes: labels are their numbers, predictions have columns.

    The loss is that of each class against the rest, added up; the accuracy is of the class whose
    score is highest.
    """

    def __init__(self, loss: Any, classes: int) -> None:
        super().__init__(loss, ranks=False)
        self._totals = [0.0] * classes  # of losses, by class: the same in any batching
        self.right = 0.0  # the weight of examples whose class was told

    def measure(
        self,
        prediction: NDArray[np.float64],
        label: NDArray[np.float32],
        importance: NDArray[np.float32],
    ) -> None:
        """Add the losses and labels of examples that were counted."""
        weight = self.weight
        for k, total in enumerate(self._totals):
            own = np.ascontiguousarray(prediction[:, k])
            self._totals[k], self.weight = self._tally(
                *(self.loss, own, against_rest(label, k), importance, total, weight, NO_BINS)
            )
        self.total = sum(self._totals)
        self.right += float(importance[prediction.argmax(axis=1) == label].sum(dtype=np.float64))
        self._note(label, importance)

    def absorb(self, other: Self) -> None:
        """Add what is known of other examples."""
        super().absorb(other)
        self._totals = [a + b for a, b in zip(self._totals, other._totals, strict=True)]
        self.right += other.right

    @property
    def accuracy(self) -> float:
        """The share of examples whose class was told."""
        return self.right / self.weight if self.weight else 0.0

    def best_constant_loss(self) -> float:
        """Return the least loss that constants have."""
        weight = [self.labels.weight.get(float(k), 0.0) for k in range(len(self._totals))]
        total = sum(weight)
        return best_constant_loss(self.loss, [each / total for each in weight])

    def next_pass(self) -> Figures:
        """Begin to measure anew, for the next pass; return the figures of this one."""
        figures = super().next_pass()
        self._totals, self.right = [0.0] * len(self._totals), 0.0
        return figures

    def state(self) -> dict[str, Any]:
        """Return everything, fit for JSON."""
        return super().state() | {"totals": self._totals, "right": self.right}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`."""
        super().restore(state)
        self._totals = numbers(state["totals"], "the losses of classes", len(self._totals))
        self.right = number(state["right"], "the examples whose class was told", 0.0)


def progress_of(learner: Learner | OneVsRest) -> Progress:
    """Begin to measure what a learner predicts."""
    if isinstance(learner, OneVsRest):
        return ClassProgress(learner.loss, len(learner.members))
    return Progress(learner.loss)
