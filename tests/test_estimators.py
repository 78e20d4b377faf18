"""At home in scikit-learn: its checks, its tools, and the same bits as the command line."""

import os
import pickle
import subprocess
import sys
from io import BytesIO
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse, load_npz, random_array, save_npz
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_digits, load_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import dwindle
from dwindle import (
    Averaged,
    Batch,
    DataError,
    DivergedError,
    Learner,
    Logistic,
    Poisson,
    Quantile,
    TruncatedGradientClassifier,
    TruncatedGradientRegressor,
    Truncation,
)
from dwindle.model import Model
from dwindle.stream import Reading

ORDER = (
    "an online learner takes one step an example, in the order given: a step of weight 2 is not two "
    "steps of weight 1, whose second starts where the first has led, and the check gives the "
    "weighted rows in another order than the repeated ones"
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


@parametrize_with_checks(
    [TruncatedGradientClassifier(), TruncatedGradientRegressor()],
    expected_failed_checks=lambda _: EXPECTED,
    xfail_strict=True,
)
@pytest.mark.filterwarnings("default")
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def test_none_of_scikit_learn_s_checks_is_skipped():
    """One of them needs a switch that must be set before SciPy is imported."""
    code = (
        "from dwindle import TruncatedGradientClassifier as C, TruncatedGradientRegressor as R\n"
        "from sklearn.utils.estimator_checks import check_estimator\n"
        f"expected = {EXPECTED}\n"
        "for model in (C(), R()):\n"
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


def data(n=400, d=300, seed=0, classes=2):
    """A sparse matrix in single precision, and labels that its first columns tell."""
    rng = np.random.default_rng(seed)
    x = random_array(
        (n, d),
        density=0.05,
        format="csr",
        dtype=np.float32,
        rng=rng,
        data_sampler=rng.standard_normal,
    )
    score = x[:, : 5 * classes].toarray() @ rng.normal(size=(5 * classes, classes))
    return csr_array(x), np.argmax(score + 0.1 * rng.normal(size=score.shape), axis=1)


def numbers(n=400, d=300, seed=0):
    x, _ = data(n, d, seed)
    return x, x[:, :5].toarray() @ [3.0, -2.0, 1.0, 0.5, 4.0]


def same(a, b):
    """Whether two sparse arrays are the same to the bit."""
    return (
        a.shape == b.shape
        and np.array_equal(a.indices, b.indices)
        and a.data.tobytes() == b.data.tobytes()
        and a.indptr.tolist() == b.indptr.tolist()
    )


def in_order(**settings):
    return TruncatedGradientClassifier(gravity=1e-3, shuffle=False, **settings)


# The same weights in any batching.


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
    together = in_order().fit(x, y)
    for k in range(4):
        alone = in_order().fit(x, y == k)
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
    model = TruncatedGradientClassifier(passes=50, rate=5.0).fit([[1.0], [-1.0]] * 20, [0, 1] * 20)
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
    learner = Learner(dwindle.Squared(), Truncation(1e-3))
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


# Settings.

# A stream comes as it comes; on the command line, --holdout alone stops early.
ONLY_HERE = {"average", "shuffle", "random_state", "early_stopping", "holdout", "verbose"}


def test_the_keywords_are_the_options_of_the_command_line():
    from dwindle.cli.train import command  # noqa: PLC0415

    defaults = command.make_context("train", ["data", "-m", "m"]).params
    for name, default in TruncatedGradientRegressor().get_params().items():
        if name not in ONLY_HERE:
            assert default == defaults[name], name


REFUSED = [
    ({"loss": "log"}, "loss must be one of auto, logistic, .*, got 'log'"),
    ({"shrinkage": "l1"}, "shrinkage must be one of truncation, rounding, subgradient, none, got"),
    ({"shrinkage": "rounding"}, "shrinkage rounding needs a threshold"),
    ({"update": "adam"}, "update must be one of adaptive, plain, ftrl, rda, got 'adam'"),
    ({"average": True}, "average is Theorem 3.2's mean of the plain update: say update='plain'"),
    ({"gravity": -1.0}, "gravity must be 0 or more, got -1"),
    ({"rate": 0.0}, "rate must be finite and above 0"),
    ({"passes": 0}, "passes must be a whole number, 1 or more, got 0"),
    ({"keep": -1}, "keep must be a whole number, 0 or more, got -1"),
    ({"holdout": 1}, "holdout must be a whole number, 2 or more, got 1"),
    ({"patience": 0}, "patience must be a whole number, 1 or more, got 0"),
    ({"rest": -1}, "rest must be a whole number, 0 or more, got -1"),
    ({"loss": "poisson"}, r"Poisson\(\) cannot tell classes apart: its labels must be 0 or more"),
    ({"early_stopping": True, "holdout": "a.svm"}, "holdout must be a number for a matrix"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_a_setting_that_no_run_could_use_is_refused_by_name(wrong, message):
    x, y = data(50, 20)
    with pytest.raises(ValueError, match=message):
        TruncatedGradientClassifier(**wrong).fit(x, y)


def test_a_setting_that_changes_while_learning_is_refused():
    x, y = data(50, 20)
    model = in_order().partial_fit(x, y, classes=[0, 1])
    model.set_params(gravity=0.5)
    with pytest.raises(
        ValueError, match=r"gravity was 0\.001 when the learning began, and now it is 0\.5"
    ):
        model.partial_fit(x, y)
    model.fit(x, y)


def test_keep_shows_and_predicts_with_the_heaviest_and_learning_goes_on_with_all():
    x, y = data(classes=3)
    all_of, few = in_order(), in_order(keep=7)
    for i in range(0, 400, 200):
        for model in (all_of, few):
            model.partial_fit(x[i : i + 200], y[i : i + 200], classes=[0, 1, 2])
        dense = few.coef_.toarray()
        assert (np.count_nonzero(dense, axis=1) == 7).all()
        for k in range(3):
            heaviest = np.argsort(-np.abs(all_of.coef_.toarray()[k]), kind="stable")[:7]
            assert set(np.flatnonzero(dense[k])) == set(heaviest)
        assert np.allclose(x @ dense.T + few.intercept_, few.decision_function(x))
    assert same(few.set_params(keep=None).coef_, all_of.coef_)


def test_average_is_the_averaged_update():
    x, y = data()
    learner = Learner(Logistic(), Truncation(1e-3), Averaged(), 0.1)
    learner.learn(Batch.from_csr(x, 2 * y - 1))
    model = in_order(update="plain", average=True, rate=0.1).fit(x, y)
    assert model.weights() == learner.weights()


def test_shuffling_is_anew_in_each_pass_and_the_same_for_the_same_seed():
    x, y = data()

    def fitted(seed):
        return TruncatedGradientClassifier(gravity=1e-3, passes=2, random_state=seed).fit(x, y)

    assert same(fitted(3).coef_, fitted(3).coef_)
    assert not same(fitted(3).coef_, fitted(4).coef_)
    rng = np.random.RandomState(3)
    order = np.concatenate([rng.permutation(400), rng.permutation(400)])
    assert same(fitted(3).coef_, in_order().fit(x[order], y[order]).coef_)


def test_early_stopping_keeps_the_best_pass():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 60)), rng.integers(0, 2, 120)  # noise: each pass makes it worse
    model = TruncatedGradientClassifier(
        passes=30, early_stopping=True, holdout=3, patience=2, shuffle=False
    ).fit(x, y)
    assert model.n_iter_ < 30
    held = np.arange(1, 121) % 3 == 0
    best = TruncatedGradientClassifier(passes=model.n_iter_ - 2, shuffle=False).fit(
        x[~held], y[~held]
    )
    assert same(model.coef_, best.coef_)


def test_verbose_shows_the_table_of_the_command_line(capfd):
    x, y = data()
    silent, loud = in_order(passes=2), in_order(passes=2, verbose=True)
    assert same(silent.fit(x, y).coef_, loud.fit(x, y).coef_)
    table = capfd.readouterr().err.splitlines()
    assert table[0].split() == ["examples", "loss", "since", "last", "AUC", "alive", "seen"]
    assert [int(line.split()[0]) for line in table[1:]] == [2**k for k in range(10)] + [800]
    TruncatedGradientClassifier(early_stopping=True, verbose=True).fit(*data(classes=3))
    assert "pass 1: holdout loss" in capfd.readouterr().err


def test_losses_of_a_regressor_are_what_they_say():
    x, _ = numbers()
    count = np.random.default_rng(0).poisson(np.exp(0.5 + x[:, [0]].toarray().ravel()))
    mean = TruncatedGradientRegressor(loss="poisson", passes=5).fit(x, count).predict(x)
    assert (mean > 0).all()
    assert abs(mean.mean() - count.mean()) < 0.5
    with pytest.raises(DataError, match="row 0: with Poisson a label must be 0 or more, got -1"):
        TruncatedGradientRegressor(loss=Poisson()).fit(x, -1 - count * 0)
    high = TruncatedGradientRegressor(loss=Quantile(0.9), passes=20).fit(x, count).predict(x)
    assert 0.8 < (count <= high).mean() < 1


def test_divergence_names_the_row():
    x = np.full((100, 1), 1e3)
    model = TruncatedGradientRegressor(update="plain", rate=1e3, shuffle=False)
    with pytest.raises(DivergedError, match=r"row \d+: the prediction is .*; lower the rate"):
        model.fit(x, np.ones(100))


def test_nothing_is_there_before_fit():
    for model in (TruncatedGradientClassifier(), TruncatedGradientRegressor()):
        assert not hasattr(model, "coef_")
        for ask in (lambda m=model: m.predict([[1]]), model.weights, model.sparsify):
            with pytest.raises(NotFittedError, match="has not learned anything yet: call fit"):
                ask()


# Forms of X.


FORMS = {
    "csr": lambda x: x,
    "csc": lambda x: x.tocsc(),
    "coo": lambda x: x.tocoo(),
    "dense": lambda x: x.toarray(),
    "double": lambda x: x.astype(np.float64),
    "64-bit": lambda x: csr_array(
        (x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape
    ),
    "list": lambda x: x.toarray().tolist(),
    "fortran": lambda x: np.asfortranarray(x.toarray()),
    "batch order": lambda x: x[np.arange(x.shape[0])],
}


def frozen(x):
    copy = x.copy()
    for part in (copy.data, copy.indices, copy.indptr):
        part.flags.writeable = False
    return copy


FORMS["read-only"] = frozen


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_x_gives_the_same_bits(form):
    x, y = data()
    other = FORMS[form](x)
    model = in_order().fit(other, y)
    assert same(model.coef_, in_order().fit(x, y).coef_)
    assert np.array_equal(model.decision_function(other), model.decision_function(x))


def test_single_precision_and_mapped_matrices_are_not_copied(tmp_path, monkeypatch):
    x, y = data()
    save_npz(tmp_path / "x.npz", x, compressed=False)
    parts = [
        np.lib.format.open_memmap(tmp_path / f"{k}.npy", "w+", a.dtype, a.shape)
        for k, a in enumerate((x.data, x.indices, x.indptr))
    ]
    for part, a in zip(parts, (x.data, x.indices, x.indptr), strict=True):
        part[:] = a
    mapped = csr_array(
        tuple(np.load(tmp_path / f"{k}.npy", mmap_mode="r") for k in range(3)), shape=x.shape
    )
    assert not mapped.data.flags.writeable
    batches = []
    learn = Learner.learn
    monkeypatch.setattr(
        Learner, "learn", lambda self, batch: (batches.append(batch), learn(self, batch))[1]
    )
    for given_x in (x, mapped):
        model = in_order().fit(given_x, y)
        assert np.shares_memory(batches[-1].x, given_x.data)
        assert np.shares_memory(batches[-1].key, given_x.indices)
        assert same(model.coef_, in_order().fit(load_npz(tmp_path / "x.npz"), y).coef_)


def test_read_only_data_compiles_no_kernel_again():
    x, y = data()
    model = in_order().partial_fit(x, y, classes=[0, 1])
    compiled = len(model._panel.members[0]._learn.signatures)  # noqa: SLF001
    model.partial_fit(frozen(x), y)
    assert len(model._panel.members[0]._learn.signatures) == compiled  # noqa: SLF001


def test_a_batch_is_learned_from_as_it_is():
    examples = [{"color": c, f"n{i % 50}": 1} for i, c in enumerate(["red", "blue"] * 100)]
    y = np.array(["yes", "no"] * 100)
    weight = np.tile([1.0, 2.0, 0.0, 1.0], 50)
    model = in_order().fit(Batch.from_dicts(examples), y, sample_weight=weight)
    learner = Learner(Logistic(), Truncation(1e-3))
    learner.learn(Batch.from_dicts(examples, np.where(y == "yes", 1, -1), weight))
    assert model.weights() == learner.weights()
    assert model.score(Batch.from_dicts(examples), y) == 1
    for i in range(0, 200, 100):
        model.partial_fit(Batch.from_dicts(examples[i : i + 100]), y[i : i + 100])
    with pytest.raises(DataError, match="there are 200 examples, but 199 values of label"):
        model.partial_fit(Batch.from_dicts(examples), y[1:])


def test_a_fit_that_fails_leaves_the_model_as_it_was(tmp_path):
    x, y = data()
    model = in_order().fit(x, y)
    before = model.coef_
    (tmp_path / "bad.svm").write_text("1 oops\n")
    with pytest.raises(DataError):
        model.fit_file(tmp_path / "bad.svm")
    assert same(model.coef_, before)


def test_a_data_frame_s_columns_keep_their_names(tmp_path):
    x, y = data(d=20)
    names = [f"column {j}" for j in range(20)]
    frame = pd.DataFrame(x.toarray(), columns=names)
    model = in_order().fit(frame, y)
    plain = in_order().fit(x, y)
    assert model.feature_names_in_.tolist() == names
    assert same(model.coef_, plain.coef_)
    assert model.weights() == {names[int(j)]: w for j, w in plain.weights().items()}
    model.save(tmp_path / "m")
    loaded = dwindle.load(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(frame), plain.decision_function(x))
    assert same(loaded.coef_, plain.coef_)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"column 0": "another"}))


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


