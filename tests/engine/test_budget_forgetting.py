"""What averages gradients forgets, within a budget, what it will hardly miss."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dwindle import FTRL, RDA, Batch
from helpers.budget_learners import budgeted, wide
from helpers.random_streams import batch_of, seeds


def energies(learner):
    """The sum of the squared gradients of each feature held, in its unit, by key."""
    full = learner.table.cells[learner.table.cells["key"] != 0]
    energy = np.square(full["root"] * full["inverse"])
    return dict(zip((full["key"] - np.uint64(1)).tolist(), energy.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("update", "every"), [(FTRL(), 1), (RDA(), 1), (RDA(), 3)], ids=str)
@given(seed=seeds, max_live=st.integers(6, 100))
@settings(max_examples=10)
def test_what_averages_gradients_loses_what_told_little_seldom_and_long_ago(
    update, every, seed, max_live
):
    learner = budgeted(update, 1e-3, max_live, 0.3, every)
    times, last, cut = Counter(), {}, learner.table.evict

    def checked(most):
        before = energies(learner)
        cut(most)
        gone, left = before.keys() - energies(learner), before.keys() & energies(learner)
        worth = {
            key: n * min(times[key], 10) / (1 + learner.clock.now - last[key])
            for key, n in before.items()
        }
        least = min((worth[key] for key in left), default=math.inf)
        assert max(worth[key] for key in gone) <= least * 65 / 64  # a bin is 1/64 wide
        for key in gone:
            del times[key], last[key]

    learner.table.evict = checked
    for example in wide(seed, n_features=300):
        batch = batch_of([example])
        learner.learn(batch)
        if example[2] > 0:
            times.update(batch.key.tolist())
            last |= dict.fromkeys(batch.key.tolist(), learner.clock.now)


def with_noise(seed, n, words, once=10):
    """Examples of some of the words and of features that come once."""
    rng = np.random.default_rng(seed)
    known = rng.choice(words, (n, 3))
    new = 10**6 + seed * 10**8 + np.arange(n * once).reshape(n, once)
    key = np.hstack([known, new]).astype(np.uint64)
    label = np.where(known[:, 0] % 2, 1.0, -1.0)
    return Batch.from_arrays(np.arange(n + 1) * (3 + once), key.ravel(), np.ones(key.size), label)


@pytest.mark.slow
@pytest.mark.parametrize("update", [FTRL(), RDA()], ids=str)
def test_what_was_frequent_is_held_and_forgotten_long_after_it_was_seen_last(update):
    learner = budgeted(update, 1e-3, 300, 0.5)
    old, young = range(50), range(50, 100)
    learner.learn(with_noise(1, 5000, old))
    assert set(old) <= energies(learner).keys()
    learner.learn(with_noise(2, 500, young))
    assert set(old) <= energies(learner).keys()
    learner.learn(with_noise(3, 80_000, young))
    assert set(young) <= energies(learner).keys()
    assert set(old).isdisjoint(energies(learner))


@pytest.mark.parametrize("update", [FTRL(), RDA()], ids=str)
def test_a_budget_knows_what_was_seen_lately_when_the_clock_has_outgrown_a_cell(update):
    learner = budgeted(update, 1e-12, 300, 0.5)
    start = 2**32 - 500
    learner.clock.set(n_steps=start, passes=0, now=float(start), size=learner.clock.size)
    learner.learn(with_noise(1, 400, range(20)))
    known = energies(learner)
    learner.learn(with_noise(2, 400, range(20)))
    assert learner.clock.now > 2**32
    assert all(energies(learner)[key] > known[key] for key in range(20))
