"""Lanes within a budget, and large tables, which forget what no gravity holds."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, DataError
from dwindle.algorithm.sigmas import Sigmas
from dwindle.engine import lanes
from helpers.effort import few_examples
from helpers.lane_learners import LOGISTIC, UPDATES, called, final, lane_learner, weights_by_lane
from helpers.random_streams import batch_of, cut, seeds, stream

updates = pytest.mark.parametrize("update", UPDATES, ids=called)
FTRL, RDA, ADAPTIVE, PLAIN = UPDATES


def held(learner):
    """The keys in the table."""
    key = learner.table.cells["key"]
    return set((key[key != 0] - np.uint64(1)).tolist())


def roots(learner):
    full = learner.table.cells[learner.table.cells["key"] != 0]
    return dict(zip((full["key"] - np.uint64(1)).tolist(), full["root"].tolist(), strict=True))


@updates
@given(seed=seeds, cuts=seeds, max_live=st.integers(6, 100))
@few_examples(4)
def test_a_budget_is_never_exceeded_and_batching_changes_no_bit(update, seed, cuts, max_live):
    examples = stream(seed, LOGISTIC.labels, 2000, 300)
    one_by_one, in_runs, at_once = (lane_learner(update, max_live=max_live) for _ in range(3))
    for example in examples:
        one_by_one.learn(batch_of([example]))
        assert one_by_one.table.used <= max_live
        assert (one_by_one.kept() <= max_live).all()
    for run in cut(examples, cuts):
        in_runs.learn(batch_of(run)) if run else None
    at_once.learn(batch_of(examples))
    assert final(one_by_one) == final(in_runs) == final(at_once)
    assert held(one_by_one) == held(in_runs) == held(at_once)
    assert one_by_one.peak_live <= max_live
    reports = [each.eviction_report() for each in (one_by_one, in_runs, at_once)]
    assert reports[0] == reports[1] == reports[2]


@updates
@given(seed=seeds, max_live=st.integers(6, 60))
@few_examples(3)
def test_what_told_little_seldom_and_long_ago_is_evicted(update, seed, max_live):
    """The worth is n min(times seen, 10) / (1 + steps since it was last seen)."""
    learner = lane_learner(update, max_live=max_live)
    times, last, evict = Counter(), {}, learner.table.evict
    n_evictions = 0

    def checked(most):
        nonlocal n_evictions
        before, now = roots(learner), learner.n_steps
        evict(most)
        gone = before.keys() - held(learner)
        worth = {
            key: root**2 * min(times[key], 10) / (1 + now - last[key])
            for key, root in before.items()
        }
        assert len(held(learner)) <= most
        least = min((worth[key] for key in before.keys() - gone), default=np.inf)
        assert max(worth[key] for key in gone) <= least * 65 / 64  # a bin is 1/64 wide
        assert learner.eviction_report() == {} or learner.eviction_report()["absence"] > 0
        n_evictions += 1
        for key in gone:
            del times[key], last[key]

    learner.table.evict = checked
    examples = [e for e in stream(seed, LOGISTIC.labels, 300, 300) if e[2] > 0]
    for example in examples:
        batch = batch_of([example])
        learner.learn(batch)
        times.update(batch.key.tolist())
        last |= dict.fromkeys(batch.key.tolist(), learner.n_steps)
    assert n_evictions or len(examples) < 200


def test_an_example_with_more_features_than_the_budget_is_refused_first():
    learner = lane_learner(max_live=3)
    with pytest.raises(DataError, match="more than max_live = 3"):
        learner.learn(Batch.from_dicts([{"a": 1}, dict.fromkeys("abcd", 1)], [1, 1]))
    assert learner.n_steps == 0


def with_noise(seed, n, words, once=10):
    """Examples of some of the words, which tell the label, and of features that come once."""
    rng = np.random.default_rng(seed)
    known = rng.choice(words, (n, 3))
    new = 10**6 + seed * 10**8 + np.arange(n * once).reshape(n, once)
    key = np.hstack([known, new]).astype(np.uint64)
    label = np.where(known[:, 0] % 2, 1.0, -1.0)
    return Batch.from_arrays(np.arange(n + 1) * (3 + once), key.ravel(), np.ones(key.size), label)


@updates
def test_a_large_table_forgets_what_no_gravity_holds_and_was_long_absent(update, monkeypatch):
    monkeypatch.setattr(lanes, "FORGETS", 2048)
    shrinkage = Sigmas((0.0, 0.25, 1.0))
    batch = with_noise(1, 6000, range(40))
    learner = lane_learner(update, shrinkage=shrinkage)
    cuts = [0, 1, 700, 2500, 2501, 6000]
    for begin, end in pairwise(cuts):
        learner.learn(batch.rows(begin, end))
    assert set(range(40)) <= held(learner)
    # Of 60,000 features that came once, no more is in memory than those of the last quarter, as
    # many again by which the table grows, and what is held.
    assert learner.table.used < 35_000
    assert learner.table.peak < 35_000
    by_lane = weights_by_lane(learner)
    learner.sweep()
    long_ago = 10**6 + 10**8 + 10 * (6000 * 3 // 4 - 10)
    for key in held(learner):
        weights = by_lane.get(str(key), [0.0])
        assert any(weights[1:]) or not 10**6 < key < long_ago
    whole = lane_learner(update, shrinkage=shrinkage)
    whole.learn(batch)
    whole.sweep()
    assert final(whole) == final(learner)
    assert held(whole) == held(learner)


def test_without_a_gravity_nothing_is_forgotten(monkeypatch):
    monkeypatch.setattr(lanes, "FORGETS", 1)
    learner = lane_learner(shrinkage=Sigmas((0.0,)))
    learner.learn(with_noise(1, 500, range(40)))
    learner.sweep()
    assert learner.table.used == 5040


def test_a_small_table_forgets_nothing_by_itself():
    learner = lane_learner(shrinkage=Sigmas((0.0, 100.0)))
    learner.learn(with_noise(1, 2000, range(40)))
    assert learner.table.used == 20_040
