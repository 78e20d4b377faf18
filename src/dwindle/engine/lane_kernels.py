"""The compiled loops of `lanes`: as in `kernels`, with a row of weights for each feature."""

import math
from typing import Any

import numpy as np

from dwindle.algorithm.losses import slope
from dwindle.engine.kernels import STEEPEST
from dwindle.engine.lane_centring import find, missing, total, uncentre_missing
from dwindle.engine.lane_slopes import logistic_slopes
from dwindle.engine.lane_updates import (
    LAST_32,
    absence,
    add_slope,
    along,
    centring,
    hurries,
    in_units,
    is_held,
    lane_weights,
    lengthens,
    mean_of,
    no_pull,
    note_mean,
    note_value,
    pull_of,
    settle_lanes,
    share_of,
    spread_of,
    step_lanes,
    uncentre,
)
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
from dwindle.jit.numbers import uint64
from dwindle.jit.vectors import (
    added,
    all_within,
    filled,
    nonzero,
    place_of_least,
    plus,
    product,
    row,
    set_row,
    times,
    truncated,
)

teach(settle_lanes, share_of, lane_weights, step_lanes, lengthens, in_units)
teach(pull_of, no_pull, spread_of, note_value, add_slope, is_held, absence)
teach(hurries, centring, note_mean, along, mean_of, uncentre)

FORGET = 0.999  # by which errors are discounted at each example, to say which lane is best so far
LARGEST = np.finfo(np.float32).max.item()
# Elements of ``state``; WAITING is for the next pull, NOTED the importance of all examples, and
# SLOPES the sum of the squared slopes.
NOISE, ROOT, WAITING, CLOCK, NOTED, SLOPES = range(6)


@helper
def set_proof(shared: Any, state: Any) -> None:
    """Set what the evidence of each lane asks for, but for the root of a feature's n."""
    if state[SLOPES] > 0.0:
        far = state[CLOCK] / math.sqrt(state[SLOPES])
        set_row(shared, "proof", times(row(shared, "evidence"), far))


@kernel
def restore_proof(lanes: Any, state: Any) -> None:
    """Set it for a learner whose state is another's."""
    set_proof(lanes[0], state)


