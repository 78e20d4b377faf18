"""Shrinkages: how a weight is pulled toward zero between the examples that have its feature.

Weights are settled lazily. ``owed`` is how far the clock has gone since a weight was settled, and
``size`` how far one unit of the clock pulls it: so `shrink` does in one step what Algorithm 1 does
at every step skipped. There are two kinds of clock (see `clock`). One runs in units of pull, the
sum of eta_i g_i, with ``size`` 1 for the paper's update; the other counts moments of equal
``size``.

Section 5 of the paper has another order: what is owed is paid after the step, by the rate of that
step. `LateTruncation` and `LateRounding` do so. Their clock counts steps, ``size`` is the rate of
the last one, and ``settled`` is the paper's time stamp tau, 0 until the feature is first seen.

A shrinkage is a NamedTuple with the members of `Shrinkage`. Optional ones:

* ``pulls_after_predicting()``, ``shrink_in_units``, ``shrink_mean`` and ``mean_of``, instead of the
  code here;
* ``acts_on`` and ``path_sum``, which some updates call;
* ``check()`` raises SettingError, by name, for a parameter it cannot use;
* ``counts_moments``: True if the clock must count moments;
* ``is_late``, ``arrive`` and ``pay``, of a shrinkage that acts after the step;
* ``is_truncation``: True if `shrink` is the paper's T1 for some gravity, 0 included. Several
  updates and the regret bound are defined for T1 only.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import by_class, by_class_or_default
from dwindle._base.errors import SettingError

Rates = NDArray[np.float64]

MOST_STEPS = 2**62  # between two pulls: larger numbers do not fit into 64 bits, with others added


class Shrinkage(Protocol):
    """What every shrinkage defines."""

    @property
    def truncate_every(self) -> int:
        """The paper's K: a moment is a step whose number K divides."""

    def pull(self, rate: Rates) -> Rates:
        """Return how far a moment at each of these rates pulls a weight."""

    def shrink(self, v: float, owed: float, size: float) -> float:
        """Return the weight v after all the pull that it owes; compiled into the kernels."""


@by_class
def shrink(shrinkage: Any, v: float, owed: float, size: float) -> float:
    """Return the weight v after all the pull that it owes."""


@by_class_or_default
def shrink_in_units(shrinkage: Any, v: float, owed: float, size: float, _per_unit: float) -> float:
    """Do as `shrink`, for an update that takes the weight for v by ``per_unit``."""
    return shrink(shrinkage, v, owed, size)


@by_class_or_default
def shrink_mean(shrinkage: Any, z: float, owed: float, size: float, divisor: float) -> float:
    """Return the weight that a sum of gradients z gives: what `shrink` leaves, by ``divisor``."""
    return shrink(shrinkage, z, owed, size) / divisor


@by_class_or_default
def mean_of(_shrinkage: Any, w: Any, owed: float, size: float, divisor: float) -> Any:
    """Return the sum of gradients of which `shrink_mean` leaves w, which is not 0."""
    return w * divisor + np.sign(w) * (owed * size)


@by_class_or_default
def pulls_after_predicting(shrinkage: Any) -> bool:  # noqa: ARG001  (a class may look at its own)
    """Whether a step's pull is part of its update; else it comes before the prediction."""
    return False


@by_class_or_default
def is_late(shrinkage: Any) -> bool:  # noqa: ARG001  (a class may look at its own)
    """Whether weights are pulled after the step, and not before the prediction, as in section 5."""
    return False


@by_class_or_default
def arrive(_shrinkage: Any, _cell: Any, _now: float) -> None:
    """Set the time stamp of a feature that is seen for the first time, if the shrinkage is late."""


@by_class_or_default
def pay(_shrinkage: Any, _cell: Any, _now: float, _rate: float) -> None:
    """Pull a weight after its step by all that it owes, if the shrinkage is late."""


@by_class
def stamp(shrinkage: Any, v: float, owed: float) -> float:
    """Return how far the time stamp of the weight v moves, ``owed`` steps after it."""


