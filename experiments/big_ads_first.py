"""Models of as many ads as fit in memory without truncation: what truncation costs on equal data.

The baseline is the best that keeps everything: for each update, the learning rate with the least
error on examples that are neither learned from nor tested on, going on from rate to rate until the
best has a worse one on both sides. So it is not one that overfits for want of a smaller rate.
Truncated gradient and FTRL-Proximal then choose their gravity and rate in the same way, in a budget
of memory: once for the least error, and once as the paper does, for the fewest features at an error
that is no more than a tolerance above the baseline's.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
HELD = 50_000  # examples to choose by
MOST = 60  # settings of each
TOLERANCE = 0.009  # the paper's, of the error
FACTOR = 2**0.5  # from one rate or gravity to the next
COARSE = 2.0  # the same, for the settings of the whole log
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
    "ftrl": Method(FTRL(), 2.0, 0.25, cools=False),
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
    """For each method the best that keeps everything; the best and the smallest in the budget."""
    log = Log(Ads(seed), n, first_test, n_test)
    dense = {name: _chosen(log, method, _least)[0] for name, method in METHODS.items()}
    seen = max(one["kept"] for one in dense.values())
    picks = partial(_best_and_smallest, min(one["held"] for one in dense.values()) + TOLERANCE)
    found = []
    for name, method in METHODS.items():
        around = method._replace(learning_rate=dense[name]["learning_rate"])
        models = [dense[name], *_chosen(log, around, picks, seen // SHARE)]
        found += [one | {"update": name, "seen": seen} for one in models]
    return found


def settings_within(
    live: int, names: Sequence[str], seed: int, n: int, first_test: int, n_test: int
) -> list[dict[str, Any]]:
    """For each method, the rate and the gravity of the least error in a budget, in coarse steps."""
    log = Log(Ads(seed), n, first_test, n_test)
    chosen = [_chosen(log, METHODS[name], _least, live, COARSE)[0] for name in names]
    return [one | {"update": name} for one, name in zip(chosen, names, strict=True)]


def _chosen(
    log: Log, method: Method, picks: Any, live: int | None = None, factor: float = FACTOR
) -> list[dict[str, Any]]:
    """The settings that are picked by what is held out, and their models on the test part."""
    rates = Ladder(method.learning_rate, factor)
    strengths = Ladder(method.strength, factor) if live else Ladder(listed=(0.0,))

    def measured(place: Place) -> Measured:
        learner = log.learned(method, rates.value(place[0]), strengths.value(place[1]), live)
        return log.measured(learner)

    climbed = climb((rates, strengths), [(0, 0)], measured, picks, MOST)
    return [
        climbed.known[place]._asdict()
        | {
            "learning_rate": rates.value(place[0]),
            "tried": [rates.value(end(each[0] for each in climbed.known)) for end in (min, max)],
            "strength": strengths.value(place[1]),
            "open": len(climbed.open),
            "max_live": live,
        }
        for place in climbed.picked
    ]


def _least(known: dict[Place, Measured], inside: Callable[[Place], bool]) -> Iterator[Place]:
    """The least error; of equals, one that has others on both sides."""
    yield min(known, key=lambda place: (round(known[place].held, DIGITS), not inside(place)))


def _best_and_smallest(
    most: float, known: dict[Place, Measured], inside: Callable[[Place], bool]
) -> Iterator[Place]:
    """The least error, and the fewest features with no more than that much of it."""
    yield from _least(known, inside)
    good = [place for place, one in known.items() if one.held <= most]
    if good:
        yield min(good, key=lambda place: known[place].kept)
