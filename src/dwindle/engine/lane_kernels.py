"""The compiled loops of `lanes`: as in `kernels`, with a row of weights for each feature."""

import math
from typing import Any

import numpy as np
from numba import uint64

from dwindle.algorithm.losses import slope
from dwindle.engine.kernels import AHEAD, GOLDEN, ONE, STEEPEST, home_shift
from dwindle.engine.lane_updates import (
    LAST_32,
    absence,
    add_slope,
    in_units,
    is_held,
    lane_weights,
    lengthens,
    note_value,
    settle_lanes,
    share_of,
    step_lanes,
    worth_of,
)
from dwindle.jit.compile import helper, kernel, teach
from dwindle.jit.intrinsics import prefetch
from dwindle.jit.vectors import plus, row, set_row, times

teach(settle_lanes, share_of, lane_weights, step_lanes, lengthens, in_units)
teach(note_value, add_slope, is_held, absence, worth_of)

FORGET = 0.999  # by which errors are discounted at each example, to say which lane is best so far
NOISE, ROOT, WAITING, CLOCK = range(4)  # elements of ``state``; WAITING is for the next pull


@helper
def score_lanes(
    first: Any, last: Any, key: Any, x: Any, cells: Any, shift: Any, clock: float, lanes: Any,
    update: Any,
) -> Any:  # fmt: skip
    """Sum weights times value over the features from ``first`` to ``last``, in each lane."""
    mask = uint64(len(cells) - 1)
    end = uint64(len(key))
    gravity = row(lanes[0], "gravity")
    p = times(gravity, 0.0)
    for k in range(first, last):
        if k + AHEAD < end:
            prefetch(cells, ((uint64(key[k + AHEAD]) + ONE) * GOLDEN) >> shift)
        mark = uint64(key[k]) + ONE
        j = (mark * GOLDEN) >> shift
        while cells[j].key != mark and cells[j].key != 0:
            j = (j + ONE) & mask
        if cells[j].key == mark:
            share = share_of(update, cells[j])
            p = plus(p, times(lane_weights(update, cells[j], gravity, clock, share), x[k]))
    return p


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
    by_noise: bool,
    every: int,
    cells: Any,
    room: int,
    bias: Any,
    lanes: Any,
    state: Any,
    error: Any,
    best: Any,
    constant: float,
    normalize: bool,
    loss: Any,
    update: Any,
    slots: Any,
    shares: Any,
    slopes: Any,
    fresh: Any,
    rows: Any,
    predicted: Any,
    prediction: Any,
) -> tuple[int, int, int]:
    """Pull, predict, then learn from, the examples from ``first`` on, in all lanes.

    ``lanes[0]`` has what lanes share, and ``rows[i]``, whose numbers ``predicted[i]`` shows, gets
    the predictions of all lanes; ``prediction[i]`` is that of the lane that was best before.
    ``slopes`` shows ``lanes[0].slope``. The clock is that of the noise, in ``state``, or, if not
    ``by_noise``, ``pulled``. Else as `kernels.learn`.
    """
    mask = uint64(len(cells) - 1)
    shift = home_shift(len(cells))
    end = uint64(len(key))
    shared = lanes[0]
    gravity = row(shared, "gravity")
    none = times(gravity, 0.0)
    n_lanes = len(slopes)
    n_fresh = 0
    for i in range(first, len(label)):
        begin, stop = uint64(start[i]), uint64(start[i + 1])
        n = start[i + 1] - start[i]
        spread = 1.0 / math.sqrt(max(n + constant, 1.0)) if normalize else 1.0
        one = constant * spread
        if importance[i] == 0.0:
            clock = state[CLOCK] if by_noise else pulled[at]
            share = share_of(update, bias[0])
            p = times(lane_weights(update, bias[0], none, clock, share), one)
            scored = score_lanes(begin, stop, key, x, cells, shift, clock, lanes, update)
            set_row(rows[i], "lane", plus(p, times(scored, spread)))
            for a in range(n_lanes):
                predicted[i, a] += base[i]
            prediction[i] = predicted[i, best[0]]
            continue
        if n_fresh + n > room or at + 1 == len(pulled):
            return i, at, n_fresh
        at += 1
        clock = state[CLOCK] if by_noise else pulled[at]
        bias_share = share_of(update, bias[0])
        p = times(lane_weights(update, bias[0], none, clock, bias_share), one)
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
            settle_lanes(update, cells[j], gravity, clock, xk)
            share = share_of(update, cells[j])
            shares[k - begin] = share
            cells[j].last = uint64(n_steps + at) & uint64(LAST_32)
            p = plus(p, times(lane_weights(update, cells[j], gravity, clock, share), xk))
            part = np.float64(in_units(update, cells[j], xk))
            length += part * part
        set_row(rows[i], "lane", p)
        prediction[i] = base[i] + np.float64(predicted[i, best[0]])
        steepest, least = 0.0, 0
        for a in range(n_lanes):
            predicted[i, a] += base[i]
            p_lane = np.float64(predicted[i, a])
            s = importance[i] * slope(loss, p_lane, label[i])
            if not (math.isfinite(p_lane) and abs(s) < STEEPEST):
                prediction[i] = math.nan if math.isfinite(p_lane) else p_lane
                return i, at, n_fresh
            slopes[a] = s
            steepest = max(steepest, abs(s))
            error[a] = FORGET * error[a] + s * s
            if error[a] < error[least]:
                least = a
        best[0] = least
        if steepest > 0.0:
            of_best = np.float64(slopes[least])
            span = math.sqrt(length) if lengthens(update) else 1.0
            pace = rate[at] / span
            s_row = row(shared, "slope")
            if constant > 0.0:
                step_lanes(update, bias[0], none, clock, bias_share, pace, s_row, of_best, one)
            for k in range(begin, stop):
                step_lanes(
                    update, cells[slots[k - begin]], gravity, clock, shares[k - begin],
                    pace, s_row, of_best, x[k] * spread,
                )  # fmt: skip
            state[NOISE] += of_best / span * (of_best / span)
            root = math.sqrt(state[NOISE])
            state[WAITING] += rate[at] * (root - state[ROOT])
            state[ROOT] = root
        if (n_steps + at) % every == 0:
            state[CLOCK] += state[WAITING]
            state[WAITING] = 0.0
    return len(label), at, n_fresh


