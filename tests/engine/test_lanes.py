"""Several gravities at once against the specification, and against runs of one gravity."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers.effort import few_examples
from helpers.lane_learners import (
    CASES,
    called,
    expected_of,
    lane_learner,
    shrinkages,
    weights_by_lane,
)
from helpers.random_streams import batch_of, seeds, stream

cases = pytest.mark.parametrize(("loss", "update"), CASES, ids=called)


def agree(learner, weights, intercepts):
    """The weights of all lanes are the reference's but for single precision, and so are the zeros.

    A weight is what a sum leaves above a threshold: its error is that of the sum.
    """
    names = weights.keys() - {reference.INTERCEPT}
    ours = weights_by_lane(learner)
    assert ours.keys() <= names
    if names:
        found = np.array([ours.get(name, [0.0] * learner.n_lanes) for name in sorted(names)])
        expected = np.array([weights[name] for name in sorted(names)])
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(intercepts, weights.get(reference.INTERCEPT, 0.0), 2e-5, 1e-5)


@cases
@pytest.mark.parametrize("which", range(5))
@given(seed=seeds, intercept=st.booleans(), scaled=st.booleans())
@few_examples(3)
def test_all_lanes_are_the_reference_s(loss, update, which, seed, intercept, scaled):
    examples = stream(seed, loss.labels)
    shrinkage = shrinkages(update.has_threshold)[which]
    settings = {"intercept": intercept, "normalize": scaled}
    learner = lane_learner(update, loss, shrinkage, 0.1, **settings)
    expected = expected_of(learner, loss, update, examples)
    predictions = learner.learn(batch_of(examples))
    np.testing.assert_allclose(predictions, [p for p, _, _ in expected], 2e-5, 2e-5)
    intercepts = learner.predict_lanes(batch_of([([], loss.labels[0], 1.0)]))[0]
    agree(learner, expected[-1][2], intercepts)
