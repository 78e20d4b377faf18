"""The loops, and only the loops.

The table is an array of cells with open addressing and linear probing; its length is a power of
two. A cell is marked with its key plus one, so that 0 marks an empty cell and key 0 is a feature
like any other. The probe loop stands in each kernel's own body: as a helper that writes to the
table it would cost three to four times as much.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import int32, int64, uint64

from dwindle.algorithm.losses import slope, value
from dwindle.algorithm.shrinkage import NoShrinkage, feels, lags, path_sum, shrink
from dwindle.algorithm.updates import (
    alive,
    exported,
    mark_seen,
    settle,
    squared,
    step,
    weight_at,
    worth,
)
from dwindle.jit.compile import helper, kernel, teach
from dwindle.jit.intrinsics import prefetch

teach(value, slope, shrink, lags, feels, path_sum)
teach(weight_at, settle, mark_seen, squared, step, exported, alive, worth)

AHEAD = uint64(32)  # features between the one at hand and the one whose cache line is asked for
GOLDEN = uint64(0x9E3779B97F4A7C15)  # 2^64 / the golden ratio: spreads neighbouring keys
ONE = uint64(1)
SIX, LAST_SIX = uint64(6), uint64(63)  # 2^6 bits are a word
STEEPEST = 1e15  # a slope beyond it has diverged; its square still fits in single precision
ALIKE = 17  # last bits of a worth, that no bin tells apart
BINS = 1 << 32 - ALIKE
MAGNITUDE = 0x7FFFFFFF  # all bits of a number in single precision but the sign
UNSHRUNK = NoShrinkage()  # what the intercept feels


@helper
def home_shift(n_cells: int) -> Any:
    """How far to shift a mixed key right to get the home of its cell: 64 - log2(n_cells)."""
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
    """The sum of weight times value over the features from ``first`` to ``last``."""
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


class Living(NamedTuple):
    """The keys of a table, each one bit of many, which it may share with others.

    It shares them with other ones when the ``salt`` is another.
    """

    bits: Any
    salt: Any

    @classmethod
    def room_for(cls, n_cells: int, salt: int) -> "Living":
        """None yet, and four bits for each cell."""
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
    """Algorithm 1 on the examples from ``first`` on: pull, predict, then learn, in order.

    ``pulled[at]`` is the clock and each cell's ``settled`` the part of it that weight has felt, so
    the weight still owes the difference. That one subtraction stands in for every visit skipped,
    because pulls compose. ``bias`` is the intercept's cell, whose x is ``constant`` (1, or 0 for
    none), and ``base`` is added to each prediction. ``n_steps`` were taken before the clock's
    window. An example of importance 0 is predicted and leaves everything as it was.

    Stops before an example for whose features there might be no ``room``, or for which the clock's
    window is spent, and after one whose prediction is not finite or whose slope is beyond bounds.
    Returns the index of that example, the clock's ``at`` and how many keys were new: their places
    stand in ``fresh``.
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
            bias_now = exported(update, UNSHRUNK, bias[0], pulled[at], size, n_steps + at)
            prediction[i] = base[i] + bias_now * one + spread * score(
                begin, stop, key, x, cells, shift, pulled[at], size, n_steps + at, shrinkage, update
            )  # fmt: skip
            continue
        if n_fresh + n > room or at + 1 == len(pulled):
            return i, at, n_fresh
        seen = pulled[at] if lags(shrinkage) else pulled[at + 1]
        at += 1
        p = base[i] + settle(update, UNSHRUNK, bias[0], seen, size, one) * one
        length = 1.0
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
            p += settle(update, shrinkage, cells[j], seen, size, xk) * xk
            length += squared(update, cells[j], xk)
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
            if lags(shrinkage):
                settle(update, shrinkage, cell, pulled[at], size, 0.0)
            step(update, cell, pace, s, x[k] * spread)
    return len(label), at, n_fresh


# As short as these are, to let go of the interpreter's lock and wait for it would take longer.


