"""What a shard tells of what it learned: a row for each feature it touched, and sums.

It tells of the features that are in the model it began with, and of new ones that would outlive the
wait until they are seen again. The others would not be left in the end, and there are many.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.dual_averaging import RDA
from dwindle.algorithm.sigmas import Sigmas
from dwindle.algorithm.updates import centres
from dwindle.distributed.cells import (
    Floats,
    Known,
    full_cells,
    is_dual,
    known,
    located,
    pulled,
    reach,
    some_cells,
)
from dwindle.engine.lane_kernels import CLOCK, NOTED, ROOT, SLOPES, WAITING
from dwindle.engine.lane_scores import SEGMENTS, LaneScores
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.jit.compile import kernel

TOLD = 0.25  # of the pull that a sum of gradients must have come to, to be told;
HELD = 0.5  # in lanes
TELLS_ALL = 2**18  # cells of a table of lanes, below which all features are told
CHUNK = 2**16  # cells looked at at a time
SCORES = ("weight", "total", "products", "count")  # arrays of `LaneScores`


class Start(NamedTuple):
    """A learner before it learns from a shard: its cells by mark, and what else changes."""

    cells: Any
    bias: Any
    n_steps: int
    now: float
    moments: Floats  # of the labels: their number, sum and sum of squares
    lanes: Floats  # the state of the lanes
    pulled: float  # as `LaneLearner` has it
    returned: NDArray[np.bool_]  # which of its features were forgotten since, and seen again


class Rows(NamedTuple):
    """What is told of each feature; columns are added up, but for the last: the largest counts."""

    shards: Floats  # that tell of it
    energy: Floats
    seen: Floats
    squares: Floats  # of its values, by which its unit is known
    centred: Floats  # shards that centre it
    noted: Floats  # examples that its mean is of, by importance,
    total: Floats  # and its mean times these
    spread: Floats  # the square of its mean times these, the first time
    value: Floats  # a column for each lane: with sums of gradients, how far it went
    last: Floats  # the last step at which it was seen, since the start

    def columns(self) -> Floats:
        """Return them as one array."""
        return np.column_stack(self)

    @classmethod
    def of(cls, columns: Floats) -> "Rows":
        """Name the columns of an array."""
        return cls._make([*columns.T[:8], columns[:, 8:-1], columns[:, -1]])


class Told(NamedTuple):
    """What one shard tells, or several together."""

    mark: NDArray[np.uint64]  # keys of the features plus one, sorted
    rows: Floats  # see `Rows`
    sums: dict[str, Floats]  # of what is not about a feature


def lane_state(learner: Learner) -> Floats:
    """Return the state of a learner's lanes; zeros if it has none."""
    if not isinstance(learner, LaneLearner):
        return np.zeros(6)
    return np.array(learner.lane_state()["state"])


def started(learner: Learner) -> Start:
    """Remember a learner, all of whose weights are settled."""
    cells = full_cells(learner)
    return Start(
        cells,
        learner.bias.copy(),
        learner.n_steps,
        learner.clock.now,
        _raw_moments(learner),
        lane_state(learner),
        learner.pulled if isinstance(learner, LaneLearner) else 0.0,
        np.zeros(len(cells), np.bool_),
    )


def followed(learner: Learner) -> Start:
    """Remember a learner before it learns from a shard, and note which features return."""
    start = started(learner)
    mark = start.cells["key"]

    def note(key: NDArray[Any]) -> None:
        place, there = located(mark, key.astype(np.uint64) + np.uint64(1))
        start.returned[place[there]] = True

    learner.table.on_entry = note
    return start