@pytest.mark.parametrize("through", [lambda m: pickle.loads(pickle.dumps(m)), by_joblib])  # noqa: S301
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"keep": 9},
        {"update": "plain", "power": 0.5, "every": 7},
        {"update": "plain", "average": True},
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
    assert copy._facts() == model._facts()  # noqa: SLF001


def test_names_survive_a_pickle_mapped_to_memory(tmp_path):
    x, y = data(d=20)
    frame = pd.DataFrame(x.toarray(), columns=[f"column {j}" for j in range(20)])
    model = in_order().partial_fit(frame, y, classes=[0, 1])
    joblib.dump(model, tmp_path / "m")
    copy = joblib.load(tmp_path / "m", mmap_mode="r")
    for each in (model, copy):
        each.partial_fit(frame, y)
    assert copy.weights() == model.weights()


# Files, and the command line.


def svmlight(tmp_path, n=1500, classes=2):
    x, y = data(n, 200, classes=classes)
    dump_svmlight_file(
        x, y if classes > 2 else 2 * y - 1, str(tmp_path / "data.svm"), zero_based=False
    )
    return tmp_path / "data.svm"


def train(*args):
    done = subprocess.run(
        [sys.executable, "-m", "dwindle", "train", *map(str, args), "-q"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ([], {}),
        (["--gravity", "1e-3"], {"gravity": 1e-3}),
        (["--passes", "3", "--pass-decay", "0.5", "-K", "10", "-g", "1e-3"], {"passes": 3, "pass_decay": 0.5, "every": 10, "gravity": 1e-3}),
        (["--update", "plain", "--rate", "0.1", "--power", "0.5", "-g", "0.01"], {"update": "plain", "rate": 0.1, "power": 0.5, "gravity": 0.01}),
        (["--loss", "hinge", "--shrinkage", "rounding", "--threshold", "0.01"], {"loss": "hinge", "shrinkage": "rounding", "threshold": 0.01}),
        (["-g", "1e-3", "--keep", "20"], {"gravity": 1e-3, "keep": 20}),
        (["-g", "1e-3", "--passes", "3", "--rest", "400"], {"gravity": 1e-3, "passes": 3, "rest": 400}),
        (["-g", "1e-3", "--passes", "8", "--holdout", "5", "--patience", "2", "--rest", "200"], {"gravity": 1e-3, "passes": 8, "early_stopping": True, "holdout": 5, "patience": 2, "rest": 200}),
        (["-g", "1e-3", "--passes", "8", "--holdout", "5", "--patience", "1"], {"gravity": 1e-3, "passes": 8, "early_stopping": True, "holdout": 5, "patience": 1}),
    ],
    ids=str,
)  # fmt: skip
def test_the_command_line_and_the_estimator_give_the_same_bits(tmp_path, options, settings):
    file = svmlight(tmp_path)
    train(file, *options, "-m", tmp_path / "m")
    expected = Model.load(tmp_path / "m")
    x, y = load_svmlight_file(str(file), zero_based=True)
    from_file = TruncatedGradientClassifier(**settings).fit_file(file)
    from_matrix = TruncatedGradientClassifier(**settings, shuffle=False).fit(x, y)
    for model in (from_file, from_matrix):
        model.save(tmp_path / "ours")
        ours = Model.load(tmp_path / "ours")
        assert np.array_equal(ours.key, expected.key)
        assert ours.weight.tobytes() == expected.weight.tobytes()
        assert ours.intercept == expected.intercept
        assert ours.settings == expected.settings
        assert ours.names == expected.names
        for fact in ("labels", "examples", "seen", "peak_live"):
            assert ours.facts[fact] == expected.facts[fact]
        assert np.array_equal(
            model.decision_function(x), dwindle.load(tmp_path / "m").decision_function(x)
        )