@helper
def score_lanes(
    first: Any, last: Any, key: Any, x: Any, cells: Any, home: Any, clock: float, lanes: Any,
    update: Any, centred: Any,
) -> Any:  # fmt: skip
    """Sum weights times value over the features from ``first`` to ``last``, in each lane.

    If the update centres, it is the sum less that of weights times mean over all of ``centred``.
    """
    mix, shift = home
    mask = uint64(len(cells) - 1)
    end = uint64(len(key))
    pull = pull_of(update, lanes[0])
    p = filled(pull.gravity, 0.0)
    absent = total(centred)
    for k in range(first, last):
        if k + AHEAD < end:
            prefetch_home(cells, uint64(key[k + AHEAD]) + ONE, home)
        mark = uint64(key[k]) + ONE
        j = (mark * mix) >> shift
        while cells[j].key != mark and cells[j].key != 0:
            j = (j + ONE) & mask
        if cells[j].key == mark:
            share = share_of(update, cells[j])
            xk = np.float32(x[k])
            if centring(update) and len(centred) > 0:
                xk = along(update, cells[j], xk)
                absent -= mark if mean_of(update, cells[j]) != 0.0 else uint64(0)
            p = plus(p, times(lane_weights(update, cells[j], pull, clock, share), xk))
    if centring(update) and absent != 0:
        lacking = missing(first, last, key, centred, cells, home, pull, clock, update)
        p = plus(p, times(lacking, -1.0))
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
    mixer: Any,
    room: int,
    bias: Any,
    lanes: Any,
    state: Any,
    best: Any,
    centred: Any,
    constant: float,
    normalize: bool,
    logistic: bool,
    loss: Any,
    update: Any,
    slots: Any,
    shares: Any,
    slopes: Any,
    fresh: Any,
    rows: Any,
    predicted: Any,
    prediction: Any,
    fold: Any,
    n_folds: int,
) -> tuple[int, int, int]:
    """Pull, predict, then learn from, the examples from ``first`` on, in all lanes.

    ``lanes[0]`` has what lanes share, and ``rows[i]``, whose numbers ``predicted[i]`` shows, gets
    the predictions of all lanes; ``prediction[i]`` is that of the lane that was best before.
    ``slopes`` shows ``lanes[0].slope``. The clock is that of the noise, in ``state``, or, if not
    ``by_noise``, ``pulled``. ``centred`` lists the keys plus one of the features that are centred,
    if the update centres, or 0; there is room for the first example's. With ``n_folds``, example i
    is held out of every ``n_folds``-th lane from ``fold[i]`` on: they do not step, and what lanes
    share counts the part of the examples that each of them learns from. Else as `kernels.learn`.
    """
    home = home_of(cells, mixer)
    mix, shift = home
    mask = uint64(len(cells) - 1)
    end = uint64(len(key))
    shared = lanes[0]
    none = no_pull(update, shared)
    n_fresh, n_probes = 0, uint64(0)
    expected = total(centred)
    for i in range(first, len(label)):
        begin, stop = uint64(start[i]), uint64(start[i + 1])
        n = start[i + 1] - start[i]
        spread = np.float32(1.0 / math.sqrt(max(n + constant, 1.0)) if normalize else 1.0)
        one = np.float32(constant) * spread
        if importance[i] == 0.0:
            clock = state[CLOCK] if by_noise else pulled[at]
            share = share_of(update, bias[0])
            p = times(lane_weights(update, bias[0], none, clock, share), one)
            scored = score_lanes(begin, stop, key, x, cells, home, clock, lanes, update, centred)
            set_row(rows[i], "lane", added(plus(p, times(scored, spread)), base[i]))
            prediction[i] = predicted[i, best[0]]
            continue
        if n_fresh + n > room or at + 1 == len(pulled):
            return i, at, n_fresh
        is_crowded = crowded(n_probes, begin - uint64(start[first]))
        if n > LONG and not is_crowded:
            n_fresh, is_crowded = enter_all(begin, stop, key, cells, home, fresh, n_fresh)
        if is_crowded:
            return i, at, ~n_fresh
        at += 1
        clock = state[CLOCK] if by_noise else pulled[at]
        pull = pull_of(update, shared)
        bias_share = share_of(update, bias[0])
        p = times(lane_weights(update, bias[0], none, clock, bias_share), one)
        length = 1.0
        is_first, present = state[NOTED] == 0.0, uint64(0)
        state[NOTED] += importance[i]
        for k in range(begin, stop):
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
            xk = np.float32(x[k]) * spread
            if centring(update):
                note_mean(update, cells[j], xk, importance[i] / state[NOTED], is_first)
                xk = along(update, cells[j], xk)
                counted = mark if mean_of(update, cells[j]) != 0.0 else uint64(0)
                present += counted
                if is_first:
                    centred[k - begin] = counted
            settle_lanes(update, cells[j], pull, clock, xk)
            share = share_of(update, cells[j])
            shares[k - begin] = share
            cells[j].last = uint64(n_steps + at) & uint64(LAST_32)
            p = plus(p, times(lane_weights(update, cells[j], pull, clock, share), xk))
            part = in_units(update, cells[j], share, xk)
            length += np.float64(part * part)
        if centring(update) and (is_first or present != expected):
            uncentre_missing(
                n, centred, cells, home, slots, pull, clock, bias[0], bias_share, update
            )
            expected = total(centred)
            for k in range(n):
                shares[k] = share_of(update, cells[slots[k]])
        p = added(p, base[i])
        set_row(rows[i], "lane", p)
        prediction[i] = predicted[i, best[0]]
        if logistic:
            s = times(logistic_slopes(p, label[i]), importance[i])
            set_row(shared, "slope", s)
        else:
            for a in range(len(slopes)):
                slopes[a] = importance[i] * slope(loss, np.float64(predicted[i, a]), label[i])
            s = row(shared, "slope")
        if not (all_within(p, LARGEST) and all_within(s, STEEPEST)):
            prediction[i] = math.nan if all_within(p, LARGEST) else math.inf
            return i, at, n_fresh
        error = plus(times(row(shared, "error"), FORGET), product(s, s))
        set_row(shared, "error", error)
        best[0] = place_of_least(error)
        if not all_within(s, 0.0):
            of_best = np.float32(slopes[best[0]])
            if n_folds > 0:
                of_best *= np.float32(math.sqrt(1.0 - 1.0 / n_folds))
                for a in range(fold[i], len(slopes), n_folds):
                    slopes[a] = 0.0
                s = row(shared, "slope")
            span = math.sqrt(min(length, LARGEST)) if lengthens(update) else 1.0
            of_noise = np.float64(of_best) / span
            state[NOISE] += of_noise * of_noise
            root = math.sqrt(state[NOISE])
            if lengthens(update):
                beyond = truncated(s, filled(s, np.float32(span * root)))
                s = plus(s, times(beyond, -1.0))
            steps = times(s, -rate[at] / span)
            if constant > 0.0:
                # By noise, the intercept soon knows how many are positive: what it does not know,
                # all features learn, and would be held against those that tell nothing.
                own = times(s, -rate[at]) if by_noise and hurries(update) else steps
                step_lanes(update, bias[0], none, clock, bias_share, own, of_best, one)
            for k in range(begin, stop):
                cell = cells[slots[k - begin]]
                step_lanes(
                    update, cell, pull, clock, np.float32(shares[k - begin]),
                    steps, of_best, along(update, cell, np.float32(x[k]) * spread),
                )  # fmt: skip
            state[SLOPES] += np.float64(of_best) * np.float64(of_best)
            state[WAITING] += rate[at] * (root - state[ROOT])
            state[ROOT] = root
        if (n_steps + at) % every == 0:
            state[CLOCK] += state[WAITING]
            state[WAITING] = 0.0
        set_proof(shared, state)
    is_crowded = strayed(n_probes, uint64(start[len(label)]) - uint64(start[first]))
    return len(label), at, ~n_fresh if is_crowded else n_fresh


