"""Several gravities at once against the specification, and against runs of one gravity."""

import math
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dwindle import (
    FTRL,
    Adaptive,
    Averaged,
    Batch,
    DataError,
    Learner,
    Logistic,
    Plain,
    Schedule,
    Squared,
    Truncation,
)
from dwindle.algorithm.sigmas import Gravities, Sigmas
from dwindle.engine.lane_scores import Choice
from dwindle.engine.lanes import LaneLearner
from helpers.effort import few_examples
from helpers.lane_learners import (
    CASES,
    GRAVITIES,
    LOGISTIC,
    SQUARED,
    UPDATES,
    called,
    expected_of,
    lane_learner,
    shrinkages,
    weights_by_lane,
)
from helpers.random_streams import batch_of, seeds, stream
from reference import INTERCEPT

PLAIN = UPDATES[3]
cases = pytest.mark.parametrize(("loss", "update"), CASES, ids=called)


def agree(learner, weights, intercepts, tolerance=1e-5):
    """The weights of all lanes are the reference's but for single precision, and so are the zeros.

    A weight is what a sum leaves above a threshold: its error is that of the sum.
    """
    names = weights.keys() - {INTERCEPT}
    ours = weights_by_lane(learner)
    assert ours.keys() <= names
    if names:
        found = np.array([ours.get(name, [0.0] * learner.n_lanes) for name in sorted(names)])
        expected = np.array([weights[name] for name in sorted(names)])
        largest = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, tolerance, tolerance * largest)
    np.testing.assert_allclose(intercepts, weights.get(INTERCEPT, 0.0), 2e-5, 1e-5)


def rounding_decides_on_the_best(loss, examples, expected):
    """Whether two lanes err alike but for single precision, so that either may be called the best."""
    error = np.zeros(len(expected[0][1]))
    for (_, label, importance), (_, predictions, _) in zip(examples, expected, strict=True):
        if importance > 0:
            slopes = np.array([importance * loss.slope(p, label) for p in predictions])
            error = 0.999 * error + slopes**2
            apart = error - error.min()
            if ((apart > 0) & (apart < 1e-5 * error.min())).any():
                return True
    return False


@cases
@pytest.mark.parametrize("which", range(5))
@given(seed=seeds, intercept=st.booleans(), scaled=st.booleans())
@few_examples(3, always_the_same=True)  # evidence and the best lane change in leaps
def test_all_lanes_are_the_reference_s(loss, update, which, seed, intercept, scaled):
    examples = stream(seed, loss.labels)
    shrinkage = shrinkages(update.has_threshold)[which]
    settings = {"intercept": intercept, "normalize": scaled}
    learner = lane_learner(update, loss, shrinkage, 0.1, **settings)
    expected = expected_of(learner, loss, update, examples)
    assume(not rounding_decides_on_the_best(loss, examples, expected))
    predictions = learner.learn(batch_of(examples))
    np.testing.assert_allclose(predictions, [p for p, _, _ in expected], 2e-5, 2e-5)
    intercepts = learner.predict_lanes(batch_of([([], loss.labels[0], 1.0)]))[0]
    agree(learner, expected[-1][2], intercepts)


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=called)
@pytest.mark.parametrize("every", [1, 3])
@given(seed=seeds, threshold=st.sampled_from([math.inf, 0.2]), scaled=st.booleans())
@few_examples(4)
def test_a_plain_lane_is_the_run_of_its_gravity_alone(loss, every, seed, threshold, scaled):
    examples = stream(seed, loss.labels, n_examples=80)
    rate = Schedule(0.1, power_t=0.25)
    shrinkage = GRAVITIES._replace(threshold=threshold, truncate_every=every)
    together = lane_learner(PLAIN, loss, shrinkage, rate, normalize=scaled)
    together.learn(batch_of(examples))
    predictions = together.predict_lanes(batch_of(examples))
    for lane, gravity in enumerate(shrinkage.values):
        alone = Learner(
            *(loss.loss, Truncation(gravity, threshold, every), Plain(), rate), normalize=scaled
        )
        alone.learn(batch_of(examples))
        np.testing.assert_allclose(
            predictions[:, lane], alone.predict(batch_of(examples)), 1e-4, 1e-5
        )
        key, weight = alone.weight_of_keys()
        single = dict(zip(key.tolist(), weight.tolist(), strict=True))
        key, weight = together.weight_of_keys(lane)
        found = dict(zip(key.tolist(), weight.tolist(), strict=True))
        for name in single.keys() | found.keys():
            assert found.get(name, 0.0) == pytest.approx(single.get(name, 0.0), 1e-4, 1e-5)


