"""Updates that average gradients and derive the weights from the average: FTRL and RDA.

A weight of zero may be about to become something else, so its cell has to be kept: features are
forgotten only by a budget, see `budget`.
"""

from typing import Any, NamedTuple

import numpy as np

from dwindle._base.errors import SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import (
    ElasticNet,
    Shrinkage,
    has_threshold,
    is_truncation,
    shrink_mean,
)
from dwindle.algorithm.updates import check_beta, weight_at

OFTEN = 10  # the most times seen that count in what a feature is worth
LAST_32 = 2**32 - 1  # the bits of the clock that a cell has room for

# The sum z, the squared gradients, and when and how often the feature was seen: 32 bytes.
_CELL = np.dtype(
    [("key", "u8"), ("z", "f8"), ("weight", "f4"), ("energy", "f4"), ("last", "u4"), ("seen", "u4")]
)


def _check(name: str, beta: float, shrinkage: Shrinkage) -> None:
    """Refuse all but T1, which is how the averaged gradients are pulled."""
    check_beta(beta)
    if not (is_truncation(shrinkage) or isinstance(shrinkage, ElasticNet)):
        raise SettingError(f"{name} knows only Truncation and ElasticNet, got {shrinkage}")
    if has_threshold(shrinkage):
        raise SettingError(f"{name} has no threshold, got {shrinkage}")


class FTRL(NamedTuple):
    """FTRL-Proximal (McMahan and others, 2013), with Truncation's gravity as its lambda_1.

    With gradient g = phi'(p, y) x and alpha = eta, z being the paper's times -eta:

        z <- z - eta g + (sqrt(n + g^2) - sqrt(n)) w,   n <- n + g^2,
        w = T1(z, eta lambda_1) / (beta + sqrt(n)).

    Lambda_1 is set against the sum of all gradients, so it has to grow with the data, where the
    gravity of the other updates pulls at each step.
    """

    beta: float = 1.0

    def cell(self) -> np.dtype[np.void]:
        """Return the layout; ``weight`` is the one that predicted."""
        return _CELL

    def weight_at(self, shrinkage: Any, cell: Any, _now: float, size: float) -> float:
        w = shrink_mean(shrinkage, cell.z, 1.0, size, self.beta + np.sqrt(np.float64(cell.energy)))
        return np.float64(np.float32(w))  # rounded as the cell stores it

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
        w = weight_at(self, shrinkage, cell, now, size)
        cell.weight = w
        if x != 0.0:
            cell.last = np.uint64(now) & np.uint64(LAST_32)
            cell.seen = min(cell.seen + 1, OFTEN)
        return w

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        g = slope * x
        before = np.sqrt(np.float64(cell.energy))
        cell.energy += g * g
        cell.z += (np.sqrt(np.float64(cell.energy)) - before) * cell.weight - rate * g

    def alive(self, _cell: Any, _w: float) -> bool:
        return True

    def worth(self, cell: Any, now: float, _size: float) -> Any:
        absence = (np.uint64(now) - np.uint64(cell.last)) & np.uint64(LAST_32)
        return np.float64(cell.energy) * cell.seen / (1.0 + absence)

    @property
    def counts_moments(self) -> bool:
        """True: the clock is the number of steps, and a moment's size is eta lambda_1."""
        return True

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

    With gradient g = phi'(p, y) x, and the total pull of Truncation as the penalty:

        z <- z - eta g,   n <- n + g^2,   w = T1(z, sum of eta_i g_i) / (beta + sqrt(n)).

    Truncated gradient forgets pulls on a weight of zero; here every pull counts. All else is as in
    `FTRL`.
    """

    def weight_at(self, shrinkage: Any, cell: Any, now: float, size: float) -> float:
        return shrink_mean(
            shrinkage, cell.z, now, size, self.beta + np.sqrt(np.float64(cell.energy))
        )

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        g = slope * x
        cell.energy += g * g
        cell.z -= rate * g

    def check(self, shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse settings that RDA has no use for."""
        _check("RDA", self.beta, shrinkage)


class CentredFTRL(FTRL):
    """`FTRL` for columns far from zero: features that every example has are taken from their mean.

    It is for several gravities at once: see `engine.lane_updates.Centring`.
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

    @property
    def default_learning_rate(self) -> float:
        """Less than that of `RDA`."""
        return 0.8

    def check(self, shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse a single gravity."""
        raise SettingError(f"{type(self).__name__} is for several gravities at once: {shrinkage}")
