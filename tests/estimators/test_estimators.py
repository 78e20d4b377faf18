"""The estimators are the learner, in the shapes of scikit-learn's linear models."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier

import dwindle
from dwindle import (
    Batch,
    DataError,
    Learner,
    Logistic,
    TruncatedGradientClassifier,
    TruncatedGradientRegressor,
    Truncation,
)
from helpers.matrices import data, in_order, numbers, same

# The same weights in any batching.


@pytest.mark.slow
@settings(max_examples=20)
@given(cuts=st.lists(st.integers(0, 400), max_size=12), classes=st.sampled_from([2, 3]))
def test_partial_fit_in_any_batching_gives_the_same_bits(cuts, classes):
    x, y = data(classes=classes)
    whole = in_order().fit(x, y)
    parts = in_order()
    bounds = [0, *sorted(cuts), 400]
    for a, b in pairwise(bounds):
        if a < b:
            parts.partial_fit(x[a:b], y[a:b], classes=np.arange(classes))
    assert same(whole.coef_, parts.coef_)
    assert np.array_equal(whole.intercept_, parts.intercept_)
    assert whole.t_ == parts.t_ == 400


def test_scikit_learn_s_own_l1_depends_on_the_batching():
    """What docs/why-batching-matters.md is about."""
    x, y = data(2000, 500)
    kept = []
    for size in (2000, 20):
        model = SGDClassifier(
            loss="log_loss", penalty="l1", alpha=3e-3, shuffle=False, random_state=0
        )
        for i in range(0, 2000, size):
            model.partial_fit(x[i : i + size], y[i : i + size], classes=[0, 1])
        kept.append(np.count_nonzero(model.coef_))
    assert kept[1] > 1.5 * kept[0]


def test_the_estimator_is_the_learner():
    x, y = data()
    learner = Learner(Logistic(), Truncation(1e-3))
    learner.learn(Batch.from_csr(x, 2 * y - 1))
    estimator = in_order().fit(x, y)
    assert estimator.weights() == pytest.approx(learner.weights(), abs=0)
    assert np.array_equal(estimator.decision_function(x), learner.predict(Batch.from_csr(x)))


def test_coef_is_sparse_and_alive_while_training():
    x, y = data()
    model = in_order()
    seen = []
    for i in range(0, 400, 100):
        model.partial_fit(x[i : i + 100], y[i : i + 100], classes=[0, 1])
        assert isinstance(model.coef_, csr_array)
        assert model.coef_.shape == (1, 300)
        assert model.n_kept_ == model.coef_.nnz
        seen.append(model.coef_.nnz)
    assert len(set(seen)) > 1
    assert np.allclose(
        x @ model.coef_.T.toarray().ravel() + model.intercept_, model.decision_function(x)
    )


def test_a_model_without_weights_is_shown_and_named_like_any_other():
    x, y = data()
    model = TruncatedGradientClassifier(gravity=1e9, cooldown=1).fit(x, y)
    assert model.n_kept_ == 0
    assert issparse(model.sparsify().coef_)
    assert not issparse(model.densify().coef_)
    assert model.name_features([f"f{j}" for j in range(x.shape[1])]).weights() == {}


def test_densify_and_sparsify_change_only_how_weights_are_shown():
    for model, (x, y) in (
        (TruncatedGradientClassifier(gravity=1e-3), data(classes=3)),
        (TruncatedGradientRegressor(gravity=1e-3), numbers()),
    ):
        model.fit(x, y)
        sparse, scores = model.coef_, model.predict(x)
        dense = model.densify().coef_
        assert isinstance(dense, np.ndarray)
        assert np.array_equal(dense, sparse.toarray())
        assert np.array_equal(model.predict(x), scores)
        assert issparse(model.sparsify().coef_)


def test_shapes_are_those_of_scikit_learn_s_linear_models():
    x, y = data(classes=3)
    many = TruncatedGradientClassifier().fit(x, y)
    assert (many.coef_.shape, many.intercept_.shape) == ((3, 300), (3,))
    x, y = numbers()
    one = TruncatedGradientRegressor().fit(x, y)
    assert one.coef_.shape == (300,)
    assert isinstance(one.intercept_, float)
    assert np.allclose(x @ one.coef_.toarray() + one.intercept_, one.predict(x))


# Classes.


def test_many_classes_are_one_learner_each_against_the_rest():
    x, y = data(classes=4)
    said = {"learning_rate": 0.7, "beta": 0.1, "pass_decay": 0.9}  # whose defaults are others
    together = in_order(**said).fit(x, y)
    for k in range(4):
        alone = in_order(**said).fit(x, y == k)
        assert same(alone.coef_, together.coef_[[k]])
        assert alone.intercept_[0] == together.intercept_[k]
    chance = together.predict_proba(x)
    assert np.allclose(chance.sum(axis=1), 1)
    assert np.array_equal(together.classes_[chance.argmax(axis=1)], together.predict(x))


def test_names_of_classes_can_be_anything_that_sorts():
    x, y = data()
    names = np.array(["ham", "spam"])[y]
    model = TruncatedGradientClassifier().fit(x, names)
    assert model.classes_.tolist() == ["ham", "spam"]
    assert set(model.predict(x)) <= {"ham", "spam"}
    assert model.score(x, names) > 0.8


def test_the_first_partial_fit_names_the_classes_and_later_ones_keep_to_them():
    x, y = data()
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        TruncatedGradientClassifier().partial_fit(x, y)
    model = TruncatedGradientClassifier().partial_fit(x, y, classes=[0, 1])
    with pytest.raises(
        ValueError, match=r"classes were \[0 1\] in the first call, and now \[0, 2\]"
    ):
        model.partial_fit(x, y, classes=[0, 2])
    with pytest.raises(ValueError, match=r"the label \d is not among the classes, which are 0, 1"):
        model.partial_fit(x, y + 2)


def test_probabilities_are_there_for_the_logistic_loss_alone():
    x, y = data()
    assert hasattr(TruncatedGradientClassifier(), "predict_proba")
    hinge = TruncatedGradientClassifier(loss="hinge").fit(x, y)
    assert not hasattr(hinge, "predict_proba")
    assert hinge.score(x, y) > 0.7


def test_log_probabilities_stay_finite_where_probabilities_round_to_zero():
    model = TruncatedGradientClassifier(passes=50, learning_rate=5.0).fit(
        [[1.0], [-1.0]] * 20, [0, 1] * 20
    )
    log = model.predict_log_proba([[1e4]])
    assert np.isfinite(log).all()
    assert log.min() < -800


# Weights of rows and of classes.


@pytest.mark.parametrize("extra", [{}, {"shuffle": True}, {"early_stopping": True, "passes": 4}])
def test_a_row_of_weight_0_is_as_if_it_were_not_there(extra):
    x, y = data(classes=3)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    there = weight > 0
    odd = np.where(there, y, 99)  # a class of its own, were it there
    settings = {"gravity": 1e-3, "shuffle": False} | extra
    with_zeros = TruncatedGradientClassifier(**settings).fit(x, odd, sample_weight=weight)
    without = TruncatedGradientClassifier(**settings).fit(
        x[there], y[there], sample_weight=weight[there]
    )
    assert same(with_zeros.coef_, without.coef_)
    assert with_zeros.classes_.tolist() == without.classes_.tolist() == [0, 1, 2]


def test_sample_weight_is_importance():
    x, y = numbers()
    weight = np.random.default_rng(1).uniform(0.1, 2, len(y))
    learner = Learner(dwindle.Squared(), Truncation(1e-3), dwindle.Centred(), scale_labels=True)
    learner.learn(Batch.from_csr(x, y, weight))
    model = TruncatedGradientRegressor(gravity=1e-3, shuffle=False).fit(x, y, sample_weight=weight)
    assert model.weights() == learner.weights()


def test_class_weight_multiplies_the_weight_of_a_class_s_rows():
    x, y = data(classes=3)
    own = {0: 2.0, 2: 0.5}
    each = np.array([2.0, 1.0, 0.5])[y]
    assert same(in_order(class_weight=own).fit(x, y).coef_, in_order().fit(x, y, each).coef_)
    parts = in_order(class_weight=own)
    for i in range(0, 400, 100):
        parts.partial_fit(x[i : i + 100], y[i : i + 100], classes=[0, 1, 2])
    assert same(parts.coef_, in_order().fit(x, y, each).coef_)


def test_balanced_classes_count_alike_and_need_all_rows():
    x, y = data()
    balanced = len(y) / (2 * np.bincount(y))
    assert same(
        in_order(class_weight="balanced").fit(x, y).coef_, in_order().fit(x, y, balanced[y]).coef_
    )
    model = in_order(class_weight="balanced")
    with pytest.raises(ValueError, match="'balanced' needs to see all the rows first"):
        model.partial_fit(x, y, classes=[0, 1])
    with pytest.raises(ValueError, match="class_weight must be a dict or 'balanced', got 'even'"):
        in_order(class_weight="even").fit(x, y)


def test_a_class_weight_of_a_class_that_is_none_is_refused():
    x, y = np.eye(3), np.array(["a", "b", "c"])
    with pytest.raises(ValueError, match="class_weight names 'd', which is none of the classes"):
        in_order(class_weight={"a": 2.0, "d": 3.0}).fit(x, y)
    in_order(class_weight=dict.fromkeys("abcd", 2.0)).fit(x, y)  # as of a fold that lacks one


def test_balanced_classes_go_on_without_one_of_them(recwarn):
    x, y = np.eye(3), np.array(["a", "b", "c"])
    model = in_order(class_weight="balanced", warm_start=True).fit(x, y)
    assert list(model.fit(x[:2], y[:2]).explain(x[:1])) == ["a", "b", "c"]
    assert not recwarn.list


# Before the first fit, and after one that fails.


def test_nothing_is_there_before_fit():
    for model in (TruncatedGradientClassifier(), TruncatedGradientRegressor()):
        assert not hasattr(model, "coef_")
        for ask in (lambda m=model: m.predict([[1]]), model.weights, model.sparsify):
            with pytest.raises(NotFittedError, match="has not learned anything yet: call fit"):
                ask()


def test_a_fit_that_fails_leaves_the_model_as_it_was(tmp_path):
    x, y = data()
    model = in_order().fit(x, y)
    before = model.coef_
    (tmp_path / "bad.svm").write_text("1 oops\n")
    with pytest.raises(DataError):
        model.fit_file(tmp_path / "bad.svm")
    assert same(model.coef_, before)


def test_a_fit_that_fails_leaves_the_classes_as_they_were():
    rows, label = np.eye(4), np.array(["ham", "spam"] * 2)
    model = TruncatedGradientClassifier().fit(rows, label)
    before = model.predict(rows).tolist()
    with pytest.raises(ValueError, match="nan"):
        model.fit(rows, np.array(["cat", "dog"] * 2), sample_weight=np.full(4, np.nan))
    assert (model.classes_.tolist(), model.predict(rows).tolist()) == (["ham", "spam"], before)
