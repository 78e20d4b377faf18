"""Lanes at the ends of single precision: values, labels and lengths of streams."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, DivergedError
from dwindle.engine import lane_updates
from helpers.effort import few_examples
from helpers.lane_learners import (
    LOGISTIC,
    LOSSES,
    SQUARED,
    UPDATES,
    called,
    lane_learner,
    weights_by_lane,
)
from helpers.random_streams import batch_of, seeds, stream

updates = pytest.mark.parametrize("update", UPDATES, ids=called)
in_units = pytest.mark.parametrize("update", UPDATES[:3], ids=called)

SIZES = [2.0**-149, 1e-40, 1e-30, 1e-18, 1e-10, 1.0, 1e10, 1e18, 1e25, 1e30, 3e38]


def finite(learner):
    """Whether all that the learner tells is a number."""
    weights = np.array(list(weights_by_lane(learner).values()))
    cells = learner.table.cells[learner.table.cells["key"] != 0]
    return (
        np.isfinite(weights).all()
        and all(np.isfinite(cells[name]).all() for name in ("root", "unit", "lane"))
        and np.isfinite(learner.predict_lanes(Batch.from_dicts([{}]))).all()
    )


@updates
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=called)
@given(st.lists(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)), max_size=30))
@few_examples(30)
def test_values_of_any_size_leave_numbers_or_are_told_to_diverge(update, loss, sizes):
    learner = lane_learner(update, loss)
    for i, (a, b) in enumerate(sizes):
        features = {"a": a if i % 2 else -a, "b": b, "plain": 1.0}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                assert np.isfinite(learner.learn_one(features, 1 if i % 3 else -1))
            except DivergedError as error:
                assert "lower the rate" in str(error)
                break
        assert finite(learner)
