"""The unit of a feature: the root mean square of its values, so that its scale does not matter."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dwindle import (
    FTRL,
    RDA,
    Adaptive,
    Batch,
    Centred,
    ElasticNet,
    Learner,
    Logistic,
    Model,
    Plain,
    Squared,
    Truncation,
)
from dwindle.algorithm.units import MOST
from dwindle.runs.metrics import auc
from helpers.effort import few_examples
from helpers.ingredients import near
from helpers.random_streams import batch_of, seeds, stream

UPDATES = [(Adaptive(), 1e-2), (FTRL(), 0.3), (RDA(), 1e-3)]
updates = pytest.mark.parametrize(("update", "gravity"), UPDATES, ids=str)


finite = st.floats(width=32, allow_nan=False, allow_infinity=False)


def units(learner):
    """The unit of each feature, by name."""
    cells = learner.table.cells[learner.table.cells["key"] != 0]
    names = learner.table.names.of(cells["key"] - np.uint64(1))
    return dict(zip(map(str, names), 1 / cells["inverse"].astype(float), strict=True))


@updates
def test_the_unit_is_the_root_mean_square_of_the_values_where_there_are_any(update, gravity):
    learner = Learner(Logistic(), Truncation(gravity), update)
    rng = np.random.default_rng(0)
    values = rng.normal(size=500) * 30.0
    for i, x in enumerate(values.tolist()):
        learner.learn_one({"a": x} if i % 3 else {"a": x, "b": 1}, 1 if i % 2 else -1)
    found = units(learner)
    assert found["b"] == 1.0
    assert found["a"] == pytest.approx(np.sqrt(np.mean(np.square(values))), rel=1e-5)


@updates
@given(seed=seeds, factor=st.sampled_from([1e-30, 1e-3, 1000.0, 1e15, 1e30]))
@few_examples(6)
def test_a_column_in_another_unit_gives_the_same_predictions(update, gravity, seed, factor):
    examples = stream(seed, (-1.0, 1.0))
    stretched = [
        ([(name, x * factor if name == "3" else x) for name, x in features], label, importance)
        for features, label, importance in examples
    ]
    ours, others = (Learner(Logistic(), Truncation(gravity), update) for _ in range(2))
    first, second = ours.learn(batch_of(examples)), others.learn(batch_of(stretched))
    np.testing.assert_allclose(second, first, rtol=1e-4, atol=1e-5)  # values in single precision
    weight = ours.weights().get("3", 0.0)
    assert others.weights().get("3", 0.0) * factor == pytest.approx(weight, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("update", [Adaptive(), Centred(), FTRL(), RDA()], ids=str)
@given(values=st.lists(finite, min_size=1, max_size=30), seed=seeds)
@few_examples(20)
def test_values_of_any_size_leave_every_weight_finite(update, values, seed):
    """Subnormal ones, 0 and the largest there are; predictions themselves may be too large."""
    labels = np.random.default_rng(seed).choice([-1.0, 1.0], len(values))
    learner = Learner(Logistic(), Truncation(1e-3), update)
    for x, y in zip(values, labels.tolist(), strict=True):
        assert np.isfinite(learner.learn_one({"a": x, "b": 1.0}, y))
    assert np.isfinite([*learner.weights().values(), learner.intercept]).all()


def long_tails(n=4000, d=30):
    """Columns most of whose values are far below their largest one, as counts of words are."""
    rng = np.random.default_rng(0)
    x = rng.lognormal(0.0, 2.0, (n, d)) * (rng.random((n, d)) < 0.5)
    truth = rng.normal(size=d)
    score = np.log1p(x) @ truth
    label = np.where(score - np.median(score) + rng.logistic(size=n) > 0, 1.0, -1.0)
    start, key = np.arange(n + 1) * d, np.tile(np.arange(d, dtype=np.uint64), n)
    return Batch.from_arrays(start, key, x.ravel(), label), label


@pytest.mark.parametrize("update", [Adaptive(), FTRL(), RDA()], ids=str)
def test_long_tails_are_learned_as_they_were_not_in_units_of_the_largest_value(update):
    batch, label = long_tails()
    prediction = Learner(Logistic(), Truncation(), update).learn(batch)
    assert auc(prediction, label) > 0.84  # Adaptive had 0.761 then,
    assert np.logaddexp(0, -prediction * label).mean() < 0.54  # and 0.628


@pytest.mark.parametrize("update", [Adaptive(), Centred(), FTRL(), RDA()], ids=str)
def test_a_unit_stands_still_after_so_many_values(update):
    learner = Learner(Logistic(), Truncation(), update)
    learner.learn(Batch.from_dicts([{"a": 3.0}, {"a": 4.0}], [1, -1]))
    cell = learner.table.cells["key"] != 0
    learner.table.cells["seen"][cell] = MOST - 1
    learner.learn_one({"a": 1e4}, 1)
    last = units(learner)["a"]
    assert learner.table.cells["seen"][cell] == MOST
    learner.learn_one({"a": 1e6}, -1)
    assert units(learner)["a"] == last < 1e4
    assert learner.table.cells["seen"][cell] == MOST


def always_one(n=3000, d=500, per=12):
    rng = np.random.default_rng(7)
    key = (d * rng.random((n, per)) ** 3).astype(np.uint64)
    label = np.where(key[:, 0] % 2 == 0, 1.0, -1.0)
    return Batch.from_arrays(np.arange(n + 1) * per, key.ravel(), np.ones(key.size), label)


def test_where_all_values_are_1_adaptive_learns_what_it_did_with_other_units():
    """But that all of a cell except the weight is in single precision now."""
    learner = Learner(Squared(), Truncation(), Adaptive(), 0.1)
    learner.learn(always_one())
    weights = learner.weights().values()
    assert math.fsum(weights) == pytest.approx(2.155074707168, 1e-6)
    assert math.fsum(map(abs, weights)) == pytest.approx(20.206953068075, 1e-6)
    assert learner.intercept == pytest.approx(0.000473516014, abs=1e-7)
    pulled = Learner(Squared(), Truncation(1e-3), Adaptive(), 0.1)
    pulled.learn(always_one())
    assert len(pulled) == 483
    assert math.fsum(map(abs, pulled.weights().values())) == pytest.approx(11.538544294498, 1e-6)


@pytest.mark.parametrize("later", [FTRL(), Adaptive()], ids=str)
@pytest.mark.parametrize("earlier", [FTRL(), RDA(), Adaptive(), Plain()], ids=str)
@pytest.mark.parametrize("shrinkage", [Truncation(1e-3), ElasticNet(1e-3, 1e-3)], ids=str)
def test_learning_goes_on_from_weights_alone(earlier, later, shrinkage, tmp_path):
    batch, label = long_tails(600, 5)
    rate = 1e-5 if isinstance(earlier, Plain) else None
    first = Learner(Logistic(), Truncation(1e-3), earlier, rate)
    first.learn(batch)
    Model.of(first).save(tmp_path / "m")
    model = Model.load(tmp_path / "m")
    learner = model.learner(Learner(Logistic(), shrinkage, later).settings())
    expected = model.predict(batch)
    np.testing.assert_allclose(learner.predict(batch), expected, 1e-9)
    # The first value tells the unit of a weight that had none, and leaves the weight as it is.
    p = learner.learn(batch.rows(0, 1))
    assert p[0] == pytest.approx(expected[0], rel=0.02, abs=0.02)
    went_on = learner.learn(batch.rows(1, 600))
    anew = Learner(Logistic(), shrinkage, later).learn(batch)
    assert auc(went_on, label[1:]) > auc(anew, label)


def test_with_a_value_far_beyond_its_unit_a_feature_begins_anew_as_the_specification_says():
    x, y = [1e-20, -2e-20, 1.0, 3.0, 1e-25, 1e30, -1e30, 5.0], [1, -1, 1, -1, 1, 1, -1, 1]
    x = np.array(x, np.float32).tolist()
    learner = Learner(Logistic(), Truncation(1e-3), Adaptive(), 0.5, intercept=False)
    predictions = learner.learn(Batch.from_dicts([{"a": value} for value in x], y))
    examples = [([("a", value)], label, 1.0) for value, label in zip(x, y, strict=True)]
    spec = reference.learn(
        *(examples, [0.5] * len(x), [0.5e-3] * len(x)),
        *(lambda p, label: -label / (1 + math.exp(label * p)), reference.t1),
        reference.Adaptive(0.2),
    )
    expected = [p for p, _ in spec]
    assert predictions.tolist() == pytest.approx(expected, rel=near(Adaptive()))
    assert predictions[2] == predictions[5] == 0.0  # nothing is known in the new unit
    assert np.isfinite(predictions).all()
    assert predictions[1] != 0.0 != predictions[3]
