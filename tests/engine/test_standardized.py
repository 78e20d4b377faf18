"""Regression in any unit: labels in standard units and features about their means."""

import functools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dwindle import (
    Adaptive,
    Batch,
    Centred,
    Huber,
    Learner,
    Logistic,
    Model,
    Plain,
    Quantile,
    Squared,
    Subgradient,
    Truncation,
)
from helpers.effort import few_examples
from helpers.ingredients import LOSSES, SCHEDULES, SHRINKAGES, pulls_of, rates_of
from helpers.random_streams import batch_of, cut, seeds, stream
from reference import INTERCEPT

SQUARED, QUANTILE = LOSSES[0], LOSSES[5]
CENTRED = functools.partial(reference.Centred, 0.2)


def far_from_zero(examples, seed, unit=1.0):
    """The same examples, with an offset for most features and labels of another unit."""
    offset = np.random.default_rng(seed).choice([0.0, 3.0, 40.0], 9)
    return [
        (
            [(name, float(np.float32(x + offset[int(name)]))) for name, x in features],
            float(np.float32(unit * (2500.0 + 60.0 * label))),
            importance,
        )
        for features, label, importance in examples
    ]


def agree(learner, weights, tolerance):
    names = weights.keys() - {INTERCEPT}
    ours = learner.weights()
    np.testing.assert_allclose(
        [ours.get(name, 0.0) for name in names],
        [weights[name] for name in names],
        tolerance,
        tolerance,
    )
    assert learner.intercept == pytest.approx(weights.get(INTERCEPT, 0.0), tolerance, tolerance)


@pytest.mark.parametrize(
    "shrinkage", [*SHRINKAGES[:7], *SHRINKAGES[-2:]], ids=lambda pair: str(pair[0])
)
@given(seed=seeds, intercept=st.booleans(), normalize=st.booleans())
@few_examples(6)
def test_lazy_centring_is_that_of_the_specification(shrinkage, seed, intercept, normalize):
    examples = far_from_zero(stream(seed, SQUARED.labels), seed, 0.01)
    for schedule in SCHEDULES[:2]:
        rates = rates_of(schedule, len(examples), [0] * len(examples))
        options = {"intercept": intercept, "normalize": normalize}
        learner = Learner(Squared(), shrinkage[0], Centred(), schedule, **options)
        pulls = pulls_of(shrinkage[0], rates)
        expected = list(
            reference.learn(
                examples, rates, pulls, SQUARED.slope, shrinkage[1], CENTRED(), **options
            )
        )
        predictions = learner.learn(batch_of(examples))
        # G and N are in single precision: some may be rounded the other way.
        np.testing.assert_allclose(predictions, [p for p, _ in expected], 1e-7, 1e-7)
        agree(learner, expected[-1][1], 1e-7)


@pytest.mark.parametrize("loss", [SQUARED, QUANTILE], ids=lambda loss: str(loss.loss))
@pytest.mark.parametrize("update", [(Plain(), reference.Plain), (Centred(), CENTRED)], ids=str)
@given(seed=seeds)
@few_examples(6)
def test_labels_are_learned_in_standard_units_and_predicted_in_their_own(loss, update, seed):
    examples = far_from_zero(stream(seed, loss.labels), seed)
    if update[0] == Plain():
        examples = [([(k, 0.01 * x) for k, x in f], y, h) for f, y, h in examples]
    examples = [([(k, float(np.float32(x))) for k, x in f], y, h) for f, y, h in examples]
    shrinkage, rates = Truncation(0.0371), [0.1] * len(examples)
    learner = Learner(loss.loss, shrinkage, update[0], 0.1, scale_labels=True)
    features, labels, importances = zip(*examples, strict=True)
    scaled = list(reference.standard_labels(labels, importances))
    learned = zip(features, [z for z, _, _ in scaled], importances, strict=True)
    pulls = pulls_of(shrinkage, rates)
    run = list(
        reference.learn(
            learned, rates, pulls, loss.slope, reference.t1, update[1](), intercept=True
        )
    )
    expected = [m + s * p for (p, _), (_, m, s) in zip(run, scaled, strict=True)]
    # A z in single precision may be rounded the other way, by another order of summation.
    np.testing.assert_allclose(learner.learn(batch_of(examples)), expected, 1e-5, 1e-2)


@given(seed=seeds, cuts=seeds, normalize=st.booleans(), intercept=st.booleans())
@few_examples(8)
def test_batches_and_one_by_one_and_a_copy_on_the_way_give_the_same_bits(
    seed, cuts, normalize, intercept
):
    examples = far_from_zero(stream(seed, SQUARED.labels), seed)

    def make():
        options = {"normalize": normalize, "intercept": intercept, "scale_labels": True}
        return Learner(Squared(), Truncation(1e-3), Centred(), 0.1, **options)

    at_once, in_runs, single = make(), make(), make()
    whole = at_once.learn(batch_of(examples))
    parts = []
    for run in cut(examples, cuts):
        parts.append(in_runs.learn(batch_of(run)))
        in_runs = pickle.loads(pickle.dumps(in_runs))
    assert np.array_equal(np.concatenate(parts), whole)
    dicts = [dict(features) for features, _, _ in examples]
    together = make()
    labels, importances = [e[1] for e in examples], [e[2] for e in examples]
    predictions = together.learn(Batch.from_dicts(dicts, labels, importances))
    one_by_one = [single.learn_one(x, y, h) for x, (_, y, h) in zip(dicts, examples, strict=True)]
    assert np.array_equal(one_by_one, predictions)
    assert single.weights() == together.weights()
    assert single.intercept == together.intercept
    assert (in_runs.weights(), in_runs.intercept) == (at_once.weights(), at_once.intercept)
    for x in dicts[:3]:
        assert single.predict_one(x) == together.predict(Batch.from_dicts([x]))[0]


