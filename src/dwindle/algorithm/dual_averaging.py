"""Updates that average gradients and derive the weights from the average: FTRL and RDA.

A weight of zero may be about to become something else, so its cell has to be kept: features are
forgotten only by a budget, see `budget`.
"""

from typing import Any, NamedTuple

import numpy as np

from dwindle._base.dispatch import by_class_or_default
from dwindle._base.errors import SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import (
    ElasticNet,
    Shrinkage,
    has_threshold,
    is_truncation,
    mean_of,
    shrink_mean,
)
from dwindle.algorithm.units import measure, per_unit
from dwindle.algorithm.updates import check_beta, owed, weight_at

OFTEN = 10  # the most times seen that count in what a feature is worth
LAST_32 = 2**32 - 1  # the bits of the clock that a cell has room for

# The sum z; the weight that predicted, as it is and in the feature's unit; the root of the squared
# gradients; one over the unit; how often the feature was seen, and when.
_CELL = np.dtype(
    {
        "names": ["key", "z", "weight", "v", "root", "inverse", "seen", "last"],
        "formats": ["u8", "f8", "f8", "f8", "f8", "f4", "u4", "u4"],
        "itemsize": 64,
    }
)


@by_class_or_default
def in_unit(update: Any, shrinkage: Any, cell: Any, now: float, size: float) -> float:
    """Return v = w u, the weight in the feature's unit, that follows from the sums."""
    each, due = per_unit(update, cell), owed(update, cell, now)
    return shrink_mean(shrinkage, cell.z * each, due, size, update.beta + cell.root * each)


def _check(name: str, beta: float, shrinkage: Shrinkage) -> None:
    """Refuse all but T1, which is how the averaged gradients are pulled."""
    check_beta(beta)
    if not (is_truncation(shrinkage) or isinstance(shrinkage, ElasticNet)):
        raise SettingError(f"{name} knows only Truncation and ElasticNet, got {shrinkage}")
    if has_threshold(shrinkage):
        raise SettingError(f"{name} has no threshold, got {shrinkage}")


class FTRL(NamedTuple):
    """FTRL-Proximal (McMahan and others, 2013), in the units and with the lengths of `Adaptive`.

    Truncation's gravity is its lambda_1. With u the root mean square of a feature's values when
    present, |x / u| the length of the whole example, gradient g = phi'(p, y) x and alpha = eta, z
    being the paper's times -eta:

        z <- z - eta / sqrt(1 + |x / u|^2) g + (sqrt(n + g^2) - sqrt(n)) u w,   n <- n + g^2,
        w = T1(z, eta lambda_1 u) / (u (beta u + sqrt(n))).

    So the scale of a feature does not matter. Where u is 1 and without the length, this is
    McMahan's. Lambda_1 is set against the sum of all gradients, so it has to grow with the data,
    where the gravity of the other updates pulls at each step.
    """

    beta: float = 0.2

    def cell(self) -> np.dtype[np.void]:
        """Return the layout, in one cache line."""
        return _CELL

    def weight_at(self, shrinkage: Any, cell: Any, now: float, size: float) -> float:
        return in_unit(self, shrinkage, cell, now, size) * per_unit(self, cell)

    def owed(self, _cell: Any, _now: float) -> float:
        return 1.0  # what the sum owes, which is never settled

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
        if cell.inverse == 0.0 and cell.z != 0.0 and x != 0.0:  # a weight that has had no unit
            w = weight_at(self, shrinkage, cell, now, size)
            measure(self, cell, x)
            u, due = 1.0 / per_unit(self, cell), owed(self, cell, now)
            cell.z = mean_of(shrinkage, w * u, due, size, self.beta) * u
        else:
            measure(self, cell, x)
        v = in_unit(self, shrinkage, cell, now, size)
        w = v * per_unit(self, cell)
        cell.v = v
        cell.weight = w
        if x != 0.0:
            cell.last = np.uint64(now) & np.uint64(LAST_32)
        return w

    def squared(self, cell: Any, x: float) -> float:
        part = x * cell.inverse
        return part * part

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        g, before = slope * x, cell.root
        cell.root = np.sqrt(before * before + g * g)
        cell.z += (cell.root - before) * cell.v - rate * g

    def fields_of(
        self, weight: Any, inverse: Any, root: Any, shrinkage: Shrinkage, size: float
    ) -> dict[str, Any]:
        """Return the sums that these weights follow from, given the squared gradients."""
        each = np.where(inverse > 0.0, np.float64(inverse), 1.0)
        divisor = self.beta + root * each
        return {"root": root, "z": mean_of(shrinkage, weight / each, 1.0, size, divisor) / each}

    def alive(self, _cell: Any, _w: float) -> bool:
        return True

    def worth(self, cell: Any, now: float, _size: float) -> Any:
        absence = (np.uint64(now) - np.uint64(cell.last)) & np.uint64(LAST_32)
        root = cell.root * per_unit(self, cell)
        return root * root * min(cell.seen, OFTEN) / (1.0 + absence)

    @property
    def counts_moments(self) -> bool:
        """True: the clock is the number of steps, and a moment's size is eta lambda_1."""
        return True

    @property
    def default_learning_rate(self) -> float:
        """More than `Adaptive`'s: a rate of 0.8 suits most data."""
        return 0.8

    def check(self, shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse settings that FTRL has no use for."""
        _check("FTRL", self.beta, shrinkage)
        if shrinkage.truncate_every != 1:
            raise SettingError(f"FTRL's gravity is no pull at every K-th step, got {shrinkage}")

    @property
    def evicts_by(self) -> str:
        """The steps since a feature was last seen."""
        return "absence"


class RDA(FTRL):
    """Regularised dual averaging (Xiao, 2010) with AdaGrad's rates (Duchi and others, 2011).

    With units, lengths and gradients as in `FTRL`, and the total pull of Truncation as the penalty:

        z <- z - eta / sqrt(1 + |x / u|^2) g,   n <- n + g^2,
        w = T1(z, u sum of eta_i g_i) / (u (beta u + sqrt(n))).

    Truncated gradient forgets pulls on a weight of zero; here every pull counts. All else is as in
    `FTRL`.
    """

    def owed(self, _cell: Any, now: float) -> float:
        return now

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        g, before = slope * x, cell.root
        cell.root = np.sqrt(before * before + g * g)
        cell.z -= rate * g

    @property
    def default_learning_rate(self) -> float:
        """More than `FTRL`'s: the sum of gradients alone moves a weight more slowly."""
        return 1.5

    def fields_of(self, *_: Any) -> dict[str, Any]:
        """Return nothing: a weight that no gradients made would wear off as others come."""
        return {}

    def check(self, shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse settings that RDA has no use for."""
        _check("RDA", self.beta, shrinkage)


class CentredFTRL(FTRL):
    """`FTRL` for columns far from zero: features that every example has are taken from their mean.

    It is for several gravities at once: see `engine.lane_centring`.
    """

    @property
    def default_learning_rate(self) -> float:
        """Less than that of `FTRL`: docs/regression.md measures it."""
        return 0.5

    def check(self, shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse a single gravity."""
        raise SettingError(f"{type(self).__name__} is for several gravities at once: {shrinkage}")


class CentredRDA(RDA):
    """`RDA` for columns far from zero, as `CentredFTRL` is."""

    def check(self, shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse a single gravity."""
        raise SettingError(f"{type(self).__name__} is for several gravities at once: {shrinkage}")