@by_class
def acts_on(shrinkage: Any, v: float) -> bool:
    """Whether a weight of v is pulled: I(|v| <= theta). Pulls never make it false again."""


@by_class
def path_sum(shrinkage: Any, v: float, owed: float, size: float) -> float:
    """Sum the values that the weight v takes at each of ``owed`` moments of equal ``size``."""


def is_truncation(shrinkage: Shrinkage) -> bool:
    """Whether the shrinkage is T1 for some gravity, 0 included."""
    return bool(getattr(shrinkage, "is_truncation", False))


def has_threshold(shrinkage: Shrinkage) -> bool:
    """Whether weights above a threshold are not pulled."""
    return bool(getattr(shrinkage, "threshold", math.inf) != math.inf)


def steps_of_clock(shrinkage: Shrinkage) -> int:
    """Return after how many steps the clock goes on: at each, if it counts them."""
    return 1 if is_late(shrinkage) else shrinkage.truncate_every


def check_shrinkage(shrinkage: Shrinkage) -> None:
    """Refuse, by name, a parameter that no run could use."""
    if hasattr(shrinkage, "check"):
        shrinkage.check()
    every = shrinkage.truncate_every
    if not 1 <= every <= MOST_STEPS or every != int(every):
        raise SettingError(f"truncate_every must be a whole number, 1 or more, got {every}")


def check_not_negative(shrinkage: Any, *names: str) -> None:
    """Refuse, by name, parameters below 0, and a gravity that is infinite."""
    for name in names:
        number = getattr(shrinkage, name)
        if not number >= 0.0:
            raise SettingError(f"{name} must be 0 or more, got {number}")
        if name == "gravity" and number == math.inf:
            raise SettingError("gravity must be finite; Rounding removes weights at once")


class Truncation(NamedTuple):
    """T1, the truncated gradient: move v toward zero, never past it, only while |v| <= threshold.

    T1(v, a, theta) = v - clip(v, -a, a) if |v| <= theta, else v, with a = eta K g at every K-th
    step. This is the paper's three cases in one line; written as branches, the kernel would run at
    half the speed. Pulls add up: T1(T1(v, a, theta), b, theta) = T1(v, a + b, theta).

    >>> shrink(Truncation(gravity=0.125), 0.5, 3.0, 0.125)
    0.125
    """

    gravity: float = 0.0
    threshold: float = math.inf
    truncate_every: int = 1

    def shrink(self, v: float, owed: float, size: float) -> float:
        a = owed * size
        return v - min(max(v, -a), a) if abs(v) <= self.threshold else v

    def acts_on(self, v: float) -> bool:
        return abs(v) <= self.threshold

    def path_sum(self, v: float, owed: float, size: float) -> float:
        # Of m pulls of size a, n = min(m, floor(|v| / a)) leave something: |v| - a, ..., |v| - n a.
        if abs(v) > self.threshold:
            return owed * v
        n = min(owed, np.floor(abs(v) / size)) if size > 0.0 else owed
        return math.copysign(n * (abs(v) - size * (n + 1.0) / 2.0), v)

    @property
    def is_truncation(self) -> bool:
        """True: this is T1."""
        return True

    def pull(self, rate: Rates) -> Rates:
        """Return eta_i g_i, where g_i = K g."""
        return rate * (self.truncate_every * self.gravity)

    def check(self) -> None:
        """Refuse a negative or infinite gravity and a negative threshold."""
        check_not_negative(self, "gravity", "threshold")


class Late:
    """What shrinkages that act after the step have in common."""

    def is_late(self) -> bool:
        return True

    def arrive(self, cell: Any, now: float) -> None:
        if cell.settled == 0.0:
            cell.settled = now

    def pay(self, cell: Any, now: float, rate: float) -> None:
        v, owed = cell.weight, now - cell.settled
        cell.weight = shrink(self, v, owed, rate)
        cell.settled += stamp(self, v, owed)


