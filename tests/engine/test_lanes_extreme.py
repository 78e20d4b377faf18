"""Lanes at the ends of single precision: values, labels and lengths of streams."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, DivergedError
from dwindle.engine import lane_updates
from helpers.effort import few_examples
from helpers.lane_learners import (
    CENTRED,
    LOGISTIC,
    SQUARED,
    UPDATES,
    called,
    lane_learner,
    weights_by_lane,
)
from helpers.random_streams import batch_of, seeds, stream

FTRL, RDA, ADAPTIVE, PLAIN = UPDATES
in_units = pytest.mark.parametrize("update", UPDATES[:3], ids=called)

SIZES = [2.0**-149, 1e-40, 1e-30, 1e-18, 1e-10, 1.0, 1e10, 1e18, 1e25, 1e30, 3e38]
pairs = st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES))


def finite(learner):
    """Whether all that the learner tells is a number."""
    weights = np.array(list(weights_by_lane(learner).values()))
    cells = learner.table.cells[learner.table.cells["key"] != 0]
    return (
        np.isfinite(weights).all()
        and all(np.isfinite(cells[name]).all() for name in ("root", "unit", "lane"))
        and np.isfinite(learner.predict_lanes(Batch.from_dicts([{}]))).all()
    )


@pytest.mark.parametrize(
    ("update", "loss"),
    [*((u, LOGISTIC) for u in (*UPDATES, CENTRED)), (FTRL, SQUARED), (PLAIN, SQUARED)],
    ids=called,
)
@given(sizes=st.lists(pairs, min_size=1, max_size=30))
@few_examples(20)
def test_values_of_any_size_leave_numbers_or_are_told_to_diverge(update, loss, sizes):
    learner = lane_learner(update, loss)
    largest = 1e18 if update is PLAIN else math.inf  # its steps are as large as the values
    for i, pair in enumerate(sizes):
        a, b = (min(size, largest) for size in pair)
        features = {"a": a if i % 2 else -a, "b": b, "plain": 1.0}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                assert np.isfinite(learner.learn_one(features, 1 if i % 3 else -1))
            except DivergedError:
                break
        assert finite(learner)


@pytest.mark.parametrize("size", [1e6, 1e12, 1e15, 1e25, 1e37])
@pytest.mark.parametrize("update", [FTRL, PLAIN], ids=called)
def test_labels_of_any_size_leave_numbers_or_are_told_to_diverge(update, size):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    batch = Batch.from_dicts([dict(zip("abc", row, strict=True)) for row in x], size * x[:, 0])
    learner = lane_learner(update, SQUARED, rate=0.05)
    if size >= 1e15:
        with pytest.raises(DivergedError, match="lower the rate"):
            learner.learn(batch)
    else:
        learner.learn(batch)
    assert finite(learner)


@in_units
@given(seed=seeds, factor=st.sampled_from([2.0**-20, 0.001, 1000.0, 1e9]))
@few_examples(5, always_the_same=True)  # the best lane changes in leaps
def test_a_column_times_a_thousand_gives_the_same_predictions_and_features(update, seed, factor):
    examples = stream(seed, LOGISTIC.labels)
    stretched = [
        ([(name, x * factor if name == "3" else x) for name, x in features], label, importance)
        for features, label, importance in examples
    ]
    one, other = (lane_learner(update) for _ in range(2))
    np.testing.assert_allclose(
        one.learn(batch_of(examples)), other.learn(batch_of(stretched)), 1e-4, 1e-5
    )
    found, expected = weights_by_lane(other), weights_by_lane(one)
    largest = max((abs(w) for lanes in expected.values() for w in lanes), default=0.0)
    for name, lanes in expected.items():
        stretch = factor if name == "3" else 1.0
        ours = np.array(found.get(name, np.zeros(8))) * stretch
        np.testing.assert_allclose(ours, lanes, 1e-4, 1e-5 * largest)


@in_units
def test_columns_as_they_are_and_standardised_keep_the_same_features(update):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 30))
    label = np.where(x[:, 0] + x[:, 1] - x[:, 2] + rng.normal(size=3000) > 0, 1, -1)
    scale = 10.0 ** rng.uniform(-6, 6, 30)
    kept = []
    for columns in (x, x * scale):
        names = [f"{i}" for i in range(30)]
        batch = Batch.from_dicts([dict(zip(names, row, strict=True)) for row in columns], label)
        learner = lane_learner(update)
        learner.learn(batch)
        kept.append(([learner.kept().tolist(), learner.lane], sorted(learner.weights())))
    assert kept[0] == kept[1]
    assert {"0", "1", "2"} <= set(kept[0][1])
    assert update is ADAPTIVE or len(kept[0][1]) < 10


@in_units
def test_a_unit_stands_still_once_enough_values_were_counted(update):
    learner = lane_learner(update)
    learner.learn_one({"a": 1.0}, 1)
    full = learner.table.cells["key"] != 0
    learner.table.cells["seen"][full] = lane_updates.COUNTED - 2
    units = []
    for i in range(4):
        learner.learn_one({"a": 1000.0}, 1 if i % 2 else -1)
        units += learner.table.cells["unit"][full].tolist()
    assert 1 < units[0] < units[1] == units[2] == units[3]
    assert learner.table.cells["seen"][full] == lane_updates.COUNTED


def test_squared_gradients_stand_still_where_single_precision_does():
    """From n = 2^23 g^2 or so on, as from `COUNTED` values on, a feature's rate is constant."""
    learner = lane_learner(FTRL)
    learner.learn_one({"a": 1.0}, 1)
    cell = learner.table.cells["key"] != 0
    learner.table.cells["root"][cell] = root = np.float32(2.0**13)
    before = learner.weights()
    learner.learn_one({"a": 1.0}, -1)
    assert learner.table.cells["root"][cell] == root
    assert before.keys() == learner.weights().keys()
    assert finite(learner)
