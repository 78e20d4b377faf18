"""Lanes are compared by what all other shards told; and what a shard forgot is not counted."""

from functools import reduce

import numpy as np
import pytest

from dwindle import Adaptive, Hinge, LaneLearner, Learner, Sigmas, Truncation
from dwindle.distributed import mixing
from dwindle.distributed.cells import full_cells, known
from dwindle.distributed.judging import compared_after, judged, own_so_far
from dwindle.distributed.mixing import mix
from dwindle.distributed.parts import added, without
from dwindle.distributed.sharing import shared
from dwindle.distributed.telling import followed, lane_state, tell
from dwindle.engine.lane_kernels import NOISE
from dwindle.features.batch import Batch
from helpers.shards import examples, told_by

SHARDS, PASSES, WORDS = 4, 2, 60
OWN = 1000  # a feature that only shard 1 has


def shards_of(n=300):
    batches = [examples(n, k, WORDS) for k in range(SHARDS)]
    key = batches[1].key.copy()
    key[::50] = OWN
    batches[1] = batches[1]._replace(key=key)
    return batches


def left_out(k, batches):
    """Return the learner of all passes without shard k, and what the others told in each pass."""
    learner, found, own, others = LaneLearner(), None, None, []
    for _ in range(PASSES):
        parts = [told_by(learner, batch, SHARDS) for batch in batches]
        everything = reduce(added, parts)
        own = own_so_far(own, parts[k], learner)
        others.append([part for j, part in enumerate(parts) if j != k])
        found = mix(learner, without(everything, own), SHARDS)
        learner = mix(learner, everything, SHARDS)
    return found, others


def values(learner):
    found = known(learner, full_cells(learner), 0.0)
    return dict(zip((found.mark - np.uint64(1)).tolist(), found.value, strict=True))


def test_a_shard_left_out_is_left_out_of_all_passes():
    found, others = left_out(1, shards_of())
    told = reduce(added, [part for parts in others for part in parts])
    noise = sum(part.sums["lanes"][NOISE] for parts in others for part in parts)
    assert lane_state(found)[NOISE] == pytest.approx(noise)
    longer = mixing.boost(found.update, SHARDS) * mixing.damping(SHARDS)
    lanes = values(found)
    assert len(lanes) == len(told.mark) == WORDS
    for mark, row in zip(told.mark.tolist(), told.rows, strict=True):
        # Units are of all passes only in the end, so sums in units may be slightly others.
        np.testing.assert_allclose(lanes[mark - 1], row[8:-1] / longer, rtol=0.02, atol=2e-3)


def test_what_only_one_shard_has_is_unknown_to_the_others():
    batches = shards_of()
    assert OWN not in values(left_out(1, batches)[0])
    assert OWN in values(left_out(0, batches)[0])


def test_lanes_are_judged_by_the_features_of_the_examples_alone():
    learner, batches = LaneLearner(), shards_of()
    parts = [told_by(learner, batch, SHARDS) for batch in batches]
    everything, some = reduce(added, parts), batches[1].rows(0, 3)
    whole = mix(learner, without(everything, parts[1]), SHARDS)
    marks = np.unique(some.key) + np.uint64(1)
    part = mix(learner, without(everything, parts[1]), SHARDS, only=marks)
    assert 0 < len(values(part)) < len(values(whole))
    assert (part.predict_lanes(some) == whole.predict_lanes(some)).all()
    assert judged(learner, everything, parts[1], SHARDS, [some]).examples == 3


def test_lanes_are_compared_as_late_as_shards_are_small():
    after = [compared_after(LaneLearner(), 4, shards) for shards in (1, 2, 4, 8, 32)]
    assert after == [0, 1, 1, 2, 4]
    assert compared_after(LaneLearner(update=Adaptive(), shrinkage=Sigmas()), 4, 8) == 1
    assert compared_after(Learner(), 4, 8) == 0


