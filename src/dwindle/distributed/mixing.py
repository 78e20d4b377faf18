"""How shards become one model.

K shards learn from the same model, each from its part of the data. A shard takes n / K steps, each
K times as long as one machine's, and begins with 1 / K of the squared gradients; what they found is
averaged. So together they go as far as one machine. K counts for at most `MOST_BOOST` there.

With truncated gradient, if m shards saw a feature,

    w = the mean over these m;   then it owes the pull of the others, (P / m - P / K) / v,

P being the pull of all shards, of which each has felt P / K, and v how often each of the m saw the
feature: it is pulled so long until it is seen again. A feature that none saw owes all of P.
With `FTRL` and `RDA` the sums z and n of all shards add up to what they would be on one machine. A
shard counts in z what it would come to if all were as it is, and so does the pull. Lanes are mixed
one by one.

Between passes a learner is as one machine's would be: `sharing` makes that of a shard, and `mix`
makes one of what all shards told.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import SettingError
from dwindle._base.packing import packed
from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import FTRL, OFTEN
from dwindle.algorithm.units import MOST
from dwindle.algorithm.updates import Audited, Averaged, Plain
from dwindle.distributed.cells import (
    Floats,
    Known,
    cells_of,
    dual_weights,
    is_dual,
    known,
    located,
    pulled,
    reach,
    some_cells,
)
from dwindle.distributed.sharing import boost, damping
from dwindle.distributed.telling import (
    SCORES,
    Rows,
    Start,
    Told,
    holding,
    keep_held,
    least,
    started,
)
from dwindle.engine.kinds import learner_from
from dwindle.engine.lane_kernels import CLOCK, NOISE, NOTED, ROOT, SLOPES, WAITING
from dwindle.engine.lane_scores import SEGMENTS, SHORTEST
from dwindle.engine.lane_updates import LAST_32, RECENT
from dwindle.engine.lanes import FORGETS, LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.learner_state import fields_of
from dwindle.engine.table import n_cells_for
from dwindle.engine.table_kernels import settle_all


def check_mixes(learner: Learner) -> None:
    """Refuse, by name, an update whose weights could not be mixed."""
    update = learner.update
    if isinstance(update, Averaged | Audited) or not isinstance(update, Plain | Adaptive | FTRL):
        raise SettingError(
            f"many machines mix the updates Plain, Adaptive, FTRL and RDA, not {update}: "
            "leave out --on"
        )


class Mixed(NamedTuple):
    """What is mixed: the learner before, the features of it and of the shards, and what they told.

    ``first`` and ``rows`` are of the same features.
    """

    learner: Learner
    start: Start
    first: Known
    rows: Rows
    sums: Mapping[str, Floats]
    shards: float  # that learned anything
    longer: float  # the `boost` of each
    damping: float
    lanes: Floats  # the state of the lanes, mixed
    now: float  # the time of the clock, mixed
    n_features: int  # that there are, before any is forgotten


def mix(
    learner: Learner, told: Told, shards: int, only: NDArray[np.uint64] | None = None
) -> Learner:
    """Return the learner after all shards that began where it is have told what they learned.

    It may have ``only`` features of these marks, which are sorted.
    """
    learned = told.sums["learned"].item()
    if not learned:
        return learner
    start, sums, longer = started(learner), told.sums, boost(learner.update, shards)
    mark = _united(told.mark, start.cells["key"])
    n_features = len(mark)
    if only is not None:
        mark = mark[located(only, mark)[1]]
        wanted = located(only, start.cells["key"])[1]
        start = start._replace(cells=some_cells(start.cells, wanted))
    first = known(learner, start.cells, start.lanes[NOTED]).at(mark)
    rows = np.zeros((len(mark), told.rows.shape[1]))
    place, there = located(told.mark, mark)
    rows[there] = told.rows[place[there]]
    lanes = _lanes(start, sums, learned, longer)
    by = longer if is_dual(learner) and not learner.clock.counts_moments else 1.0
    now = start.now + sums["now"].item() / by
    by_all = longer, damping(shards), lanes, now, n_features
    each = Mixed(learner, start, first, Rows.of(rows), sums, learned, *by_all)
    found = _summed(each) if is_dual(learner) else _pulled(each)
    bias = _bias(each)
    state = learner.state()
    state["label_moments"] = _moments(learner, start.moments + sums["moments"])
    state["clock"] |= {"n_steps": start.n_steps + round(sums["steps"].item()), "now": now}
    if isinstance(learner, LaneLearner):
        bias = _levelled(each, found, bias)
        found = found.only(_remembered(each, found))
        state["lanes"] |= {
            "state": lanes.tolist(),
            "error": (sums["error"] / learned).tolist(),
            "best": int(np.argmin(sums["error"][: learner.n_lanes])),
            "centred": found.mark[found.noted > 0.0].tolist(),
        }
        if "judged" in sums:
            state["lanes"]["scores"] = _scores(sums)
    return _made(learner, state, found, bias)


def _united(a: Any, b: Any) -> Any:
    """Return the union of sorted marks, sorted."""
    both = np.sort(np.concatenate([a, b]), kind="stable")  # which merges two runs
    return both[np.append(True, both[1:] != both[:-1])] if len(both) else both


def _lanes(start: Start, sums: Mapping[str, Floats], shards: float, longer: float) -> Floats:
    """Return the state of the lanes, as if one machine had seen what the shards saw."""
    state = start.lanes + sums["lanes"]
    state[ROOT] = np.sqrt(state[NOISE])
    pace = sums["pace"].item() / shards / longer
    before = start.lanes[CLOCK] + start.lanes[WAITING]
    state[CLOCK], state[WAITING] = before + pace * (state[ROOT] - start.lanes[ROOT]), 0.0
    return state


def _scores(sums: Mapping[str, Floats]) -> dict[str, Any]:
    """Return the scores of lanes, whose segments are of the same part of each shard."""
    examples = round(sums["judged"].item())
    length = max(-(-examples // SEGMENTS), SHORTEST)
    said = {"length": length, "examples": examples, "done": False}
    return said | {name: packed(sums[name]) for name in SCORES}


def _measured(each: Mixed, first: Known, rows: Rows) -> Known:
    """Return features with units and means of all their values; all else is as at the first.

    A feature stays centred if all shards centre it. Else its unit is that of its values as they
    are, as far as is known. A step of a shard is one of each of them, of one machine.
    """
    shards, n_steps = each.shards, each.start.n_steps
    latest = n_steps + np.minimum(shards * rows.last, each.sums["steps"].item())
    seen = first.seen + rows.seen
    squares = np.maximum(first.seen * np.square(first.unit) + rows.squares, 0.0)
    unit = np.where(seen > 0.0, np.sqrt(squares / np.maximum(seen, 1.0)), first.unit)
    noted, total = first.noted + rows.noted, first.noted * first.mean + rows.total
    mean = np.divide(total, noted, where=noted > 0.0, out=np.zeros_like(total))
    is_centred = (rows.centred >= shards) | ((first.noted > 0.0) & (rows.shards == 0.0))
    apart = np.where(is_centred, np.square(mean), 0.0)
    spread = np.divide(rows.spread, rows.noted, where=rows.noted > 0.0, out=np.zeros_like(mean))
    spread = np.where(is_centred, 1.0, rows.centred / shards) * spread
    unit = np.where(
        rows.spread > 0.0, np.hypot(unit, np.sqrt(np.maximum(spread - apart, 0.0))), unit
    )
    lost = (first.noted > 0.0) & ~is_centred
    unit = np.where(lost, np.hypot(unit, first.mean), unit)
    return first._replace(
        unit=unit,
        seen=np.minimum(seen, MOST),
        last=np.where(rows.shards > 0.0, latest, first.last) % (LAST_32 + 1),
        mean=np.where(is_centred, mean, 0.0),
        noted=np.where(is_centred, noted, 0.0),
    )


def _summed(each: Mixed) -> Known:
    """Return features whose sums are over all shards."""
    first, rows = each.first, each.rows
    found = _measured(each, first, rows)
    return found._replace(
        value=first.value + rows.value / (each.longer * each.damping),
        energy=np.maximum(first.energy + rows.energy, 0.0),
    )


def _pulled(each: Mixed) -> Known:
    """Return features whose weights are means over those who saw them, pulled by all others."""
    learner, first, rows, sums = each.learner, each.first, each.rows, each.sums
    told = rows.shards > 0.0
    voters = np.maximum(rows.shards, 1.0)
    found = _measured(each, first, rows)
    found = found._replace(
        value=np.where(told[:, None], rows.value / voters[:, None], first.value),
        energy=np.maximum(first.energy + rows.energy, 0.0),  # it may be 0 but for rounding
    )
    whole = sums["now"].item()
    if isinstance(learner, LaneLearner) and learner.shrinkage.by_noise:
        whole = sums["far"].item() * each.shards**-0.5  # as the gravities of shards are
    visits = np.maximum(rows.seen / voters, 1.0)  # in a shard, between which all are pulled
    owed = (whole / voters - np.where(told, whole / each.shards, 0.0)) / visits
    in_shard = found._replace(energy=found.energy / each.shards)
    if isinstance(learner, LaneLearner):
        found = found._replace(value=pulled(learner, in_shard, owed))
    else:
        found = found._replace(value=_settled(each, in_shard, owed, whole))
        found = found.only(found.value.any(axis=1) | (found.noted > 0.0))
    return found


def _remembered(each: Mixed, found: Known) -> NDArray[np.bool_]:
    """Tell which features of lanes stay.

    As on one machine a large table forgets what no gravity holds and was absent from the last
    quarter of all examples. A feature that was seen v times in this pass will be absent, until it
    is seen again, from 1 / v of the next one. Without this, sums of features that are seen once a
    pass would grow with every pass, and come to hold by themselves.
    """
    learner, steps = each.learner, each.sums["steps"].item()
    assert isinstance(learner, LaneLearner)
    stays = (found.seen > 0.0) | (found.noted > 0.0)
    if not is_dual(learner):
        stays = found.value.any(axis=1) | (found.noted > 0.0)
    if n_cells_for(each.n_features) < FORGETS:
        return np.asarray(stays)
    wait = steps / np.maximum(each.rows.seen, 1.0)
    absent = stays & (wait > (each.start.n_steps + steps) / RECENT)
    stays &= ~absent
    if is_dual(learner):
        pull = each.lanes[CLOCK] if learner.shrinkage.by_noise else each.now
        bounds = least(learner.shrinkage, pull, each.lanes[SLOPES])
        root, unit = np.sqrt(found.energy), np.ones(len(absent))
        keep_held(found.value, unit, root, found.mean, absent, *bounds)
    else:
        absent &= found.value[:, holding(learner.shrinkage)].any(axis=1)
    return np.asarray(stays | absent)


def _settled(each: Mixed, found: Known, owed: Floats, whole: float) -> Floats:
    """Return weights after the pull that they owe, by whatever shrinkage it is."""
    learner, size = each.learner, each.sums["size"].item() / each.shards
    cells = cells_of(learner, found, whole - owed)
    settle_all(cells, whole, size, learner.shrinkage, learner.update)
    return np.asarray(cells["weight"][:, None])


def _bias(each: Mixed) -> Known:
    """Return the intercept: the mean over all shards, and never pulled."""
    learner, start = each.learner, each.start
    first = known(learner, start.bias, start.lanes[NOTED])
    rows = Rows.of(each.sums["bias"][None, :])
    found = _measured(each, first, rows)
    value = rows.value / each.shards
    if is_dual(learner):
        value = first.value + rows.value / each.longer
    return found._replace(value=value, energy=np.maximum(first.energy + rows.energy, 0.0))


def _levelled(each: Mixed, found: Known, bias: Known) -> Known:
    """Return the intercept after the features that some shards centred, and others could not."""
    rows, learner = each.rows, each.learner
    lost = (rows.centred > 0.0) & (found.noted == 0.0) if is_dual(learner) else None
    if lost is None or not lost.any():
        return bias
    assert isinstance(learner, LaneLearner)
    w = dual_weights(learner, found.only(lost), each.lanes)
    total = each.first.noted[lost] * each.first.mean[lost] + rows.total[lost]
    level = (w * (total / max(each.lanes[NOTED], 1e-300))[:, None]).sum(axis=0)
    return bias._replace(
        value=bias.value - level * (learner.update.beta + np.sqrt(bias.energy))[:, None]
    )


def _moments(learner: Learner, raw: Floats) -> list[float]:
    """Return the moments of labels from their number, sum and sum of squares."""
    if not learner.label_scale.scaled:
        return []
    n, total, squares = raw.tolist()
    mean = total / n if n > 0.0 and learner.label_scale.centred else 0.0
    return [n, mean, max(squares - n * mean * mean, 0.0)]


def _made(learner: Learner, state: dict[str, Any], found: Known, bias: Known) -> Learner:
    """Make the learner of this state, with these features and this intercept."""
    found = _within_budget(learner, state, found)
    by_noise = isinstance(learner, LaneLearner) and learner.shrinkage.by_noise
    now = state["lanes"]["state"][CLOCK] if by_noise else state["clock"]["now"]
    key = found.mark - np.uint64(1)
    cell = cells_of(learner, bias, now)
    intercept = {name: field[0].item() for name, field in fields_of(cell).items()}
    n_cells = n_cells_for(len(key))
    return learner_from(
        state
        | {
            "cells": {"id": key} | fields_of(cells_of(learner, found, now)),
            "names": learner.table.names.of(key),
            "intercept": state["intercept"] | intercept,
            "n_cells": n_cells,
            "peak": max(state["peak"], len(key)),
        }
    )


def _within_budget(learner: Learner, state: Mapping[str, Any], found: Known) -> Known:
    """Evict the features worth least, if there are more than the budget allows."""
    most = learner.max_live
    if most is None or len(found.mark) <= most:
        return found
    if is_dual(learner) or isinstance(learner, LaneLearner):
        absence = np.maximum(state["clock"]["n_steps"] - found.last, 0.0)
        worth = found.energy * np.minimum(found.seen, OFTEN) / (1.0 + absence)
    else:
        worth = np.abs(found.value[:, 0]) * reach(learner, found)
    worth = np.where(found.noted > 0.0, np.inf, worth)
    kept = np.argsort(-worth, kind="stable")[:most]
    return found.only(np.sort(kept))
