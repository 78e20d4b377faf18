"""The compiled loops over examples: learning, predicting and measuring.

`table_kernels` says how the table of cells is addressed. The probe loop is written out in each
kernel: a helper that writes to the table would take three to four times as long.
"""

import math
from typing import Any

import numpy as np

from dwindle.algorithm.losses import slope, value
from dwindle.algorithm.shrinkage import (
    NoShrinkage,
    arrive,
    is_late,
    pay,
    pulls_after_predicting,
    stamp,
)
from dwindle.algorithm.updates import (
    centres,
    examples_noted,
    exported,
    from_mean,
    mean,
    note,
    settle,
    squared,
    step,
)
from dwindle.engine.fours import in_fours, settle_four, step_four
from dwindle.engine.table_kernels import (
    AHEAD,
    LONG,
    ONE,
    crowded,
    enter_all,
    home_of,
    prefetch_home,
    strayed,
)
from dwindle.jit.compile import helper, kernel, teach
from dwindle.jit.numbers import int64, uint64
from dwindle.jit.vectors import four_at, times

teach(value, slope, pulls_after_predicting, arrive, pay, stamp, squared, step)
teach(in_fours, settle_four, step_four)
teach(centres, examples_noted, note, from_mean)

STEEPEST = 1e15  # a slope beyond it has diverged; its square still fits in single precision
TWO, THREE, FOUR = uint64(2), uint64(3), uint64(4)
NO_SHRINKAGE = NoShrinkage()  # the shrinkage of the intercept


@helper
def score(
    first: Any,
    last: Any,
    key: Any,
    x: Any,
    cells: Any,
    home: Any,
    now: float,
    size: float,
    n_steps: int,
    shrinkage: Any,
    update: Any,
) -> float:
    """Sum weight times value over the features from ``first`` to ``last``."""
    mix, shift = home
    mask = uint64(len(cells) - 1)
    end = uint64(len(key))
    p = 0.0
    for k in range(first, last):
        if k + AHEAD < end:
            prefetch_home(cells, uint64(key[k + AHEAD]) + ONE, home)
        mark = uint64(key[k]) + ONE
        j = (mark * mix) >> shift
        while cells[j].key != mark and cells[j].key != 0:
            j = (j + ONE) & mask
        if cells[j].key == mark:
            p += exported(update, shrinkage, cells[j], now, size, n_steps) * x[k]
    return p


