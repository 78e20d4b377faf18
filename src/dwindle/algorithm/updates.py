"""Updates: how an example moves the weights of its features, and what a cell must remember.

An update is a NamedTuple with the members of `Update`. For each function below it may have a method
of that name; else the code given here runs, which is that of `Plain`. A cell is passed to them as a
record: to Numba it is a pointer, at no cost. Other optional members:

* ``default_learning_rate``, 0.3 if there is none;
* ``fields_of(weight, inverse, root, shrinkage, size)``: what else is in cells that are to begin
  with these, ``root`` being that of the squared gradients, and ``size`` how far a moment pulls;
* ``counts_moments``: True if the clock must count moments (see `clock`);
* ``check(shrinkage, schedule)`` raises SettingError for settings that it cannot use;
* ``evicts_by``: what decides if a budget evicts a feature, its `worth`: the "gravity" that it would
  outlast, or its "absence". There can be no budget without it.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import by_class, by_class_or_default
from dwindle._base.errors import SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import (
    Shrinkage,
    acts_on,
    has_threshold,
    is_truncation,
    path_sum,
    shrink_in_units,
)

Floats = NDArray[np.floating[Any]]

ROUNDING = 2.0**-24  # of x in single precision: a value nearer to its mean is at its mean
TINY = 1e-38  # the least unit
MOST = 2**22  # values that a unit is the mean of: it is in single precision, and one more is lost
KNOWN = 1000  # values that a unit counts for, if all that is known is the unit
DEFAULT_LEARNING_RATE = 0.3  # docs/defaults.md measures it


class Update(Protocol):
    """What every update defines."""

    def cell(self) -> np.dtype[np.void]:
        """Return the layout of a feature's cell: ``key``, ``weight`` and what else it needs."""

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        """Take one gradient step: the gradient is ``slope * x``; compiled into the kernels."""


@by_class
def step(update: Any, cell: Any, rate: float, slope: float, x: float) -> None:
    """Take one gradient step: the gradient is ``slope * x``."""


@by_class_or_default
def reach(_update: Any, _cell: Any) -> float:
    """Return how much pull it takes to move the weight by 1."""
    return 1.0


@by_class_or_default
def measure(_update: Any, cell: Any, x: float) -> float:
    """Count the value x in a cell's unit, if it has one: return the old unit by the new one.

    The unit u is the root mean square of the values ``seen``; a cell has 1 / u as ``inverse``.

        u^2 <- (n u^2 + x^2) / (n + 1),   n <- n + 1.

    A value of 0 is none. The first value is the unit of what had none: that is no change.
    """
    if x == 0.0 or cell.seen >= MOST:
        return 1.0
    n, part = cell.seen, x * cell.inverse
    cell.seen = n + 1
    if part * part == 1.0:  # most values are 1, and so is their unit
        return 1.0
    if cell.inverse == 0.0:
        cell.inverse = 1.0 / max(abs(x), TINY)
        return 1.0
    ratio = np.sqrt((n + 1.0) / (n + part * part))
    cell.inverse = min(cell.inverse * ratio, 1.0 / TINY)
    return ratio


@by_class_or_default
def per_unit(_update: Any, cell: Any) -> Any:
    """Return 1 / u: how many of x there are in a unit of it; 1 if it is not known yet."""
    return np.float64(cell.inverse) if cell.inverse > 0.0 else 1.0


@by_class_or_default
def owed(_update: Any, cell: Any, now: float) -> float:
    """Return how far the clock has gone since the cell was settled."""
    return now - cell.settled


@by_class_or_default
def weight_at(update: Any, shrinkage: Any, cell: Any, now: float, size: float) -> float:
    """Return the cell's weight, settled up to ``now``; writes nothing."""
    own = size / reach(update, cell)
    return shrink_in_units(shrinkage, cell.weight, owed(update, cell, now), own, 1.0)


