"""The table of live features: a hash table of cells that forgets features whose weight is zero."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dwindle._base.system import cores
from dwindle._base.threads import side_by_side
from dwindle.algorithm.shrinkage import Shrinkage
from dwindle.algorithm.updates import Update
from dwindle.engine import table_kernels
from dwindle.engine.budget import KEPT, Eviction, least_worth
from dwindle.engine.cardinality import DistinctCounter
from dwindle.engine.name_table import NameTable
from dwindle.engine.short_names import LEAST, SHARE
from dwindle.engine.table_kernels import CACHE_LINE, CELLS_AT_ONCE, LARGE
from dwindle.features.batch import Batch
from dwindle.features.hash_mixer import GOLDEN, random_mixer

SMALLEST = 1024  # cells of a new table
HUGE_PAGE = 2**21  # bytes
# The share of the cells that may be full. A sparse table is faster, but a large one should not take
# more memory than it must; see benchmarks/growth.py.
SPARSE, DENSE = 0.5, 0.75
UNBOUNDED = 2**62  # features
MOST_THREADS = 4  # that walk through a large table: more would wait for memory


class Time(Protocol):
    """What a table asks of a clock: see `algorithm.clock.Clock`."""

    @property
    def n_steps(self) -> int:
        """The number of steps taken so far."""

    @property
    def now(self) -> float:
        """The clock after the last step."""

    @property
    def size(self) -> float:
        """How far one unit of the clock pulls."""


class Table:
    """Cells by key, and the names of the features in them.

    Some of the ``used`` cells may have a weight that has come to zero unnoticed. The table is swept
    only when it is about to run full, and doubles only if more than half of what it may hold is
    still alive: so a sweep visits a bounded number of cells per feature entered.

    It never holds more than ``max_live`` features: see `budget`.
    """

    def __init__(
        self, shrinkage: Shrinkage, update: Update, clock: Time, max_live: int | None = None
    ) -> None:
        self.max_live = UNBOUNDED if max_live is None else max_live
        self.last_eviction = Eviction()
        self.shrinkage = shrinkage
        self.update = update
        self.clock = clock
        self._set_cells(empty_cells(update, SMALLEST), GOLDEN)
        bytes_of_names = math.inf if max_live is None else max(SHARE * max_live, LEAST)
        self.names = NameTable(bytes_of_names)
        self.seen = DistinctCounter()  # of all features that ever entered
        self.counts = np.zeros(2, np.int64)  # `used` and `peak`, where kernels can change them
        self._scratch = np.empty(0, np.int64)
        # Told the keys of features that enter, if someone wants to know which of them return.
        self.on_entry: Callable[[NDArray[Any]], None] | None = None

    @property
    def used(self) -> int:
        """The number of features in the table."""
        return self.counts.item(0)

    @used.setter
    def used(self, n: int) -> None:
        self.counts[0] = n

    @property
    def peak(self) -> int:
        """The most features that were ever in the table at once."""
        return self.counts.item(1)

    @peak.setter
    def peak(self, n: int) -> None:
        self.counts[1] = n

    @property
    def room(self) -> int:
        """How many features may still enter."""
        return self.capacity - self.used

    @property
    def n_seen(self) -> int:
        """An estimate of the distinct features that ever entered: no fewer than were in at once."""
        return max(self.seen.count(), self.peak)

    def scratch(self, n: int) -> NDArray[np.int64]:
        """Return memory for the places of n new features, of which only the last call's is used.

        To touch new memory for each batch would take longer than to fill it.
        """
        if len(self._scratch) < n:
            self._scratch = np.empty(n, np.int64)
        return self._scratch

    def enter(self, batch: Batch, fresh: NDArray[np.int64]) -> None:
        """Take note of features that a kernel gave cells: those at these places of the batch."""
        if not len(fresh):
            return
        self.used += len(fresh)
        self.peak = max(self.peak, self.used)
        key = batch.key[fresh]
        self.seen.observe(key)
        if self.on_entry is not None:
            self.on_entry(key)
        if batch.names is not None:
            self.names.enter(batch.key, batch.names, fresh)

    def make_room(self, n: int) -> None:
        """Make room for n more features and for many after them.

        Sweep, then double until half of the table is free; within a budget, evict a fifth of it.
        """
        if self.capacity < self.max_live:
            self.sweep()
            wanted = min(self.used + max(self.used, n), self.max_live)
            n_cells = n_cells_for(wanted, len(self.cells))
            if n_cells > len(self.cells):
                self._grow(n_cells)
        if n > self.room:
            self.evict(min(int(KEPT * self.max_live), self.max_live - n))

    def _grow(self, n_cells: int) -> None:
        """Move to a larger table."""
        cells, mixer = empty_cells(self.update, n_cells), self.mixer
        move = partial(table_kernels.move.of(self.update), self.cells, cells, mixer)
        if not all(side_by_side(*(partial(move, *part) for part in self._parts()))):
            cells, mixer = spread(self.cells, self.update, n_cells, random_mixer())
        self._set_cells(cells, mixer)

    def evict(self, most: int) -> None:
        """Evict the features worth least, until at most so many are left."""
        clock, parts = self.clock, self._parts()
        count = np.zeros((len(parts), table_kernels.BINS), np.int64)
        walk = partial(table_kernels.count_by_worth, self.cells, clock.now, clock.size, self.update)
        each = zip(parts, count, strict=True)
        side_by_side(*(partial(walk, *part, own) for part, own in each))
        least = least_worth(count.sum(axis=0), most)
        self.sweep(least)
        self.last_eviction = self.last_eviction.followed_by(clock.n_steps, least)

    def fill(self, full: Any, n_cells: int) -> None:
        """Make the table one of ``n_cells`` cells, with these of them full."""
        self._set_cells(*spread(full, self.update, n_cells))
        self.used = len(full)

    def spread(self) -> None:
        """Move all features to other cells, because where they are they crowd."""
        n_cells = len(self.cells)
        self._set_cells(*spread(self.cells, self.update, n_cells, random_mixer()))

    def _set_cells(self, cells: Any, mixer: Any) -> None:
        """Set cells, mixer and capacity together, as another thread may look at them."""
        n = min(capacity(len(cells)), self.max_live)
        self.cells, self.mixer, self.capacity = cells, mixer, n

    def sweep(self, least: float = -np.inf) -> None:
        """Forget features whose weight is zero, and those worth less than ``least``."""
        clock, parts = self.clock, self._parts()
        live = [table_kernels.BloomFilter.room_for(len(self.cells), clock.n_steps) for _ in parts]
        walk = partial(
            table_kernels.sweep,
            *(self.cells, self.mixer, clock.now, clock.size, self.shrinkage, self.update, least),
        )
        aside = (empty_cells(self.update, CELLS_AT_ONCE) for _ in parts)
        each = zip(parts, live, aside, strict=True)
        self.used = sum(side_by_side(*(partial(walk, *part, *own) for part, *own in each)))
        for keys in live[1:]:
            np.bitwise_or(live[0].bits, keys.bits, out=live[0].bits)
        self.names.sweep(live[0], self.used)

    def _parts(self) -> list[tuple[int, int]]:
        """Return where parts of the table begin, for threads that walk side by side, and how long.

        Each begins with an empty cell, so that no feature's home is in another part.
        """
        n_cells = len(self.cells)
        n = min(cores(), MOST_THREADS) if n_cells >= LARGE else 1
        near = (n_cells * k // n for k in range(n))
        begins = sorted({table_kernels.first_empty(self.cells, j) for j in near})
        ends = [*begins[1:], begins[0] + n_cells]
        return [(begin, end - begin) for begin, end in zip(begins, ends, strict=True)]

    def settle(self, now: float, size: float) -> None:
        """Settle every weight up to ``now`` at this ``size``, which may change then."""
        table_kernels.settle_all(self.cells, now, size, self.shrinkage, self.update)

    def settle_at_the_mean(self) -> float:
        """Settle every weight up to now; return what the intercept has to make up for.

        It is added up in the order of the keys, wherever the cells are.
        """
        clock, order = self.clock, np.argsort(self.cells["key"])
        level: float = table_kernels.level(
            *(self.cells, order, clock.now, clock.size, self.shrinkage, self.update)
        )
        self.settle(clock.now, clock.size)
        return level

    def places(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return where the cells of these features are, -1 for those that have none."""
        found: NDArray[np.int64] = table_kernels.places(
            self.cells, self.mixer, np.ascontiguousarray(key)
        )
        return found

    def weights(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the keys and weights of all features whose weight is not zero."""
        key, weight = np.empty(self.used, np.uint64), np.empty(self.used)
        n = self._list(key, weight)
        return key[:n], weight[:n]

    def __len__(self) -> int:
        return self._list(np.empty(0, np.uint64), np.empty(0))

    def _list(self, key: NDArray[np.uint64], weight: NDArray[np.float64]) -> int:
        clock = self.clock
        n: int = table_kernels.weights(
            *(self.cells, clock.now, clock.size, clock.n_steps),
            *(self.shrinkage, self.update, key, weight),
        )
        return n


def n_cells_for(n_features: int, n_cells: int = SMALLEST) -> int:
    """Return the size of a table for so many features: ``n_cells`` or a doubling of it."""
    while n_features > capacity(n_cells):
        n_cells *= 2
    return n_cells


def capacity(n_cells: int) -> int:
    """Return how many features may be in a table of this size."""
    return int((SPARSE if n_cells < LARGE else DENSE) * n_cells)


def spread(full: Any, update: Update, n_cells: int, mixer: Any = GOLDEN) -> tuple[Any, Any]:
    """Return a table of ``n_cells`` cells with these in it, and its mixer: this or a random one.

    Keys may have been made to crowd, by someone who knows a mixer; then there is another.
    """
    cells = empty_cells(update, n_cells)
    while not table_kernels.move.of(update)(full, cells, mixer, 0, len(full)):
        cells, mixer = empty_cells(update, n_cells), random_mixer()
    return cells, mixer


def empty_cells(update: Update, n_cells: int) -> Any:
    """Make cells of zeros, of which none straddles two cache lines; many can have huge pages.

    A plain structured array: with a recarray each call of a kernel takes 8 us longer.
    """
    n_bytes = n_cells * update.cell().itemsize
    boundary = HUGE_PAGE if n_bytes >= HUGE_PAGE else CACHE_LINE
    raw = np.zeros(n_bytes + boundary, np.uint8)
    begin = -raw.ctypes.data % boundary
    return raw[begin : begin + n_bytes].view(update.cell())
