"""The learner where River's estimators are, with the real River."""

import math
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("river")

from river import (
    checks,
    compose,
    datasets,
    evaluate,
    feature_extraction,
    linear_model,
    metrics,
    multiclass,
    optim,
    preprocessing,
)

from dwindle import DataError, Hinge, Learner, Logistic, Quantile, Truncation
from dwindle.estimators.river import TruncatedGradientClassifier, TruncatedGradientRegressor

BOTH = [TruncatedGradientClassifier, TruncatedGradientRegressor]
CHECKS = [(kind, check) for kind in BOTH for check in checks.yield_checks(kind())]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "check"), CHECKS, ids=[f"{k.__name__}-{c.__name__}" for k, c in CHECKS]
)
@pytest.mark.parametrize("gravity", [1e-4, "auto"])
def test_every_check_that_river_has_for_an_estimator_passes(kind, check, gravity):
    check(kind(gravity=gravity).clone())


def test_a_pipeline_is_evaluated():
    model = preprocessing.StandardScaler() | TruncatedGradientClassifier(gravity=1e-3)
    metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    assert metric.get() > 0.95
    assert 0 < len(model["TruncatedGradientClassifier"].learner) < 10


def test_the_paper_s_loss_predicts_at_a_half_and_its_probabilities_are_clipped():
    model = TruncatedGradientClassifier(loss="clipped-squared", order="after", gravity=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(600):
        x = {f"x{j}": rng.normal() for j in range(4)}
        model.learn_one(x, y=x["x0"] > 0)
    score = model.learner.predict_one({"x0": 3.0})
    assert score > 1
    assert model.predict_proba_one({"x0": 3.0}) == {False: 0.0, True: 1.0}
    for x0 in (-0.5, 0.5):
        x = {"x0": x0}
        assert model.predict_one(x) == (model.learner.predict_one(x) > 0.5) == (x0 > 0)


def test_gravity_is_found_while_learning():
    model = TruncatedGradientClassifier(gravity="auto")
    rng = np.random.default_rng(0)
    for _ in range(600):
        x = {f"x{j}": rng.normal() for j in range(10)}
        model.learn_one(x, y=x["x0"] - x["x1"] > 0.3 * rng.normal())
    assert {"x0", "x1"} <= {*model.learner.weights()}
    assert len(model.learner) < 6
    assert len(model.learner.frontier()) == 8
    assert model.predict_one({"x0": 1.0})
    assert model.predict_proba_one({"x1": 1.0})[True] < 0.5
    assert model.clone().gravity == "auto"


def test_a_pipeline_of_words_learns():
    model = compose.Pipeline(
        feature_extraction.BagOfWords(lowercase=True, on="body"),
        TruncatedGradientClassifier(gravity=1e-4),
    )
    texts = [
        ("free money", True),
        ("see you", False),
        ("free you", True),
        ("see money", False),
    ] * 50
    for text, label in texts:
        model.learn_one({"body": text}, label)
    assert model.predict_one({"body": "Free lunch"}) is True
    assert model.predict_one({"body": "see lunch"}) is False


def test_probabilities_are_of_false_and_true():
    model = TruncatedGradientClassifier()
    assert model.predict_proba_one({"a": 1}) == {False: 0.5, True: 0.5}
    model.learn_one({"a": 1}, y=True)
    chance = model.predict_proba_one({"a": 1})
    assert chance[True] == pytest.approx(1 / (1 + math.exp(-model.learner.predict_one({"a": 1}))))
    assert sum(chance.values()) == 1


@pytest.mark.parametrize("labels", [(False, True), (0, 1), (np.False_, np.True_), (0.0, 1.0)])
def test_labels_are_false_and_true_or_0_and_1(labels):
    model, learner = TruncatedGradientClassifier(), Learner()
    for i in range(20):
        model.learn_one({"a": 1, f"f{i}": 1}, labels[i % 3 == 0])
        learner.learn_one({"a": 1, f"f{i}": 1}, 1 if i % 3 == 0 else -1)
    assert model.learner.weights() == learner.weights()


@pytest.mark.parametrize("label", [-1, 2, "yes", None])
def test_other_labels_are_refused(label):
    with pytest.raises(DataError, match="a label must be False or True, or 0 or 1, got"):
        TruncatedGradientClassifier().learn_one({"a": 1}, label)


def test_more_classes_by_river_s_one_vs_rest():
    model = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(
        TruncatedGradientClassifier(gravity=1e-3)
    )
    metric = evaluate.progressive_val_score(
        datasets.ImageSegments().take(500), model, metrics.Accuracy()
    )
    assert metric.get() > 0.7


def test_without_gravity_the_plain_update_is_river_s_linear_regression():
    ours = TruncatedGradientRegressor(update="plain", learning_rate=0.01, standardize=False)
    theirs = linear_model.LinearRegression(optim.SGD(0.01), intercept_lr=0.01)
    scaler = preprocessing.StandardScaler()
    for raw, y in datasets.TrumpApproval():
        scaler.learn_one(raw)
        x = scaler.transform_one(raw)
        assert ours.predict_one(x) == pytest.approx(theirs.predict_one(x), abs=1e-4)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)


