"""Updates: how an example moves the weights of its features, and what a cell must remember.

An update is a NamedTuple with the members of `Update`. For each function here and in `units` it may
have a method of that name; else the code given there runs, which is that of `Plain`. A cell is
passed to them as a record: to Numba it is a pointer, at no cost. Other optional members:

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

from dwindle._base.dispatch import by_class, by_class_or_default
from dwindle._base.errors import SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import (
    Shrinkage,
    acts_on,
    has_threshold,
    is_late,
    is_truncation,
    path_sum,
    shrink_in_units,
)

DEFAULT_LEARNING_RATE = 0.3  # docs/defaults.md measures it
LEAST_BETA, MOST_BETA = 1e-30, 1e30


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


def default_learning_rate(update: Update) -> float:
    """Return the learning rate of an update if none is given.

    >>> from dwindle.algorithm.adaptive import Adaptive
    >>> default_learning_rate(Adaptive()), default_learning_rate(Plain())
    (0.6, 0.3)
    """
    return float(getattr(update, "default_learning_rate", DEFAULT_LEARNING_RATE))


def check_update(
    update: Update, shrinkage: Shrinkage, schedule: Schedule, max_live: int | None
) -> None:
    """Refuse, by name, settings that the update cannot use, and a budget that it cannot keep."""
    if is_late(shrinkage) and type(update) is not Plain:
        raise SettingError(
            f"order 'after' is section 5's, whose update is Plain: got {shrinkage} and {update}"
        )
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
    """Refuse a beta for which a first step would be infinite, or nothing, in single precision."""
    if not LEAST_BETA <= beta <= MOST_BETA:
        raise SettingError(f"beta must be from {LEAST_BETA:g} to {MOST_BETA:g}, got {beta}")


def cell_layout(itemsize: int, **fields: str) -> np.dtype[np.void]:
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
        return cell_layout(32)

    @property
    def evicts_by(self) -> str | None:
        """The gravity that a weight would outlast."""
        return "gravity"


PLAIN = Plain()


class Averaged(Plain):
    """`Plain`, but predictions and the model have Theorem 3.2's mean of the weights over all steps.

    ``total`` is the sum of the weight over the steps; those between two visits are added in closed
    form. A feature that ever had a weight has a mean, so none is swept.
    """

    def cell(self) -> np.dtype[np.void]:
        """Return the layout, with the sum of the weight over the steps."""
        return cell_layout(32, total="f8")

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
    of a |w| I(|w| <= theta) and ``spared`` that of a I(|w| > theta).
    """

    def cell(self) -> np.dtype[np.void]:
        """Return the layout, with the two sums."""
        return cell_layout(64, penalty="f8", spared="f8")

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> float:
        owed = now - cell.settled
        if acts_on(shrinkage, cell.weight):
            cell.penalty += abs(path_sum(shrinkage, cell.weight, owed, size)) * size
        else:
            cell.spared += owed * size
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
