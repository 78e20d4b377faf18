"""The table of live features: memory goes with the features alive, not with those ever seen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle import kernels
from dwindle.clock import Clock
from dwindle.names import Names

SMALLEST = 1024  # cells of a new table
LOAD = 0.75  # share of the cells that may be full; see benchmarks/growth.py


class Table:
    """Cells by key, with the names of the features in them.

    ``used`` cells are full, some perhaps with a weight that has come to zero unnoticed. Only when
    the table is about to run full is it swept, and only if more than half of what it may hold is
    still alive does it double: so a sweep visits a bounded number of cells per feature entered.
    """

    def __init__(self, shrinkage: Any, update: Any, clock: Clock) -> None:
        self.shrinkage = shrinkage
        self.update = update
        self.clock = clock
        self.cells = _empty(update, SMALLEST)
        self.names = Names()
        self.used = 0
        self._sweep = kernels.sweep.of(shrinkage, update)
        self._move = kernels.move.of(update)
        self._settle_all = kernels.settle_all.of(shrinkage, update)
        self._weights = kernels.weights.of(shrinkage, update)

    @property
    def room(self) -> int:
        """How many features may still enter."""
        return int(LOAD * len(self.cells)) - self.used

    def make_room(self, n: int) -> None:
        """Sweep, then double until n more features may enter and half of it is free for more."""
        self.sweep()
        n_cells = len(self.cells)
        while self.used + max(self.used, n) > int(LOAD * n_cells):
            n_cells *= 2
        if n_cells > len(self.cells):
            larger = _empty(self.update, n_cells)
            self._move(self.cells, larger)
            self.cells = larger

    def sweep(self) -> None:
        """Forget the features whose weight has come to zero."""
        dropped = np.empty(self.used if len(self.names) else 0, np.uint64)
        self.used, n_dropped = self._sweep(
            self.cells, self.clock.now, self.clock.size, self.shrinkage, self.update, dropped
        )
        self.names.leave(dropped[:n_dropped].tolist())

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


def _empty(update: Any, n_cells: int) -> Any:
    return np.zeros(n_cells, update.cell()).view(np.recarray)