class LateTruncation(Late, Truncation):
    """Section 5's order of truncated gradient: T1 after the step, by all that was owed.

    For each feature of example i, after the step of rate eta, with m = floor((i - tau) / K) K,

        w <- T1(w, m eta g, theta), tau <- tau + m.

    tau is the number of the example at which the feature was first seen. A feature that is not in
    an example is not touched, so a prediction is made with weights that still owe.
    ``Truncation(..., order="after")`` makes one.

    >>> shrink(Truncation(gravity=0.125, truncate_every=2, order="after"), 1.0, 5.0, 0.5)
    0.75
    """

    def shrink(self, v: float, owed: float, size: float) -> float:
        a = math.floor(owed / self.truncate_every) * self.truncate_every * size * self.gravity
        return v - min(max(v, -a), a) if abs(v) <= self.threshold else v

    def stamp(self, _v: float, owed: float) -> float:
        return float(math.floor(owed / self.truncate_every) * self.truncate_every)

    @property
    def is_truncation(self) -> bool:
        """False: predictions are made before the pull, and not after."""
        return False

    def pull(self, rate: Rates) -> Rates:
        """Return 1: the clock counts steps."""
        return np.ones_like(rate)


class ElasticNet(NamedTuple):
    """Truncation with an L2 penalty beside it: weights decay toward zero and are pulled to it.

    The clock is P, the sum of the rates, K times the rate at every K-th step. Over it v follows

        dv / dP = -g sgn(v) - l2 v,

    the flow of the penalty g |v| + l2 v^2 / 2, until it comes to zero. So after P

        |v| <- max(0, (|v| + g / l2) exp(-l2 P) - g / l2).

    Two such steps, of P and of Q, are one of P + Q: so settling lazily is exact. In the adaptive
    updates v is in the feature's unit, as for truncation. For the averaged gradients of `FTRL` and
    `RDA`, in these units too, the penalty adds to the divisor: l2 eta, or l2 P.

    >>> round(shrink(ElasticNet(l2=0.5), 1.0, 2.0, 1.0), 4)  # 1 / e
    0.3679
    """

    l2: float
    gravity: float = 0.0
    truncate_every: int = 1

    def shrink(self, v: float, owed: float, size: float) -> float:
        lost = -math.expm1(-self.l2 * owed * size)  # a share, exact where it is small
        return math.copysign(max(abs(v) - (abs(v) + self.gravity / self.l2) * lost, 0.0), v)

    def shrink_in_units(self, v: float, owed: float, size: float, per_unit: float) -> float:
        return shrink(self, v / per_unit, owed, size / per_unit) * per_unit

    def shrink_mean(self, z: float, owed: float, size: float, divisor: float) -> float:
        a = owed * size * self.gravity
        return (z - min(max(z, -a), a)) / (divisor + owed * size * self.l2)

    def mean_of(self, w: Any, owed: float, size: float, divisor: float) -> Any:
        at = owed * size
        return w * (divisor + at * self.l2) + np.sign(w) * (at * self.gravity)

    def pull(self, rate: Rates) -> Rates:
        """Return K eta_i: how far the clock goes."""
        return rate * self.truncate_every

    def check(self) -> None:
        """Refuse a negative or infinite gravity and an l2 that is not above 0 and finite."""
        check_not_negative(self, "gravity")
        if not 0.0 < self.l2 < math.inf:
            raise SettingError(f"l2 must be finite and above 0, got {self.l2}")


class Rounding(NamedTuple):
    """T0, coefficient rounding (section 3.1): at every K-th step, v becomes 0 if |v| <= threshold.

    >>> shrink(Rounding(threshold=0.1), 0.05, 1.0, 1.0)
    0.0
    """

    threshold: float
    truncate_every: int = 1

    def shrink(self, v: float, owed: float, _size: float) -> float:
        return 0.0 if owed > 0.0 and abs(v) <= self.threshold else v

    def pull(self, rate: Rates) -> Rates:
        """Return 1: any number of moments round alike, whatever the rate."""
        return np.ones_like(rate)

    def check(self) -> None:
        """Refuse a negative threshold."""
        check_not_negative(self, "threshold")