@helper
def all_differ(a: Any, b: Any, c: Any, d: Any) -> bool:
    """Whether no two of four places are the same."""
    return (a != b) & (a != c) & (a != d) & (b != c) & (b != d) & (c != d)


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
    mixer: Any,
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
    because pulls add up. A shrinkage that is late acts after the step instead. ``bias`` is the
    intercept's cell, whose x is ``constant`` (1, or 0 for no intercept), and ``base`` is added to
    each prediction. ``n_steps`` were taken before the clock's window. An example of importance 0 is
    predicted and changes nothing.

    Stop before an example whose features may have no ``room``, for which the clock's window is
    used up, or before which keys crowd in the table; and after one whose prediction is not finite
    or whose slope is too steep. Return the index of that example, the clock's ``at``, and the
    number of new keys, inverted (~n) if keys crowd, also after the last example: their places are
    in ``fresh``.
    """
    home = home_of(cells, mixer)
    mix, shift = home
    mask = uint64(len(cells) - 1)
    end = uint64(len(key))
    n_fresh, n_probes = 0, uint64(0)
    for i in range(first, len(label)):
        begin, stop = uint64(start[i]), uint64(start[i + 1])
        n = start[i + 1] - start[i]
        spread = 1.0 / math.sqrt(max(n + constant, 1.0)) if normalize else 1.0
        one = constant * spread
        if importance[i] == 0.0:
            bias_now = exported(update, NO_SHRINKAGE, bias[0], pulled[at], size, n_steps + at)
            size_now = rate[at] if is_late(shrinkage) else size
            prediction[i] = base[i] + bias_now * one + spread * score(
                begin, stop, key, x, cells, home, pulled[at], size_now, n_steps + at, shrinkage,
                update,
            )  # fmt: skip
            continue
        if n_fresh + n > room or at + 1 == len(pulled):
            return i, at, n_fresh
        is_crowded = crowded(n_probes, begin - uint64(start[first]))
        if n > LONG and not is_crowded:
            n_fresh, is_crowded = enter_all(begin, stop, key, cells, home, fresh, n_fresh)
        if is_crowded:
            return i, at, ~n_fresh
        seen = pulled[at] if pulls_after_predicting(shrinkage) else pulled[at + 1]
        at += 1
        p = base[i] + settle(update, NO_SHRINKAGE, bias[0], seen, size, one) * one
        n_noted = examples_noted(update, bias[0])
        note(update, bias[0], one, importance[i], one, n_noted)
        length, level = 1.0, 0.0  # what the intercept makes up for, if the update centres
        fours = (begin + (stop - begin) // FOUR * FOUR) if in_fours(update) else begin
        for f in range(begin, fours, FOUR):
            for k in range(f, f + FOUR):
                if k + AHEAD < end:
                    prefetch_home(cells, uint64(key[k + AHEAD]) + ONE, home)
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
                slots[k - begin] = j
            place = f - begin
            a, b = slots[place], slots[place + ONE]
            c, d = slots[place + TWO], slots[place + THREE]
            p, length = settle_four(
                update, shrinkage, cells[a], cells[b], cells[c], cells[d],
                times(four_at(x, f), spread), all_differ(a, b, c, d), seen, size, p, length,
            )  # fmt: skip
        for k in range(fours, stop):
            if k + AHEAD < end:
                prefetch_home(cells, uint64(key[k + AHEAD]) + ONE, home)
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
            slots[k - begin] = j
            xk = x[k] * spread
            centre = mean(update, cells[j])
            note(update, cells[j], xk, importance[i], one, n_noted)
            apart = from_mean(update, cells[j], xk, one)
            before = w = cells[j].weight
            if is_late(shrinkage):
                arrive(shrinkage, cells[j], seen)
            else:
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
        if s == 0.0 and not is_late(shrinkage):
            continue
        pace = rate[at] / math.sqrt(length)
        if constant > 0.0:
            step(update, bias[0], pace, s, one)
        for f in range(begin, fours, FOUR):
            place = f - begin
            a, b = slots[place], slots[place + ONE]
            c, d = slots[place + TWO], slots[place + THREE]
            step_four(
                update, cells[a], cells[b], cells[c], cells[d], times(four_at(x, f), spread),
                all_differ(a, b, c, d), pace, s,
            )  # fmt: skip
        for k in range(fours, stop):
            cell = cells[slots[k - begin]]
            if pulls_after_predicting(shrinkage):
                settle(update, shrinkage, cell, pulled[at], size, 0.0)
            before = cell.weight
            step(update, cell, pace, s, from_mean(update, cell, x[k] * spread, one))
            if centres(update):
                level += (before - cell.weight) * mean(update, cell)
        if is_late(shrinkage):
            for k in range(stop - begin):  # after all steps: a name may be there twice
                pay(shrinkage, cells[slots[k]], pulled[at], rate[at])
        if centres(update):
            bias[0].weight += level
    is_crowded = strayed(n_probes, uint64(start[len(label)]) - uint64(start[first]))
    return len(label), at, ~n_fresh if is_crowded else n_fresh


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
    mixer: Any,
    bias: Any,
    constant: float,
    normalize: bool,
    shrinkage: Any,
    update: Any,
    prediction: Any,
) -> None:
    """Predict each example by the present weights; changes nothing else."""
    home = home_of(cells, mixer)
    intercept = exported(update, NO_SHRINKAGE, bias[0], now, size, n_steps) * constant
    for i in range(len(prediction)):
        p = intercept + score(
            uint64(start[i]), uint64(start[i + 1]), key, x, cells, home,
            now, size, n_steps, shrinkage, update,
        )  # fmt: skip
        n = start[i + 1] - start[i]
        prediction[i] = base[i] + (p / math.sqrt(max(n + constant, 1.0)) if normalize else p)


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