@by_class_or_default
def settle(update: Any, shrinkage: Any, cell: Any, now: float, size: float, _x: float) -> float:
    """Settle the cell up to ``now`` and prepare it for the value ``x``; return its weight."""
    w = weight_at(update, shrinkage, cell, now, size)
    cell.weight = w
    cell.settled = now
    return w


@by_class_or_default
def squared(_update: Any, _cell: Any, _x: float) -> float:
    """Return what a settled cell adds to the squared length of its example.

    The rate is divided by the length: the square root of 1, for the constant, plus the sum of
    these. If all are 0, it is 1.
    """
    return 0.0


@by_class_or_default
def centres(_update: Any) -> bool:
    """Whether steps are taken in x minus its mean, and the intercept makes up for it."""
    return False


@by_class_or_default
def examples_noted(_update: Any, _bias: Any) -> float:
    """Return the number of examples, by importance, that the intercept's cell has noted."""
    return 0.0


@by_class_or_default
def note(_update: Any, _cell: Any, _x: float, _importance: float, _one: float, _n: float) -> None:
    """Note a value of the feature, for its mean, after n examples; ``one`` is the intercept's x."""


@by_class_or_default
def mean(_update: Any, _cell: Any) -> float:
    """Return the mean of the feature if it was in all examples so far, else 0."""
    return 0.0


@by_class_or_default
def from_mean(_update: Any, _cell: Any, x: float, _one: float) -> float:
    """Return x less its mean, if steps are taken in that; else x."""
    return x


@by_class_or_default
def exported(
    update: Any, shrinkage: Any, cell: Any, now: float, size: float, _n_steps: int
) -> float:
    """Return the weight for predictions and for the model."""
    return weight_at(update, shrinkage, cell, now, size)


@by_class_or_default
def alive(_update: Any, _cell: Any, w: float) -> bool:
    """Whether a sweep must keep the cell, given its settled weight w."""
    return w != 0.0


@by_class_or_default
def worth(update: Any, cell: Any, now: float, size: float) -> float:
    """Return what a feature is worth to a budget, which evicts those worth least.

    With truncated gradient it is the pull that the weight will outlast from ``now`` on: |v| minus
    the pull it owes, negative if the weight has come to zero.

    With averaged gradients, n being the sum of the squared ones in the feature's unit, it is

        n min(times seen, 10) / (1 + moments since it was last seen).

    A feature seen several times will likely be seen again. Beyond 10 times it makes no difference,
    so that a feature that was frequent once and then vanished is forgotten some day.
    """
    return abs(cell.weight) * reach(update, cell) - owed(update, cell, now) * size