def tell(learner: Learner, start: Start) -> Told:
    """Return what a learner that began at ``start`` has to tell; settles its weights.

    Which features are told is decided before they are gathered and sorted: most are not.
    """
    cells = learner.table.cells
    place = learner.table.places(start.cells["key"] - np.uint64(1))
    vanished = place < 0
    old = place[_changed(start.cells, cells, place)]
    settle(learner)
    noted = lane_state(learner)[NOTED]
    is_new = cells["key"] != 0
    is_new[place[~vanished]] = False
    told = np.concatenate([old, *_worth_telling(learner, is_new, start)])
    told = told[np.argsort(cells["key"][told])]
    found = known(learner, some_cells(cells, told), noted)
    first = known(learner, start.cells, start.lanes[NOTED])
    # What returned began anew, with nothing: each shard may forget, and what all of them began with
    # may be taken away by none.
    stayed = first.only(~start.returned)
    mark, rows = found.mark, _rows(learner, found, stayed.at(found.mark), start)
    if vanished.any() and not is_dual(learner):  # of sums, what others know stays
        gone = first.only(vanished)
        empty = gone._replace(value=0.0 * gone.value, noted=0.0 * gone.noted)
        mark = np.concatenate([mark, gone.mark])
        rows = np.concatenate([rows, _rows(learner, empty, gone, start)])
        order = np.argsort(mark)
        mark, rows = mark[order], rows[order]
    return Told(mark, rows, _sums(learner, start))


def _chunks(chosen: NDArray[Any]) -> Iterator[NDArray[np.int64]]:
    """Yield where cells are chosen, some at a time: there may be many more than are told."""
    for begin in range(0, len(chosen), CHUNK):
        yield begin + np.flatnonzero(chosen[begin : begin + CHUNK])


