"""What a model remembers of the lane that it is, so that learning can go on from its weights.

Of each feature, beside its weight, its unit u, the root of n, and its mean if it is centred. Of the
learner, its clocks: the `Moment`. From these follows what the lane's cells held, and what those of
the others hold if they have the same weights. All lanes go on from these; what the lane did not
keep is forgotten.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.algorithm.sigmas import Sigmas
from dwindle.algorithm.units import KNOWN
from dwindle.engine import lane_kernels
from dwindle.engine.lane_updates import LAST_32, LaneFTRL, LanePlain, LaneRDA, centring
from dwindle.engine.learner_state import fields_of
from dwindle.engine.table import empty_cells

Statistics = Mapping[str, NDArray[Any]]


class Moment(NamedTuple):
    """When learning ended, and in which lane the model is."""

    lane: int
    gravity: float
    root: float  # of the intercept's n
    clock: float  # how far a gravity of 1 has pulled
    by_noise: bool
    steps: dict[str, Any]  # the clock of the steps
    state: list[float]


def statistics_of(cells: Any, place: NDArray[np.int64], update: Any) -> dict[str, NDArray[Any]]:
    """Return what is known of the features of cells at these places: units and means, if any."""
    if isinstance(update, LanePlain):
        return {}
    found, unit = {"root": cells["root"][place]}, cells["unit"][place]
    if (unit != 1.0).any():
        found["scale"] = unit
    if centring(update):
        mean = cells["mean"][place]
        found |= {"mean": mean} if mean.any() else {}
    return found


def cells_with(
    update: Any,
    weight: NDArray[np.float64],
    statistics: Statistics,
    moment: Moment | None,
    gravities: Sequence[float] = (),
) -> Any:
    """Make the cells of features that have these weights in all lanes, whose gravities are c.

    z = w r + sgn(w) c S u for `FTRL` and `RDA`. Without a moment nothing was pulled, and n is 0.
    """
    cells = empty_cells(update, len(weight))
    u = np.asarray(statistics.get("scale", np.ones(len(weight))), np.float64)
    mean, root = statistics.get("mean", 0.0 * u), np.asarray(statistics.get("root", 0.0 * u))
    if moment is None or not centring(update):
        centred, mean = u, 0.0 * u
        u = np.hypot(u, statistics.get("mean", 0.0 * u))
        root = root * (u / centred)
    if moment is None:
        if isinstance(update, LaneRDA) and len(weight):
            raise DataError(
                "dual averaging needs sums that this model lacks: train the earlier one with "
                "--save-state, or go on with --update ftrl"
            )
        root = 0.0 * root
    held = weight[:, None]
    if isinstance(update, LaneFTRL):
        pull = np.zeros(cells["lane"].shape[1])
        if moment is not None:
            pull[: len(gravities)] = np.asarray(gravities) * moment.clock
        held = (weight * u * (update.beta * u + root))[:, None] + np.outer(
            np.sign(weight) * u, pull
        )
    cells["lane"], cells["unit"], cells["root"] = held, u, root
    cells["seen"] = KNOWN if "scale" in statistics or isinstance(update, LaneFTRL) else 0
    if centring(update):
        cells["mean"] = mean
    elif moment is not None:
        cells["settled"] = moment.clock
    if moment is not None:
        cells["last"] = moment.steps["n_steps"] & LAST_32
    return cells


def begun(
    state: dict[str, Any],
    update: Any,
    shrinkage: Sigmas,
    key: NDArray[np.uint64],
    weight: NDArray[np.float64],
    intercept: float,
    statistics: Statistics,
    moment: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the state of a new learner as it would be if all lanes had these weights."""
    goes_on = moment is not None and moment["by_noise"] == shrinkage.by_noise
    when = Moment(**moment) if moment is not None and goes_on and "root" in statistics else None
    cells = cells_with(update, weight, statistics, when, shrinkage.values)
    mean = cells["mean"] if centring(update) else np.zeros(len(key))
    level = np.array([intercept + weight @ mean])
    root = {} if when is None else {"root": np.array([when.root])}
    bias = cells_with(update, level, root, when)
    state["cells"] = {"id": key} | fields_of(cells)
    state["intercept"] = {name: each.item() for name, each in fields_of(bias).items()}
    if when is None:
        return state
    near = np.abs(np.subtract(shrinkage.values, when.gravity))
    same = when.lane < len(shrinkage.values) and near[when.lane] == 0.0
    lanes = {
        "state": when.state,
        "best": when.lane if same else int(np.argmin(near)),
        "centred": (key[mean != 0.0] + np.uint64(1)).tolist(),
    }
    return state | {"clock": when.steps | {"passes": 0}, "lanes": state["lanes"] | lanes}


def joined(moments: Sequence[Moment]) -> Moment:
    """Return the moment of the mean of models, whose data is one's after the other's.

    It is in the lane of the first. Sums of squares add up.
    """
    first, state = moments[0], np.array([each.state for each in moments])
    whole = state.sum(axis=0)
    for k in (lane_kernels.ROOT, lane_kernels.WAITING, lane_kernels.CLOCK):
        whole[k] = np.sqrt(np.square(state[:, k]).sum())
    steps = {"n_steps": sum(each.steps["n_steps"] for each in moments)}
    return first._replace(
        root=float(np.hypot.reduce([each.root for each in moments])),
        clock=float(np.hypot.reduce([each.clock for each in moments])),
        steps=first.steps | steps,
        state=whole.tolist(),
    )
