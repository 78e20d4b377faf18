"""The table that is shown while learning.

It has a line whenever the number of examples has doubled, and one at the end of each pass.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from dwindle.features.batch import Batch

HEADINGS = f"{'examples':>12} {'loss':>10} {'since last':>10} {'AUC':>8} {'alive':>11} {'seen':>12}"
OF_CLASSES = HEADINGS.replace("     AUC", "accuracy")


def headings(passes: int, *, classes: bool = False) -> str:
    """Return the line above the table; ``classes``, if there are several."""
    named = OF_CLASSES if classes else HEADINGS
    return f"pass {named}" if passes > 1 else named


class Row(NamedTuple):
    """A line of the table; loss and AUC are of this pass, measured before learning."""

    examples: int
    loss: float
    since_last: float
    auc: float
    alive: int
    seen: int
    pass_number: int = 1
    passes: int = 1
    accuracy: float = math.nan  # of several classes, which have no AUC

    def headings(self) -> str:
        """Return the line above the table."""
        return headings(self.passes, classes=not math.isnan(self.accuracy))

    def __str__(self) -> str:
        auc = self.auc if math.isnan(self.accuracy) else self.accuracy
        shown = " " * 8 if math.isnan(auc) else f"{auc:8.4f}"
        number = f"{self.pass_number:4} " if self.passes > 1 else ""
        return (
            f"{number}{self.examples:12,} {self.loss:10.4f} {self.since_last:10.4f} {shown} "
            f"{self.alive:11,} {'~' + format(self.seen, ','):>12}"
        )


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