def _changed(start: Any, cells: Any, place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which cells of the start are others now, where there is still a ``place`` of them."""
    found = place >= 0
    for at in _chunks(found):
        before, now = some_cells(start, at), some_cells(cells, place[at])
        found[at] = False
        for name in start.dtype.names:  # what pads cells may be anything
            differs = before[name] != now[name]
            found[at] |= differs if differs.ndim == 1 else differs.any(axis=1)
    return found


def settle(learner: Learner) -> None:
    """Settle all weights, where pulls may be owed."""
    if is_dual(learner):
        return
    table, clock = learner.table, learner.clock
    if isinstance(learner, LaneLearner):
        cells, now = table.cells, learner.pulled
        for at in _chunks(cells["key"]):
            some = some_cells(cells, at)
            found = known(learner, some, 0.0)
            some["lane"] = pulled(learner, found, now - some["settled"])
            some["settled"] = now
            cells[at] = some
    elif centres(learner.update):
        learner.bias["weight"] += table.settle_at_the_mean()
    else:
        table.settle(clock.now, clock.size)


def _worth_telling(
    learner: Learner, is_new: NDArray[np.bool_], start: Start
) -> Iterator[NDArray[np.int64]]:
    """Yield where those new features are that would outlive the wait until they are seen again."""
    cells, noted = learner.table.cells, lane_state(learner)[NOTED]
    if isinstance(learner, LaneLearner):
        if len(cells) < TELLS_ALL:  # as one machine forgets nothing while it is small
            yield np.flatnonzero(is_new)
            return
        if is_dual(learner):
            slopes = lane_state(learner)[SLOPES]
            keep_held(
                *(cells[name] for name in ("lane", "unit", "root", "mean")),
                is_new,
                *least(learner.shrinkage, learner.pulled, slopes, HELD),
            )
            yield np.flatnonzero(is_new)
            return
    for at in _chunks(is_new):
        found = known(learner, some_cells(cells, at), noted)
        yield at[_outlives(learner, found, start) | (found.noted > 0.0)]


def _outlives(learner: Learner, found: Known, start: Start) -> NDArray[np.bool_]:
    """Tell which features would outlive the wait until they are seen again."""
    if isinstance(learner, LaneLearner):
        gravity = np.array(learner.shrinkage.values)
        size = np.abs(found.value[:, : learner.n_lanes])
        rest = (learner.pulled - start.pulled) / np.maximum(found.seen, 1.0)
        outlives = size * reach(learner, found)[:, None] > gravity * rest[:, None]
        return np.asarray((outlives & (size > 0.0) & holding(learner.shrinkage)).any(axis=1))
    size, clock = np.abs(found.value[:, 0]), learner.clock
    if is_dual(learner):
        due = clock.now if isinstance(learner.update, RDA) else 1.0
        return np.asarray(size >= TOLD * due * clock.size)
    wait = (clock.now - start.now) * clock.size / np.maximum(found.seen, 1.0)
    return np.asarray(size * reach(learner, found) > wait)


def holding(shrinkage: Sigmas) -> NDArray[np.bool_]:
    """Tell which lanes hold weights down."""
    gravity, evidence = map(np.array, shrinkage.pairs)
    return np.asarray((gravity > 0.0) | (evidence > 0.0))


def least(
    shrinkage: Sigmas, pull: float, slopes: float, share: float = 1.0
) -> tuple[Floats, Floats]:
    """Return what a sum of gradients must come to in each lane, and in how many deviations.

    ``pull`` is how far a gravity of 1 has pulled, of which a ``share`` will do.
    """
    gravity, evidence = map(np.array, shrinkage.pairs)
    bound = np.where(holding(shrinkage), share * gravity * pull, np.inf)
    return bound, evidence * pull / np.sqrt(max(slopes, 1e-300))


@kernel
def keep_held(
    lane: Any, unit: Any, root: Any, mean: Any, chosen: Any, bound: Any, proof: Any
) -> None:
    """Leave those chosen that some lane with a gravity holds, or nearly, or that are centred."""
    for j in range(len(chosen)):
        if chosen[j]:
            scale = np.float64(unit[j]) if unit[j] > 0.0 else 1.0
            own = root[j] / scale
            held = mean[j] != 0.0
            for a in range(len(bound)):
                size = abs(np.float64(lane[j, a])) / scale
                held |= size >= bound[a] and size >= proof[a] * own
            chosen[j] = held


def _rows(learner: Learner, found: Known, first: Known, start: Start) -> Floats:
    """Return what is told of features that were as ``first`` says at the start."""
    is_centred = found.noted > 0.0
    total = found.noted * found.mean - first.noted * first.mean
    return Rows(
        np.ones(len(found.mark)),
        found.energy - first.energy,
        _counted(found) - _counted(first),
        _counted(found) * np.square(found.unit) - _counted(first) * np.square(first.unit),
        np.asarray(is_centred, np.float64),
        np.where(is_centred, found.noted - first.noted, 0.0),
        np.where(is_centred, total, 0.0),
        np.where(first.noted > 0.0, 0.0, found.noted * np.square(found.mean)),
        found.value - first.value if is_dual(learner) else found.value,
        np.maximum(found.last - start.n_steps, 0.0),
    ).columns()


def _counted(found: Known) -> Floats:
    """Return how many values units are of; one that is of none counts as of one."""
    return np.where(found.unit > 0.0, np.maximum(found.seen, 1.0), found.seen)


def _raw_moments(learner: Learner) -> Floats:
    """Return the number, the sum and the sum of squares of the labels, if they are scaled."""
    if not learner.label_scale.scaled:
        return np.zeros(3)
    n, mean, squares = learner.label_scale.moments.tolist()
    return np.array([n, n * mean, squares + n * mean * mean])


def _sums(learner: Learner, start: Start) -> dict[str, Floats]:
    """Return what is told beside features."""
    clock, ended = learner.clock, lane_state(learner)
    steps = learner.n_steps - start.n_steps
    went = ended[ROOT] - start.lanes[ROOT]
    far = ended[CLOCK] + ended[WAITING] - start.lanes[CLOCK] - start.lanes[WAITING]
    bias = known(learner, learner.bias, ended[NOTED])
    first = known(learner, start.bias, start.lanes[NOTED])
    error, scores = np.zeros(0), {}
    if isinstance(learner, LaneLearner):
        error = np.array(learner.lane_state()["error"])
        scores = {} if learner.scores.done else _scores(learner.scores)
    return scores | {
        "learned": np.array([float(steps > 0)]),
        "steps": np.array([float(steps)]),
        "now": np.array([clock.now - start.now]),
        "size": np.array([clock.size]),
        "far": np.array([far]),
        "pace": np.array([far / went if went > 0.0 else 0.0]),
        "lanes": ended - start.lanes,
        "error": error,
        "moments": _raw_moments(learner) - start.moments,
        "bias": _rows(learner, bias, first, start)[0],
    }


def _scores(scores: LaneScores) -> dict[str, Floats]:
    """Return how well lanes predicted, in segments that are equal parts of the shard."""
    used = -(-scores.examples // scores.length)
    place = np.arange(used) * SEGMENTS // max(used, 1)
    found = {"judged": np.array([float(scores.examples)])}
    for name in SCORES:
        array = getattr(scores, name)
        found[name] = np.zeros_like(array)
        np.add.at(found[name], place, array[:used])
    return found