@pytest.mark.parametrize("update", UPDATES, ids=called)
@given(seed=seeds, n_folds=st.sampled_from([2, 5]))
@few_examples(3, always_the_same=True)
def test_lanes_of_folds_are_the_reference_s(update, seed, n_folds):
    examples = stream(seed, LOGISTIC.labels)
    fold = np.arange(len(examples)) % n_folds
    gravities = Gravities(tuple(g for g in (0.0, 0.05) for _ in range(n_folds)))
    learner = lane_learner(update, LOGISTIC, gravities, 0.1)
    expected = expected_of(learner, LOGISTIC, update, examples, folds=fold.tolist())
    assume(not rounding_decides_on_the_best(LOGISTIC, examples, expected))
    learner.learn_in_folds(batch_of(examples), fold, n_folds)
    agree(learner, expected[-1][2], learner.intercepts)


@given(seed=seeds)
@few_examples(4)
def test_a_plain_lane_of_a_fold_is_the_run_that_never_saw_it(seed):
    examples, n_folds = stream(seed, LOGISTIC.labels, n_examples=80), 4
    batch, fold = batch_of(examples), np.arange(len(examples)) % n_folds
    lanes = lane_learner(PLAIN, LOGISTIC, Gravities((0.0,) * n_folds), 0.1)
    lanes.learn_in_folds(batch, fold, n_folds)
    for each, predicted in enumerate(lanes.predict_lanes(batch).T):
        alone = Learner(LOGISTIC.loss, update=Plain(), learning_rate=0.1)
        alone.learn(batch.only(fold != each))
        np.testing.assert_allclose(predicted, alone.predict(batch), 1e-4, 1e-5)


def test_a_second_pass_and_a_decaying_rate_are_the_reference_s():
    examples = [e for e in stream(3, LOGISTIC.labels) if e[2] > 0]
    learner = lane_learner(rate=Schedule(0.3, power_t=0.3, pass_decay=0.5))
    expected = expected_of(learner, LOGISTIC, UPDATES[0], examples, passes=2)
    learner.learn(batch_of(examples))
    learner.next_pass()
    learner.learn(batch_of(examples))
    agree(learner, expected[-1][2], learner.intercepts, 5e-5)


def test_a_base_is_added_to_the_predictions_of_all_lanes():
    learner = lane_learner(loss=SQUARED)
    batch = Batch.from_dicts([{"a": 1}] * 50, [3.0] * 50, base=[2.0] * 50)
    assert learner.learn(batch)[0] == 2.0
    assert learner.predict_lanes(batch)[0, 0] == pytest.approx(3.0, abs=0.1)
    assert learner.intercepts[0] < 1.0


def test_every_lane_predicts_by_the_weights_it_lists():
    examples = [e for e in stream(8, LOGISTIC.labels) if e[2] > 0]
    for update in UPDATES:
        learner = lane_learner(update)
        learner.learn(batch_of(examples))
        by_lane, found = weights_by_lane(learner), learner.predict_lanes(batch_of(examples))
        for (features, _, _), predictions in zip(examples, found, strict=True):
            by_hand = np.array(learner.intercepts)
            for name, x in features:
                by_hand += x * np.array(by_lane.get(name, [0.0] * learner.n_lanes))
            np.testing.assert_allclose(predictions, by_hand, 1e-4, 1e-5)
        np.testing.assert_array_equal(learner.predict(batch_of(examples)), found[:, learner.lane])
        assert learner.intercept == pytest.approx(learner.intercepts[learner.lane], rel=1e-6)
        assert len(learner) == len(learner.weights()) == learner.frontier()[learner.lane].kept
        assert [lane.chosen for lane in learner.frontier()].index(True) == learner.lane


