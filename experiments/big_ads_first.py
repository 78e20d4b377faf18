"""Models of as many ads as fit in memory without truncation: what truncation costs on equal data.

The baseline is the best that keeps everything: for each update, the learning rate with the least
error on examples that are neither learned from nor tested on, going on from rate to rate until the
best has a worse one on both sides. So it is not one that overfits for want of a smaller rate.
Truncated gradient and FTRL-Proximal then choose their gravity in the same way, in a budget of
memory.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import FTRL
from dwindle.algorithm.losses import Logistic
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.updates import Plain
from dwindle.datasets.ads import Ads
from dwindle.engine.learner import Learner
from dwindle.runs.metrics import accuracy
from experiments.climbing import Ladder, Place, climb

SHARE = 16  # of the features seen for each that may live
HELD = 20_000  # examples to choose by
MOST = 12  # settings of each
FACTOR = 2.0  # from one rate or gravity to the next
DIGITS = 3  # of an error that count


class Method(NamedTuple):
    """An update, and where its search begins."""

    update: Any
    learning_rate: float
    strength: float  # gravity on the sum of the losses
    cools: bool  # at the end, for as many steps as there are examples

    def gravity(self, strength: float, n: int) -> float:
        """The strength as the update takes it."""
        return strength / n if self.cools else strength


METHODS = {
    "plain": Method(Plain(), 0.04, 1.0, cools=True),
    "adaptive": Method(Adaptive(), 2.4, 0.1, cools=True),
    "ftrl": Method(FTRL(), 1.0, 1.0, cools=False),
}


class Measured(NamedTuple):
    """A model: its errors, on what is held out to choose by and on the test part, and its size."""

    held: float
    error: float
    kept: int
    peak_live: int


class Log(NamedTuple):
    """The ads to learn from, to choose by and to test on: none is in two of them."""

    ads: Ads
    n: int
    first_test: int
    n_test: int

    def error(self, learner: Learner, n: int, first: int) -> float:
        """The share of wrong predictions of n examples from the first of them on."""
        p, label = [], []
        for batch in self.ads.batches(n, first):
            assert batch.label is not None
            p.append(learner.predict(batch).astype(np.float32))
            label.append(batch.label)
        return 1 - accuracy(np.concatenate(p), np.concatenate(label))

    def measured(self, learner: Learner) -> Measured:
        """What is to be known of a model; the log has neither part of the test in another."""
        return Measured(
            self.error(learner, HELD, self.first_test - HELD),
            self.error(learner, self.n_test, self.first_test),
            len(learner),
            learner.table.peak,
        )

    def learned(self, method: Method, rate: float, strength: float, live: int | None) -> Learner:
        """A learner of all of them, without the names of features, for which there is no room."""
        gravity = method.gravity(strength, self.n)
        learner = Learner(Logistic(), Truncation(gravity), method.update, rate, max_live=live)
        for batch in self.ads.batches(self.n):
            learner.learn(batch._replace(names=None))
        if strength and method.cools:
            learner.cooldown(self.n)
        return learner


def first_models(seed: int, n: int, first_test: int, n_test: int) -> list[dict[str, Any]]:
    """For each method, the best that keeps everything and the best within the budget."""
    log = Log(Ads(seed), n, first_test, n_test)
    found = []
    seen = 0
    for name, method in METHODS.items():
        dense = _chosen(log, method, None)
        seen = seen or dense["kept"]
        sparse = _chosen(log, method, seen // SHARE, around=dense["learning_rate"])
        found += [one | {"update": name, "seen": seen} for one in (dense, sparse)]
    return found


def _chosen(
    log: Log, method: Method, live: int | None, around: float | None = None
) -> dict[str, Any]:
    """The setting with the least error on what is held out, and its model on the test part."""
    rates = Ladder(around or method.learning_rate, FACTOR)
    strengths = Ladder(method.strength, FACTOR) if live else Ladder(listed=(0.0,))

    def measured(place: Place) -> Measured:
        learner = log.learned(method, rates.value(place[0]), strengths.value(place[1]), live)
        return log.measured(learner)

    climbed = climb((rates, strengths), [(0, 0)], measured, _least, MOST)
    place = climbed.picked[0]
    found: Measured = climbed.known[place]
    return found._asdict() | {
        "learning_rate": rates.value(place[0]),
        "tried": [rates.value(end(each[0] for each in climbed.known)) for end in (min, max)],
        "strength": strengths.value(place[1]),
        "open": len(climbed.open),
        "max_live": live,
    }


def _least(known: dict[Place, Measured], inside: Callable[[Place], bool]) -> Iterator[Place]:
    """The least error; of equals, one that has others on both sides."""
    yield min(known, key=lambda place: (round(known[place].held, DIGITS), not inside(place)))