def test_without_gravity_the_plain_update_is_river_s_logistic_regression():
    ours = TruncatedGradientClassifier(update="plain", learning_rate=0.1)
    theirs = linear_model.LogisticRegression(optim.SGD(0.1), intercept_lr=0.1)
    for x, y in datasets.Phishing():
        assert ours.predict_proba_one(x)[True] == pytest.approx(
            theirs.predict_proba_one(x)[True], abs=1e-6
        )
        ours.learn_one(x, y)
        theirs.learn_one(x, y)


def test_w_is_importance():
    model, learner = TruncatedGradientClassifier(), Learner()
    model.learn_one({"a": 1}, y=True, w=2.5)
    learner.learn_one({"a": 1}, 1, 2.5)
    assert model.learner.weights() == learner.weights()


def test_names_may_be_numbers_as_river_s_may():
    model = TruncatedGradientClassifier()
    model.learn_one({0: 1.0, "a": 2.0, (1, 2): 3.0}, y=True)
    assert set(model.learner.weights()) == {"0", "a", "(1, 2)"}


def test_options_are_those_of_the_command_line():
    model = TruncatedGradientRegressor(
        loss=Quantile(0.9), gravity=0.1, truncate_every=5, learning_rate=0.2, power_t=0.5
    )
    assert model.learner.loss == Quantile(0.9)
    assert model.learner.shrinkage == Truncation(0.1, truncate_every=5)
    assert model.learner.schedule[:2] == (0.2, 0.5)
    assert TruncatedGradientClassifier(loss="hinge").learner.loss == Hinge()
    assert TruncatedGradientClassifier().learner.loss == Logistic()
    for kind, loss in zip(BOTH, ("squared", "logistic"), strict=True):
        with pytest.raises(ValueError, match=f"'{loss}' is not a loss of a {kind.__name__}"):
            kind(loss=loss)


def test_a_hinge_has_labels_but_no_probabilities():
    model = TruncatedGradientClassifier(loss="hinge")
    model.learn_one({"a": 1}, y=True)
    assert model.predict_one({"a": 1}) is True
    with pytest.raises(NotImplementedError):
        model.predict_proba_one({"a": 1})


def test_counts_are_predicted_by_their_mean():
    model = TruncatedGradientRegressor(loss="poisson", update="plain", learning_rate=0.01)
    for _ in range(2000):
        model.learn_one({"a": 1}, 7)
    assert model.predict_one({"a": 1}) == pytest.approx(7, rel=1e-3)


@pytest.mark.slow
def test_nothing_else_needs_river():
    script = (
        "import sys; sys.modules['river'] = None; import dwindle.engine.learner, dwindle.cli.train"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
