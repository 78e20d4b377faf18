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
from dwindle.features.mixing import GOLDEN
from dwindle.jit.compile import helper, kernel, teach
from dwindle.jit.intrinsics import prefetch
from dwindle.jit.numbers import int32, uint64

teach(shrink, shrink_in_units, shrink_mean, mean_of, acts_on, path_sum)
teach(per_unit, measure, reach, owed, in_unit, weight_at, settle)
teach(exported, alive, worth, mean, is_late)

AHEAD = uint64(32)  # how many features ahead a cell is prefetched
ONE = uint64(1)
SIX, LAST_SIX = uint64(6), uint64(63)  # a word has 2^6 bits
IGNORED_BITS = 17  # last bits of a worth in single precision, equal within a bin
BINS = 1 << 32 - IGNORED_BITS
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


@kernel
def sweep(
    cells: Any, mixer: Any, now: float, size: float, shrinkage: Any, update: Any, least: float,
    live: Any,
) -> int:  # fmt: skip
    """Remove cells whose weight is zero or that are worth less than ``least``; count the others.

    The keys that stay are added to the Bloom filter ``live``. Their weights are not settled: to
    settle in two parts would round twice.

    The table is cleaned in place: in each run of full cells, from its beginning, a cell that stays
    moves to the first free place at or after its home, which is never past where it was.
    """
    mask = uint64(len(cells) - 1)
    mix, shift = home_of(cells, mixer)
    fine = home_shift(len(live.bits) * 64)
    begin = uint64(0)  # will be an empty cell, of which there is always one; it stays empty
    while cells[begin].key != 0:
        begin += ONE
    n_live = 0
    for k in range(1, len(cells)):
        j = (begin + uint64(k)) & mask
        mark = cells[j].key
        if mark == 0:
            continue
        w = weight_at(update, shrinkage, cells[j], now, size)
        lives = is_late(shrinkage) or alive(update, cells[j], w)  # a time stamp is not forgotten
        if lives and worth(update, cells[j], now, size) >= least:
            n_live += 1
            h = ((mark ^ live.salt) * GOLDEN) >> fine
            live.bits[h >> SIX] |= ONE << (h & LAST_SIX)
            to = (mark * mix) >> shift
            while cells[to].key != 0 and to != j:
                to = (to + ONE) & mask
            if to != j:
                cells[to] = cells[j]
                cells[j] = cells[begin]
        else:
            cells[j] = cells[begin]
    return n_live


@kernel
def count_by_worth(cells: Any, now: float, size: float, update: Any, count: Any) -> None:
    """Count the cells in each of `BINS` bins of worth.

    A bin is given by the first bits of the worth in single precision: its relative width is 1/64.
    The bits of negative numbers are inverted, so that the bins are in order.
    """
    for j in range(len(cells)):
        if cells[j].key != 0:
            bits = np.float32(worth(update, cells[j], now, size)).view(np.int32)
            ordered = bits if bits >= 0 else bits ^ int32(MAGNITUDE)
            count[(ordered >> IGNORED_BITS) + BINS // 2] += 1


@kernel
def move(cells: Any, into: Any, mixer: Any) -> bool:
    """Copy the cells of one table into another, which is empty and large enough.

    Stop, and return False, if they crowd there.
    """
    mask = uint64(len(into) - 1)
    mix, shift = home_of(into, mixer)
    n_probes = uint64(0)
    for k in range(uint64(len(cells))):
        if cells[k].key != 0:
            j = (cells[k].key * mix) >> shift
            while into[j].key != 0:
                j = (j + ONE) & mask
                n_probes += ONE
            into[j] = cells[k]
            if crowded(n_probes, k):
                return False
    return True


@kernel
def places(cells: Any, mixer: Any, key: Any) -> Any:
    """Return where the cell of each key is, all of which have one."""
    mask = uint64(len(cells) - 1)
    mix, shift = home_of(cells, mixer)
    end = uint64(len(key))
    found = np.empty(len(key), np.int64)
    for k in range(end):
        if k + AHEAD < end:
            prefetch(cells, ((uint64(key[k + AHEAD]) + ONE) * mix) >> shift)
        mark = uint64(key[k]) + ONE
        j = (mark * mix) >> shift
        while cells[j].key != mark:
            j = (j + ONE) & mask
        found[k] = j
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
