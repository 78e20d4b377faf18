"""The compiled loops: learning, predicting, and the walks through the hash table of cells.

The table is an array of cells with open addressing and linear probing; its length is a power of
two. A cell holds its key plus one, so that 0 means an empty cell and key 0 is a feature like any
other. The probe loop is written out in each kernel: a helper that writes to the table would take
three to four times as long.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import int32, int64, uint64

from dwindle.algorithm.dual_averaging import in_unit
from dwindle.algorithm.losses import slope, value
from dwindle.algorithm.shrinkage import (
    NoShrinkage,
    acts_on,
    mean_of,
    path_sum,
    pulls_after_predicting,
    shrink,
    shrink_in_units,
    shrink_mean,
)
from dwindle.algorithm.updates import (
    alive,
    centres,
    examples_noted,
    exported,
    from_mean,
    mean,
    measure,
    note,
    owed,
    per_unit,
    reach,
    settle,
    squared,
    step,
    weight_at,
    worth,
)
from dwindle.jit.compile import helper, kernel, teach
from dwindle.jit.intrinsics import prefetch

teach(value, slope, shrink, shrink_in_units, shrink_mean, mean_of)
teach(pulls_after_predicting, acts_on, path_sum)
teach(per_unit, measure, reach, owed, in_unit, weight_at, settle, squared, step)
teach(exported, alive, worth)
teach(centres, examples_noted, note, mean, from_mean)

AHEAD = uint64(32)  # how many features ahead a cell is prefetched
GOLDEN = uint64(0x9E3779B97F4A7C15)  # 2^64 / the golden ratio: spreads neighbouring keys
ONE = uint64(1)
SIX, LAST_SIX = uint64(6), uint64(63)  # a word has 2^6 bits
STEEPEST = 1e15  # a slope beyond it has diverged; its square still fits in single precision
IGNORED_BITS = 17  # last bits of a worth in single precision, equal within a bin
BINS = 1 << 32 - IGNORED_BITS
MAGNITUDE = 0x7FFFFFFF  # all bits of a number in single precision but the sign
NO_SHRINKAGE = NoShrinkage()  # the shrinkage of the intercept


@helper
def home_shift(n_cells: int) -> Any:
    """Return how far to shift a mixed key right for its home cell: 64 - log2(n_cells)."""
    shift = 64
    while n_cells > 1:
        n_cells >>= 1
        shift -= 1
    return uint64(shift)


@helper
def score(
    first: Any,
    last: Any,
    key: Any,
    x: Any,
    cells: Any,
    shift: Any,
    now: float,
    size: float,
    n_steps: int,
    shrinkage: Any,
    update: Any,
) -> float:
    """Sum weight times value over the features from ``first`` to ``last``."""
    mask = uint64(len(cells) - 1)
    end = uint64(len(key))
    p = 0.0
    for k in range(first, last):
        if k + AHEAD < end:
            prefetch(cells, ((uint64(key[k + AHEAD]) + ONE) * GOLDEN) >> shift)
        mark = uint64(key[k]) + ONE
        j = (mark * GOLDEN) >> shift
        while cells[j].key != mark and cells[j].key != 0:
            j = (j + ONE) & mask
        if cells[j].key == mark:
            p += exported(update, shrinkage, cells[j], now, size, n_steps) * x[k]
    return p


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
def learn(
    first: int,
    start: Any,
    key: Any,
    x: Any,
    label: Any,
    importance: Any,
    base: Any,
    n_steps: int,
    at: int,
    rate: Any,
    pulled: Any,
    size: float,
    cells: Any,
    room: int,
    bias: Any,
    constant: float,
    normalize: bool,
    loss: Any,
    shrinkage: Any,
    update: Any,
    slots: Any,
    fresh: Any,
    prediction: Any,
) -> tuple[int, int, int]:
    """Run Algorithm 1 on the examples from ``first`` on: pull, predict, then learn, in order.

    ``pulled[at]`` is the clock, and each cell's ``settled`` the clock up to which its weight was
    pulled: the weight still owes the difference. This subtraction replaces all the visits skipped,
    because pulls add up. ``bias`` is the intercept's cell, whose x is ``constant`` (1, or 0 for no
    intercept), and ``base`` is added to each prediction. ``n_steps`` were taken before the clock's
    window. An example of importance 0 is predicted and changes nothing.

    Stop before an example whose features may have no ``room``, or for which the clock's window is
    used up; and after one whose prediction is not finite or whose slope is too steep. Return the
    index of that example, the clock's ``at``, and the number of new keys: their places are in
    ``fresh``.
    """
    mask = uint64(len(cells) - 1)
    shift = home_shift(len(cells))
    end = uint64(len(key))
    n_fresh = 0
    for i in range(first, len(label)):
        begin, stop = uint64(start[i]), uint64(start[i + 1])
        n = start[i + 1] - start[i]
        spread = 1.0 / math.sqrt(max(n + constant, 1.0)) if normalize else 1.0
        one = constant * spread
        if importance[i] == 0.0:
            bias_now = exported(update, NO_SHRINKAGE, bias[0], pulled[at], size, n_steps + at)
            prediction[i] = base[i] + bias_now * one + spread * score(
                begin, stop, key, x, cells, shift, pulled[at], size, n_steps + at, shrinkage, update
            )  # fmt: skip
            continue
        if n_fresh + n > room or at + 1 == len(pulled):
            return i, at, n_fresh
        seen = pulled[at] if pulls_after_predicting(shrinkage) else pulled[at + 1]
        at += 1
        p = base[i] + settle(update, NO_SHRINKAGE, bias[0], seen, size, one) * one
        n_noted = examples_noted(update, bias[0])
        note(update, bias[0], one, importance[i], one, n_noted)
        length, level = 1.0, 0.0  # what the intercept makes up for, if the update centres
        for k in range(begin, stop):
            if k + AHEAD < end:
                prefetch(cells, ((uint64(key[k + AHEAD]) + ONE) * GOLDEN) >> shift)
            mark = uint64(key[k]) + ONE
            j = (mark * GOLDEN) >> shift
            while cells[j].key != mark:
                if cells[j].key == 0:
                    cells[j].key = mark
                    fresh[n_fresh] = k
                    n_fresh += 1
                    break
                j = (j + ONE) & mask
            slots[k - begin] = j
            xk = x[k] * spread
            centre = mean(update, cells[j])
            note(update, cells[j], xk, importance[i], one, n_noted)
            apart = from_mean(update, cells[j], xk, one)
            before = cells[j].weight
            w = settle(update, shrinkage, cells[j], seen, size, apart)
            p += w * xk
            length += squared(update, cells[j], apart)
            if centres(update):
                level += (before - w) * centre
        if centres(update):
            bias[0].weight += level
            p += level * one
            level = 0.0
        prediction[i] = p
        s = importance[i] * slope(loss, p, label[i])
        if not (math.isfinite(p) and abs(s) < STEEPEST):
            prediction[i] = math.nan if math.isfinite(p) else p
            return i, at, n_fresh
        if s == 0.0:
            continue
        pace = rate[at] / math.sqrt(length)
        if constant > 0.0:
            step(update, bias[0], pace, s, one)
        for k in range(begin, stop):
            cell = cells[slots[k - begin]]
            if pulls_after_predicting(shrinkage):
                settle(update, shrinkage, cell, pulled[at], size, 0.0)
            before = cell.weight
            step(update, cell, pace, s, from_mean(update, cell, x[k] * spread, one))
            if centres(update):
                level += (before - cell.weight) * mean(update, cell)
        if centres(update):
            bias[0].weight += level
    return len(label), at, n_fresh


@kernel(nogil=False)
def longest(start: Any, importance: Any) -> tuple[int, int]:
    """Return the most features of an example with importance, and the first such example."""
    n, first = 0, 0
    for i in range(len(importance)):
        if start[i + 1] - start[i] > n and importance[i] > 0.0:
            n, first = start[i + 1] - start[i], i
    return n, first


@kernel(nogil=False)
def n_others(label: Any, importance: Any, first: Any, second: Any) -> int:
    """Count the labels, of examples with importance, that are neither of these two."""
    n = 0
    for i in range(len(label)):
        n += (label[i] != first) & (label[i] != second) & (importance[i] > 0.0)
    return n


@kernel
def predict(
    start: Any,
    key: Any,
    x: Any,
    base: Any,
    now: float,
    size: float,
    n_steps: int,
    cells: Any,
    bias: Any,
    constant: float,
    normalize: bool,
    shrinkage: Any,
    update: Any,
    prediction: Any,
) -> None:
    """Predict each example by the present weights; changes nothing else."""
    shift = home_shift(len(cells))
    intercept = exported(update, NO_SHRINKAGE, bias[0], now, size, n_steps) * constant
    for i in range(len(prediction)):
        p = intercept + score(
            uint64(start[i]), uint64(start[i + 1]), key, x, cells, shift,
            now, size, n_steps, shrinkage, update,
        )  # fmt: skip
        n = start[i + 1] - start[i]
        prediction[i] = base[i] + (p / math.sqrt(max(n + constant, 1.0)) if normalize else p)


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
    cells: Any, now: float, size: float, shrinkage: Any, update: Any, least: float, live: Any
) -> int:
    """Remove cells whose weight is zero or that are worth less than ``least``; count the others.

    The keys that stay are added to the Bloom filter ``live``. Their weights are not settled: to
    settle in two parts would round twice.

    The table is cleaned in place: in each run of full cells, from its beginning, a cell that stays
    moves to the first free place at or after its home, which is never past where it was.
    """
    mask = uint64(len(cells) - 1)
    shift = home_shift(len(cells))
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
        if alive(update, cells[j], w) and worth(update, cells[j], now, size) >= least:
            n_live += 1
            h = ((mark ^ live.salt) * GOLDEN) >> fine
            live.bits[h >> SIX] |= ONE << (h & LAST_SIX)
            to = (mark * GOLDEN) >> shift
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
def move(cells: Any, into: Any) -> None:
    """Copy the cells of one table into another, which is empty and large enough."""
    mask = uint64(len(into) - 1)
    shift = home_shift(len(into))
    for k in range(len(cells)):
        if cells[k].key != 0:
            j = (cells[k].key * GOLDEN) >> shift
            while into[j].key != 0:
                j = (j + ONE) & mask
            into[j] = cells[k]


@kernel
def places(cells: Any, key: Any) -> Any:
    """Return where the cell of each key is, all of which have one."""
    mask = uint64(len(cells) - 1)
    shift = home_shift(len(cells))
    end = uint64(len(key))
    found = np.empty(len(key), np.int64)
    for k in range(end):
        if k + AHEAD < end:
            prefetch(cells, ((uint64(key[k + AHEAD]) + ONE) * GOLDEN) >> shift)
        mark = uint64(key[k]) + ONE
        j = (mark * GOLDEN) >> shift
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


@kernel
def values(loss: Any, prediction: Any, label: Any) -> Any:
    """Return phi(p, y) for each prediction and label."""
    out = np.empty(len(prediction))
    for i in range(len(prediction)):
        out[i] = value(loss, prediction[i], label[i])
    return out


@kernel
def tally(
    loss: Any,
    prediction: Any,
    label: Any,
    importance: Any,
    total: float,
    weight: float,
    count: Any,
) -> tuple[float, float]:
    """Add the loss and the weight of these examples, in order, to the totals; return both.

    If ``count`` has columns, each example is counted there too: in the row of its label, negative
    or positive, and the column of its 1 / (1 + exp(-p)).
    """
    n_bins = count.shape[1]
    for i in range(len(prediction)):
        if importance[i] == 0.0:
            continue
        total += importance[i] * value(loss, prediction[i], label[i])
        weight += importance[i]
        if n_bins > 0:
            chance = 1.0 / (1.0 + math.exp(-min(max(prediction[i], -700.0), 700.0)))
            count[int64(label[i] > 0.0), min(int64(chance * n_bins), n_bins - 1)] += 1.0
    return total, weight
