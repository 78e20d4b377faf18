"""Values and slopes of the losses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import ClippedSquared, Hinge, Huber, Logistic, Poisson, Quantile, Squared
from dwindle.algorithm.losses import accepted_labels, slope, value
from dwindle.engine import kernels
from helpers.ingredients import LOSSES, called

losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: str(loss.loss))
predictions = st.floats(-30, 30)

# (loss, p, y, value, slope). Logistic by mpmath at 50 digits:
#   from mpmath import mp, mpf, exp, log1p; mp.dps = 50
#   phi = lambda p, y: log1p(exp(-mpf(p) * y)); slope = lambda p, y: -y / (1 + exp(mpf(p) * y))
TABLE = [
    (Squared(), 3, 1, 4, 4),
    (Squared(), 1e6, 0, 1e12, 2e6),
    (Squared(), -1e6, 1, 1000002000001, -2000002),
    (Logistic(), 0, 1, 0.69314718055994531, -0.5),
    (Logistic(), 2, 1, 0.1269280110429726, -0.11920292202211755),
    (Logistic(), 2, -1, 2.1269280110429726, 0.88079707797788245),
    (Logistic(), 40, 1, 4.2483542552915889e-18, -4.2483542552915889e-18),
    (Logistic(), 1e6, 1, 0, 0),
    (Logistic(), -1e6, 1, 1e6, -1),
    (Hinge(), 0.25, 1, 0.75, -1),
    (Hinge(), 1, 1, 0, 0),
    (Hinge(), 1e6, -1, 1000001, 1),
    (Hinge(margin=0), 0, 1, 0, 0),
    (ClippedSquared(), 0.5, 1, 0.25, -1),
    (ClippedSquared(), 3, 0.25, 0.5625 + 1.5 * 2, 1.5),
    (ClippedSquared(), -2, 0.25, 0.0625 + 1, -0.5),
    (ClippedSquared(), 1e6, 1, 0, 0),
    (ClippedSquared(), -1e6, 1, 1 + 2e6, -2),
    (Quantile(tau=0.9), 1, 3, 1.8, -0.9),
    (Quantile(tau=0.9), 3, 1, 0.2, 0.1),
    (Quantile(tau=0.9), 1, 1, 0, 0),
    (Quantile(tau=0.9), -1e6, 0, 9e5, -0.9),
    (Huber(delta=2), 3, 2, 1, 2),
    (Huber(delta=2), 5, 1, 12, 4),
    (Huber(delta=2), -1e6, 0, 2 * (2e6 - 2), -4),
    (Poisson(), 0, 3, 1, -2),
    (Poisson(), 2, 1, 5.3890560989306502, 6.3890560989306502),
    (Poisson(), -1e6, 2, 2e6, -2),
]


@pytest.mark.parametrize(("loss", "p", "y", "expected_value", "expected_slope"), TABLE, ids=str)
def test_values_and_slopes_are_those_of_the_table(loss, p, y, expected_value, expected_slope):
    assert value(loss, float(p), float(y)) == pytest.approx(expected_value, rel=1e-15, abs=1e-300)
    assert slope(loss, float(p), float(y)) == pytest.approx(expected_slope, rel=1e-15, abs=1e-300)


@losses
@given(p=predictions, data=st.data())
def test_values_and_slopes_are_the_books(loss, p, data):
    y = data.draw(st.sampled_from(loss.labels))
    assert value(loss.loss, p, y) == pytest.approx(loss.value(p, y), 1e-12, 1e-12)
    assert slope(loss.loss, p, y) == pytest.approx(loss.slope(p, y), 1e-12, 1e-12)


@losses
@given(p=st.floats(-5, 5), data=st.data())
def test_the_slope_is_a_sub_gradient_of_the_value(loss, p, data):
    """phi(q) >= phi(p) + phi'(p) (q - p): convexity and the slope in one."""
    y = data.draw(st.sampled_from(loss.labels))
    q = data.draw(st.floats(-5, 5))
    tangent = value(loss.loss, p, y) + slope(loss.loss, p, y) * (q - p)
    assert value(loss.loss, q, y) >= tangent - 1e-9 * (1 + abs(tangent))


@losses
@pytest.mark.parametrize("p", [-1e6, 1e6])
def test_values_and_slopes_are_finite_far_out(loss, p):
    for y in loss.labels:
        assert np.isfinite(value(loss.loss, p, y))
        assert np.isfinite(slope(loss.loss, p, y))
        compiled = kernels.values.of(loss.loss)
        assert np.isfinite(compiled(loss.loss, np.array([p]), np.array([y], np.float32))[0])


def test_only_the_slope_of_poisson_has_no_bound():
    unbounded = [loss.loss for loss in LOSSES if not hasattr(loss.loss, "slope_bound")]
    assert unbounded == [Poisson()]


@pytest.mark.parametrize("loss", [x for x in LOSSES if hasattr(x.loss, "slope_bound")], ids=called)
@given(p=predictions, data=st.data())
def test_the_slope_is_bounded_as_assumption_3_1_asks(loss, p, data):
    """phi'(p, y)^2 <= a phi(p, y) + b."""
    y = data.draw(st.sampled_from(loss.labels))
    a, b = loss.loss.slope_bound()
    bound = a * value(loss.loss, p, y) + b
    assert slope(loss.loss, p, y) ** 2 <= bound * (1 + 1e-12) + 1e-300  # as good as zero


@losses
def test_compiled_values_are_the_plain_ones(loss):
    p = np.linspace(-4, 4, 101)
    for y in loss.labels:
        compiled = kernels.values.of(loss.loss)(loss.loss, p, np.full(101, y, np.float32))
        np.testing.assert_allclose(compiled, [value(loss.loss, float(q), y) for q in p], 1e-14)


@losses
def test_a_loss_accepts_the_labels_it_is_tested_with(loss):
    accepts, _ = accepted_labels(loss.loss)
    if accepts is not None:
        assert accepts(np.array(loss.labels, np.float32)).all()
        assert not accepts(np.array([-3.0], np.float32)).any()
