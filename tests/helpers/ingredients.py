"""Every loss, shrinkage, update and schedule there is: the batteries run over these lists.

Beside each loss and shrinkage stands what the reference makes of it, written from the paper and
not from the code under test.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import dwindle
import reference
from dwindle import Schedule
from helpers.effort import pairwise


class Loss(NamedTuple):
    loss: Any
    value: Any
    slope: Any
    labels: tuple[float, ...]


def sign(v):
    return (v > 0) - (v < 0)


def clip(v, low, high):
    return min(max(v, low), high)


LOSSES = [
    Loss(
        dwindle.Squared(),
        lambda p, y: (p - y) ** 2,
        lambda p, y: 2 * (p - y),
        (-1.5, 0.0, 0.25, 2.0),
    ),
    Loss(
        dwindle.Logistic(),
        lambda p, y: float(np.logaddexp(0.0, -p * y)),
        lambda p, y: -y / (1 + math.exp(p * y)),
        (-1.0, 1.0),
    ),
    Loss(
        dwindle.Hinge(),
        lambda p, y: max(0, 1 - p * y),
        lambda p, y: -y if p * y < 1 else 0.0,
        (-1.0, 1.0),
    ),
    Loss(
        dwindle.Hinge(margin=0.3),
        lambda p, y: max(0, 0.3 - p * y),
        lambda p, y: -y if p * y < 0.3 else 0.0,
        (-1.0, 1.0),
    ),
    Loss(
        dwindle.ClippedSquared(),
        lambda p, y: (
            (p - y) ** 2
            if 0 <= p <= 1
            else (1 - y) ** 2 + 2 * (1 - y) * (p - 1)
            if p > 1
            else y**2 - 2 * y * p
        ),
        lambda p, y: 2 * (clip(p, 0, 1) - y),
        (0.0, 0.25, 1.0),
    ),
    Loss(
        dwindle.Quantile(tau=0.75),
        lambda p, y: 0.75 * (y - p) if p <= y else 0.25 * (p - y),
        lambda p, y: 0.0 if p == y else -0.75 if p < y else 0.25,
        (-1.5, 0.75, 0.25, 2.0),  # no 0: rounding would decide on which side of the kink it is
    ),
    Loss(
        dwindle.Huber(delta=0.5),
        lambda p, y: (p - y) ** 2 if abs(p - y) <= 0.5 else 0.5 * (2 * abs(p - y) - 0.5),
        lambda p, y: 2 * (p - y) if abs(p - y) <= 0.5 else sign(p - y),
        (-1.5, 0.0, 0.25, 2.0),
    ),
    Loss(
        dwindle.Poisson(),
        lambda p, y: math.exp(p) - y * p,
        lambda p, y: math.exp(p) - y,
        (0.0, 1.0, 3.0),
    ),
]

# A shrinkage and the reference's.
SHRINKAGES = [
    (dwindle.NoShrinkage(), lambda v, _a: v),
    (dwindle.Truncation(gravity=0.0371), reference.t1),
    (dwindle.Truncation(gravity=0.0371, truncate_every=3), reference.t1),
    (
        dwindle.Truncation(gravity=0.0371, threshold=0.2, truncate_every=2),
        functools.partial(reference.t1, theta=0.2),
    ),
    (
        dwindle.Truncation(gravity=0.0371, threshold=0.0371, truncate_every=2),
        functools.partial(reference.t1, theta=0.0371),
    ),
    (dwindle.Rounding(threshold=0.05), functools.partial(reference.t0, theta=0.05)),
    (
        dwindle.Rounding(threshold=0.05, truncate_every=4),
        functools.partial(reference.t0, theta=0.05),
    ),
    (dwindle.Subgradient(gravity=0.0371), reference.subgradient),
    (dwindle.Subgradient(gravity=0.0371, truncate_every=3), reference.subgradient),
    (dwindle.ElasticNet(l2=0.23, gravity=0.0371), reference.ElasticNet(0.0371, 0.23)),
    (dwindle.ElasticNet(l2=0.23, truncate_every=3), reference.ElasticNet(0.0, 0.23)),
]

UPDATES = [
    (dwindle.Plain(), reference.Plain),
    (dwindle.Adaptive(), functools.partial(reference.Adaptive, 0.2)),
    (dwindle.Adaptive(beta=1.5), functools.partial(reference.Adaptive, 1.5)),
]


def near(update):
    """How close the learner's numbers are to the reference's, which adds lazy pulls in another order.

    Numbers that differ in the last digit of double precision may round to neighbours in single, in
    which the adaptive update computes; a stream makes such a difference a few times as large.
    """
    return 1e-6 if isinstance(update, (dwindle.Adaptive, dwindle.Centred)) else 1e-9


SCHEDULES = [
    Schedule(0.1),
    Schedule(0.1, power_t=0.5),
    Schedule(0.1, power_t=1.0, initial_t=10.0),
    Schedule(0.1, pass_decay=0.5),
    Schedule(0.1, power_t=0.3, initial_t=2.0, pass_decay=0.9),
]


def called(ingredient):
    """The name of an ingredient, whatever the reference has beside it."""
    if isinstance(ingredient, Loss):
        return str(ingredient.loss)
    return str(ingredient[0] if type(ingredient) is tuple else ingredient)


def kind(ingredient):
    """Its class, for which code is compiled."""
    if isinstance(ingredient, Loss):
        return type(ingredient.loss)
    return type(ingredient[0] if type(ingredient) is tuple else ingredient)


def over_ingredients(updates=UPDATES, **which):
    """Run a test over losses, shrinkages and updates, any two classes of which meet in some case."""
    cases = pairwise(LOSSES, SHRINKAGES, updates, name=called, kind=kind, **which)
    return pytest.mark.parametrize(("loss", "shrinkage", "update"), cases)


def rates_of(schedule, n, passes_before):
    """The rate of each of n steps, ``passes_before[i]`` passes having gone before step i."""
    return [
        schedule.learning_rate
        * (schedule.initial_t / (schedule.initial_t + i)) ** schedule.power_t
        * schedule.pass_decay ** passes_before[i]
        for i in range(n)
    ]


def pulls_of(shrinkage, rates):
    """eta_i g_i with g_i = K g if i/K is an integer, and None where step i pulls nothing.

    The elastic net has its gravity in its own formula.
    """
    elastic = isinstance(shrinkage, dwindle.ElasticNet)
    gravity = 1.0 if elastic else getattr(shrinkage, "gravity", 0.0)
    return [
        rate * shrinkage.truncate_every * gravity
        if (i + 1) % shrinkage.truncate_every == 0
        else None
        for i, rate in enumerate(rates)
    ]