def test_numbers_in_a_file_are_learned_as_by_the_command_line(tmp_path):
    x, y = numbers()
    dump_svmlight_file(x, y, str(tmp_path / "data.svm"))
    train(tmp_path / "data.svm", "-g", "1e-3", "-m", tmp_path / "m")
    model = TruncatedGradientRegressor(gravity=1e-3).fit_file(tmp_path / "data.svm")
    assert model.weights() == Model.load(tmp_path / "m").weights()
    loaded = dwindle.load(tmp_path / "m")
    assert isinstance(loaded, TruncatedGradientRegressor)
    assert np.array_equal(loaded.predict(x), model.predict(x))


def test_a_file_in_parts_is_the_file(tmp_path):
    file = svmlight(tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    whole = TruncatedGradientClassifier(gravity=1e-3).fit_file(file)
    parts = TruncatedGradientClassifier(gravity=1e-3)
    for k in range(3):
        (tmp_path / f"{k}.svm").write_text("".join(lines[500 * k : 500 * k + 500]))
        parts.partial_fit_file(tmp_path / f"{k}.svm", classes=[-1, 1])
    several = TruncatedGradientClassifier(gravity=1e-3).fit_file(
        *(tmp_path / f"{k}.svm" for k in range(3))
    )
    assert whole.weights() == parts.weights() == several.weights()
    assert whole.classes_.tolist() == parts.classes_.tolist() == [-1, 1]


def test_many_classes_of_a_file_are_those_of_the_matrix(tmp_path):
    file = svmlight(tmp_path, classes=3)
    x, y = load_svmlight_file(str(file), zero_based=True)
    own = {0: 2.0, 1: 0.5}
    from_file = TruncatedGradientClassifier(gravity=1e-3, class_weight=own).fit_file(
        file, classes=[0, 1, 2]
    )
    from_matrix = in_order(class_weight=own).fit(x, y)
    assert from_file.weights() == from_matrix.weights()
    with pytest.raises(DataError, match=r"data.svm:\d+: expected a label among 0, 1, got 2"):
        TruncatedGradientClassifier().fit_file(file, classes=[0, 1])
    with pytest.raises(DataError, match=r"data.svm:\d+: expected a label of two classes"):
        TruncatedGradientClassifier().fit_file(file)


def test_a_bad_line_is_told_with_its_place_or_left_out(tmp_path):
    file = svmlight(tmp_path)
    file.write_text(file.read_text() + "1 oops\n")
    with pytest.raises(DataError, match=r"data.svm:1501: expected"):
        TruncatedGradientClassifier().fit_file(file)
    assert TruncatedGradientClassifier().fit_file(file, skip_bad=True).t_ == 1500


def test_what_was_learned_from_names_predicts_data_frames_by_name(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(300, 3)).astype(np.float32), columns=["price", "age", "noise"]
    )
    label = (frame["price"] > frame["age"]).astype(int)
    frame.assign(label=label).to_csv(tmp_path / "data.csv", index=False)
    model = TruncatedGradientClassifier(passes=5).fit_file(
        tmp_path / "data.csv", reading=Reading(format="csv")
    )
    assert model.weights().keys() == {"price", "age", "noise"}
    assert model.score(frame[["noise", "age", "price"]], label) > 0.9
    with pytest.raises(AttributeError, match="has no columns: see weights"):
        _ = model.coef_
    with pytest.raises(
        ValueError, match="the model's features have names, which the columns of X have not"
    ):
        model.predict(frame.to_numpy())
    in_memory = TruncatedGradientClassifier(passes=5, shuffle=False).fit(frame, label)
    assert in_memory.weights() == pytest.approx(model.weights(), rel=1e-6)