@kernel
def predict(
    start: Any,
    key: Any,
    x: Any,
    base: Any,
    clock: float,
    cells: Any,
    mixer: Any,
    bias: Any,
    lanes: Any,
    centred: Any,
    constant: float,
    normalize: bool,
    update: Any,
    rows: Any,
) -> None:
    """Predict each example by the present weights of all lanes; changes nothing else.

    ``centred`` is to be empty if there is no ``constant`` to make up for means.
    """
    home = home_of(cells, mixer)
    none = no_pull(update, lanes[0])
    share = share_of(update, bias[0])
    intercept = times(lane_weights(update, bias[0], none, clock, share), constant)
    for i in range(len(rows)):
        p = score_lanes(
            *(uint64(start[i]), uint64(start[i + 1]), key, x, cells, home, clock, lanes, update),
            centred,
        )
        n = start[i + 1] - start[i]
        spread = 1.0 / math.sqrt(max(n + constant, 1.0)) if normalize else 1.0
        set_row(rows[i], "lane", added(times(plus(p, intercept), spread), base[i]))


@kernel
def levels(
    clock: float,
    cells: Any,
    mixer: Any,
    bias: Any,
    lanes: Any,
    centred: Any,
    update: Any,
    rows: Any,
    lane: Any,
) -> Any:
    """Return the intercept of each lane; ``rows``, whose numbers ``lane`` shows, are scratch."""
    pull = pull_of(update, lanes[0])
    home = home_of(cells, mixer)
    share = share_of(update, bias[0])
    none = no_pull(update, lanes[0])
    set_row(rows[0], "lane", lane_weights(update, bias[0], none, clock, share))
    found = np.empty(lane.shape[1])
    for a in range(len(found)):
        found[a] = lane[0, a]
    for c in range(len(centred)):
        cell = cells[find(cells, home, centred[c])]
        m = mean_of(update, cell)
        if m != 0.0:
            w = lane_weights(update, cell, pull, clock, share_of(update, cell))
            set_row(rows[0], "lane", w)
            for a in range(len(found)):
                found[a] -= np.float64(lane[0, a]) * m
    return found


@kernel
def count_weights(cells: Any, clock: float, lanes: Any, update: Any, count: Any) -> None:
    """Add to ``count`` the number of features that each lane has a weight for."""
    pull = pull_of(update, lanes[0])
    for j in range(len(cells)):
        if cells[j].key != 0:
            w = lane_weights(update, cells[j], pull, clock, share_of(update, cells[j]))
            held = nonzero(w)
            for a in range(len(count)):
                count[a] += (held >> a) & 1


@kernel
def weights(
    cells: Any, clock: float, lanes: Any, update: Any, lane: int, rows: Any, shown: Any,
    key: Any, weight: Any,
) -> int:  # fmt: skip
    """Write the keys and weights of the features that a lane has a weight for; return their number.

    ``rows``, whose numbers ``shown`` shows, is scratch.
    """
    pull = pull_of(update, lanes[0])
    n = 0
    for j in range(len(cells)):
        if cells[j].key != 0:
            w = lane_weights(update, cells[j], pull, clock, share_of(update, cells[j]))
            set_row(rows[0], "lane", w)
            if shown[0, lane] != 0.0:
                key[n] = cells[j].key - ONE
                weight[n] = shown[0, lane]
                n += 1
    return n


@kernel
def all_weights(cells: Any, clock: float, lanes: Any, update: Any, key: Any, rows: Any) -> None:
    """Write the keys and weights of all features."""
    pull = pull_of(update, lanes[0])
    n = 0
    for j in range(len(cells)):
        if cells[j].key != 0:
            w = lane_weights(update, cells[j], pull, clock, share_of(update, cells[j]))
            key[n] = cells[j].key - ONE
            set_row(rows[n], "lane", w)
            n += 1
