"""Theorem 3.1 on real runs, and Theorem 3.2 against the Lasso."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

import reference
from dwindle import (
    Averaged,
    Batch,
    Hinge,
    Learner,
    Logistic,
    NoShrinkage,
    Plain,
    Poisson,
    Rounding,
    Schedule,
    Squared,
    Truncation,
    certify,
    certify_steps,
)
from helpers.ingredients import LOSSES, pulls_of
from helpers.random_streams import batch_of, cut, seeds, stream

BOUNDED = [loss for loss in LOSSES if hasattr(loss.loss, "slope_bound")]
bounded = pytest.mark.parametrize("loss", BOUNDED, ids=lambda loss: str(loss.loss))
gravities = st.sampled_from([
    NoShrinkage(),
    Truncation(0.05),
    Truncation(0.05, truncate_every=3),
    Truncation(0.05, threshold=0.1, truncate_every=2),
    Truncation(2.0),
])  # fmt: skip


def comparator_from(seed):
    rng = np.random.default_rng(seed)
    return {str(name): float(rng.normal()) for name in rng.choice(12, 6, replace=False)}


@bounded
@given(
    seed=seeds,
    other=seeds,
    shrinkage=gravities,
    rate=st.sampled_from([0.001, 0.02, 0.5, Schedule(0.1, power_t=0.5, initial_t=3)]),
)
@settings(max_examples=40)
def test_the_regret_bound_holds_on_random_streams(loss, seed, other, shrinkage, rate):
    examples = stream(seed, loss.labels)
    try:
        certificate = certify(
            [batch_of(run) for run in cut(examples, other) if run],
            comparator_from(other),
            comparator_intercept=0.5,
            loss=loss.loss,
            shrinkage=shrinkage,
            learning_rate=rate,
            normalize=bool(seed % 2),
        )
    except ArithmeticError:
        assert rate == 0.5 or isinstance(
            rate, Schedule
        )  # where the step is too long the bound is empty: A eta / 2 > 1
        return
    assert certificate.holds


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Squared()], ids=str)
@given(seed=seeds, shrinkage=gravities)
@settings(max_examples=30)
def test_the_regret_bound_holds_against_an_adversary(loss, seed, shrinkage):
    """Labels are chosen against the prediction of a learner that follows the same rule."""
    rng = np.random.default_rng(seed)
    rate = 0.02
    learner = Learner(loss, shrinkage, Plain(), rate, intercept=False)
    examples = []
    for _ in range(60):
        names = rng.choice(4, 2, replace=False)
        features = [(str(name), 1.0) for name in names]
        p = learner.predict(batch_of([(features, 1.0, 1.0)]))[0]
        examples.append((features, -1.0 if p > 0 else 1.0, 1.0))
        learner.learn(batch_of(examples[-1:]))
    for comparator in ({}, {"0": 1.0}, comparator_from(seed)):
        assert certify(
            [batch_of(examples)],
            comparator,
            loss=loss,
            shrinkage=shrinkage,
            learning_rate=rate,
            intercept=False,
        ).holds


@bounded
@given(seed=seeds, other=seeds, shrinkage=gravities)
@settings(max_examples=20)
def test_both_sides_are_those_of_the_eager_run(loss, seed, other, shrinkage):
    examples = [e for e in stream(seed, loss.labels) if e[2] > 0]
    assume(examples)
    n, rate = len(examples), 0.02
    comparator = comparator_from(other)
    theta = getattr(shrinkage, "threshold", np.inf)
    pulls = pulls_of(shrinkage, [rate] * n)

    def shrink(v, a):
        return reference.t1(v, a, theta)

    run = reference.learn(examples, [rate] * n, pulls, loss.slope, shrink, reference.Plain())
    left = right = a_max = b_max = penalty = comparator_penalty = 0.0
    a, b = loss.loss.slope_bound()
    before = {}
    for i, ((features, y, h), (p, after)) in enumerate(zip(examples, run, strict=True)):
        coordinates = {name: sum(x for n, x in features if n == name) for name, _ in features}
        length = sum(x * x for x in coordinates.values())
        a_max, b_max = max(a_max, h * length), max(b_max, h * h * length)
        left += h * loss.value(p, y)
        right += h * loss.value(sum(comparator.get(name, 0.0) * x for name, x in features), y)
        if i > 0 and pulls[i] is not None:
            g = pulls[i] / rate
            felt = {name: shrink(w, pulls[i]) for name, w in before.items()}
            penalty += g * sum(abs(w) for w in felt.values() if abs(w) <= theta)
            comparator_penalty += g * sum(
                abs(w) for name, w in comparator.items() if abs(felt.get(name, 0.0)) <= theta
            )
        before = after
    ours = certify(
        [batch_of(examples)],
        comparator,
        loss=loss.loss,
        shrinkage=shrinkage,
        learning_rate=rate,
        intercept=False,
    )
    length = sum(w * w for w in comparator.values())
    expected_left = (1 - a * a_max * rate / 2) * left / n + penalty / n
    expected_right = (
        rate * b * b_max / 2 + length / (2 * rate * n) + right / n + comparator_penalty / n
    )
    assert ours.left == pytest.approx(expected_left, 1e-6, 1e-9)
    assert ours.right == pytest.approx(expected_right, 1e-6, 1e-9)


def test_a_feature_that_comes_twice_is_one_coordinate():
    batch = Batch.from_arrays([0, 8], [5] * 8, [1.0] * 8, [1.0])
    found = certify(
        [batch] * 20,
        {},
        loss=Squared(),
        shrinkage=NoShrinkage(),
        learning_rate=1e-3,
        intercept=False,
    )
    assert found.A == 4 * 8**2
    assert found.holds


def test_a_bound_broken_on_purpose_is_seen_to_be_broken():
    batch = Batch.from_dicts([{"a": 1}] * 50, [1] * 50)
    good = certify(
        [batch], {"a": 3}, loss=Logistic(), shrinkage=Truncation(0.01), learning_rate=0.1
    )
    assert good.holds
    assert not good._replace(right=good.left * 0.99).holds


def test_what_the_theorem_does_not_speak_of_is_refused_by_name():
    batch = Batch.from_dicts([{"a": 1}], [1])
    with pytest.raises(TypeError, match=r"about truncated gradient, not Rounding\(threshold=0.1"):
        certify([batch], {}, loss=Squared(), shrinkage=Rounding(0.1), learning_rate=0.1)
    with pytest.raises(TypeError, match=r"needs A and B .* Poisson\(\) has no slope_bound\(\)"):
        certify([batch], {}, loss=Poisson(), shrinkage=Truncation(0.1), learning_rate=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("gravity", [0.02, 0.1])
def test_averaged_weights_solve_the_lasso_within_theorem_3_2_s_bound(gravity):
    """E (1 - A eta/2) R(w_hat, g / (1 - A eta/2)) <= eta B/2 + |w*|^2 / (2 eta T) + R(w*, g)."""
    rng = np.random.default_rng(5)
    n, d, n_steps, rate = 200, 20, 200_000, 5e-4
    x = rng.normal(size=(n, d)).astype(np.float32)
    truth = np.where(np.arange(d) < 4, rng.normal(size=d), 0.0)
    y = (x @ truth + 0.1 * rng.normal(size=n)).astype(np.float32)

    def objective(w, g):
        return np.mean((x @ w - y) ** 2) + g * np.abs(w).sum()

    # scikit-learn minimises (1/2n) |Xw - y|^2 + alpha |w|_1: alpha is half our gravity.
    lasso = Lasso(alpha=gravity / 2, fit_intercept=False, tol=1e-10, max_iter=10**6)
    best = lasso.fit(x.astype(np.float64), y.astype(np.float64)).coef_
    slack = 1 - 0.5 * 4 * (x**2).sum(axis=1).max() * rate
    assert slack > 0.9
    bound = (best @ best) / (2 * rate * n_steps) + objective(best, gravity)
    reached = []
    for _ in range(5):  # the theorem bounds an expectation over the draws
        learner = Learner(Squared(), Truncation(gravity), Averaged(), rate, intercept=False)
        rows = rng.integers(0, n, n_steps)
        learner.learn(Batch.from_csr(scipy.sparse.csr_array(x[rows]), y[rows]))
        w = np.array([learner.weights().get(str(j), 0.0) for j in range(d)])
        reached.append(slack * objective(w, gravity / slack))
        assert objective(w, gravity) >= objective(best, gravity)
    assert np.mean(reached) <= bound
    assert np.mean(reached) <= objective(best, gravity) * 1.05


LATE = Truncation(0.05, order="after"), Truncation(0.05, 0.1, 2, order="after")
RATES = 0.02, 0.5, Schedule(0.2, power_t=0.5, initial_t=3)


@bounded
@given(seed=seeds, other=seeds, shrinkage=st.one_of(gravities, st.sampled_from(LATE)),
       rate=st.sampled_from(RATES))  # fmt: skip
@settings(max_examples=12)
def test_lemma_a_1_holds_at_each_step_of_either_order(loss, seed, other, shrinkage, rate):
    examples = stream(seed, loss.labels, n_examples=20)
    steps = certify_steps(
        [batch_of(run) for run in cut(examples, other) if run],
        comparator_from(other),
        comparator_intercept=0.5,
        loss=loss.loss,
        shrinkage=shrinkage,
        learning_rate=rate,
        normalize=bool(seed % 2),
    )
    held = []
    try:
        held += (step.holds for step in steps)
    except ArithmeticError:
        assert rate != 0.02
    else:
        assert len(held) == sum(importance > 0 for _, _, importance in examples)
    assert all(held)


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_steps_of_lemma_a_1_add_up_to_the_certificate(rate):
    """Times their rates, and with the last gravity left out, which the theorem does not have."""
    rng = np.random.default_rng(5)
    rows = [{f"f{j}": 1.0 for j in rng.permutation(8)[:2]} for _ in range(40)]
    batch = Batch.from_dicts(rows, rng.choice([-1, 1], 40))
    how = {"loss": Logistic(), "shrinkage": Truncation(0.03, truncate_every=7), "intercept": False}
    comparator = {"f1": 0.4, "f3": -0.2, "elsewhere": 0.1}
    whole = certify([batch], comparator, **how, learning_rate=rate)
    steps = list(certify_steps([batch], comparator, **how, learning_rate=rate))
    rates = Schedule.of(rate).rates(np.arange(1, 41), 0)
    assert rates @ [step.left for step in steps] / rates.sum() == pytest.approx(whole.left)
    # The lemma's right side has also the length that is left at the end.
    learner = Learner(Logistic(), how["shrinkage"], Plain(), rate, intercept=False)
    learner.learn(batch)
    w = learner.weights()
    left = sum((comparator.get(name, 0.0) - w.get(name, 0.0)) ** 2 for name in {*w, *comparator})
    right = rates @ [step.right for step in steps] + left / 2
    assert right / rates.sum() == pytest.approx(whole.right)


def test_a_certificate_whose_rate_is_too_large_says_that_it_is_empty():
    batch = Batch.from_dicts([{"a": 1.0}, {"a": 1.0}], [1, 0])
    how = {"loss": Squared(), "shrinkage": Truncation(0.01), "intercept": False}
    assert certify([batch], {"a": 1.0}, **how, learning_rate=0.5).vacuous  # A = 4
    assert not certify([batch], {"a": 1.0}, **how, learning_rate=0.49).vacuous
    assert certify([batch], {"a": 1.0}, **how, learning_rate=Schedule(0.5, power_t=1.0)).vacuous


def test_the_lemma_refuses_what_it_does_not_speak_of_by_name():
    with pytest.raises(TypeError, match=r"Lemma A\.1 is about truncated gradient, not Rounding"):
        next(certify_steps([], {}, loss=Logistic(), shrinkage=Rounding(0.1), learning_rate=0.1))
    with pytest.raises(TypeError, match=r"Poisson.* has no slope_bound"):
        next(certify_steps([], {}, loss=Poisson(), shrinkage=LATE[0], learning_rate=0.1))