@pytest.mark.slow
def test_losses_of_a_user_s_own_are_learned_in_lanes(monkeypatch):
    monkeypatch.syspath_prepend("examples")
    sys.modules.pop("own_loss", None)
    own = __import__("own_loss")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 20))
    dicts = [{f"x{j}": v for j, v in enumerate(row)} for row in x]
    number, sign = x[:, 0] + rng.normal(size=2000), np.where(x[:, 0] > 0, 1, -1)
    learner = LaneLearner(own.ModifiedHuber())
    learner.learn(Batch.from_dicts(dicts, sign))
    assert learner.frontier()[learner.lane].auc > 0.95
    assert "x0" in learner.weights()
    assert len(learner) < 10
    assert learner.predict_proba_one({"x0": 2.0})[1] > 0.9
    levels = []
    for tau in (0.1, 0.9):
        learner = LaneLearner(own.Expectile(tau))
        learner.learn(Batch.from_dicts(dicts, number))
        assert "x0" in learner.weights()
        assert math.isnan(learner.frontier()[0].auc)
        levels.append(learner.intercept)
    assert levels[0] < -0.3 < 0.3 < levels[1]


REFUSED = [
    (
        {"shrinkage": Truncation(0.1)},
        "several gravities at once need the shrinkage Sigmas or Gravities",
    ),
    ({"shrinkage": Sigmas(())}, "expected 1 to 16 gravities, got 0"),
    ({"shrinkage": Sigmas((0.1,) * 17)}, "expected 1 to 16 gravities, got 17"),
    ({"shrinkage": Sigmas((-0.1,))}, "a gravity must be finite and 0 or more, got -0.1"),
    ({"shrinkage": Sigmas((math.nan,))}, "a gravity must be finite and 0 or more, got nan"),
    ({"shrinkage": Sigmas((0.2, 0.1))}, "gravities must be in increasing order"),
    ({"shrinkage": Sigmas((0.1,), evidence=(1.0, 2.0))}, "an evidence for each of 1 gravities"),
    (
        {"shrinkage": Gravities((0.1,), truncate_every=0)},
        "truncate_every must be a whole number, 1 or more, got 0",
    ),
    ({"shrinkage": Sigmas(threshold=1.0), "update": FTRL()}, "FTRL has no threshold"),
    (
        {"shrinkage": Sigmas((0.1,), evidence=(1.0,)), "update": Adaptive()},
        "evidence needs the update RDA or FTRL",
    ),
    ({"update": Averaged()}, "need the update FTRL, RDA, Adaptive or Plain"),
    ({"update": FTRL(beta=0)}, "beta must be from 1e-30 to 1e\\+30, got 0"),
    (
        {"update": Adaptive(beta=math.nan), "shrinkage": Sigmas()},
        "beta must be from 1e-30 to 1e\\+30, got nan",
    ),
    ({"learning_rate": 0}, "learning_rate must be finite and above 0, got 0.0"),
    ({"max_live": 0}, "max_live must be a whole number, 1 or more, got 0"),
    ({"max_live": 2.5}, "max_live must be a whole number, 1 or more, got 2.5"),
    ({"loss": Plain()}, "is not a loss: Plain has no method"),
    ({"loss": Logistic}, "is not a loss"),
    ({"loss": Logistic(), "scale_labels": True}, "scale_labels needs a loss"),
    ({"loss": Squared(), "choice": Choice("auc")}, "choose_by auc needs two classes"),
    ({"choice": Choice("f1")}, "choose_by must be auto, auc or loss, got 'f1'"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_settings_that_lanes_cannot_use_are_refused_by_name(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        LaneLearner(**settings)


def test_a_bad_label_refuses_the_whole_batch():
    learner = lane_learner()
    with pytest.raises(DataError, match="example 1: with Logistic a label must be -1 or 1, got 3"):
        learner.learn(Batch.from_dicts([{"a": 1}] * 2, [1, 3]))
    assert learner.n_steps == 0
    assert repr(learner).startswith("LaneLearner(loss=Logistic(), shrinkage=Sigmas(")