# Saved and loaded.


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", [{}, {"keep": 10}, {"loss": "hinge"}], ids=str)
def test_a_saved_model_predicts_the_same_when_loaded(tmp_path, classes, settings):
    x, y = data(classes=classes)
    model = TruncatedGradientClassifier(gravity=1e-3, **settings).fit(x, y)
    assert model.save(tmp_path / "m") == (tmp_path / "m").stat().st_size
    loaded = dwindle.load(tmp_path / "m")
    for ask in ("decision_function", "predict") + (
        ("predict_proba",) if "loss" not in settings else ()
    ):
        assert np.array_equal(getattr(loaded, ask)(x), getattr(model, ask)(x))
    assert same(loaded.coef_, model.coef_)
    assert loaded.weights() == model.weights()
    assert loaded.n_kept_ == model.n_kept_
    assert loaded.t_ == model.t_ == 400
    assert loaded.gravity == 1e-3
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    with pytest.raises(TypeError, match="a loaded model predicts and cannot go on learning"):
        loaded.partial_fit(x, y)
    assert pickle.loads(pickle.dumps(loaded)).predict(x).tolist() == model.predict(x).tolist()  # noqa: S301


def test_a_saved_model_is_one_for_the_command_line(tmp_path):
    file = svmlight(tmp_path)
    x, y = load_svmlight_file(str(file), zero_based=True)
    model = TruncatedGradientClassifier(gravity=1e-3).fit(x, y)
    model.save(tmp_path / "m")
    done = subprocess.run(
        [sys.executable, "-m", "dwindle", "predict", tmp_path / "m", file, "--label"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [float(label) for label in done.stdout.split()] == model.predict(x).tolist()


def test_a_saved_classifier_is_a_table_with_a_column_for_the_class(tmp_path):
    x, y = data(classes=3)
    model = TruncatedGradientClassifier(gravity=1e-3).fit(x, np.array(["a", "b", "c"])[y])
    model.save(tmp_path / "m.parquet")
    table = pd.read_parquet(tmp_path / "m.parquet")
    assert table.columns.tolist() == ["class", "namespace", "feature", "id", "weight"]
    for name in "abc":
        rows = table[table["class"] == name]
        assert dict(zip(rows["feature"], rows["weight"], strict=True)) == model.weights()[name]
    with pytest.raises(DataError, match="expected a model, got a classifier"):
        Model.load(tmp_path / "m.parquet")


def test_importing_dwindle_imports_neither_numba_nor_scikit_learn():
    code = "import sys, dwindle; print({'numba', 'sklearn', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_fit_that_fails_leaves_the_classes_as_they_were():
    rows, label = np.eye(4), np.array(["ham", "spam"] * 2)
    model = TruncatedGradientClassifier().fit(rows, label)
    before = model.predict(rows).tolist()
    with pytest.raises(ValueError, match="nan"):
        model.fit(rows, np.array(["cat", "dog"] * 2), sample_weight=np.full(4, np.nan))
    assert (model.classes_.tolist(), model.predict(rows).tolist()) == (["ham", "spam"], before)