def inverted(numbers: Floats) -> Floats:
    """Return 1 over each number, or 0 where it is 0: a unit that is not known.

    >>> inverted(np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    return np.divide(1.0, numbers, where=numbers > 0.0, out=np.zeros_like(numbers))


def default_learning_rate(update: Update) -> float:
    """Return the learning rate of an update if none is given.

    >>> default_learning_rate(Adaptive()), default_learning_rate(Plain())
    (0.6, 0.3)
    """
    return float(getattr(update, "default_learning_rate", DEFAULT_LEARNING_RATE))


def check_update(
    update: Update, shrinkage: Shrinkage, schedule: Schedule, max_live: int | None
) -> None:
    """Refuse, by name, settings that the update cannot use, and a budget that it cannot keep."""
    if hasattr(update, "check"):
        update.check(shrinkage, schedule)
    if max_live is None:
        return
    check_max_live(max_live)
    by = getattr(update, "evicts_by", None)
    pulls_all = is_truncation(shrinkage) and hasattr(shrinkage, "gravity")
    if by is None or (by == "gravity" and (not pulls_all or has_threshold(shrinkage))):
        raise SettingError(
            "max_live needs Truncation without a threshold and the update Adaptive or Plain, or "
            f"else FTRL or RDA: got {shrinkage} and {update}"
        )


def check_max_live(max_live: int | None) -> None:
    """Refuse a budget that is no number of features."""
    if max_live is not None and (max_live != int(max_live) or max_live < 1):
        raise SettingError(f"max_live must be a whole number, 1 or more, got {max_live}")


def eviction_report(
    update: Any, shrinkage: Any, rate: float, steps: int, worth: float
) -> dict[str, float]:
    """Describe an eviction of all features worth less than ``worth``, ``steps`` after the last one.

    As the gravity that would have brought them to zero in these steps; or as the longest absence,
    in steps, for each time that a feature was seen, up to 10, and each unit of its squared
    gradients.
    """
    if update.evicts_by == "gravity":
        return {"gravity": float(shrinkage.gravity) + max(worth, 0.0) / (rate * steps)}
    return {"absence": shrinkage.truncate_every / worth} if worth > 0.0 else {}


def check_beta(beta: float) -> None:
    """Refuse a beta for which a first step would be infinite, or nothing."""
    if not 0.0 < beta < np.inf:
        raise SettingError(f"beta must be finite and above 0, got {beta}")


def _layout(itemsize: int, **fields: str) -> np.dtype[np.void]:
    """Lay out a cell: key, weight and settled, then ``fields``, padded to ``itemsize`` bytes.

    ``settled``, the clock up to which the weight was pulled, may be given another type there.
    """
    kinds = {"key": "u8", "weight": "f8", "settled": "f8"} | fields
    sizes = [np.dtype(kind).itemsize for kind in kinds.values()]
    offsets = [sum(sizes[:k]) for k in range(len(sizes))]
    return np.dtype(
        {
            "names": list(kinds),
            "formats": list(kinds.values()),
            "offsets": offsets,
            "itemsize": itemsize,
        }
    )


class Plain(NamedTuple):
    """The paper's update, Algorithm 1, step 5: w <- w - eta phi'(p, y) x."""

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        cell.weight -= rate * slope * x

    def cell(self) -> np.dtype[np.void]:
        """Return the layout, padded from 24 bytes so that no cell straddles two cache lines."""
        return _layout(32)

    @property
    def evicts_by(self) -> str | None:
        """The gravity that a weight would outlast."""
        return "gravity"


PLAIN = Plain()


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

    G, u and the clock of a cell are in single precision, so that a cell has 32 bytes. The rate of a
    feature stops falling when a step adds less than a 2^24th part to G, at about 1/4000 of the
    first rate; u stands still after 2^22 values. The clock of a cell is the clock, rounded: no pull
    is lost, but after some 2^24 equal pulls they come several at once, as with a larger K.
    """

    beta: float = 0.2

    def cell(self) -> np.dtype[np.void]:
        """Return the layout: G as ``energy``, 1 / u as ``inverse``, the number of its values."""
        return _layout(32, settled="f4", energy="f4", inverse="f4", seen="u4")

    def reach(self, cell: Any) -> float:
        return (self.beta + np.sqrt(np.float64(cell.energy))) / per_unit(self, cell)

    def owed(self, cell: Any, now: float) -> float:
        return np.float64(np.float32(now)) - cell.settled  # rounded as the cell stores it

    def weight_at(self, shrinkage: Any, cell: Any, now: float, size: float) -> float:
        due, each = owed(self, cell, now), per_unit(self, cell)
        if due == 0.0:
            return cell.weight
        own = size * each / (self.beta + np.sqrt(np.float64(cell.energy)))
        return shrink_in_units(shrinkage, cell.weight, due, own, each)

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
        w = weight_at(self, shrinkage, cell, now, size)
        ratio = measure(self, cell, x)
        if ratio != 1.0:
            w *= ratio
            cell.energy *= ratio * ratio
        cell.weight = w
        cell.settled = now
        return w

    def squared(self, cell: Any, x: float) -> float:
        part = x * cell.inverse
        return part * part

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        s = slope * x * cell.inverse
        cell.energy += s * s
        cell.weight -= rate * s * cell.inverse / (self.beta + np.sqrt(np.float64(cell.energy)))

    @property
    def default_learning_rate(self) -> float:
        """Twice that of `Plain`, whose steps have no unit."""
        return 0.6

    def check(self, _shrinkage: Shrinkage, _schedule: Schedule) -> None:
        """Refuse a beta that is not finite and above 0."""
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
        fields = {"energy": "f4", "inverse": "f4", "seen": "u4", "total": "f8", "noted": "f8"}
        return _layout(64, settled="f4", **fields)

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
        return apart if abs(apart) > ROUNDING * abs(x) else 0.0

    def alive(self, cell: Any, w: float) -> Any:
        return w != 0.0 or cell.noted > 0.0  # no more than the features of the first example

    def check(self, shrinkage: Shrinkage, schedule: Schedule) -> None:
        """Refuse pulls that do not add up, too."""
        super().check(shrinkage, schedule)
        if getattr(shrinkage, "counts_moments", False):
            raise SettingError(f"Centred needs pulls that add up, as Truncation's: got {shrinkage}")


