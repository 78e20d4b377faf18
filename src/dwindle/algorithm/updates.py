"""Updates: how a weight moves when an example disagrees with it, and what a cell must remember.

An update is a NamedTuple whose ``cell()`` is the layout of one feature's cell: ``key``, ``weight``,
``settled`` (the part of the clock this weight has felt) and what else the update keeps. A cell is
passed to the functions below as a record: Numba hands over a pointer, at no cost.
"""

from typing import Any, NamedTuple

import numpy as np

from dwindle._base.dispatch import body_of, by_class
from dwindle.algorithm.shrinkage import feels, path_sum, shrink

TINY = 1e-38  # the least scale; so that of a feature not seen yet, whose weight is 0
OFTEN = 10  # times seen, that count for what a feature is worth
LAST_32 = 2**32 - 1  # bits of the clock, that a cell has room for


@by_class
def weight_at(update: Any, shrinkage: Any, cell: Any, now: float, size: float) -> float:
    """The cell's weight, settled up to ``now``; writes nothing."""


@by_class
def settle(update: Any, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
    """Bring the cell up to ``now`` and make it fit for value ``x``; returns its weight."""


@by_class
def squared(update: Any, cell: Any, x: float) -> float:
    """What a settled cell adds to the squared length of its example, which divides the rate.

    The length is the root of 1, for the constant, plus the sum of this: always 1 if it is 0.
    """


@by_class
def step(update: Any, cell: Any, rate: float, slope: float, x: float) -> None:
    """One gradient step: the gradient is ``slope * x``."""


@by_class
def exported(
    update: Any, shrinkage: Any, cell: Any, now: float, size: float, n_steps: int
) -> float:
    """The weight that leaves the learner, for prediction and for the model."""


@by_class
def alive(update: Any, cell: Any, w: float) -> bool:
    """Whether a sweep must keep the cell, given its settled weight w."""


@by_class
def mark_seen(update: Any, cell: Any, now: float) -> None:
    """The cell knows that its feature was seen once more, and that it was now."""


@by_class
def worth(update: Any, cell: Any, now: float, size: float) -> float:
    """Which cells go first when there are more than a budget allows: those that are worth less.

    With truncated gradient it is the pull that the weight will outlast from ``now`` on, |v| minus
    the pull it owes, and so negative for a weight that has come to zero.

    What averages gradients can spare what it will hardly miss: with n what a feature told so far,

        n min(times seen, 10) / (1 + moments since it was seen last).

    To have been seen once or several times tells whether it will be seen again. Beyond that it
    does not count, for what was seen often and is gone to be forgotten some day.
    """


def usual_rate(update: Any) -> float:
    """The rate of an update that is told none; docs/defaults.md has what comes of it."""
    return 0.6 if isinstance(update, Adaptive) else 0.3


def _layout(itemsize: int, **fields: str) -> np.dtype[np.void]:
    """A cell: key, weight and settled, then ``fields``, padded to ``itemsize`` bytes."""
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


# What is averaged, not the weight, is what these cells remember; 32 bytes too.
_DUAL = np.dtype(
    [("key", "u8"), ("z", "f8"), ("weight", "f4"), ("energy", "f4"), ("last", "u4"), ("seen", "u4")]
)


class Plain(NamedTuple):
    """The paper's update, Algorithm 1, step 5: w <- w - eta phi'(p, y) x."""

    def cell(self) -> np.dtype[np.void]:
        """Padded from 24 bytes, so that no cell straddles two cache lines."""
        return _layout(32)


@body_of(step, Plain)
def _(_update: Plain, cell: Any, rate: float, slope: float, x: float) -> None:
    cell.weight -= rate * slope * x


class Adaptive(NamedTuple):
    """AdaGrad for each feature in units of its largest value N, so its scale does not matter.

    With v = w N, gradient s = phi'(p, y) x / N and |x / N| the length of the whole example:

        G <- G + s^2,   v <- v - eta / sqrt(1 + |x / N|^2) s / (beta + sqrt(G)).

    The 1 is the constant's. So the same rate suits examples of few features and of many: the
    prediction for one of n features moves by about sqrt(n) of a feature's step, not n of them. A
    feature that comes twice in an example counts twice in its length.

    The pull on v is eta g / (beta + sqrt(G)), without the length: it stands still while the
    feature is absent, so the lazy form stays exact. When a larger |x| arrives, N grows to it
    before the prediction; v stays, and so w falls, and G is measured in the new unit.
    ``beta`` above zero keeps the first steps of a feature short, also when it comes back after a
    sweep has forgotten it. G and N are kept in single precision, so a feature's rate stops falling
    when a step adds less than a 2^24th part to G: at about 1/4000 of where it began.
    """

    beta: float = 0.2

    def cell(self) -> np.dtype[np.void]:
        """With G and N."""
        return _layout(32, energy="f4", scale="f4")


@body_of(weight_at, Adaptive)
def _(update: Adaptive, shrinkage: Any, cell: Any, now: float, size: float) -> float:
    reach = (update.beta + np.sqrt(np.float64(cell.energy))) * max(cell.scale, TINY)
    return shrink(shrinkage, cell.weight, now - cell.settled, size / reach)


@body_of(settle, Adaptive)
def _(update: Adaptive, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
    w = weight_at(update, shrinkage, cell, now, size)
    large = np.float32(max(abs(x), TINY))  # as the scale is kept, so that an equal x is not larger
    if large > cell.scale:
        ratio = np.float64(cell.scale) / large
        w *= ratio
        cell.energy *= ratio * ratio
        cell.scale = large
    cell.weight = w
    cell.settled = now
    return w


@body_of(squared, Adaptive)
def _(_update: Adaptive, cell: Any, x: float) -> float:
    part = x / cell.scale
    return part * part


@body_of(step, Adaptive)
def _(update: Adaptive, cell: Any, rate: float, slope: float, x: float) -> None:
    s = slope * x
    if cell.scale != 1.0:  # most features are there or not: without the division a tenth is saved
        s /= cell.scale
    cell.energy += s * s
    cell.weight -= rate * s / ((update.beta + np.sqrt(np.float64(cell.energy))) * cell.scale)


class Averaged(NamedTuple):
    """`Plain`, and what leaves the learner is Theorem 3.2's mean of the weights over all steps.

    ``total`` is the sum of the weight over the steps it has felt, the steps between two visits
    added in closed form. A feature that ever had a weight has a mean, so none is swept.
    """

    def cell(self) -> np.dtype[np.void]:
        """With the sum of the weight over the steps."""
        return _layout(32, total="f8")

    @property
    def counts_moments(self) -> bool:
        """The mean needs to know how many steps a pull took."""
        return True


@body_of(settle, Averaged)
def _(update: Averaged, shrinkage: Any, cell: Any, now: float, size: float, _x: float) -> float:
    cell.total += path_sum(shrinkage, cell.weight, now - cell.settled, size)
    cell.weight = weight_at(update, shrinkage, cell, now, size)
    cell.settled = now
    return cell.weight


@body_of(exported, Averaged)
def _(_update: Averaged, shrinkage: Any, cell: Any, now: float, size: float, n_steps: int) -> float:
    total = cell.total + path_sum(shrinkage, cell.weight, now - cell.settled, size)
    return total / max(n_steps, 1)


@body_of(alive, Averaged)
def _(_update: Averaged, cell: Any, w: float) -> bool:
    return w != 0.0 or cell.total != 0.0


class Audited(NamedTuple):
    """`Plain`, with the books that the regret bound of Theorem 3.1 needs; see `certificate`.

    Over the moments felt, each of which pulls by a = eta_i g_i, ``penalty`` sums
    a |w| I(|w| <= theta) and ``exposure`` a I(|w| <= theta).
    """

    def cell(self) -> np.dtype[np.void]:
        """With the two books."""
        return _layout(64, penalty="f8", exposure="f8")

    @property
    def counts_moments(self) -> bool:
        """The books are kept moment by moment."""
        return True


@body_of(settle, Audited)
def _(update: Audited, shrinkage: Any, cell: Any, now: float, size: float, _x: float) -> float:
    owed = now - cell.settled
    if feels(shrinkage, cell.weight):
        cell.penalty += abs(path_sum(shrinkage, cell.weight, owed, size)) * size
        cell.exposure += owed * size
    cell.weight = weight_at(update, shrinkage, cell, now, size)
    cell.settled = now
    return cell.weight


@body_of(weight_at, Plain, Averaged, Audited)
def _(_update: Any, shrinkage: Any, cell: Any, now: float, size: float) -> float:
    return shrink(shrinkage, cell.weight, now - cell.settled, size)


@body_of(settle, Plain)
def _(update: Plain, shrinkage: Any, cell: Any, now: float, size: float, _x: float) -> float:
    w = weight_at(update, shrinkage, cell, now, size)
    cell.weight = w
    cell.settled = now
    return w


@body_of(step, Averaged, Audited)
def _(_update: Any, cell: Any, rate: float, slope: float, x: float) -> None:
    cell.weight -= rate * slope * x


@body_of(exported, Plain, Adaptive, Audited)
def _(update: Any, shrinkage: Any, cell: Any, now: float, size: float, _n_steps: int) -> float:
    return weight_at(update, shrinkage, cell, now, size)


@body_of(alive, Plain, Adaptive)
def _(_update: Any, _cell: Any, w: float) -> bool:
    return w != 0.0


@body_of(worth, Plain)
def _(_update: Plain, cell: Any, now: float, size: float) -> float:
    return abs(cell.weight) - (now - cell.settled) * size


@body_of(worth, Adaptive)
def _(update: Adaptive, cell: Any, now: float, size: float) -> float:
    reach = (update.beta + np.sqrt(np.float64(cell.energy))) * max(cell.scale, TINY)
    return abs(cell.weight) * reach - (now - cell.settled) * size


@body_of(worth, Averaged, Audited)
def _(_update: Any, _cell: Any, _now: float, _size: float) -> float:
    return np.inf  # none of them can be spared


class FTRL(NamedTuple):
    """FTRL-Proximal (McMahan and others, 2013), with Truncation's gravity as its lambda_1.

    With gradient g = phi'(p, y) x and alpha = eta, all of z times -eta:

        z <- z - eta g + (sqrt(n + g^2) - sqrt(n)) w,   n <- n + g^2,
        w = T1(z, eta lambda_1) / (beta + sqrt(n)).

    Lambda_1 weighs against the sum of all gradients, so it grows with the data, where the gravity
    of the other updates pulls at each step. A weight of zero may still be on its way to leaving it,
    so its cell has to be kept, and what is forgotten is up to a budget: see `budget`.
    """

    beta: float = 1.0

    def cell(self) -> np.dtype[np.void]:
        """With z, n, the weight that predicted, and when and how often the feature was seen."""
        return _DUAL

    @property
    def counts_moments(self) -> bool:
        """The clock is the number of steps, and a moment's size is eta lambda_1."""
        return True


@body_of(weight_at, FTRL)
def _(update: FTRL, shrinkage: Any, cell: Any, _now: float, size: float) -> float:
    w = shrink(shrinkage, cell.z, 1.0, size) / (update.beta + np.sqrt(np.float64(cell.energy)))
    return np.float64(np.float32(w))  # as the cell has room for it


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

    With gradient g = phi'(p, y) x, and all the pull of Truncation so far as the penalty:

        z <- z - eta g,   n <- n + g^2,   w = T1(z, sum of eta_i g_i) / (beta + sqrt(n)).

    Truncated gradient forgets a pull that found the weight at zero; here every one counts. What
    `FTRL` says of weights at zero holds here too.
    """

    beta: float = 1.0

    def cell(self) -> np.dtype[np.void]:
        """As that of `FTRL`, whose weight is not needed."""
        return _DUAL

    @property
    def counts_moments(self) -> bool:
        """So that the clock is the number of steps, as it is for `FTRL`."""
        return True


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


@body_of(alive, Audited, FTRL, RDA)
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


@body_of(squared, Plain, Averaged, Audited, FTRL, RDA)
def _(_update: Any, _cell: Any, _x: float) -> float:
    return 0.0
