"""Several gravities learned at once take one example at a time as fast as one gravity does."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from dwindle import Batch
from dwindle.algorithm.dual_averaging import CentredFTRL, CentredRDA
from dwindle.algorithm.losses import Logistic, Squared
from dwindle.engine.lane_scores import SEGMENTS, SHORTEST
from dwindle.engine.lanes import LaneLearner


def examples(n, seed=0):
    rng = np.random.default_rng(seed)
    return [
        ({f"w{k}": float(x) for k, x in zip(rng.integers(0, 99, 5), rng.random(5), strict=True)}, y)
        for y in rng.choice([-1, 1], n).tolist()
    ]


def test_no_batch_is_made_of_a_dict(monkeypatch):
    learner = LaneLearner()
    monkeypatch.setattr(Batch, "from_dicts", None)
    n = 2 * SEGMENTS * SHORTEST + 1  # scores are joined on the way
    for x, y in examples(n):
        learner.learn_one(x, y)
        learner.predict_one(x)
    assert learner.n_steps == learner.scores.examples == n


def test_unusual_values_are_predicted_by_the_same_lane():
    learner = LaneLearner()
    for x, y in examples(300):
        learner.learn_one(x, y)
    x, _ = examples(1)[0]
    unusual = {name: np.float16(value) for name, value in x.items()}
    usual = {name: float(value) for name, value in unusual.items()}
    assert learner.predict_one(unusual) == learner.predict_one(usual)


def test_joining_scores_leaves_the_table_as_it_is():
    one, many = LaneLearner(), LaneLearner()
    stream = examples(SEGMENTS * SHORTEST + 1)
    for x, y in stream:
        one.learn_one(x, y)
    many.learn(Batch.from_dicts([x for x, _ in stream], [y for _, y in stream]))
    assert len(one.table.cells) == len(many.table.cells)
    assert one.scores.state() == many.scores.state()


def test_a_later_pass_is_not_counted():
    learner = LaneLearner()
    stream = examples(SEGMENTS * SHORTEST)
    for x, y in stream:
        learner.learn_one(x, y)
    learner.next_pass()
    before = learner.scores.state()
    learner.learn_one(*stream[0])
    assert learner.scores.state() == before


@pytest.mark.parametrize("there", [50, 30, 1], ids=["always", "until_it_is_missing", "once"])
def test_an_update_that_centres_takes_dicts_too(there):
    one, many = (LaneLearner(Squared(), update=CentredFTRL()) for _ in range(2))
    values = np.linspace(0, 1, 50).tolist()
    stream = [({"a": x} | ({"b": 7 + x * x} if k < there else {}), x) for k, x in enumerate(values)]
    learned = [one.learn_one(x, y) for x, y in stream]
    batch = Batch.from_dicts([x for x, _ in stream], [y for _, y in stream])
    assert learned == many.learn(batch).tolist()
    assert one.predict_one(stream[0][0]) == many.predict_one(stream[0][0])
    assert one.state()["lanes"] == many.state()["lanes"]


def test_an_update_that_centres_makes_a_batch_of_the_first_dict_only(monkeypatch):
    learner = LaneLearner(update=CentredRDA())
    (first, y), *others = examples(20)
    learner.learn_one(first, y)
    monkeypatch.setattr(Batch, "from_dicts", None)
    for x, y in others:
        learner.learn_one(x, y)
        learner.predict_one(x)


class Ours(NamedTuple):
    """The logistic loss, written by somebody who does not know that there is one."""

    def value(self, p: float, y: float) -> float:
        return math.log1p(math.exp(-p * y))

    def slope(self, p: float, y: float) -> float:
        return -y / (1.0 + math.exp(p * y))

    @property
    def is_classification(self) -> bool:
        return True


@pytest.mark.slow
def test_the_logistic_slopes_of_all_lanes_at_once_are_those_of_each():
    """Exp in rows is good to some 4 units in the last place of single precision."""
    theirs, ours = LaneLearner(Logistic()), LaneLearner(Ours())
    stream = examples(400)
    batch = Batch.from_dicts([x for x, _ in stream], [y for _, y in stream])
    assert ours.learn(batch) == pytest.approx(theirs.learn(batch), rel=1e-3, abs=1e-5)
    assert ours.predict_lanes(batch) == pytest.approx(theirs.predict_lanes(batch), abs=1e-4)
