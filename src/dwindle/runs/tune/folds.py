"""The folds of a cross-validation.

Folds are taken in turn: example i is held out of fold i modulo k. What is learned from keeps the
order of the data, so that each fold is trained as ``dwindle train`` would train on it.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.features.batch import Batch


class Folds:
    """Cross-validation folds: the examples to learn from and those held out of each."""

    def __init__(self, examples: Sequence[Batch], folds: int) -> None:
        self._examples, self.n = examples, folds
        self._first = np.cumsum([0, *(batch.n_examples for batch in examples)])
        self.n_examples = int(self._first[-1])
        if self.n_examples < folds:
            raise DataError(f"there are {self.n_examples} examples, too few for {folds} folds")

    def numbered(self) -> Iterator[tuple[Batch, NDArray[np.int64]]]:
        """Yield the examples in order, with the fold that each is held out of."""
        for first, batch in zip(self._first[:-1], self._examples, strict=True):
            yield batch, np.arange(first, first + batch.n_examples) % self.n

    def predicted(
        self, predict: Callable[[Batch], NDArray[np.float64]], folds: Sequence[int]
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.float64]]]:
        """Yield predictions, labels and weights of what each of these folds holds out."""
        parts = []
        for batch, of in self.numbered():
            held = np.isin(of, folds) & (batch.importances() > 0)
            some = batch if held.all() else batch.only(held)
            parts.append((predict(some), some.label, some.importances(), of[held]))
        p, label, weight, of = (np.concatenate(each) for each in zip(*parts, strict=True))
        for fold in folds:
            those = of == fold
            if not those.any():
                raise DataError(f"fold {fold} has no labelled examples: take fewer folds")
            yield p[those], label[those], weight[those].astype(np.float64)


def without(batch: Batch, held: NDArray[np.bool_]) -> Batch:
    """Return a batch in which what is held out has importance 0."""
    return batch._replace(importance=np.where(held, np.float32(0.0), batch.importances()))
