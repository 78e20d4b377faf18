"""The algebra of the paper's truncation operators."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reference
from dwindle import Learner, NoShrinkage, Plain, Rounding, Squared, Subgradient, Truncation
from dwindle.algorithm.shrinkage import path_sum, shrink
from helpers.random_streams import batch_of, seeds, stream

weights = st.floats(-10, 10)
pulls = st.floats(0, 5)
thresholds = st.one_of(st.just(math.inf), st.floats(0, 5))


@given(v=weights, a=pulls, theta=thresholds)
def test_truncation_is_the_paper_s_t1(v, a, theta):
    assert shrink(Truncation(1.0, theta), v, a, 1.0) == pytest.approx(reference.t1(v, a, theta))


@given(v=weights, a=pulls, b=pulls, theta=thresholds)
def test_pulls_compose(v, a, b, theta):
    """T1(T1(v, a, theta), b, theta) = T1(v, a + b, theta)."""
    t = Truncation(1.0, theta)
    twice = shrink(t, shrink(t, v, a, 1.0), b, 1.0)
    assert twice == pytest.approx(shrink(t, v, a + b, 1.0), abs=1e-12)


@given(v=weights, a=pulls, theta=thresholds)
def test_shrinking_never_crosses_zero_and_never_grows(v, a, theta):
    for shrinkage in (Truncation(1.0, theta), Rounding(theta)):
        w = shrink(shrinkage, v, a, 1.0)
        assert w * v >= 0
        assert abs(w) <= abs(v)


@given(v=weights, a=pulls, theta=st.floats(0, 5))
def test_truncation_with_a_large_pull_is_rounding(v, a, theta):
    """T1(v, a, theta) = T0(v, theta) once a >= theta, section 3.3."""
    assume(a >= theta)
    assert shrink(Truncation(1.0, theta), v, a, 1.0) == shrink(Rounding(theta), v, 1.0, 1.0)


@given(seed=seeds, every=st.sampled_from([1, 3]))
def test_a_run_with_eta_k_g_beyond_theta_is_a_run_of_rounding(seed, every):
    examples = stream(seed, (-1.0, 0.5, 2.0))
    theta = 0.05
    strong = Truncation(gravity=theta / (0.1 * every) * 1.01, threshold=theta, truncate_every=every)
    runs = [Learner(Squared(), s, Plain(), 0.1) for s in (strong, Rounding(theta, every))]
    first, second = (learner.learn(batch_of(examples)) for learner in runs)
    assert np.array_equal(first, second)
    assert runs[0].weights() == runs[1].weights()


@given(seed=seeds, every=st.sampled_from([1, 3]))
def test_zero_gravity_is_plain_gradient_descent(seed, every):
    examples = stream(seed, (-1.0, 0.5, 2.0))
    plain = Learner(Squared(), NoShrinkage(), Plain(), 0.1)
    predictions = plain.learn(batch_of(examples))
    for zero in (
        Truncation(0.0, truncate_every=every),
        Subgradient(0.0, every),
        Rounding(0.0, every),
    ):
        learner = Learner(Squared(), zero, Plain(), 0.1)
        assert np.array_equal(learner.learn(batch_of(examples)), predictions)
        assert learner.weights() == plain.weights()


@given(v=weights, a=st.floats(1e-3, 5), m=st.integers(0, 60))
def test_the_sub_gradient_s_closed_form_is_its_repetition(v, a, m):
    repeated = v
    for _ in range(m):
        repeated = reference.subgradient(repeated, a)
    # sgn jumps at 0: where repetition comes within rounding of it, either side is right.
    assume(abs(math.remainder(abs(v), a)) > 1e-9)
    assert shrink(Subgradient(1.0), v, float(m), a) == pytest.approx(repeated, abs=1e-9)


def test_the_sub_gradient_rests_at_zero_and_oscillates_beside_it():
    assert shrink(Subgradient(1.0), 0.75, 3.0, 0.25) == 0.0
    assert shrink(Subgradient(1.0), 0.75, 4.0, 0.25) == 0.0
    assert shrink(Subgradient(1.0), -0.125, 1.0, 0.25) == 0.125
    assert shrink(Subgradient(1.0), -0.125, 2.0, 0.25) == -0.125


@given(v=weights, a=pulls, m=st.integers(0, 60), theta=thresholds)
def test_the_sum_over_a_path_is_the_sum_of_its_steps(v, a, m, theta):
    t = Truncation(1.0, theta)
    steps = sum(shrink(t, v, float(k), a) for k in range(1, m + 1))
    assert path_sum(t, v, float(m), a) == pytest.approx(steps, 1e-9, 1e-9)
    assert path_sum(NoShrinkage(), v, float(m), a) == pytest.approx(m * v, 1e-9, 1e-9)
