"""At home in scikit-learn: its checks and its tools."""

import os
import pickle
import subprocess
import sys
from inspect import signature
from io import BytesIO

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dwindle
from dwindle import TruncatedGradientClassifier, TruncatedGradientRegressor
from helpers.matrices import data, in_order, same

# Older versions of scikit-learn do not know it.
STRICT = (
    {"xfail_strict": True}
    if "xfail_strict" in signature(parametrize_with_checks).parameters
    else {}
)


ORDER = (
    "an online learner takes one step an example, in the order given: a step of weight 2 is not two "
    "steps of weight 1, whose second starts where the first has led, and the check gives the "
    "weighted rows in another order than the repeated ones"
)


EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


CHECKS = parametrize_with_checks(
    [TruncatedGradientClassifier(), TruncatedGradientRegressor()],
    expected_failed_checks=lambda _: EXPECTED,
    **STRICT,
)
ARGUMENTS, CASES = CHECKS.args  # scikit-learn 1.6 gives a generator, which pytest 9 refuses


@pytest.mark.parametrize(ARGUMENTS, list(CASES), **CHECKS.kwargs)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_none_of_scikit_learn_s_checks_is_skipped():
    """One of them needs a switch that must be set before SciPy is imported.

    Every check runs on estimators that find their gravity; above, on those of the defaults.
    """
    code = (
        "from dwindle import TruncatedGradientClassifier as C, TruncatedGradientRegressor as R\n"
        "from sklearn.utils.estimator_checks import check_estimator\n"
        f"expected = {EXPECTED}\n"
        "for model in (C(gravity='auto'), R(gravity='auto')):\n"
        "    for done in check_estimator(model, on_skip=None, expected_failed_checks=expected):\n"
        "        print(done['status'], done['check_name'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) > 100
    assert {name for status, name in lines if status != "passed"} == EXPECTED.keys()


# scikit-learn's tools.


DOCUMENTS = ["the cat sat", "a dog ran", "the cat ran off", "dogs and a dog", "cat", "one dog"] * 20


ABOUT_CATS = [1, 0, 1, 0, 1, 0] * 20


@pytest.mark.parametrize(
    "vectorizer",
    [HashingVectorizer(), CountVectorizer(), HashingVectorizer(n_features=2**30)],
    ids=str,
)
def test_text_goes_through_a_pipeline(vectorizer):
    model = make_pipeline(vectorizer, TruncatedGradientClassifier(gravity=1e-3, passes=3))
    assert cross_val_score(model, DOCUMENTS, ABOUT_CATS).mean() > 0.95


def test_dicts_and_categories_go_through_a_pipeline():
    rows = [{"color": c, "size": i % 5} for i, c in enumerate(["red", "blue"] * 60)]
    y = [row["color"] == "red" for row in rows]
    model = make_pipeline(DictVectorizer(), TruncatedGradientClassifier()).fit(rows, y)
    assert model.score(rows, y) == 1
    table = [[row["color"], str(row["size"])] for row in rows]
    model = make_pipeline(OneHotEncoder(), TruncatedGradientClassifier()).fit(table, y)
    assert model.score(table, y) == 1


def test_a_grid_search_finds_a_gravity():
    x, y = load_digits(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), TruncatedGradientClassifier()),
        {"truncatedgradientclassifier__gravity": [1e-3, 1.0]},
        cv=3,
    ).fit(x, y)
    assert search.best_params_["truncatedgradientclassifier__gravity"] == 1e-3
    assert search.best_score_ > 0.85


def test_classes_that_come_one_after_the_other_are_no_trap():
    x, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    scores = [
        TruncatedGradientClassifier(shuffle=shuffle).fit(x[order], y[order]).score(x, y)
        for shuffle in (True, False)
    ]
    assert scores[0] > 0.9 > scores[1]


def test_a_clone_has_the_settings_and_nothing_else():
    x, y = data()
    model = in_order(loss=dwindle.Hinge(0.5), keep=5).fit(x, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")
    assert same(copy.fit(x, y).coef_, model.coef_)


def by_joblib(model):
    file = BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("through", [lambda m: pickle.loads(pickle.dumps(m)), by_joblib])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"keep": 9},
        {"update": "plain", "power_t": 0.5, "truncate_every": 7},
        {"update": "averaged"},
    ],
    ids=str,
)
def test_a_pickled_estimator_predicts_and_goes_on_to_the_bit(through, settings):
    x, y = data(3000, 4000, classes=3)
    model = in_order(**settings).partial_fit(x[:1500], y[:1500], classes=[0, 1, 2])
    copy = through(model)
    assert np.array_equal(copy.decision_function(x), model.decision_function(x))
    for each in (model, copy):
        for i in range(1500, 3000, 500):
            each.partial_fit(x[i : i + 500], y[i : i + 500])
    assert same(copy.coef_, model.coef_)
    assert copy._metadata() == model._metadata()


def test_names_survive_a_pickle_mapped_to_memory(tmp_path):
    x, y = data(d=20)
    frame = pd.DataFrame(x.toarray(), columns=[f"column {j}" for j in range(20)])
    model = in_order().partial_fit(frame, y, classes=[0, 1])
    joblib.dump(model, tmp_path / "m")
    copy = joblib.load(tmp_path / "m", mmap_mode="r")
    for each in (model, copy):
        each.partial_fit(frame, y)
    assert copy.weights() == model.weights()


def test_importing_dwindle_imports_neither_numba_nor_scikit_learn():
    code = "import sys, dwindle; print({'numba', 'sklearn', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
