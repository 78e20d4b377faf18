"""The compiled walks through the hash table of cells: settling, sweeping, growing, looking up.

The table is an array of cells with open addressing and linear probing; its length is a power of
two. A cell holds its key plus one, so that 0 means an empty cell and key 0 is a feature like any
other. The probe loop is written out in each kernel: a helper that writes to the table would take
three to four times as long.
"""

from typing import Any, NamedTuple

import numpy as np

from dwindle.algorithm.dual_averaging import in_unit
from dwindle.algorithm.shrinkage import (
    acts_on,
    is_late,
    mean_of,
    path_sum,
    shrink,
    shrink_in_units,
    shrink_mean,
)
from dwindle.algorithm.units import measure, per_unit
from dwindle.algorithm.updates import (
    alive,
    exported,
    mean,
    owed,
    reach,
    settle,
    weight_at,
    worth,
)
from dwindle.features.hash_mixer import GOLDEN
from dwindle.jit.compile import helper, kernel, teach
from dwindle.jit.intrinsics import prefetch
from dwindle.jit.numbers import uint64

teach(shrink, shrink_in_units, shrink_mean, mean_of, acts_on, path_sum)
teach(per_unit, measure, reach, owed, in_unit, weight_at, settle)
teach(exported, alive, worth, mean, is_late)

CACHE_LINE = 64  # bytes
LARGE = 2**18  # cells; a table of so many may be three quarters full, a smaller one half
AHEAD = uint64(32)  # how many features ahead a cell is prefetched
ONE = uint64(1)
SIX, LAST_SIX = uint64(6), uint64(63)  # a word has 2^6 bits
IGNORED_BITS = 17  # last bits of a worth in single precision, equal within a bin
BINS = 1 << 32 - IGNORED_BITS
LAST_BIT = 31
CELLS_AT_ONCE = 512  # of a walk, which fit into the first-level cache
MAGNITUDE = 0x7FFFFFFF  # all bits of a number in single precision but the sign


# A table has a `mixer`, an odd number: the home of a key is in the first bits of their product. It
# is `GOLDEN` until some keys, which may have been made for it, crowd; then a random one. So many
# more cells than this may be looked at, for so many and for each feature, before keys crowd: even
# in a full table it is a tenth. An example longer than LONG is looked up before it is learned from.
FEW_PROBES, MOST_PROBES, LONG = uint64(2**17), uint64(64), 512
FARTHEST = uint64(2**12)  # cells from its home that a feature may be; in a full table it is 600


@helper
def crowded(n_probes: Any, n_features: Any) -> bool:
    """Tell whether so many cells beyond their homes are too many for so many features."""
    return n_probes > FEW_PROBES + MOST_PROBES * n_features


@helper
def strayed(n_probes: Any, n_features: Any) -> bool:
    """Tell whether keys crowd by all of a call, which may be of a single feature far from home."""
    return n_probes > FARTHEST + MOST_PROBES * n_features


@helper
def home_of(cells: Any, mixer: Any) -> Any:
    """Return by what to multiply a key, and how far to shift the product, for its home cell."""
    return uint64(mixer), home_shift(len(cells))


@helper
def home_shift(n_cells: int) -> Any:
    """Return how far to shift a mixed key right for its home cell: 64 - log2(n_cells)."""
    shift = 64
    while n_cells > 1:
        n_cells >>= 1
        shift -= 1
    return uint64(shift)