def rare_and_often(n=400):
    """Return examples of a word that all have, which tells, and of one that each has alone."""
    label = np.where(np.arange(n) % 2, 1, -1).astype(np.float32)
    key = np.column_stack([label > 0, 10 + np.arange(n)]).astype(np.uint64).ravel()
    return Batch(np.arange(0, 2 * n + 1, 2), key, np.ones(2 * n, np.float32), label)


@pytest.mark.parametrize("update", [None, Adaptive()])
def test_a_large_model_forgets_what_is_seen_once_a_pass_and_nothing_holds(update, monkeypatch):
    """Or its sums would grow with each pass, until they hold by themselves."""
    monkeypatch.setattr(mixing, "FORGETS", 64)
    made = {} if update is None else {"update": update, "shrinkage": Sigmas()}
    learner, whole = LaneLearner(**made), rare_and_often()
    batches = [whole.rows(k, k + 100) for k in range(0, 400, 100)]
    for p in range(1, 5):
        parts = [told_by(learner, batch, SHARDS) for batch in batches]
        learner = mix(learner, reduce(added, parts), SHARDS)
        learner.next_pass()
        held = learner.weights_of_lanes()[1][:, 1:].any(axis=1)
        key = learner.weights_of_lanes()[0]
        assert {0, 1} <= set(key.tolist())
        # From the fourth pass on, a pass is a quarter of all examples, or less.
        assert held.all() or p >= 4


def test_steps_of_a_shard_are_one_of_each_of_all():
    learner, batches = LaneLearner(), shards_of()
    for _ in range(3):
        parts = [told_by(learner, batch, SHARDS) for batch in batches]
        learner = mix(learner, reduce(added, parts), SHARDS)
    for each in (learner, shared(learner, SHARDS)):
        last = full_cells(each)["last"].astype(np.int64)
        assert last.max() <= each.n_steps
        # Every word is in about one example in twelve.
        assert last[full_cells(each)["key"] <= WORDS].min() > each.n_steps * 0.85


@pytest.mark.parametrize("n_before", [20, 300])
def test_what_shards_forgot_and_saw_again_is_taken_away_by_none(n_before):
    """A sum that all forgot would else be taken away by each of them."""
    learner, batches = LaneLearner(), shards_of()
    learner.learn(batches[0].rows(0, n_before))
    before, parts, gained = values(learner), [], []
    for batch in batches[1:3]:
        own = shared(learner, 2)
        start = followed(own)
        own.table.fill(full_cells(own)[:0], len(own.table.cells))
        own.learn(batch)
        gained.append(values(own))
        parts.append(tell(own, start))
    told = reduce(added, parts)
    after = values(mix(learner, told, 2))
    longer = mixing.boost(learner.update, 2) * mixing.damping(2)
    for mark, row in zip(told.mark.tolist(), told.rows, strict=True):
        more = sum(each.get(mark - 1, 0.0) for each in gained)
        expected = before.get(mark - 1, 0.0) + more / longer
        np.testing.assert_allclose(after[mark - 1], expected, rtol=0.02, atol=2e-3)
        assert row[1] >= 0.0  # squared gradients only grow


def test_a_shard_without_examples_says_nothing_about_lanes():
    learner, batches = LaneLearner(), shards_of()
    parts = [told_by(learner, batch, SHARDS) for batch in batches]
    scores = judged(learner, reduce(added, parts), parts[0], SHARDS, [])
    assert scores.examples == 0
    assert not scores.total.any()


@pytest.mark.parametrize("huge", [1e4, 1e6])
def test_squared_gradients_of_all_shards_are_never_below_zero(huge):
    """A shard's fall if a value is far beyond the unit: the sum may be 0 but for rounding."""
    for seed in range(40):
        learner = Learner(Hinge(), Truncation(1e-4), Adaptive())
        learner.learn(examples(60, seed, 10))
        batches = [examples(20, 1000 + 3 * seed + k, 10) for k in range(3)]
        batches = [batch._replace(x=batch.x * np.float32(huge)) for batch in batches]
        mixed = mix(learner, reduce(added, [told_by(learner, each, 3) for each in batches]), 3)
        assert np.isfinite(mixed.table.cells["norm"]).all()
