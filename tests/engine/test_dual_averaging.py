"""FTRL-Proximal and dual averaging: what is averaged is the gradient, not the weight."""

import math
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import random_array

import dwindle
import reference
from dwindle import (
    FTRL,
    RDA,
    Adaptive,
    Batch,
    ElasticNet,
    Learner,
    Logistic,
    NoShrinkage,
    Rounding,
    Schedule,
    Truncation,
)
from dwindle.model.checkpoint import load_checkpoint, save_checkpoint
from dwindle.model.model import Model
from dwindle.runs.metrics import auc
from helpers.ingredients import LOSSES
from helpers.random_streams import batch_of, cut, stream

UPDATES = [FTRL(), FTRL(beta=0.25), RDA(), RDA(beta=0.25)]
updates = pytest.mark.parametrize("update", UPDATES, ids=str)
# A loss is but its slope here: two of them are enough to tell.
losses = pytest.mark.parametrize("loss", LOSSES[:2], ids=lambda loss: str(loss.loss))
seeds = st.integers(0, 2**32 - 1)
GRAVITY, RATE = 0.05, 0.1


def learner_of(loss, update, gravity=GRAVITY, l2=0.0):
    shrinkage = ElasticNet(l2, gravity) if l2 else Truncation(gravity)
    return Learner(loss, shrinkage, update, RATE, intercept=False)


def eager(examples, loss, update, l2=0.0):
    return reference.averaged(
        examples, [RATE] * len(examples), loss.slope, GRAVITY, update.beta,
        proximal=type(update) is FTRL, l2=l2,
    )  # fmt: skip


@losses
@updates
@given(seed=seeds, l2=st.sampled_from([0.0, 0.7]))
@settings(max_examples=10)
def test_every_prediction_and_weight_is_the_reference_s(loss, update, seed, l2):
    examples = [
        (list(dict(features).items()), label, 1.0)  # no name twice
        for features, label, importance in stream(seed, loss.labels)
        if importance
    ]
    learner = learner_of(loss.loss, update, l2=l2)
    known = eager([(features, label) for features, label, _ in examples], loss, update, l2)
    for example, (p, weights) in zip(examples, known, strict=True):
        assert learner.learn(batch_of([example]))[0] == pytest.approx(p, rel=1e-9, abs=1e-9)
        ours = learner.weights()
        assert ours.keys() == {name for name, w in weights.items() if w}
        assert ours == pytest.approx({name: weights[name] for name in ours}, rel=1e-9)


@updates
@given(seed=seeds, cuts=seeds, n_features=st.sampled_from([9, 3000]))
@settings(max_examples=10)
def test_batching_never_changes_a_bit(update, seed, cuts, n_features):
    examples = stream(seed, (-1.0, 1.0), n_features, 400)
    whole, parts = (learner_of(Logistic(), update) for _ in range(2))
    whole.learn(batch_of(examples))
    for part in cut(examples, cuts):
        parts.learn(batch_of(part))
    assert whole.weights() == parts.weights()
    assert whole.table.peak == parts.table.peak


@updates
def test_a_checkpoint_goes_on_to_the_bit_and_a_model_predicts_alike(update, tmp_path):
    examples = stream(1, (-1.0, 1.0), 3000, 600)
    whole = Learner(Logistic(), Truncation(0.02), update, Schedule(0.1, pass_decay=0.5))
    part = Learner(Logistic(), Truncation(0.02), update, Schedule(0.1, pass_decay=0.5))
    first, second = batch_of(examples[:350]), batch_of(examples[350:])
    whole.learn(first)
    whole.next_pass()
    whole.learn(second)
    part.learn(first)
    part.next_pass()
    save_checkpoint(part, tmp_path / "c")
    part, _ = load_checkpoint(tmp_path / "c")
    part.learn(second)
    assert part.weights() == whole.weights()
    assert part.intercept == whole.intercept
    Model.of(whole).save(tmp_path / "m")
    model = Model.load(tmp_path / "m")
    assert (model.predict(first) == whole.predict(first)).all()


def test_on_one_feature_ftrl_is_what_its_formula_says():
    learner = Learner(Logistic(), Truncation(0.3), FTRL(beta=1.0), 0.5, intercept=False)
    learner.learn_one({"a": 1.0}, 1)  # g = -1/2
    n, z = 0.25, 0.5 / math.sqrt(2) * 0.5  # the length of one feature and the constant
    assert learner.weights() == {"a": pytest.approx((z - 0.5 * 0.3) / (1 + math.sqrt(n)))}


def planted(n=3000, d=300):
    rng = np.random.default_rng(0)
    matrix = random_array((n, d), density=0.05, rng=rng, format="csr", dtype=np.float32)
    matrix.data = matrix.data.round(6)
    truth = np.where(rng.random(d) < 0.1, 4 * rng.normal(size=d), 0.0)
    label = np.where(rng.random(n) < 1 / (1 + np.exp(-(matrix @ truth))), 1.0, -1.0)
    return matrix, label


