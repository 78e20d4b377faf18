"""Columns far from zero, learned by several gravities at once: they are centred."""

import pickle

import numpy as np
import pytest
from hypothesis import given

import reference_lanes
from dwindle import Batch, Poisson, Squared
from dwindle._base.errors import SettingError
from dwindle.algorithm.dual_averaging import CentredFTRL, CentredRDA
from dwindle.engine.kinds import learner_from
from dwindle.engine.lanes import LaneLearner
from helpers.effort import few_examples
from helpers.lane_learners import LaneUpdate, expected_of, final, weights_by_lane
from helpers.random_streams import batch_of, cut, seeds
from reference import INTERCEPT

BETA = 0.2
UPDATES = [
    LaneUpdate(
        CentredFTRL(BETA), lambda theta: reference_lanes.LaneCentredFTRL(BETA, theta), False
    ),
    LaneUpdate(CentredRDA(BETA), lambda theta: reference_lanes.LaneCentredRDA(BETA, theta), False),
]


class SQUARED:
    """The loss as the reference takes it."""

    slope = staticmethod(lambda p, y: 2 * (p - y))


def columns(seed, n=60, *, gaps=True):
    """Four columns far from zero, beside features that come and go.

    With gaps, columns are missing or twice in a few examples.
    """
    rng = np.random.default_rng(seed)
    examples = []
    for _ in range(n):
        x = np.float32(rng.normal([2000.0, -5.0, 0.5, 30.0], [20.0, 0.1, 1.0, 3.0]))
        features = [(str(j), float(v)) for j, v in enumerate(x)]
        if gaps and rng.random() < 0.05:
            features = [*features, features[0]] if rng.random() < 0.3 else features[1:]
        others = np.flatnonzero(rng.random(4) < 0.4)
        features += [(str(10 + j), float(np.float32(rng.normal()))) for j in others]
        label = 0.02 * (x[0] - 2000) + 4 * (x[1] + 5) + 0.5 * (10 in others) + rng.normal(0, 0.1)
        importance = float(rng.choice([0.0, 1.0, 1.0, 1.0, 2.5]))
        examples.append((features, float(np.float32(label)), importance))
    return examples


def learner(update=UPDATES[0].update, **settings):
    return LaneLearner(Squared(), update=update, learning_rate=0.5, **settings)


@pytest.mark.parametrize("update", UPDATES, ids=lambda each: str(each.update))
@given(seed=seeds)
@few_examples(5, always_the_same=True)  # evidence and the best lane change in leaps
def test_all_lanes_are_the_reference_s(update, seed):
    examples, ours = columns(seed), learner(update.update)
    expected = expected_of(ours, SQUARED, update, examples)
    predictions = ours.learn(batch_of(examples))
    scale = 1e-4 * np.abs(predictions).max()
    np.testing.assert_allclose(predictions, [p for p, _, _ in expected], 1e-3, scale)
    weights = expected[-1][2]
    np.testing.assert_allclose(ours.intercepts, weights.pop(INTERCEPT), 1e-3, 1e-2)
    found = weights_by_lane(ours)
    for name, row in weights.items():
        np.testing.assert_allclose(found.get(name, np.zeros(8)), row, 2e-3, 1e-4)


@given(seed=seeds)
@few_examples(5)
def test_batches_stops_and_pickles_change_no_bit(seed):
    examples = columns(seed)
    whole, parts = learner(scale_labels=True), learner(scale_labels=True)
    predictions = whole.learn(batch_of(examples))
    found = []
    for i, part in enumerate(cut(examples, seed)):
        found.extend(parts.learn(batch_of(part)))
        parts = pickle.loads(pickle.dumps(parts)) if i % 2 else learner_from(parts.state())
    assert found == predictions.tolist()
    assert final(parts) == final(whole)
    assert parts.intercepts.tolist() == whole.intercepts.tolist()


