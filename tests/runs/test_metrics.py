"""Whether the metrics are those that scikit-learn computes, with ties and weights."""

import math
import subprocess
import sys

import numpy as np
import pytest
from sklearn import metrics as theirs
from sklearn.calibration import calibration_curve

from dwindle import Hinge, Logistic, Poisson, SettingError, Squared, average_precision
from dwindle.runs.metrics import LESS, METRICS, check_threshold, evaluate

RNG = np.random.default_rng(5)
N = 600
LABEL = np.where(RNG.random(N) < 0.15, 1, -1).astype(np.float32)
SCORES = {
    "distinct": RNG.normal(size=N) + LABEL - 1,
    "tied": np.round(RNG.normal(size=N) + LABEL - 1),
    "all the same": np.full(N, 0.25),
    "extreme": (RNG.normal(size=N) + LABEL) * 300,
}
WEIGHTS = {"once": np.ones(N), "weighted": RNG.integers(1, 4, N) + RNG.random(N)}


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("threshold", [0.5, 0.2])
def test_two_classes_have_scikit_learn_s_figures(score, weight, threshold):
    p, w = SCORES[score], WEIGHTS[weight]
    found = evaluate(Logistic(), p, LABEL, w, threshold)
    chance = 0.5 * (1 + np.tanh(0.5 * p))
    told = np.where(p > 0 if threshold == 0.5 else chance > threshold, 1, -1)
    how = {"sample_weight": w}
    expected = {
        "accuracy": theirs.accuracy_score(LABEL, told, **how),
        "auc": theirs.roc_auc_score(LABEL, p, **how),
        "average_precision": theirs.average_precision_score(LABEL, p, **how),
        "precision": theirs.precision_score(LABEL, told, zero_division=np.nan, **how),
        "recall": theirs.recall_score(LABEL, told, **how),
        "f1": theirs.f1_score(LABEL, told, **how),
        "brier_score": theirs.brier_score_loss(LABEL, chance, **how),
        "positive_share": np.average(LABEL > 0, weights=w),
        "majority_accuracy": np.average(LABEL < 0, weights=w),
    }
    if score != "extreme":  # there scikit-learn clips
        expected["log_loss"] = theirs.log_loss(LABEL, chance, **how)
    assert {name: found[name] for name in expected} == pytest.approx(expected, nan_ok=True)
    assert found["log_loss"] == pytest.approx(found["loss"])
    precision, recall, _ = theirs.precision_recall_curve(LABEL, p, **how)
    with np.errstate(invalid="ignore"):
        assert found["best_f1"] == pytest.approx(
            np.nanmax(2 * precision * recall / (precision + recall))
        )


@pytest.mark.parametrize("weight", WEIGHTS)
def test_numbers_have_scikit_learn_s_figures(weight):
    w, y = WEIGHTS[weight], RNG.poisson(2.0, N).astype(np.float32)
    score = y / 9 + RNG.normal(size=N)
    for loss, p in ((Squared(), score), (Poisson(), np.exp(score))):
        found = evaluate(loss, score, y, w)
        assert {name: found[name] for name in ("rmse", "mae", "r2")} == pytest.approx(
            {
                "rmse": theirs.root_mean_squared_error(y, p, sample_weight=w),
                "mae": theirs.mean_absolute_error(y, p, sample_weight=w),
                "r2": theirs.r2_score(y, p, sample_weight=w),
            },
            rel=1e-6,
        )


def test_the_calibration_error_is_that_of_scikit_learn_s_curve():
    p, y = RNG.normal(size=1500), np.where(RNG.random(1500) < 0.4, 1.0, -1.0)
    chance = 1 / (1 + np.exp(-p))
    true, expected = calibration_curve(y > 0, chance, n_bins=15, strategy="quantile")
    found = evaluate(Logistic(), p, y, np.ones(1500))["calibration_error"]
    assert found == pytest.approx(np.abs(true - expected).mean())  # 100 examples in each bin
    honest = np.where(RNG.random(1500) < chance, 1.0, -1.0)
    assert evaluate(Logistic(), p, honest, np.ones(1500))["calibration_error"] < 0.05


def test_figures_do_not_depend_on_the_order_and_weight_2_is_two_examples():
    p, w = SCORES["tied"], RNG.integers(1, 4, N)
    order = RNG.permutation(N)
    weighted = evaluate(Logistic(), p[order], LABEL[order], w[order].astype(float))
    again = evaluate(Logistic(), np.repeat(p, w), np.repeat(LABEL, w), np.ones(w.sum()))
    assert weighted == pytest.approx(again)


def test_what_is_not_defined_is_nan():
    one = evaluate(Logistic(), np.array([-1.0, -2.0]), -np.ones(2, np.float32), np.ones(2))
    undefined = {name for name, value in one.items() if math.isnan(value)}
    assert undefined == {
        *("auc", "average_precision", "precision", "recall", "f1"),
        *("best_f1", "best_f1_threshold"),
    }
    same = evaluate(Squared(), np.array([1.0, 2.0]), np.ones(2, np.float32), np.ones(2))
    assert math.isnan(same["r2"])
    assert same["mae"] == 0.5


def test_each_metric_says_which_way_is_better():
    less = {name for name, metric in METRICS.items() if metric.better == LESS}
    assert less == {*("loss", "log_loss", "brier_score", "calibration_error", "rmse", "mae")}


def test_average_precision_is_there_for_lists():
    assert average_precision([3, 2, 1], [1, -1, 1]) == pytest.approx((1 + 2 / 3) / 2)


def test_a_threshold_is_a_probability_of_a_model_that_has_some():
    check_threshold(0.0, Logistic())
    check_threshold(0.5, Hinge())
    for threshold, loss in ((1.5, Logistic()), (0.2, Hinge()), (math.nan, Logistic())):
        with pytest.raises(SettingError, match="threshold"):
            check_threshold(threshold, loss)


def test_the_table_of_metrics_needs_no_compiler():
    code = "import sys, dwindle.runs.metrics; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