@pytest.mark.parametrize("l1", [0.0, 1.0, 5.0])
@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 1.0), (0.5, 0.5)])
def test_with_one_feature_an_example_always_1_ftrl_has_the_weights_of_vowpal_wabbit(
    l1, alpha, beta
):
    """Every example then has the length sqrt(2), which the rate makes up for, and gravity for that."""
    rng = np.random.default_rng(0)
    names, truth = rng.integers(0, 50, 3000), 3 * rng.normal(size=50)
    label = np.where(rng.random(3000) < 1 / (1 + np.exp(-truth[names])), 1.0, -1.0)
    root = math.sqrt(2)
    ours = Learner(Logistic(), Truncation(l1 / root), FTRL(beta), alpha * root, intercept=False)
    p = ours.learn(Batch.from_dicts([{str(j): 1.0} for j in names], label))
    with TemporaryDirectory() as folder:
        vw = pytest.importorskip("vowpalwabbit").Workspace(
            f"--ftrl --ftrl_alpha {alpha} --ftrl_beta {beta} --l1 {l1} --loss_function logistic "
            f"--noconstant -b 18 --quiet --cache_file {folder}/c -k"
        )
        theirs = []
        for j, y in zip(names, label, strict=True):
            example = vw.example(f"{int(y)} | {j}")
            vw.learn(example)
            theirs.append(example.get_partial_prediction())
            vw.finish_example(example)
        weights = {str(j): vw.get_weight(j) for j in range(50) if vw.get_weight(j)}
        vw.finish()
    assert ours.weights() == pytest.approx(weights, rel=2e-3, abs=2e-4)
    assert p == pytest.approx(theirs, abs=2e-3)


def test_dual_averaging_without_a_penalty_follows_the_mean_gradient():
    matrix, label = planted()
    rda, adaptive = (
        Learner(Logistic(), NoShrinkage(), update, 0.5) for update in (RDA(), Adaptive())
    )
    batch = Batch.from_csr(matrix, label)
    for learner in (rda, adaptive):
        learner.learn(batch)
    assert auc(rda.predict(batch), label) > auc(adaptive.predict(batch), label) - 0.02


def once_and_often(n=20_000):
    """Ten features that tell something, and one a row that comes once."""
    rng = np.random.default_rng(0)
    often = rng.integers(0, 10, (n, 3))
    truth = rng.normal(size=10)
    label = np.where(truth[often].sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0)
    key = np.column_stack([often, np.arange(n) + 100]).astype(np.uint64)
    return Batch.from_arrays(np.arange(n + 1) * 4, key.ravel(), np.ones(4 * n), label)


@pytest.mark.parametrize("kind", [FTRL, RDA])
def test_what_is_not_seen_again_is_forgotten_and_what_tells_something_is_not(kind):
    batch = once_and_often()
    gravity = 2.0 if kind is FTRL else 2e-4
    forgetful, faithful = (
        Learner(Logistic(), Truncation(gravity), kind(), 0.3, max_live=max_live)
        for max_live in (100, None)
    )
    for learner in (forgetful, faithful):
        learner.learn(batch)
    assert faithful.table.peak == 20_010
    assert forgetful.table.peak <= 100
    often = {str(j) for j in range(10)}
    assert often <= forgetful.weights().keys()
    ours, theirs = forgetful.weights(), faithful.weights()
    for name in often:
        assert ours[name] == pytest.approx(theirs[name], rel=1e-3)


@pytest.mark.parametrize(
    ("shrinkage", "update", "message"),
    [
        (Rounding(0.1), FTRL(), "FTRL knows only Truncation"),
        (Truncation(0.1, 0.5), RDA(), "RDA has no threshold"),
        (Truncation(0.1, truncate_every=3), FTRL(), "no pull at every K-th step"),
        (Truncation(0.1), FTRL(beta=0.0), "beta must be from 1e-30 to 1e\\+30, got 0.0"),
    ],
)
def test_settings_that_do_not_fit_are_refused(shrinkage, update, message):
    with pytest.raises(ValueError, match=message):
        Learner(Logistic(), shrinkage, update)


@pytest.mark.parametrize("update", [dwindle.FTRL(), dwindle.RDA(), dwindle.Adaptive()])
@pytest.mark.parametrize("huge", [1e30, 3e38])
def test_a_huge_value_leaves_weights_that_are_finite_and_not_lost(update, huge):
    learner = dwindle.Learner(update=update, shrinkage=dwindle.Truncation(0.01))
    learner.learn_one({"a": huge, "b": 1.0}, 1)
    for _ in range(50):
        learner.learn_one({"a": 1.0, "b": 1.0}, 1)
    weights = learner.weights()
    assert 0.0 < weights["a"] < 1.0
    assert 1.0 < weights["b"] < 10.0