@kernel(nogil=False)
def longest(start: Any, importance: Any) -> tuple[int, int]:
    """The most features of an example that counts, and which is the first with so many."""
    n, first = 0, 0
    for i in range(len(importance)):
        if start[i + 1] - start[i] > n and importance[i] > 0.0:
            n, first = start[i + 1] - start[i], i
    return n, first


@kernel(nogil=False)
def n_others(label: Any, importance: Any, first: Any, second: Any) -> int:
    """How many labels count and are neither of these two."""
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
    """The prediction for each example by the weights as they stand; changes nothing else."""
    shift = home_shift(len(cells))
    intercept = exported(update, UNSHRUNK, bias[0], now, size, n_steps) * constant
    for i in range(len(prediction)):
        p = intercept + score(
            uint64(start[i]), uint64(start[i + 1]), key, x, cells, shift,
            now, size, n_steps, shrinkage, update,
        )  # fmt: skip
        n = start[i + 1] - start[i]
        prediction[i] = base[i] + (p / math.sqrt(max(n + constant, 1.0)) if normalize else p)


@kernel
def settle_all(cells: Any, now: float, size: float, shrinkage: Any, update: Any) -> None:
    """Every weight has felt the whole clock."""
    for j in range(len(cells)):
        if cells[j].key != 0:
            settle(update, shrinkage, cells[j], now, size, 0.0)


@kernel
def sweep(
    cells: Any, now: float, size: float, shrinkage: Any, update: Any, least: float, living: Any
) -> int:
    """Cells whose weight has come to zero are gone; the others are found, and are, as before.

    So are cells worth less than ``least``. ``living`` is a set of those that live: see `Living`.

    A weight that still lives is left unsettled: settling it in two parts would round twice. In
    place: walking a run of full cells from its beginning, each living cell goes to the first free
    place at or after its home, which is never past where it was. Returns how many live.
    """
    mask = uint64(len(cells) - 1)
    shift = home_shift(len(cells))
    fine = home_shift(len(living.bits) * 64)
    begin = uint64(0)  # an empty cell, there being always one; nothing below moves into it
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
            h = ((mark ^ living.salt) * GOLDEN) >> fine
            living.bits[h >> SIX] |= ONE << (h & LAST_SIX)
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
    """How many cells are in each of `BINS` bins of worth.

    A bin is told by the first bits of a number in single precision, so it is 1/64 wide, relative
    to the worth. Those of negative numbers are turned over, for the bins to be in order.
    """
    for j in range(len(cells)):
        if cells[j].key != 0:
            bits = np.float32(worth(update, cells[j], now, size)).view(np.int32)
            ordered = bits if bits >= 0 else bits ^ int32(MAGNITUDE)
            count[(ordered >> ALIKE) + BINS // 2] += 1


@kernel
def move(cells: Any, into: Any) -> None:
    """The cells of one table stand in another, which was empty and is large enough."""
    mask = uint64(len(into) - 1)
    shift = home_shift(len(into))
    for k in range(len(cells)):
        if cells[k].key != 0:
            j = (cells[k].key * GOLDEN) >> shift
            while into[j].key != 0:
                j = (j + ONE) & mask
            into[j] = cells[k]


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
    """How many weights are not zero; those that fit stand in ``key`` and ``weight``."""
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
def probes(cells: Any, key: Any) -> int:
    """How many cells are looked at to find all of ``key``, or to find that they are not there."""
    mask = uint64(len(cells) - 1)
    shift = home_shift(len(cells))
    n = 0
    for k in range(len(key)):
        mark = uint64(key[k]) + ONE
        j = (mark * GOLDEN) >> shift
        n += 1
        while cells[j].key != mark and cells[j].key != 0:
            j = (j + ONE) & mask
            n += 1
    return n


@kernel
def values(loss: Any, prediction: Any, label: Any) -> Any:
    """phi(p, y) for each prediction and label."""
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
    """The total loss and its weight with these examples added, in order.

    If ``count`` has columns, they are bins of 1 / (1 + exp(-p)), and its rows are for negative and
    positive labels: each example counts in one.
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