@helper
def prefetch_home(cells: Any, mark: Any, home: Any) -> None:
    """Ask for the cache line of a feature's home cell; in a large table for the next one, too.

    A large table may be so full that many features are there, and to wait for a line takes longer
    than all else that is done for a feature.
    """
    mix, shift = home
    j = (mark * mix) >> shift
    prefetch(cells, j)
    if len(cells) >= LARGE:
        prefetch(cells, j + uint64(max(CACHE_LINE // cells.itemsize, 1)))


@helper
def enter_all(
    begin: Any, stop: Any, key: Any, cells: Any, home: Any, fresh: Any, n_fresh: int
) -> Any:
    """Give the features of an example cells; stop if they crowd.

    Return the number of new ones so far, and whether they crowd. A cell for which nothing was
    learned is as one that is not there.
    """
    mix, shift = home
    mask = uint64(len(cells) - 1)
    n_probes = uint64(0)
    for k in range(begin, stop):
        mark = uint64(key[k]) + ONE
        j = (mark * mix) >> shift
        while cells[j].key != mark:
            if cells[j].key == 0:
                cells[j].key = mark
                fresh[n_fresh] = k
                n_fresh += 1
                break
            j = (j + ONE) & mask
            n_probes += ONE
        if crowded(n_probes, k - begin):
            return n_fresh, True
    return n_fresh, False


class BloomFilter(NamedTuple):
    """A Bloom filter with one hash function, for the keys of a table.

    Another ``salt`` makes other keys share a bit.
    """

    bits: Any
    salt: Any

    @classmethod
    def room_for(cls, n_cells: int, salt: int) -> "BloomFilter":
        """Make an empty filter with four bits for each cell."""
        return cls(np.zeros(n_cells // 16, np.uint64), np.uint64(salt))


@kernel
def settle_all(cells: Any, now: float, size: float, shrinkage: Any, update: Any) -> None:
    """Settle every weight up to ``now``."""
    for j in range(len(cells)):
        if cells[j].key != 0:
            settle(update, shrinkage, cells[j], now, size, 0.0)


@kernel
def level(cells: Any, order: Any, now: float, size: float, shrinkage: Any, update: Any) -> float:
    """Sum what settling up to ``now`` takes from the prediction at the mean of each feature."""
    lost = 0.0
    for k in range(len(order)):
        cell = cells[order[k]]
        if cell.key != 0:
            w = weight_at(update, shrinkage, cell, now, size)
            lost += (cell.weight - w) * mean(update, cell)
    return lost


@kernel(nogil=False)
def first_empty(cells: Any, j: int) -> int:
    """Return where the first empty cell is, at or after j or, after the last cell, from the first.

    There is always one.
    """
    while cells[j].key != 0:
        j = (j + 1) & (len(cells) - 1)
    return j


@kernel
def sweep(
    cells: Any, mixer: Any, now: float, size: float, shrinkage: Any, update: Any, least: float,
    begin: int, n_cells: int, live: Any, aside: Any,
) -> int:  # fmt: skip
    """Remove cells whose weight is zero or that are worth less than ``least``; count the others.

    Of ``n_cells`` cells from ``begin`` on: that one and the one after them are empty, so none of
    them has its home elsewhere. The keys that stay are added to the Bloom filter ``live``. Their
    weights are not settled: to settle in two parts would round twice.

    The table is cleaned in place, some cells at a time: those that stay are set ``aside``, all are
    emptied, and each that stays goes to the first free place at or after its home, which is never
    past where it was. Which cells stay is hard to foretell, so nothing branches on it, and each
    loop does so little that LLVM finds no reason to.
    """
    mask = uint64(len(cells) - 1)
    mix, shift = home_of(cells, mixer)
    fine = home_shift(len(live.bits) * 64)
    stays, worths = np.empty(len(aside), np.bool_), np.full(len(aside), np.inf)
    n_live = 0
    for first in range(1, n_cells, len(aside)):
        n_some = min(len(aside), n_cells - first)
        at = uint64(begin) + uint64(first)
        for k in range(n_some):
            cell = cells[(at + uint64(k)) & mask]
            w = weight_at(update, shrinkage, cell, now, size)
            stays[k] = is_late(shrinkage) or alive(update, cell, w)  # a time stamp is not forgotten
        if least > -np.inf:
            for k in range(n_some):
                cell = cells[(at + uint64(k)) & mask]
                worths[k] = worth(update, cell, now, size)
        n = 0
        for k in range(n_some):
            j = (at + uint64(k)) & mask
            aside[n] = cells[j]
            n += stays[k] & (cells[j].key != 0) & (worths[k] >= least)
            cells[j] = cells[begin]
        for k in range(n):
            mark = aside[k].key
            h = ((mark ^ live.salt) * GOLDEN) >> fine
            live.bits[h >> SIX] |= ONE << (h & LAST_SIX)
            j = (mark * mix) >> shift
            while cells[j].key != 0:
                j = (j + ONE) & mask
            cells[j] = aside[k]
        n_live += n
    return n_live


@kernel
def count_by_worth(
    cells: Any, now: float, size: float, update: Any, begin: int, n_cells: int, count: Any
) -> None:
    """Count the cells in each of `BINS` bins of worth, of ``n_cells`` cells from ``begin`` on.

    A bin is given by the first bits of the worth in single precision: its relative width is 1/64.
    The bits of negative numbers are inverted, so that the bins are in order.
    """
    mask = uint64(len(cells) - 1)
    worths = np.empty(CELLS_AT_ONCE, np.float32)
    for first in range(begin, begin + n_cells, len(worths)):
        n_some = min(len(worths), begin + n_cells - first)
        for k in range(n_some):  # without a branch for cells that are empty
            worths[k] = worth(update, cells[uint64(first + k) & mask], now, size)
        for k in range(n_some):
            bits = np.float32(worths[k]).view(np.int32)
            ordered = bits ^ ((bits >> LAST_BIT) & MAGNITUDE)
            is_full = cells[uint64(first + k) & mask].key != 0
            count[(ordered >> IGNORED_BITS) + BINS // 2] += is_full


@kernel
def move(cells: Any, into: Any, mixer: Any, begin: int, n_cells: int) -> bool:
    """Copy ``n_cells`` cells from ``begin`` on into an empty table that is large enough.

    Stop, and return False, if they crowd there. Cells between two empty ones, which had the same
    mixer, need no more places in a larger table than theirs by its ratio: so several threads may
    copy to one.
    """
    mask = uint64(len(into) - 1)
    mix, shift = home_of(into, mixer)
    n_probes = uint64(0)
    for k in range(begin, begin + n_cells):
        at = uint64(k) if k < len(cells) else uint64(k - len(cells))
        if cells[at].key != 0:
            j = (cells[at].key * mix) >> shift
            while into[j].key != 0:
                j = (j + ONE) & mask
                n_probes += ONE
            into[j] = cells[at]
            if crowded(n_probes, uint64(k - begin)):
                return False
    return True


@kernel
def places(cells: Any, mixer: Any, key: Any) -> Any:
    """Return where the cell of each key is, -1 where there is none."""
    mask = uint64(len(cells) - 1)
    home = home_of(cells, mixer)
    mix, shift = home
    end = uint64(len(key))
    found = np.empty(len(key), np.int64)
    for k in range(end):
        if k + AHEAD < end:
            prefetch_home(cells, uint64(key[k + AHEAD]) + ONE, home)
        mark = uint64(key[k]) + ONE
        j = (mark * mix) >> shift
        while cells[j].key != mark and cells[j].key != 0:
            j = (j + ONE) & mask
        found[k] = j if cells[j].key == mark else -1
    return found


@kernel
def weights(
    cells: Any,
    now: float,
    size: float,
    n_steps: int,
    shrinkage: Any,
    update: Any,
    key: Any,
    weight: Any,
) -> int:
    """Count the weights that are not zero; write as many as fit into ``key`` and ``weight``."""
    n = 0
    for j in range(len(cells)):
        if cells[j].key != 0:
            w = exported(update, shrinkage, cells[j], now, size, n_steps)
            if w != 0.0:
                if n < len(key):
                    key[n] = cells[j].key - ONE
                    weight[n] = w
                n += 1
    return n
