"""Updates with AdaGrad's rates, in which each feature has a rate and a unit of its own."""

from typing import Any, NamedTuple

import numpy as np

from dwindle._base.errors import SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Shrinkage, shrink_in_units
from dwindle.algorithm.units import MOST, TINY, per_unit
from dwindle.algorithm.updates import cell_layout, check_beta, mean, owed, weight_at

ROUNDING = 2.0**-24  # of x in single precision: a value nearer to its mean is at its mean
LARGEST = 3e38  # distance from a mean, in single precision
BEYOND = np.float32(1e36)  # the square of a value, in units, that is another feature's
NONE, ONE = np.float32(0.0), np.float32(1.0)


class Adaptive(NamedTuple):
    """AdaGrad for each feature in a unit u of its own, so that its scale does not matter.

    The unit is the root mean square of the feature's values when present. With v = w u, gradient
    s = phi'(p, y) x / u and |x / u| the length of the whole example:

        G <- G + s^2,   v <- v - eta / sqrt(1 + |x / u|^2) s / (beta + sqrt(G)).

    The 1 is for the constant. The same rate suits examples of few features and of many: an example
    of n features moves its prediction by about sqrt(n) steps of one feature, not n. A feature that
    is twice in an example counts twice in its length.

    The pull on v is eta g / (beta + sqrt(G)), without the length: it does not change while the
    feature is absent, so settling lazily is exact. A value is counted in u before the prediction;
    v stays, so w changes, and G is rescaled. A weight of a model, without a u, stays as it is when
    its feature is first seen. ``beta`` keeps the first steps of a feature short, also when it
    returns after a sweep has forgotten it.

    sqrt(G), u and the clock of a cell are in single precision, so that a cell has 32 bytes, and so
    is what is computed of them: roots and divisions take half the time. The weight is in double: of
    a pull, however small, nothing is lost. The rate of a feature stops falling when a step adds
    less than a 2^24th part to G, at about 1/4000 of the first rate; u stands still after 2^22
    values. The clock of a cell is the clock, rounded: no pull is lost, but after some 2^24 equal
    pulls they come several at once, as with a larger K. With a value of more than 10^18 units
    a feature begins anew.
    """

    beta: float = 0.2

    def cell(self) -> np.dtype[np.void]:
        """Return the layout: sqrt(G) as ``norm``, 1 / u as ``inverse``, and of how many values."""
        return cell_layout(32, settled="f4", norm="f4", inverse="f4", seen="u4")

    def reach(self, cell: Any) -> float:
        return (self.beta + np.float64(cell.norm)) / per_unit(self, cell)

    def owed(self, cell: Any, now: float) -> float:
        return np.float64(np.float32(now)) - cell.settled  # rounded as the cell stores it

    def weight_at(self, shrinkage: Any, cell: Any, now: float, size: float) -> float:
        due, each = owed(self, cell, now), per_unit(self, cell)
        if due == 0.0:
            return cell.weight
        own = size * np.float64(np.float32(each) / (np.float32(self.beta) + np.float32(cell.norm)))
        return shrink_in_units(shrinkage, cell.weight, due, own, each)

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
        w = weight_at(self, shrinkage, cell, now, size)
        part = np.float32(x) * np.float32(cell.inverse)
        n, square = cell.seen, part * part
        # The square of a tiny value may be 0, and it is counted all the same.
        if NONE < square < BEYOND or (square == NONE and x != 0.0 and cell.inverse > NONE):
            if n < MOST:
                cell.seen = n + 1
                if square != ONE:  # most values are 1, and so is their unit
                    ratio = np.sqrt((np.float32(n) + ONE) / (np.float32(n) + square))
                    cell.inverse = min(cell.inverse * ratio, np.float32(1.0 / TINY))
                    cell.norm *= ratio
                    w *= ratio
        elif x != 0.0 and (cell.inverse == NONE or square > ONE):
            w = 0.0 if square > ONE else w  # that of a model, which had no unit, stays
            cell.inverse, cell.norm, cell.seen = 1.0 / max(abs(x), TINY), NONE, 1
        cell.weight = w
        cell.settled = now
        return w

    def squared(self, cell: Any, x: float) -> Any:
        part = np.float32(x) * np.float32(cell.inverse)
        return np.float64(part * part)

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        before, inverse = np.float32(cell.norm), np.float32(cell.inverse)
        s = np.float32(slope) * (np.float32(x) * inverse)
        norm = np.sqrt(before * before + s * s)
        cell.norm = norm
        cell.weight -= rate * (s / (np.float32(self.beta) + norm) * inverse)

    @property
    def default_learning_rate(self) -> float:
        """Twice that of `Plain`, whose steps have no unit."""
        return 0.6

    def check(self, _shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse a beta that is out of range."""
        check_beta(self.beta)

    @property
    def evicts_by(self) -> str:
        """The gravity that a weight would outlast."""
        return "gravity"


class Centred(Adaptive):
    """`Adaptive`, with steps along x - c for features that every example has; c is their mean.

    A column of years has an offset that is large beside its spread. A step along x would mostly do
    what the intercept does, and the spread would hardly be learned. With b as the intercept, a step
    is along x - c, and b makes up for it:

        w <- w + d,   b <- b - d c.

    So a change of w leaves the prediction at the mean as it was, whether it comes from an example
    or from a pull, when the weight is next settled. The model is plain at all times: b + w . x.

    The unit is the root mean square of x - c, the feature's deviation. Means are of the examples
    so far, by importance. A feature that was absent from an example, or
    0 there, is learned as by `Adaptive` from then on.
    """

    def cell(self) -> np.dtype[np.void]:
        """Return the layout of `Adaptive`, with the sum of x and the number of examples it is of.

        ``noted`` is -1 once the feature was absent.
        """
        fields = {"norm": "f4", "inverse": "f4", "seen": "u4", "total": "f8", "noted": "f8"}
        return cell_layout(64, settled="f4", **fields)

    def centres(self) -> bool:
        return True

    def examples_noted(self, bias: Any) -> Any:
        return bias.noted

    def note(self, cell: Any, x: float, importance: float, one: float, n: float) -> None:
        if cell.noted >= n:
            cell.noted += importance * one
            cell.total += importance * x
        else:
            cell.noted = -1.0

    def mean(self, cell: Any) -> Any:
        return cell.total / cell.noted if cell.noted > 0.0 else 0.0

    def from_mean(self, cell: Any, x: float, one: float) -> float:
        apart = x - mean(self, cell) * one
        return min(max(apart, -LARGEST), LARGEST) if abs(apart) > ROUNDING * abs(x) else 0.0

    def alive(self, cell: Any, w: float) -> Any:
        return w != 0.0 or cell.noted > 0.0  # no more than the features of the first example

    def check(self, shrinkage: Shrinkage, schedule: Schedule) -> None:
        """Refuse pulls that do not add up, too."""
        super().check(shrinkage, schedule)
        if getattr(shrinkage, "counts_moments", False):
            raise SettingError(f"Centred needs pulls that add up, as Truncation's: got {shrinkage}")