@kernel
def predict(
    start: Any,
    key: Any,
    x: Any,
    base: Any,
    clock: float,
    cells: Any,
    bias: Any,
    lanes: Any,
    constant: float,
    normalize: bool,
    update: Any,
    rows: Any,
    predicted: Any,
) -> None:
    """Predict each example by the present weights of all lanes; changes nothing else."""
    shift = home_shift(len(cells))
    none = times(row(lanes[0], "gravity"), 0.0)
    share = share_of(update, bias[0])
    intercept = times(lane_weights(update, bias[0], none, clock, share), constant)
    for i in range(len(rows)):
        p = score_lanes(
            uint64(start[i]), uint64(start[i + 1]), key, x, cells, shift, clock, lanes, update
        )
        n = start[i + 1] - start[i]
        spread = 1.0 / math.sqrt(max(n + constant, 1.0)) if normalize else 1.0
        set_row(rows[i], "lane", times(plus(p, intercept), spread))
        for a in range(predicted.shape[1]):
            predicted[i, a] += base[i]


@kernel
def weights(cells: Any, clock: float, lanes: Any, update: Any, key: Any, rows: Any) -> int:
    """Write the keys and weights of all features; return their number."""
    gravity = row(lanes[0], "gravity")
    n = 0
    for j in range(len(cells)):
        if cells[j].key != 0:
            w = lane_weights(update, cells[j], gravity, clock, share_of(update, cells[j]))
            key[n] = cells[j].key - ONE
            set_row(rows[n], "lane", w)
            n += 1
    return n
