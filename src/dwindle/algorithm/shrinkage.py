"""Shrinkages: how a weight is pulled toward zero between the visits of the examples that hold it.

A weight is settled lazily. ``owed`` is how much of the clock it has not felt yet and ``size`` how
far one unit of the clock moves it, so `shrink` does in one step what Algorithm 1 does at every
visit skipped. There are two clocks (see `clock`): one runs in units of pull, sum of eta_i g_i, with
``size`` 1 for the paper's update; the other counts moments of equal ``size``.

A shrinkage is a NamedTuple with a field or attribute ``truncate_every`` (the paper's K: a moment
is a step whose number it divides), a method ``pull(rate)`` (how far one moment moves a weight) and
bodies for the functions below.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import body_of, by_class

Rates = NDArray[np.float64]


@by_class
def shrink(shrinkage: Any, v: float, owed: float, size: float) -> float:
    """The weight v after everything it owes."""


@by_class
def lags(shrinkage: Any) -> bool:
    """Whether a step's pull is part of its update; else it comes before the prediction."""


@by_class
def feels(shrinkage: Any, v: float) -> bool:
    """Whether the pull acts on a weight of v: I(|v| <= theta). Once true it stays so, at rest."""


@by_class
def path_sum(shrinkage: Any, v: float, owed: float, size: float) -> float:
    """The sum of the values that v takes at each of ``owed`` moments of equal ``size``."""


class Truncation(NamedTuple):
    """T1, the truncated gradient: move v toward zero, never past it, only while |v| <= threshold.

    T1(v, a, theta) = v - clip(v, -a, a) if |v| <= theta, else v, with a = eta K g at every K-th
    step. The paper's three cases in one line; written as its branches, the kernel runs at half the
    speed. One pull stands for many because T1(T1(v, a, theta), b, theta) = T1(v, a + b, theta).

    >>> shrink(Truncation(gravity=0.125), 0.5, 3.0, 0.125)
    0.125
    """

    gravity: float = 0.0
    threshold: float = math.inf
    truncate_every: int = 1

    def pull(self, rate: Rates) -> Rates:
        """eta_i g_i, where g_i = K g."""
        return rate * (self.truncate_every * self.gravity)


@body_of(shrink, Truncation)
def _(shrinkage: Truncation, v: float, owed: float, size: float) -> float:
    a = owed * size
    return v - min(max(v, -a), a) if abs(v) <= shrinkage.threshold else v


@body_of(feels, Truncation)
def _(shrinkage: Truncation, v: float) -> bool:
    return abs(v) <= shrinkage.threshold


@body_of(path_sum, Truncation)
def _(shrinkage: Truncation, v: float, owed: float, size: float) -> float:
    # Of m pulls of size a, n = min(m, floor(|v| / a)) leave something: |v| - a, ..., |v| - n a.
    if abs(v) > shrinkage.threshold:
        return owed * v
    n = min(owed, np.floor(abs(v) / size)) if size > 0.0 else owed
    return math.copysign(n * (abs(v) - size * (n + 1.0) / 2.0), v)


class Rounding(NamedTuple):
    """T0, coefficient rounding (section 3.1): at every K-th step, v becomes 0 if |v| <= threshold.

    >>> shrink(Rounding(threshold=0.1), 0.05, 1.0, 1.0)
    0.0
    """

    threshold: float
    truncate_every: int = 1

    def pull(self, rate: Rates) -> Rates:
        """The clock counts moments: any number of them round alike, whatever the rate."""
        return np.ones_like(rate)


@body_of(shrink, Rounding)
def _(shrinkage: Rounding, v: float, owed: float, _size: float) -> float:
    return 0.0 if owed > 0.0 and abs(v) <= shrinkage.threshold else v


class Subgradient(NamedTuple):
    """The sub-gradient of g |v|_1 (section 3.2): v - eta g sgn(v), with sgn(0) = 0.

    It is part of the update: both gradients are taken at the same weights. A weight nearer to zero
    than one pull oscillates around it, so this keeps every feature; it is here as the paper's
    baseline. When the rate changes, every weight is settled: a decaying rate costs a walk over the
    table at each step.

    >>> [round(shrink(Subgradient(gravity=0.1), 0.25, m, 0.1), 2) for m in (1, 2, 3, 4)]
    [0.15, 0.05, -0.05, 0.05]
    """

    gravity: float
    truncate_every: int = 1

    @property
    def counts_moments(self) -> bool:
        """A moment is not the sum of its parts: how many there were is what matters."""
        return True

    def pull(self, rate: Rates) -> Rates:
        """eta_i g_i, where g_i = K g."""
        return rate * (self.truncate_every * self.gravity)


@body_of(shrink, Subgradient)
def _(_shrinkage: Subgradient, v: float, owed: float, size: float) -> float:
    if size <= 0.0:
        return v
    n = float(np.floor(abs(v) / size))  # pulls before v is within one pull of zero, or at it
    if owed <= n:
        return math.copysign(abs(v) - owed * size, v)
    rest = abs(v) - n * size
    if rest == 0.0:
        return 0.0
    return math.copysign(1.0, v) * (rest - size * ((owed - n) % 2.0))


class NoShrinkage(NamedTuple):
    """No shrinkage: plain gradient descent."""

    @property
    def truncate_every(self) -> int:
        """Every step is as good as any."""
        return 1

    def pull(self, rate: Rates) -> Rates:
        """Nothing pulls."""
        return np.zeros_like(rate)


@body_of(shrink, NoShrinkage)
def _(_shrinkage: NoShrinkage, v: float, _owed: float, _size: float) -> float:
    return v


@body_of(feels, NoShrinkage)
def _(_shrinkage: NoShrinkage, _v: float) -> bool:
    return False


@body_of(path_sum, NoShrinkage)
def _(_shrinkage: NoShrinkage, v: float, owed: float, _size: float) -> float:
    return owed * v


@body_of(lags, Truncation, Rounding, NoShrinkage)
def _(_shrinkage: Any) -> bool:
    return False


@body_of(lags, Subgradient)
def _(_shrinkage: Subgradient) -> bool:
    return True