class LateRounding(Late, Rounding):
    """Section 5's order of coefficient rounding: after the step, if the last was K steps ago.

    For each feature of example i, after the step: if |w| <= theta and i >= tau + K, then w <- 0 and
    tau <- i. tau is the number of the example at which the feature was first seen, or rounded last.
    ``Rounding(..., order="after")`` makes one.

    >>> shrink(Rounding(threshold=0.1, truncate_every=2, order="after"), 0.05, 1.0, 1.0)
    0.05
    """

    def shrink(self, v: float, owed: float, _size: float) -> float:
        return 0.0 if owed >= self.truncate_every and abs(v) <= self.threshold else v

    def stamp(self, v: float, owed: float) -> float:
        return owed if owed >= self.truncate_every and abs(v) <= self.threshold else 0.0


class Subgradient(NamedTuple):
    """The sub-gradient of g |v|_1 (section 3.2): v - eta g sgn(v), with sgn(0) = 0.

    The pull is part of the update: both gradients are taken at the same weights. A weight nearer to
    zero than one pull oscillates around it, so every feature is kept; it is the paper's baseline.
    When the rate changes, every weight is settled: a decaying rate costs a walk through the table
    at each step.

    >>> [round(shrink(Subgradient(gravity=0.1), 0.25, m, 0.1), 2) for m in (1, 2, 3, 4)]
    [0.15, 0.05, -0.05, 0.05]
    """

    gravity: float
    truncate_every: int = 1

    def shrink(self, v: float, owed: float, size: float) -> float:
        if size <= 0.0:
            return v
        n = float(np.floor(abs(v) / size))  # pulls before v is within one pull of zero, or at it
        if owed <= n:
            return math.copysign(abs(v) - owed * size, v)
        rest = abs(v) - n * size
        if rest == 0.0:
            return 0.0
        return math.copysign(1.0, v) * (rest - size * ((owed - n) % 2.0))

    def pulls_after_predicting(self) -> bool:
        return True

    @property
    def counts_moments(self) -> bool:
        """True: two pulls are not one of twice the size, as a weight may cross zero between."""
        return True

    def pull(self, rate: Rates) -> Rates:
        """Return eta_i g_i, where g_i = K g."""
        return rate * (self.truncate_every * self.gravity)

    def check(self) -> None:
        """Refuse a negative or infinite gravity."""
        check_not_negative(self, "gravity")


class NoShrinkage(NamedTuple):
    """No shrinkage: plain gradient descent."""

    def shrink(self, v: float, _owed: float, _size: float) -> float:
        return v

    def mean_of(self, w: Any, _owed: float, _size: float, divisor: float) -> Any:
        return w * divisor

    def acts_on(self, _v: float) -> bool:
        return False

    def path_sum(self, v: float, owed: float, _size: float) -> float:
        return owed * v

    @property
    def truncate_every(self) -> int:
        """1: it makes no difference."""
        return 1

    @property
    def is_truncation(self) -> bool:
        """True: this is T1 with a gravity of 0."""
        return True

    def pull(self, rate: Rates) -> Rates:
        """Return 0."""
        return np.zeros_like(rate)


ORDERS = ("before", "after")  # the prediction, as in Algorithm 1, or the step, as in section 5
LATE: dict[type, type] = {Truncation: LateTruncation, Rounding: LateRounding}


def _with_order(cls: Any, late: Any) -> None:
    """Let a class take an ``order``, of which "after" makes an object of ``late``."""
    new = cls.__new__

    def made(which: Any, *args: Any, order: str = "before", **fields: Any) -> Any:
        if order not in ORDERS:
            raise SettingError(f"order must be {' or '.join(ORDERS)}, got {order!r}")
        return new(late if order == "after" else which, *args, **fields)

    cls.__new__ = made


for _each, _late in LATE.items():
    _with_order(_each, _late)
