"""Updates that average gradients and derive the weights from the average: FTRL and RDA.

A weight of zero may be about to become something else, so its cell has to be kept: features are
forgotten only by a budget, see `budget`.
"""

from typing import Any, NamedTuple

import numpy as np

from dwindle._base.dispatch import body_of, by_class
from dwindle._base.errors import SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Shrinkage, has_threshold, is_truncation, shrink
from dwindle.algorithm.updates import (
    alive,
    check_beta,
    exported,
    settle,
    squared,
    step,
    weight_at,
    worth,
)

OFTEN = 10  # the most times seen that count in what a feature is worth
LAST_32 = 2**32 - 1  # the bits of the clock that a cell has room for

# The sum z, the squared gradients, and when and how often the feature was seen: 32 bytes.
_CELL = np.dtype(
    [("key", "u8"), ("z", "f8"), ("weight", "f4"), ("energy", "f4"), ("last", "u4"), ("seen", "u4")]
)


@by_class
def mark_seen(update: Any, cell: Any, now: float) -> None:
    """Write into the cell that its feature was seen once more, at ``now``."""


def _check(name: str, beta: float, shrinkage: Shrinkage) -> None:
    """Refuse all but T1, which is how the averaged gradients are pulled."""
    check_beta(beta)
    if not is_truncation(shrinkage):
        raise SettingError(f"{name} knows only Truncation, got {shrinkage}")
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


@body_of(weight_at, FTRL)
def _(update: FTRL, shrinkage: Any, cell: Any, _now: float, size: float) -> float:
    w = shrink(shrinkage, cell.z, 1.0, size) / (update.beta + np.sqrt(np.float64(cell.energy)))
    return np.float64(np.float32(w))  # rounded as the cell stores it


@body_of(settle, FTRL)
def _(update: FTRL, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
    w = weight_at(update, shrinkage, cell, now, size)
    cell.weight = w
    if x != 0.0:
        mark_seen(update, cell, now)
    return w


@body_of(step, FTRL)
def _(_update: FTRL, cell: Any, rate: float, slope: float, x: float) -> None:
    g = slope * x
    before = np.sqrt(np.float64(cell.energy))
    cell.energy += g * g
    cell.z += (np.sqrt(np.float64(cell.energy)) - before) * cell.weight - rate * g


class RDA(NamedTuple):
    """Regularised dual averaging (Xiao, 2010) with AdaGrad's rates (Duchi and others, 2011).

    With gradient g = phi'(p, y) x, and the total pull of Truncation as the penalty:

        z <- z - eta g,   n <- n + g^2,   w = T1(z, sum of eta_i g_i) / (beta + sqrt(n)).

    Truncated gradient forgets pulls on a weight of zero; here every pull counts.
    """

    beta: float = 1.0

    def cell(self) -> np.dtype[np.void]:
        """Return the layout of `FTRL`; the weight is not used."""
        return _CELL

    @property
    def counts_moments(self) -> bool:
        """True: the clock is the number of steps, as for `FTRL`."""
        return True

    def check(self, shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse settings that RDA has no use for."""
        _check("RDA", self.beta, shrinkage)

    @property
    def evicts_by(self) -> str:
        """The steps since a feature was last seen."""
        return "absence"


@body_of(weight_at, RDA)
def _(update: RDA, shrinkage: Any, cell: Any, now: float, size: float) -> float:
    return shrink(shrinkage, cell.z, now, size) / (update.beta + np.sqrt(np.float64(cell.energy)))


@body_of(settle, RDA)
def _(update: RDA, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
    if x != 0.0:
        mark_seen(update, cell, now)
    return weight_at(update, shrinkage, cell, now, size)


@body_of(step, RDA)
def _(_update: RDA, cell: Any, rate: float, slope: float, x: float) -> None:
    g = slope * x
    cell.energy += g * g
    cell.z -= rate * g


@body_of(exported, FTRL, RDA)
def _(update: Any, shrinkage: Any, cell: Any, now: float, size: float, _n_steps: int) -> float:
    return weight_at(update, shrinkage, cell, now, size)


@body_of(alive, FTRL, RDA)
def _(_update: Any, _cell: Any, _w: float) -> bool:
    return True


@body_of(mark_seen, FTRL, RDA)
def _(_update: Any, cell: Any, now: float) -> None:
    cell.last = np.uint64(now) & np.uint64(LAST_32)
    cell.seen = min(cell.seen + 1, OFTEN)


@body_of(worth, FTRL, RDA)
def _(_update: Any, cell: Any, now: float, _size: float) -> float:
    absence = (np.uint64(now) - np.uint64(cell.last)) & np.uint64(LAST_32)
    return np.float64(cell.energy) * cell.seen / (1.0 + absence)


@body_of(squared, FTRL, RDA)
def _(_update: Any, _cell: Any, _x: float) -> float:
    return 0.0