@given(seed=seeds)
@few_examples(5)
def test_predictions_are_those_of_a_plain_model(seed):
    """Also of examples that lack a column, or have it twice: intercept + sum of w x."""
    examples, ours = columns(seed, gaps=False), learner(scale_labels=True)
    ours.learn(batch_of(examples))
    strange = columns(seed + 1, gaps=True)
    weights, expected = weights_by_lane(ours), []
    for features, _, _ in strange:
        rows = [np.multiply(weights.get(name, [0.0] * 8), x) for name, x in features]
        expected.append(ours.intercepts + np.sum(rows, axis=0))
    size = max(np.abs(w).max() for w in weights.values()) * 2000
    np.testing.assert_allclose(ours.predict_lanes(batch_of(strange)), expected, 1e-5, 1e-6 * size)
    k = ours.lane
    assert ours.intercept == ours.intercepts[k]
    np.testing.assert_allclose(
        ours.predict(batch_of(strange)), [row[k] for row in expected], 1e-5, 1e-6 * size
    )


def test_an_offset_of_a_column_makes_no_difference():
    examples = columns(1, gaps=False)
    moved = [
        ([(name, x + 4096.0 if name == "3" else x) for name, x in features], label, importance)
        for features, label, importance in examples
    ]
    near, far = learner(scale_labels=True), learner(scale_labels=True)
    np.testing.assert_allclose(
        far.learn(batch_of(moved)), near.learn(batch_of(examples)), 1e-3, 1e-3
    )
    assert far.kept().tolist() == near.kept().tolist()


def test_a_gap_in_a_column_leaves_the_prediction_at_its_mean():
    rng = np.random.default_rng(0)
    years = rng.integers(1990, 2020, 300)
    rows = [{"year": int(year)} for year in years]
    ours = learner(scale_labels=True)
    ours.learn(Batch.from_dicts(rows, years - 2000.0))
    middle = Batch.from_dicts([{"year": float(years.mean())}])
    before = ours.predict_lanes(middle)
    ours.learn(Batch.from_dicts([{"other": 1}], [float(years.mean() - 2000)]))
    np.testing.assert_allclose(ours.predict_lanes(middle), before, atol=1.0)  # of a spread of 30
    found = ours.learn(Batch.from_dicts(rows[:50], years[:50] - 2000.0))
    assert np.abs(found - (years[:50] - 2000)).max() < 40  # no shock: a year is 2000 of its units


def test_no_lane_leaps_where_the_loss_is_steep():
    """Lanes share the rates of the best one: another's slopes may be exp of what its are."""
    rng = np.random.default_rng(2)
    x = rng.gamma(0.5, 1.0, (400, 13)) * 10.0 ** rng.integers(-2, 3, 13)
    rows = [{f"c{j}": v for j, v in enumerate(row)} for row in x.tolist()]
    counts = rng.poisson(20, 400)
    steep = LaneLearner(Poisson(), update=CentredRDA(BETA), learning_rate=2.0)
    assert np.isfinite(steep.learn(Batch.from_dicts(rows, counts))).all()


def test_a_column_that_never_changes_has_no_weight():
    ours = learner(scale_labels=True)
    ours.learn(Batch.from_dicts([{"one": 7.0, "x": float(i)} for i in range(50)], range(50)))
    assert list(ours.weights()) == ["x"]


def test_what_a_budget_evicts_is_not_centred():
    rng = np.random.default_rng(0)
    rows = [
        {"year": 2000 + i % 7, **{f"w{j}": 1 for j in rng.integers(0, 90, 9)}} for i in range(300)
    ]
    ours = learner(max_live=40)
    ours.learn(Batch.from_dicts(rows, [i % 7 for i in range(300)]))
    assert ours.table.used <= 40
    assert np.isfinite(ours.intercepts).all()
    assert np.isfinite(ours.predict(Batch.from_dicts(rows))).all()


@pytest.mark.parametrize("settings", [{"intercept": False}, {"normalize": True}])
def test_without_an_intercept_there_is_no_centring(settings):
    with pytest.raises(SettingError, match="needs an intercept"):
        learner(**settings)
