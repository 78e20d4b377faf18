"""The features of a learner as plain columns, whatever the layout of its cells.

With truncated gradient ``value`` is the weight w. With `FTRL` and `RDA` it is z / u, u being the
feature's unit, from which the weight follows wherever the feature is centred:

    w u = T1(z / u, pull) / (beta + sqrt(n) / u).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.adaptive import Adaptive, Centred
from dwindle.algorithm.dual_averaging import FTRL
from dwindle.algorithm.units import inverted
from dwindle.engine.lane_kernels import CLOCK, SLOPES
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.table import empty_cells

Floats = NDArray[np.float64]


class Known(NamedTuple):
    """What is known of features, a row for each."""

    mark: NDArray[np.uint64]  # its key plus one
    value: Floats  # a column for each lane
    energy: Floats  # the sum of its squared gradients, in its unit
    unit: Floats  # 0 if there is none yet
    seen: Floats  # values that the unit is of
    last: Floats  # the step at which it was last seen, if that is kept
    mean: Floats  # of a feature that every example has
    noted: Floats  # examples that the mean is of, by importance; 0 for one that is not centred

    def only(self, chosen: NDArray[Any]) -> "Known":
        """Return some of the rows."""
        return Known(*(column[chosen] for column in self))

    def at(self, mark: NDArray[np.uint64]) -> "Known":
        """Return the rows of these features, of zeros where there is none; rows are sorted."""
        if not len(self.mark):
            none = np.zeros((6, len(mark)))
            return Known(mark, np.zeros((len(mark), self.value.shape[1])), *none)
        place, there = located(self.mark, mark)
        return Known(mark, *(np.where(there, column[place].T, 0.0).T for column in self[1:]))


def located(mark: Any, wanted: Any) -> tuple[Any, Any]:
    """Return where sorted marks have those wanted, and which of these are there."""
    place = np.searchsorted(mark, wanted)
    place[place == len(mark)] = 0
    return place, mark[place] == wanted if len(mark) else np.zeros(len(wanted), bool)


def is_dual(learner: Learner) -> bool:
    """Whether weights follow from sums of gradients."""
    return isinstance(learner.update, FTRL)


def some_cells(cells: Any, chosen: NDArray[Any]) -> Any:
    """Return a copy of some cells; of records with padding numpy would copy field by field."""
    return cells.view(f"V{cells.dtype.itemsize}")[chosen].view(cells.dtype)


def full_cells(learner: Learner) -> Any:
    """Return a copy of the cells that are in use, by key."""
    at = np.flatnonzero(learner.table.cells["key"])
    return some_cells(learner.table.cells, at[np.argsort(learner.table.cells["key"][at])])


def known(learner: Learner, cells: Any, noted: float) -> Known:
    """Return what settled cells say, after so many examples by importance."""
    fields = {name: cells[name].astype(np.float64) for name in cells.dtype.names if name != "key"}
    none = np.zeros(len(cells))
    in_lanes = isinstance(learner, LaneLearner)
    unit: Any = fields["unit"] if in_lanes else inverted(fields.get("inverse", none))
    scale = np.where(unit > 0.0, unit, 1.0)
    value = fields["lane"] if in_lanes else fields["z" if is_dual(learner) else "weight"][:, None]
    value = value / scale[:, None] if is_dual(learner) else value
    norm = fields["root"] / scale if "root" in fields else fields.get("norm", none)
    of_mean, mean = none, fields.get("mean", none)
    if isinstance(learner.update, Centred):
        of_mean = np.maximum(fields["noted"], 0.0)
        mean = np.divide(fields["total"], of_mean, where=of_mean > 0.0, out=np.zeros_like(mean))
    elif "mean" in fields:
        of_mean = np.where(mean != 0.0, noted, 0.0)
    rest = fields.get("seen", none), fields.get("last", none), mean, of_mean
    return Known(cells["key"].copy(), value, np.square(norm), unit, *rest)


def cells_of(learner: Learner, found: Known, settled: Floats | float) -> Any:
    """Make the cells of a learner that say this, pulled up to ``settled``."""
    cells = empty_cells(learner.table.update, len(found.mark))
    unit = np.where(found.unit > 0.0, found.unit, 1.0)
    value = found.value * unit[:, None] if is_dual(learner) else found.value
    columns: dict[str, Any] = {
        "key": found.mark,
        "lane": value if isinstance(learner, LaneLearner) else 0.0,
        "z": value[:, 0],
        "weight": 0.0 if is_dual(learner) else value[:, 0],
        "unit": found.unit,
        "inverse": inverted(found.unit),
        "root": np.sqrt(found.energy) * unit,
        "norm": np.sqrt(found.energy),
        "seen": np.round(found.seen),
        "last": found.last,
        "mean": found.mean,
        "settled": settled,
        "total": found.mean * found.noted,
        "noted": np.where(found.noted > 0.0, found.noted, -1.0),
    }
    for name in cells.dtype.names:
        if name in columns:
            cells[name] = columns[name]
    return cells


def reach(learner: Learner, found: Known) -> Floats:
    """Return how much pull it takes to move each weight by 1, with truncated gradient."""
    if isinstance(learner.update, Adaptive):
        unit = np.where(found.unit > 0.0, found.unit, 1.0)
        return np.asarray((learner.update.beta + np.sqrt(found.energy)) * unit)
    return np.ones(len(found.mark))


def pulled(learner: LaneLearner, found: Known, owed: Floats) -> Floats:
    """Return the weights of lanes after the pull of so much more time, as T1 leaves them."""
    pull = (owed / reach(learner, found))[:, None] * of_lanes(learner, found)[0]
    near = np.abs(found.value) <= learner.shrinkage.threshold
    return np.where(near, found.value - np.clip(found.value, -pull, pull), found.value)


def of_lanes(learner: LaneLearner, found: Known) -> Floats:
    """Return the gravity of each lane, and its evidence; lanes without use have the last one's."""
    pairs = np.array(learner.shrinkage.pairs)
    unused = found.value.shape[1] - pairs.shape[1]
    return np.pad(pairs, ((0, 0), (0, unused)), mode="edge")


def dual_weights(learner: LaneLearner, found: Known, lanes: Floats) -> Floats:
    """Return the weights that follow from sums of gradients, given the state of the lanes."""
    gravity, evidence = of_lanes(learner, found)
    clock = lanes[CLOCK] if learner.shrinkage.by_noise else learner.clock.now
    root = np.sqrt(found.energy)[:, None]
    proof = evidence * clock * root / np.sqrt(max(lanes[SLOPES], 1e-300))
    pull = gravity * clock
    z, unit = found.value, np.where(found.unit > 0.0, found.unit, 1.0)[:, None]
    w = (z - np.clip(z, -pull, pull)) / (learner.update.beta + root) / unit
    return np.where(np.abs(z) >= proof, w, 0.0)