class Averaged(Plain):
    """`Plain`, but predictions and the model have Theorem 3.2's mean of the weights over all steps.

    ``total`` is the sum of the weight over the steps; those between two visits are added in closed
    form. A feature that ever had a weight has a mean, so none is swept.
    """

    def cell(self) -> np.dtype[np.void]:
        """Return the layout, with the sum of the weight over the steps."""
        return _layout(32, total="f8")

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
        cell.total += path_sum(shrinkage, cell.weight, now - cell.settled, size)
        return settle(PLAIN, shrinkage, cell, now, size, x)

    def exported(self, shrinkage: Any, cell: Any, now: float, size: float, n_steps: int) -> Any:
        total = cell.total + path_sum(shrinkage, cell.weight, now - cell.settled, size)
        return total / max(n_steps, 1)

    def alive(self, cell: Any, w: float) -> Any:
        return w != 0.0 or cell.total != 0.0

    @property
    def counts_moments(self) -> bool:
        """True: the mean needs to know how many steps a pull took."""
        return True

    @property
    def evicts_by(self) -> None:
        """Nothing: it keeps no budget."""

    def check(self, shrinkage: Shrinkage, schedule: Schedule) -> None:
        """Refuse all but the theorem's setting: the mean is known in closed form there only."""
        if not is_truncation(shrinkage):
            raise SettingError(
                f"Averaged is Theorem 3.2's mean, which knows only Truncation: got {shrinkage}"
            )
        if shrinkage.truncate_every != 1 or has_threshold(shrinkage):
            raise SettingError(
                "Averaged is Theorem 3.2's mean, which asks for truncate_every=1 and no threshold: "
                f"got {shrinkage}"
            )
        if not schedule.constant:
            raise SettingError(
                f"Averaged is Theorem 3.2's mean, which asks for a constant rate: got {schedule}"
            )


class Audited(Plain):
    """`Plain`, with the sums that the regret bound of Theorem 3.1 needs; see `certificate`.

    Over all moments up to ``settled``, each of which pulls by a = eta_i g_i, ``penalty`` is the sum
    of a |w| I(|w| <= theta) and ``exposure`` that of a I(|w| <= theta).
    """

    def cell(self) -> np.dtype[np.void]:
        """Return the layout, with the two sums."""
        return _layout(64, penalty="f8", exposure="f8")

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
        owed = now - cell.settled
        if acts_on(shrinkage, cell.weight):
            cell.penalty += abs(path_sum(shrinkage, cell.weight, owed, size)) * size
            cell.exposure += owed * size
        return settle(PLAIN, shrinkage, cell, now, size, x)

    def alive(self, _cell: Any, _w: float) -> bool:
        return True

    @property
    def counts_moments(self) -> bool:
        """True: the sums are over moments."""
        return True

    @property
    def evicts_by(self) -> None:
        """Nothing: it must forget no feature."""