def offset_line(n=400, offset=2000.0):
    """Prices by year, and how many of a colour there are."""
    rng = np.random.default_rng(0)
    year, colour = offset + rng.integers(0, 50, n), rng.choice(["red", "blue"], n)
    price = 250_000 + 900.0 * (year - offset) + 2000.0 * (colour == "red")
    rows = [{"year": float(y), "colour": c} for y, c in zip(year, colour, strict=True)]
    return Batch.from_dicts(rows, price), price


def test_a_model_has_the_learner_s_predictions_in_the_label_s_own_unit():
    batch, price = offset_line()
    learner = Learner(Squared(), Truncation(1e-4), Centred(), scale_labels=True)
    learner.learn(batch)
    model = Model.of(learner)
    np.testing.assert_allclose(model.predict(batch), learner.predict(batch), 1e-12)
    assert np.std(model.predict(batch) - price) < 0.1 * np.std(price)
    assert model.weights()["year"] == pytest.approx(900.0, rel=0.2)
    told = learner.explain({"year": 2010, "colour": "red"})
    assert told.prediction == pytest.approx(told.intercept + sum(told.contributions.values()))


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_labels_makes_no_difference(factor):
    batch, price = offset_line()
    kept = []
    for label in (price, factor * (price - 250_000)):
        learner = Learner(Squared(), Truncation(0.02), Centred(), scale_labels=True)
        learner.learn(batch._replace(label=label.astype(np.float32)))
        kept.append((learner.weights(), learner.predict(batch)))
    (ours, predictions), (scaled, others) = kept
    assert ours.keys() == scaled.keys()
    np.testing.assert_allclose(others / factor + 250_000, predictions, 1e-3)


def test_labels_that_are_all_the_same_are_predicted_from_the_second_on():
    learner = Learner(Squared(), update=Centred(), scale_labels=True)
    assert learner.learn(Batch.from_dicts([{"a": 1.0}] * 3, [7.0] * 3)).tolist() == [0.0, 7.0, 7.0]
    assert (learner.weights(), learner.intercept) == ({}, 7.0)


def test_without_an_intercept_labels_are_scaled_and_not_centred():
    batch = Batch.from_dicts(
        [{"a": float(i % 7)} for i in range(300)], [5000.0 * (i % 7) for i in range(300)]
    )
    for options in ({"intercept": False}, {"intercept": False, "normalize": True}):
        learner = Learner(Squared(), update=Centred(), scale_labels=True, **options)
        learner.learn(batch)
        assert learner.intercept == 0.0
        assert learner.weights()["a"] == pytest.approx(5000.0, rel=0.05)


def test_a_cooldown_leaves_the_prediction_at_the_means():
    batch, price = offset_line()
    learner = Learner(Squared(), Truncation(0.01), Centred(), scale_labels=True)
    learner.learn(batch)
    mean = float(np.mean(learner.predict(batch)))
    with learner.after_cooldown(10_000) as cooled:
        looked_at = cooled.predict(batch)
        assert cooled.weights() == {}
    learner.cooldown(10_000)
    assert np.array_equal(learner.predict(batch), looked_at)
    assert looked_at[0] == pytest.approx(mean, rel=0.01)
    assert looked_at[0] == pytest.approx(np.mean(price), rel=0.02)


def test_a_base_is_taken_off_the_label():
    batch, price = offset_line()
    base = np.linspace(0, 1e6, len(price)).astype(np.float32)
    plain, based = (Learner(Squared(), update=Centred(), scale_labels=True) for _ in range(2))
    expected = plain.learn(batch)
    label = (price + base.astype(float)).astype(np.float32)
    found = based.learn(batch._replace(label=label, base=base))
    np.testing.assert_allclose(found - base, expected, rtol=1e-3)


def test_a_loss_with_a_unit_of_its_own_is_refused_by_name():
    for loss in (Huber(), Logistic()):
        with pytest.raises(
            ValueError, match=f"scale_labels needs a loss .* not {type(loss).__name__}"
        ):
            Learner(loss, scale_labels=True)
    with pytest.raises(ValueError, match=r"Centred needs pulls that add up.*: got Subgradient"):
        Learner(Squared(), Subgradient(0.1), Centred())


@pytest.mark.parametrize("loss", [Squared(), Quantile(0.9)])
def test_centring_is_adaptive_where_every_mean_is_zero(loss):
    """An intercept alone makes a mean: without one there is nothing to make up with."""
    batch, _ = offset_line()
    pair = [Learner(loss, update=update, intercept=False) for update in (Adaptive(), Centred())]
    for learner in pair:
        learner.learn(batch)
    assert pair[0].weights() == pair[1].weights()
