"""The table of live features: it holds the features alive, not those ever seen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.clock import Clock
from dwindle.engine import kernels
from dwindle.engine.budget import KEPT, Cut, edge
from dwindle.engine.cardinality import Distinct
from dwindle.engine.name_table import Names
from dwindle.features.batch import Batch

SMALLEST = 1024  # cells of a new table
CACHE_LINE, HUGE_PAGE = 64, 2**21  # bytes
# The share of the cells that may be full. A roomy table is faster, a large one should not be larger
# than it must; see benchmarks/growth.py.
ROOMY, DENSE = 0.5, 0.75
LARGE = 2**18  # cells
UNBOUNDED = 2**62  # features


class Table:
    """Cells by key, with the names of the features in them.

    ``used`` cells are full, some perhaps with a weight that has come to zero unnoticed. Only when
    the table is about to run full is it swept, and only if more than half of what it may hold is
    still alive does it double: so a sweep visits a bounded number of cells per feature entered.

    It never holds more than ``max_live`` features: see `budget`.
    """

    def __init__(
        self, shrinkage: Any, update: Any, clock: Clock, max_live: int | None = None
    ) -> None:
        self.max_live = UNBOUNDED if max_live is None else max_live
        self.last_cut = Cut()
        self.shrinkage = shrinkage
        self.update = update
        self.clock = clock
        self._hold(empty_cells(update, SMALLEST))
        self.names = Names()
        self.seen = Distinct()  # features that ever entered
        self.used = 0
        self.peak = 0  # the most features the table ever held at once
        self._sweep = kernels.sweep.of(shrinkage, update)
        self._move = kernels.move.of(update)
        self._settle_all = kernels.settle_all.of(shrinkage, update)
        self._weights = kernels.weights.of(shrinkage, update)
        self._count_by_worth = kernels.count_by_worth.of(update)

    @property
    def room(self) -> int:
        """How many features may still enter."""
        return self.capacity - self.used

    def enter(self, batch: Batch, fresh: NDArray[np.int64]) -> None:
        """The features at these places of the batch have been given cells."""
        self.entered(len(fresh))
        self.seen.observe(batch.key[fresh])
        if batch.names is not None:
            self.names.enter(batch.key, batch.names, fresh)

    def entered(self, n: int) -> None:
        """So many features have been given cells."""
        self.used += n
        self.peak = max(self.peak, self.used)

    def make_room(self, n: int) -> None:
        """N more features may enter, and many more after them.

        Sweeps, then doubles until half of the table is free; at the budget, a fifth.
        """
        if self.capacity < self.max_live:
            self.sweep()
            wanted = min(self.used + max(self.used, n), self.max_live)
            n_cells = n_cells_for(wanted, len(self.cells))
            if n_cells > len(self.cells):
                larger = empty_cells(self.update, n_cells)
                self._move(self.cells, larger)
                self._hold(larger)
        if n > self.room:
            self.cut(min(int(KEPT * self.max_live), self.max_live - n))

    def cut(self, most: int) -> None:
        """At most so many features are left: those that are worth most."""
        count = np.zeros(kernels.BINS, np.int64)
        clock = self.clock
        self._count_by_worth(self.cells, clock.now, clock.size, self.update, count)
        least = edge(count, most)
        self.sweep(least)
        self.last_cut = self.last_cut.followed_by(clock.n_steps, least)

    def fill(self, full: Any, n_cells: int) -> None:
        """The table has so many cells, and these of them are full."""
        self._hold(empty_cells(self.update, n_cells))
        self._move(full, self.cells)
        self.used = len(full)

    def _hold(self, cells: Any) -> None:
        """These are the cells; another thread finds them with the number that may be full."""
        may_be_full = min(capacity(len(cells)), self.max_live)
        self.cells, self.capacity = cells, may_be_full

    def sweep(self, least: float = -np.inf) -> None:
        """Forget the features whose weight has come to zero, and those worth less than that."""
        clock = self.clock
        living = kernels.Living.room_for(len(self.cells), clock.n_steps)
        self.used = self._sweep(
            self.cells, clock.now, clock.size, self.shrinkage, self.update, least, living
        )
        self.names.sweep(living, self.used)

    def settle(self, now: float, size: float) -> None:
        """Every weight has felt the clock up to ``now`` at this ``size``, which may change then."""
        self._settle_all(self.cells, now, size, self.shrinkage, self.update)

    def weights(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """The keys and weights of the features whose weight is not zero."""
        key, weight = np.empty(self.used, np.uint64), np.empty(self.used)
        n = self._list(key, weight)
        return key[:n], weight[:n]

    def __len__(self) -> int:
        return self._list(np.empty(0, np.uint64), np.empty(0))

    def _list(self, key: NDArray[np.uint64], weight: NDArray[np.float64]) -> int:
        clock = self.clock
        n: int = self._weights(
            self.cells,
            clock.now,
            clock.size,
            clock.n_steps,
            self.shrinkage,
            self.update,
            key,
            weight,
        )
        return n


def n_cells_for(n_features: int, n_cells: int = SMALLEST) -> int:
    """The size of a table that may hold so many features, ``n_cells`` or a doubling of it."""
    while n_features > capacity(n_cells):
        n_cells *= 2
    return n_cells


def capacity(n_cells: int) -> int:
    """How many features may be in a table of this size."""
    return int((ROOMY if n_cells < LARGE else DENSE) * n_cells)


def empty_cells(update: Any, n_cells: int) -> Any:
    """Cells of zeros. No cell straddles two cache lines, and a large table can have huge pages.

    A plain structured array: with a recarray each call of a kernel takes 8 us longer.
    """
    n_bytes = n_cells * update.cell().itemsize
    boundary = HUGE_PAGE if n_bytes >= HUGE_PAGE else CACHE_LINE
    raw = np.zeros(n_bytes + boundary, np.uint8)
    begin = -raw.ctypes.data % boundary
    return raw[begin : begin + n_bytes].view(update.cell())
