"""An explanation adds up to the prediction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dwindle import (
    Adaptive,
    Averaged,
    Batch,
    DataError,
    Learner,
    Logistic,
    Plain,
    Squared,
    TruncatedGradientClassifier,
    Truncation,
)
from dwindle.model.model import Model

values = st.floats(-9, 9, width=32) | st.sampled_from(["red", "blue"]) | st.booleans()
features = st.dictionaries(st.sampled_from("abcdef"), values)


def learned(stream, **settings):
    learner = Learner(**settings)
    for i, x in enumerate(stream):
        learner.learn_one(x, 1 if i % 3 else -1)
    return learner


@pytest.mark.parametrize("update", [Plain(), Adaptive(), Averaged()])
@settings(max_examples=40)
@given(stream=st.lists(features, max_size=10), x=features)
def test_contributions_and_intercept_add_up_to_the_prediction_to_the_bit(update, stream, x):
    """In the example's order: another one may round another way."""
    learner = learned(
        stream, loss=Logistic(), shrinkage=Truncation(0.01), update=update, learning_rate=0.1
    )
    for predictor in (learner, Model.of(learner)):
        found = predictor.explain(x)
        order = Batch.from_dicts([x]).names
        total = 0.0
        for name in order:
            total += found.contributions.get(
                name, 0.0
            )  # not sum(): it rounds less since Python 3.12
        assert found.intercept + total == found.prediction
        assert found.prediction == predictor.predict(Batch.from_dicts([x]))[0]
        assert found.contributions.keys() <= set(learner.weights())


@pytest.mark.parametrize("intercept", [True, False])
@given(stream=st.lists(features, max_size=10), x=features)
def test_scaled_predictions_are_explained_as_they_are_scaled(intercept, stream, x):
    learner = learned(stream, learning_rate=0.1, normalize=True, intercept=intercept)
    for predictor in (learner, Model.of(learner)):
        found = predictor.explain(x)
        total = found.intercept + sum(found.contributions.values())
        assert total == pytest.approx(found.prediction, rel=1e-12, abs=1e-12)


def test_the_largest_comes_first_and_what_is_not_in_the_model_not_at_all():
    learner = Learner(Squared(), Truncation(), Plain(), 0.1, intercept=False)
    learner.learn_one({"a": 1, "b": 1, "c": 1}, 1)
    found = learner.explain({"a": 1, "b": -3, "c": 2.5, "d": 9})
    assert list(found.contributions.items()) == [
        ("b", pytest.approx(-0.6)),
        ("c", pytest.approx(0.5)),
        ("a", pytest.approx(0.2)),
    ]
    assert str(found).splitlines() == [
        "   -0.6000  b",
        "   +0.5000  c",
        "   +0.2000  a",
        "   +0.0000  (intercept)",
        "   +0.1000  prediction",
    ]


def test_an_example_of_a_batch_is_explained_with_its_base():
    learner = Learner(Squared(), Truncation(), Plain(), 0.1)
    batch = Batch.from_arrays([0, 2], [7, 8], [1, 2], [1], base=[0.5])
    learner.learn(batch)
    found = learner.explain(batch)
    assert list(found.contributions) == ["8", "7"]
    assert found.prediction == learner.predict(batch)[0]
    assert found.intercept == learner.intercept + 0.5
    with pytest.raises(DataError, match="one example is explained at a time, got 2"):
        learner.explain(Batch.from_arrays([0, 1, 2], [7, 8], [1, 2]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_estimator_explains_a_row_by_class(n_classes):
    rng = np.random.default_rng(0)
    rows, label = rng.normal(size=(300, 4)), rng.integers(0, n_classes, 300)
    model = TruncatedGradientClassifier().fit(rows, label)
    found = model.explain(rows[:1])
    each = [found] if n_classes == 2 else [found[name] for name in model.classes_]
    for one, score in zip(each, np.ravel(model.decision_function(rows[:1])), strict=True):
        assert one.prediction == score
        assert one.intercept + sum(one.contributions.values()) == pytest.approx(score)
    assert model.explain({"0": 1.0}) is not None
