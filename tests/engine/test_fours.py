"""Features taken four at a time: what is learned is the same as one by one, to the bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Adaptive, Batch, ElasticNet, Learner, Logistic, Plain, Truncation
from dwindle.algorithm.units import MOST
from dwindle.engine import fours
from dwindle.engine import learner as engine
from helpers.effort import few_examples
from helpers.random_streams import seeds

ODD = np.float32([0.0, 1e-42, 1e-30, 1e-19, 1.0, 1e18, 1e30, 3e38])
SHRINKAGES = [
    Truncation(),
    Truncation(1e-3),
    Truncation(0.03, threshold=0.2),
    Truncation(1e-2, truncate_every=7),
]


def batch(seed, n_names, odd):
    """Examples of 0 to 13 features, drawn of few names, so that some are there twice or more.

    Some values are ``odd``.
    """
    rng = np.random.default_rng(seed)
    n = rng.integers(0, 14, 150)
    start = np.concatenate([[0], np.cumsum(n)])
    x = rng.normal(size=start[-1]).astype(np.float32)
    x[rng.random(len(x)) < 0.3] = 1.0
    taken = rng.random(len(x)) < odd
    x[taken] = rng.choice(ODD, taken.sum()) * rng.choice(np.float32([1, -1]), taken.sum())
    key = rng.integers(0, n_names, len(x)).astype(np.uint64)
    importance = rng.choice(np.float32([0, 0.5, 1]), len(n))
    return Batch(start, key, x, rng.choice(np.float32([-1, 1]), len(n)), importance)


def learned(given_batch, shrinkage, monkeypatch, *, one_by_one, **settings):
    """Predictions, cells and the intercept, of two passes, in which a table grows and is swept."""
    with monkeypatch.context() as patched:
        if one_by_one:
            patched.setattr(engine, "in_kernels", lambda update, _: update)
        learner = Learner(Logistic(), shrinkage, Adaptive(), 0.1, **settings)
    first = learner.learn(given_batch)
    learner.sweep()
    second = learner.learn(given_batch)
    cells = np.sort(learner.table.cells, order="key")
    return first.tobytes(), second.tobytes(), cells.tobytes(), learner.bias.tobytes()


@pytest.mark.parametrize("shrinkage", SHRINKAGES, ids=str)
@given(
    seed=seeds,
    n_names=st.sampled_from([3, 20, 1000]),
    odd=st.sampled_from([0, 0.02, 0.5]),
    normalize=st.booleans(),
)
@few_examples(15)
def test_features_are_learned_four_at_a_time_as_one_by_one(
    shrinkage, seed, n_names, odd, normalize
):
    given_batch = batch(seed, n_names, odd)
    with pytest.MonkeyPatch.context() as monkeypatch:
        found, expected = (
            learned(given_batch, shrinkage, monkeypatch, one_by_one=each, normalize=normalize)
            for each in (False, True)
        )
    assert found == expected


def test_a_unit_that_stands_still_does_so_among_four(monkeypatch):
    """The number of values that it is of stays as it is, and with it the unit."""
    found = []
    for one_by_one in (False, True):
        with monkeypatch.context() as patched:
            if one_by_one:
                patched.setattr(engine, "in_kernels", lambda update, _: update)
            learner = Learner(Logistic(), Truncation(1e-4), Adaptive())
        example = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
        learner.learn(Batch.from_dicts([example], [1]))
        learner.table.cells["seen"][learner.table.cells["key"] != 0] = MOST
        learner.learn(Batch.from_dicts([dict.fromkeys(example, 9.0)], [-1]))
        cells = np.sort(learner.table.cells[learner.table.cells["key"] != 0], order="key")
        assert (cells["seen"] == MOST).all()
        assert sorted(1 / cells["inverse"]) == pytest.approx([1, 2, 3, 4])
        found.append(cells.tobytes())
    assert found[0] == found[1]


def test_only_what_is_the_same_in_fours_is_taken_so():
    """A rate that may be infinite times a pull of 0 is not a number; one by one it is not asked."""
    kinds = {
        (Adaptive(), Truncation(1e-3)): True,
        (Adaptive(beta=fours.LEAST_BETA_IN_FOURS), Truncation()): True,
        (Adaptive(beta=1e-3), Truncation()): False,
        (Adaptive(), ElasticNet(0.1)): False,
        (Plain(), Truncation()): False,
    }
    for (update, shrinkage), expected in kinds.items():
        taken = fours.in_kernels(update, shrinkage)
        assert fours.in_fours(taken) is expected
        assert tuple(taken) == tuple(update)
    learner = Learner(Logistic(), Truncation(), Adaptive(beta=1e-30))
    learner.learn(Batch.from_dicts([dict.fromkeys("abcd", 1e-36)] * 3, [1, -1, 1]))
    assert all(np.isfinite(w) for w in learner.weights().values())


def test_the_least_beta_leaves_room_for_every_rate():
    most = np.float32(1 / fours.TINY) / np.float32(fours.LEAST_BETA_IN_FOURS)
    assert np.isfinite(most)
