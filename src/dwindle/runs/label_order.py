"""Whether labels come in an order that an online learner suffers from."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import number, whole
from dwindle._base.text import counted

IN_MEMORY = 10**7  # examples that --shuffle is advised for
FEW = 100  # labels, of which nothing can be said
PART = 0.05  # of the usual changes, below which labels are sorted


class LabelOrder:
    """Counts how often a label is larger or smaller than the one before.

    In a random order labels change n (1 - sum of p_k^2) times, p_k being the share of each value.
    Labels of few values are sorted, or in long runs, if they change far less often. Numbers that
    hardly repeat are sorted if they nearly always rise, or nearly always fall.

    >>> order = LabelOrder()
    >>> order.add(np.repeat(np.float32([-1, 1]), 200), np.ones(400, np.float32))
    >>> order.is_sorted({-1.0: 200.0, 1.0: 200.0}), order.changes
    (True, 1)
    """

    def __init__(
        self, n: int = 0, rises: int = 0, falls: int = 0, last: float | None = None
    ) -> None:
        self.n, self.rises, self.falls, self.last = n, rises, falls, last

    @classmethod
    def of(cls, state: Any) -> "LabelOrder":
        """Go on from `state`."""
        n, rises, falls, last = state
        for each in (n, rises, falls):
            whole(each, "the order of labels")
        return cls(n, rises, falls, last if last is None else number(last, "the last label"))

    @property
    def changes(self) -> int:
        """How often a label was another than the one before."""
        return self.rises + self.falls

    def add(self, label: NDArray[np.float32], importance: NDArray[np.float32]) -> None:
        """Add labels, in order; those of importance 0 are not there."""
        counts = importance > 0
        label = label if counts.all() else label[counts]
        if not len(label):
            return
        first = label[0] if self.last is None else np.float32(self.last)
        step = np.diff(label, prepend=first)
        self.rises += int(np.count_nonzero(step > 0))
        self.falls += int(np.count_nonzero(step < 0))
        self.n, self.last = self.n + len(label), float(label[-1])

    def usual(self, weight: Mapping[float, float]) -> float:
        """Return how often labels of these weights would change in a random order."""
        share = np.array(list(weight.values())) / max(sum(weight.values()), 1e-300)
        return float(self.n * (1.0 - (share**2).sum()))

    def is_sorted(self, weight: Mapping[float, float]) -> bool:
        """Tell whether labels of these weights came sorted, or in long runs."""
        usual = self.usual(weight)
        if usual < FEW:
            return False
        one_way = self._goes_one_way and self.changes > usual / 2
        return one_way or self.changes < PART * usual

    @property
    def _goes_one_way(self) -> bool:
        return min(self.rises, self.falls) < PART * self.changes

    def fault(self, weight: Mapping[float, float]) -> str:
        """Say what is wrong with the order, and how to mend it; "" if nothing is."""
        if not self.is_sorted(weight):
            return ""
        shuffle = f", or train with --shuffle {self.n}" if self.n <= IN_MEMORY else ""
        usual = self.usual(weight)
        if self.changes < PART * usual:
            why = f"{counted(self.changes, 'change')} in {self.n:,} examples; at random it would be"
            why = f"{why} some {usual:,.0f}"
        else:
            way, times = ("fall", self.falls) if self.falls > self.rises else ("rise", self.rises)
            why = f"they {way} {times:,} times in {self.n:,} examples; at random it would be"
            why = f"{why} some {usual / 2:,.0f}"
        return (
            f"labels come sorted ({why}), and what was learned first is forgotten: "
            f"shuffle the data{shuffle}"
        )

    def state(self) -> list[float | None]:
        """Return everything, fit for JSON."""
        return [self.n, self.rises, self.falls, self.last]
