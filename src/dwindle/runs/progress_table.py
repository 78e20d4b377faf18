"""The table that is shown while learning.

It has a line whenever the number of examples has doubled, and one at the end of each pass.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from dwindle.features.batch import Batch

NAMES = ("examples", "loss", "since last", "AUC", "alive", "seen")
WIDE = (12, 10, 10, 8, 11, 12)  # columns of each
NARROW = (8, 8, 10, 8, 8, 8)


class Row(NamedTuple):
    """A line of the table; loss and AUC are of this pass, measured before learning.

    Where the terminal has too few columns for the table, it is narrower, and fits 60.
    """

    examples: int
    loss: float
    since_last: float
    auc: float | None  # None where there is none: of numbers, and of several classes
    alive: int
    seen: int
    pass_number: int = 1
    passes: int = 1
    accuracy: float = math.nan  # of several classes, which have no AUC

    def headings(self, columns: int | None = None) -> str:
        """Return the line above the table, for a terminal of so many columns."""
        names = (name if name != "AUC" else self._figure[0] for name in NAMES)
        return self._joined("pass", names, self._widths(columns))

    def line(self, columns: int | None = None) -> str:
        """Return the line, for a terminal of so many columns."""
        widths = self._widths(columns)
        count = _short if widths is NARROW else "{:,}".format
        losses = (
            _loss(*each) for each in zip((self.loss, self.since_last), widths[1:], strict=False)
        )
        figure = self._figure[1]
        shown = None if figure is None else "" if math.isnan(figure) else f"{figure:.4f}"
        cells = (count(self.examples), *losses, shown, count(self.alive), f"~{count(self.seen)}")
        return self._joined(str(self.pass_number), cells, widths)

    def __str__(self) -> str:
        return self.line()

    @property
    def _figure(self) -> tuple[str | None, float | None]:
        """The name and the value of the figure beside the loss; None if there is none."""
        if not math.isnan(self.accuracy):
            return "accuracy", self.accuracy
        return ("AUC", self.auc) if self.auc is not None else (None, None)

    def _widths(self, columns: int | None) -> tuple[int, ...]:
        needed = sum(WIDE) + len(WIDE) - 1 + (5 if self.passes > 1 else 0)
        return WIDE if columns is None or columns >= needed else NARROW

    def _joined(self, number: str, cells: Iterable[str | None], widths: tuple[int, ...]) -> str:
        """Put cells into their columns, after that of the pass if there are several."""
        columns = zip(cells, widths, strict=True)
        row = " ".join(f"{cell:>{width}}" for cell, width in columns if cell is not None)
        return f"{number:>4} {row}" if self.passes > 1 else row


def extended(curve: Mapping[str, list[Any]], row: Row) -> dict[str, list[Any]]:
    """Return a learning curve, the columns of rows that were told, with one more.

    >>> extended({}, Row(2, 0.5, 0.4, None, 3, 4))
    {'examples': [2], 'loss': [0.5], 'since_last': [0.4], 'alive': [3], 'seen': [4], 'pass': [1]}
    """
    told = row._asdict() | {"pass": row.pass_number}
    del told["pass_number"], told["passes"]
    if row.auc is None:
        del told["auc"]
    if math.isnan(row.accuracy):
        del told["accuracy"]
    return {
        name: [*curve.get(name, ()), None if isinstance(v, float) and math.isnan(v) else v]
        for name, v in told.items()
    }


def _loss(value: float, width: int) -> str:
    text = f"{value:.4f}"
    return text if len(text) <= width else f"{value:.3e}"


def _short(n: int) -> str:
    """Write a number in at most seven characters.

    >>> [_short(n) for n in (99_999, 123_456, 1_234_567, 2_000_000_000)]
    ['99,999', '123k', '1.23M', '2.00G']
    """
    if n < 100_000:
        return f"{n:,}"
    size, unit = (1e3, "k") if n < 1e6 else (1e6, "M") if n < 1e9 else (1e9, "G")
    return f"{n / size:.3g}{unit}" if unit == "k" else f"{n / size:.2f}{unit}"


def cut(batch: Batch, done: int, due: int) -> Iterator[Batch]:
    """Cut the batch where a row is due: batching never changes a weight.

    ``done`` examples went before; the next row is due at ``due`` of them, then at its doublings.
    """
    first = 0
    while due - done <= batch.n_examples:
        yield batch.rows(first, due - done)
        first, due = due - done, 2 * due
    if first < batch.n_examples:
        yield batch.rows(first, batch.n_examples)
