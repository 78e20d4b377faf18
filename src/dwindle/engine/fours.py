"""`Adaptive`, four features at a time: the same to the bit, in three quarters of the time.

A processor divides four numbers, or takes their roots, in the time that it takes for one. Of four
features, each number is in one row, in registers from the cells and back; sums are in the order of
the features. What is not ordinary is done one by one: a feature that is there twice among the four,
is seen for the first time, or has a value of 0 or one that is tiny or huge.
"""

from typing import Any

import numpy as np

from dwindle._base.dispatch import by_class_or_default
from dwindle.algorithm.adaptive import BEYOND, NONE, ONE, Adaptive
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.units import MOST, TINY
from dwindle.algorithm.updates import settle, squared, step
from dwindle.jit.compile import inlined
from dwindle.jit.vectors import (
    added,
    all_between,
    as_doubles,
    as_singles,
    at_most,
    element,
    gathered,
    plus,
    product,
    quotient,
    root,
    scattered,
    summed,
    times,
    truncated,
    within,
)

LEAST_BETA_IN_FOURS = 0.01  # no rate is infinite then, so no pull of 0 at that rate is NaN


@by_class_or_default
def in_fours(_update: Any) -> bool:
    """Whether features are taken four at a time."""
    return False


@by_class_or_default
def settle_four(
    _update: Any, _shrinkage: Any, _a: Any, _b: Any, _c: Any, _d: Any, _x: Any, _differ: bool,
    _now: float, _size: float, p: float, length: float,
) -> Any:  # fmt: skip
    """Settle four cells for the row of values x; return p and length with what they add to these.

    ``differ`` says that no two of the cells are the same.
    """
    return p, length


@by_class_or_default
def step_four(
    _update: Any, _a: Any, _b: Any, _c: Any, _d: Any, _x: Any, _differ: bool, _rate: float,
    _slope: float,
) -> None:  # fmt: skip
    """Take one gradient step in four cells."""


@inlined
def settle_one(
    update: Any, shrinkage: Any, cell: Any, x: float, now: float, size: float, p: float,
    length: float,
) -> Any:  # fmt: skip
    """Settle a cell; return p and length with what it adds to these."""
    w = settle(update, shrinkage, cell, now, size, x)
    return p + w * x, length + squared(update, cell, x)


class AdaptiveInFours(Adaptive):
    """`Adaptive`, whose formulas are these, with `Truncation`."""

    def in_fours(self) -> bool:
        return True

    def settle_four(
        self, shrinkage: Any, a: Any, b: Any, c: Any, d: Any, x: Any, differ: bool, now: float,
        size: float, p: float, length: float,
    ) -> Any:  # fmt: skip
        xs, inverse = as_singles(x), gathered(a, b, c, d, "inverse")
        part = product(xs, inverse)
        square = product(part, part)
        if (
            differ
            and all_between(square, NONE, BEYOND)
            and (a.seen | b.seen | c.seen | d.seen) < MOST  # a power of two
        ):
            norm, n = gathered(a, b, c, d, "norm"), gathered(a, b, c, d, "seen")
            own = times(as_doubles(quotient(inverse, added(norm, np.float32(self.beta)))), size)
            settled = as_doubles(gathered(a, b, c, d, "settled"))
            owed = added(times(settled, -1.0), np.float64(np.float32(now)))
            w = gathered(a, b, c, d, "weight")
            w = within(w, truncated(w, product(owed, own)), shrinkage.threshold)
            ratio = root(quotient(added(n, ONE), plus(n, square)))
            w = product(w, as_doubles(ratio))
            inverse = at_most(product(inverse, ratio), np.float32(1.0 / TINY))
            scattered(a, b, c, d, "weight", w)
            scattered(a, b, c, d, "inverse", inverse)
            scattered(a, b, c, d, "norm", product(norm, ratio))
            a.settled = b.settled = c.settled = d.settled = now
            a.seen += 1
            b.seen += 1
            c.seen += 1
            d.seen += 1
            part = product(xs, inverse)
            return summed(p, product(w, x)), summed(length, as_doubles(product(part, part)))
        p, length = settle_one(self, shrinkage, a, element(x, 0), now, size, p, length)
        p, length = settle_one(self, shrinkage, b, element(x, 1), now, size, p, length)
        p, length = settle_one(self, shrinkage, c, element(x, 2), now, size, p, length)
        return settle_one(self, shrinkage, d, element(x, 3), now, size, p, length)

    def step_four(
        self, a: Any, b: Any, c: Any, d: Any, x: Any, differ: bool, rate: float, slope: float
    ) -> None:
        if differ:
            before, inverse = gathered(a, b, c, d, "norm"), gathered(a, b, c, d, "inverse")
            s = times(product(as_singles(x), inverse), np.float32(slope))
            norm = root(plus(product(before, before), product(s, s)))
            move = product(quotient(s, added(norm, np.float32(self.beta))), inverse)
            w = plus(gathered(a, b, c, d, "weight"), times(as_doubles(move), -rate))
            scattered(a, b, c, d, "norm", norm)
            scattered(a, b, c, d, "weight", w)
        else:
            step(self, a, rate, slope, element(x, 0))
            step(self, b, rate, slope, element(x, 1))
            step(self, c, rate, slope, element(x, 2))
            step(self, d, rate, slope, element(x, 3))


def in_kernels(update: Any, shrinkage: Any) -> Any:
    """Return the update that kernels take in place of another: the same, in fours if it can be."""
    fits = type(update) is Adaptive and type(shrinkage) is Truncation
    return AdaptiveInFours(*update) if fits and update.beta >= LEAST_BETA_IN_FOURS else update
