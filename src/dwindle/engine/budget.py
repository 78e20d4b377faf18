"""A budget of live features: which are evicted, by `table.evict`, when there are too many.

The features worth least are evicted, and the others are left alone. `updates.worth` says what a
feature is worth: with truncated gradient, how long its weight would outlast the gravity.

An eviction pulls a weight to zero by a gravity of its own. The regret bound holds for any
gravities, also for those of single features, because T1 acts on each coordinate by itself;
`certificate` reports it. One gravity for all, high enough to stay within the budget, would wear
down the features worth keeping: see docs/budget.md.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import SettingError
from dwindle.engine.table_kernels import BINS, IGNORED_BITS, MAGNITUDE

KEPT = 0.8  # the share of a full budget that an eviction leaves

# The memory of a run in bytes: for the program and the data it reads; and for each live feature,
# its cell and name while learning, then its row in the model and in the file that is written.
FIXED, PER_FEATURE = 500 * 10**6, 300


class Eviction(NamedTuple):
    """The last eviction: after which step, how many steps after the one before, and the limit.

    All features worth less than ``worth`` were evicted.
    """

    step: int = 0
    steps: int = 0
    worth: float = 0.0

    def followed_by(self, step: int, worth: float) -> Self:
        """Return the next eviction, which follows this one."""
        return self._replace(step=step, steps=step - self.step, worth=worth)


def features_within(n_bytes: int) -> int:
    """Return how many live features fit into a run of so much memory."""
    n = (n_bytes - FIXED) // PER_FEATURE
    if n < 1:
        raise SettingError(
            f"memory must be more than {FIXED / 1e6:,.0f} MB, which a run needs to begin with, "
            f"got {n_bytes / 1e6:,.0f} MB"
        )
    return n


def least_worth(count: NDArray[np.int64], most: int) -> float:
    """Return a worth that at most ``most`` cells reach, by `table_kernels.count_by_worth`.

    >>> count = np.zeros(BINS, np.int64)
    >>> count[BINS // 2 + (np.float32([0.5, 1.0, 2.0]).view(np.int32) >> IGNORED_BITS)] = 1
    >>> least_worth(count, 2), least_worth(count, 1)
    (0.5078125, 1.015625)
    """
    above = count.sum() - np.cumsum(count)  # cells in higher bins
    if count.sum() <= most:
        return -np.inf
    last = int(np.argmax(above <= most)) - BINS // 2  # the last bin to evict
    bits = last + 1 << IGNORED_BITS
    return float(np.int32(bits if bits >= 0 else bits ^ MAGNITUDE).view(np.float32))
