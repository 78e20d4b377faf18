"""What estimators learn from, pass after pass: the rows of a matrix, or files."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import errors_at
from dwindle._base.notes import warn
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.data.sources import size
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.run_data import Passes

ROWS = 2**14  # of a matrix that all learners go through before the next ones


class Examples(NamedTuple):
    """A batch with labels as a learner needs them, and what an error calls its i-th example."""

    batch: Batch
    place: Callable[[int], str]


class Data(Protocol):
    """Examples to learn from, as often as wanted, and examples held out."""

    @property
    def name(self) -> str:
        """What messages call the data."""

    @property
    def share(self) -> float | None:
        """How much of a pass has been yielded; None if that cannot be known."""

    def learned(self, more: bool) -> Iterator[Examples]:
        """Yield the examples of a pass; ``more`` passes may follow."""

    def held(self) -> Iterator[Examples] | None:
        """Yield the examples to measure on; None if none are held out."""

    def everything(self) -> Iterator[Batch]:
        """Yield the examples of a pass, in any order, to look at beforehand."""

    def check(self, learner: Learner) -> None:
        """Refuse, before learning, labels that the learner cannot use."""


class MatrixRows:
    """The rows of a matrix: in their order or, in each pass anew, in a random one.

    ``holdout`` n holds out every n-th row. ``number`` is what an error calls each row.
    """

    def __init__(
        self,
        batch: Batch,
        number: NDArray[np.int64],
        holdout: int | None = None,
        shuffled: Callable[[int], NDArray[np.int64]] | None = None,
    ) -> None:
        self._batch, self._number, self._shuffled = batch, number, shuffled
        self._held: Batch | None = None
        self.share: float | None = 0.0
        if holdout is not None:
            held = np.arange(1, batch.n_examples + 1) % holdout == 0
            self._held, self._batch = batch.only(held), batch.only(~held)
            self._held_number, self._number = number[held], number[~held]

    @property
    def name(self) -> str:
        """What messages call the data."""
        return "X"

    def everything(self) -> Iterator[Batch]:
        """Yield all rows."""
        yield self._batch

    def check(self, learner: Learner) -> None:
        """Refuse all rows if one has a label that the loss is not defined for."""
        with errors_at(self._called(self._number)):
            learner.checked_labels(self._batch)

    def learned(self, more: bool = False) -> Iterator[Examples]:  # noqa: ARG002  (as files do)
        """Yield the rows, some at a time: to reorder all of them would copy the matrix."""
        n = self._batch.n_examples
        order = None if self._shuffled is None else self._shuffled(n)
        for i in range(0, n, ROWS):
            last = min(i + ROWS, n)
            self.share = last / n
            if order is None:
                yield Examples(self._batch.rows(i, last), self._called(self._number[i:last]))
            else:
                some = order[i:last]
                yield Examples(self._batch.take(some), self._called(self._number[some]))

    @staticmethod
    def _called(number: NDArray[np.int64]) -> Callable[[int], str]:
        return lambda k: f"row {number[k]}"

    def held(self) -> Iterator[Examples] | None:
        """Yield the rows held out, if any are."""
        return (
            None
            if self._held is None
            else iter([Examples(self._held, self._called(self._held_number))])
        )


class FileExamples:
    """The examples of files, as ``dwindle train`` reads them; ``labels`` says what labels mean."""

    def __init__(self, data: Passes, labels: Labels, loss: Any, *, skip_bad: bool) -> None:
        self._data, self._labels, self._loss, self._skip_bad = data, labels, loss, skip_bad
        self._decided = False
        self._size = size(data.paths)
        self.share: float | None = None

    @property
    def name(self) -> str:
        """What messages call the data."""
        return " ".join(self._data.paths)

    def everything(self) -> Iterator[Batch]:
        """Yield the examples, read once more."""
        return (self._examples(parsed).batch for parsed in self._data.read_apart())

    def check(self, learner: Learner) -> None:
        """Refuse nothing: what is wrong shows while files are read."""

    def learned(self, more: bool) -> Iterator[Examples]:
        """Yield the examples, a block of the file at a time, from the first with a label on."""
        for parsed in self._data.learned(more):
            parsed.n_bad(skip_bad=self._skip_bad)
            self.share = parsed.end / self._size if self._size else None
            if not self._decided and self._labels.found(parsed.batch):
                self._labels.decide(parsed, self._loss, warn)
                self._decided = True
            if self._decided:
                yield self._examples(parsed)

    def held(self) -> Iterator[Examples] | None:
        """Yield the examples held out, if any are."""
        held = self._data.holdout
        return None if held is None else map(self._examples, held.examples.again())

    def _examples(self, parsed: Parsed) -> Examples:
        parsed.n_bad(skip_bad=self._skip_bad)
        return Examples(self._labels.learned(parsed, self._loss), parsed.place)
