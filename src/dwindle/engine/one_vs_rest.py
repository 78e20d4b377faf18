"""Several classes: a learner for each, which go through the data together."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch


def against_rest(label: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Relabel for class k: +1 for its own examples, -1 for all others."""
    # Quicker than `where`, which has a branch for each label.
    return (label == np.float32(k)) * np.float32(2) - np.float32(1)


class OneVsRest:
    """A learner for each class, that tells its own examples from the rest, in one walk.

    Labels are the numbers of classes, from 0 on. The weights of class k are those, to the bit, of a
    learner of two classes that learned from the same examples, labelled by `against_rest`.

    >>> learners = OneVsRest([Learner() for _ in range(3)])
    >>> rows = [{"red": 1}, {"green": 1}, {"blue": 1}]
    >>> _ = learners.learn(Batch.from_dicts(rows, [0, 1, 2]))
    >>> learners.predict(Batch.from_dicts(rows)).argmax(axis=1).tolist()
    [0, 1, 2]
    """

    def __init__(self, members: Sequence[Learner]) -> None:
        self.members = list(members)

    def __len__(self) -> int:
        """Count the live weights of all classes."""
        return sum(map(len, self.members))

    @property
    def loss(self) -> Any:
        """The loss of each learner."""
        return self.members[0].loss

    @property
    def max_live(self) -> int | None:
        """The most weights that may be alive at once, those of all classes together."""
        most = self.members[0].max_live
        return None if most is None else most * len(self.members)

    @property
    def n_steps(self) -> int:
        """The number of examples learned from so far."""
        return self.members[0].n_steps

    @property
    def n_seen(self) -> int:
        """An estimate of the features seen so far."""
        return max(learner.n_seen for learner in self.members)

    @property
    def peak_live(self) -> int:
        """The most weights alive at once, added up over the classes."""
        return sum(learner.peak_live for learner in self.members)

    def settings(self) -> dict[str, Any]:
        """Describe the settings of each learner, which are the same."""
        return self.members[0].settings()

    def eviction_report(self) -> dict[str, float]:
        """Describe the severest of the last evictions of the classes."""
        found = [report for each in self.members if (report := each.eviction_report())]
        return max(found, key=lambda report: tuple(report.values())) if found else {}

    def checked_labels(self, batch: Batch) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the labels and importances, if all labels are numbers of classes."""
        if batch.label is None:
            raise DataError("there is nothing to learn: the batch has no labels")
        importance = batch.importances()
        known = np.isin(batch.label, np.arange(len(self.members), dtype=np.float32))
        strange = ~known & (importance > 0)
        if strange.any():
            i = int(np.argmax(strange))
            most = len(self.members) - 1
            raise DataError(f"expected a class from 0 to {most}, got {batch.label[i]:g}", i)
        return batch.label, importance

    def learn(self, batch: Batch) -> NDArray[np.float64]:
        """Predict, then learn from, each example; return a column of predictions for each class."""
        label, _ = self.checked_labels(batch)
        found = (
            learner.learn(batch._replace(label=against_rest(label, k)))
            for k, learner in enumerate(self.members)
        )
        return np.column_stack(list(found))

    def predict(self, batch: Batch) -> NDArray[np.float64]:
        """Predict each example, before any link; returns a column for each class."""
        return np.column_stack([learner.predict(batch) for learner in self.members])

    def next_pass(self) -> None:
        """Begin a new pass over the data."""
        for learner in self.members:
            learner.next_pass()

    def cooldown(self, n_steps: int = 1) -> None:
        """Take steps without examples: gravity pulls, nothing is learned."""
        for learner in self.members:
            learner.cooldown(n_steps)

    @contextmanager
    def after_cooldown(self, n_steps: int) -> Iterator[Self]:
        """Yield the learners as `cooldown` would leave them, to look at; then undo it."""
        with ExitStack() as undone:
            cooled = [undone.enter_context(each.after_cooldown(n_steps)) for each in self.members]
            yield type(self)(cooled)
