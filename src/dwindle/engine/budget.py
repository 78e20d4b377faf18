"""A budget of live features: which of them go when there are too many.

Those go that are worth least, and the others are left alone. What is worth least, `updates.worth`
says: with truncated gradient, what would have died first.

There each is pulled to zero by a gravity of its own. The regret bound holds for any gravities,
those of single features too, because T1 acts on each coordinate by itself: `certificate` reports
it. One gravity for all, high enough to stay within the budget, would wear down what is worth
keeping: see docs/budget.md.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import SettingError
from dwindle.engine.kernels import ALIKE, BINS, MAGNITUDE

KEPT = 0.8  # of a budget that was used up; the rest is free for features to come

# The memory of a run, in bytes: the program and the data in its hands; and for each live feature,
# its cell and name while learning, then its place in the model and in the file that is written.
ALWAYS, EACH = 500 * 10**6, 250


class Cut(NamedTuple):
    """The last time that features had to go: after which step, and how many steps after the last.

    All that were worth less than ``worth`` went.
    """

    step: int = 0
    steps: int = 0
    worth: float = 0.0

    def followed_by(self, step: int, worth: float) -> Self:
        """The next one."""
        return self._replace(step=step, steps=step - self.step, worth=worth)


def features_within(n_bytes: int) -> int:
    """How many features may live in a run that has so much memory."""
    n = (n_bytes - ALWAYS) // EACH
    if n < 1:
        raise SettingError(
            f"memory must be more than {ALWAYS / 1e6:,.0f} MB, which a run needs to begin with, "
            f"got {n_bytes / 1e6:,.0f} MB"
        )
    return n


def edge(count: NDArray[np.int64], most: int) -> float:
    """A worth that at most so many of the cells reach, which `kernels.count_by_worth` counted.

    >>> count = np.zeros(BINS, np.int64)
    >>> count[BINS // 2 + (np.float32([0.5, 1.0, 2.0]).view(np.int32) >> ALIKE)] = 1
    >>> edge(count, 2), edge(count, 1)
    (0.5078125, 1.015625)
    """
    above = count.sum() - np.cumsum(count)  # cells in higher bins
    if count.sum() <= most:
        return -np.inf
    last = int(np.argmax(above <= most)) - BINS // 2  # the last bin that goes
    bits = last + 1 << ALIKE
    return float(np.int32(bits if bits >= 0 else bits ^ MAGNITUDE).view(np.float32))
