"""Mixing: one shard is one machine, shards add up in any tree, and pulls are counted right."""

from functools import partial, reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import (
    FTRL,
    RDA,
    Adaptive,
    Batch,
    LaneLearner,
    Learner,
    Plain,
    SettingError,
    Sigmas,
    Truncation,
)
from dwindle.algorithm.updates import Averaged
from dwindle.distributed.mixing import check_mixes, mix
from dwindle.distributed.parts import added, without
from dwindle.distributed.sharing import boost, shared
from dwindle.distributed.telling import Told, started, tell
from helpers.effort import few_examples
from helpers.shards import examples, told_by

LEARNERS = {
    "plain": lambda: Learner(update=Plain(), shrinkage=Truncation(gravity=1e-3)),
    "adaptive": lambda: Learner(update=Adaptive(), shrinkage=Truncation(gravity=1e-3)),
    "ftrl": lambda: Learner(update=FTRL(), shrinkage=Truncation(gravity=0.5)),
    "rda": lambda: Learner(update=RDA(), shrinkage=Truncation(gravity=1e-3)),
    "lanes": LaneLearner,
    "lanes of weights": lambda: LaneLearner(update=Adaptive(), shrinkage=Sigmas()),
}


def weights(learner):
    key, weight = learner.weight_of_keys()
    return dict(zip(key.tolist(), weight.tolist(), strict=True))


@pytest.mark.parametrize("kind", LEARNERS)
def test_one_shard_is_one_machine(kind):
    """But for rounding, and for features that it does not tell of, which are few here."""
    make = LEARNERS[kind]
    if kind in {"plain", "adaptive", "ftrl", "rda"}:
        update = make().update
        make = partial(Learner, update=update, shrinkage=Truncation(gravity=1e-7))
    one, many = make(), make()
    for p in range(2):
        batch = examples(400, p)
        one.learn(batch)
        many = mix(many, told_by(many, batch, 1), 1)
        expected, found = weights(one), weights(many)
        assert set(found) <= set(expected)
        assert len(found) > len(expected) / 2
        rest = {key: expected[key] for key in found}
        assert found == pytest.approx(rest, rel=2e-3, abs=1e-6)
        assert many.intercept == pytest.approx(one.intercept, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_shard_tells_only_of_features_that_it_saw(kind):
    """Whatever is in the bytes that pad the cells of the model that it began with."""
    learner = LEARNERS[kind]()
    learner.learn(examples(3000, 0, words=2000))
    own, batch = shared(learner, 4), examples(40, 1, words=50)
    start = started(own)
    padded = start.cells.view(np.uint8).reshape(len(start.cells), -1)
    used = np.zeros(start.cells.dtype.itemsize, bool)
    for kind_of, offset, *_ in start.cells.dtype.fields.values():
        used[offset : offset + kind_of.itemsize] = True
    padded[:, ~used] = 0xAA
    own.learn(batch)
    found = set((tell(own, start).mark - np.uint64(1)).tolist())
    assert found <= set(batch.key.tolist())
    assert len(found) > 10


@pytest.mark.parametrize("kind", ["ftrl", "rda", "lanes"])
def test_a_shard_begins_with_the_weights_of_the_model(kind):
    learner = LEARNERS[kind]()
    learner.learn(examples(800, 1))
    assert_close = pytest.approx(weights(learner), rel=0.3, abs=0.02)
    assert weights(shared(learner, 4)) == assert_close


@pytest.mark.parametrize("kind", LEARNERS)
def test_shards_together_predict_as_one_machine_does(kind):
    """Of enough examples, so that a shard knows something: better by far than a shard alone."""
    everything = examples(5000, 7)
    data, test = (
        [everything.rows(k, k + 1000) for k in range(0, 4000, 1000)],
        everything.rows(4000, 5000),
    )
    one, many = LEARNERS[kind](), LEARNERS[kind]()
    for _ in range(2):
        for batch in data:
            one.learn(batch)
        one.next_pass()
        many = mix(many, reduce(added, [told_by(many, batch, 4) for batch in data]), 4)
        many.next_pass()
    apart = np.corrcoef(one.predict(test), many.predict(test))[0, 1]
    assert apart > 0.9


def told_of(rng, width=4):
    mark = np.unique(rng.integers(1, 40, rng.integers(0, 20)).astype(np.uint64))
    return Told(mark, rng.integers(0, 9, (len(mark), width)).astype(float), {"n": np.ones(1)})


@given(st.integers(0, 10**6))
@few_examples(40)
def test_adding_up_is_the_union_of_features_and_the_sum_of_rows(seed):
    rng = np.random.default_rng(seed)
    a, b = told_of(rng), told_of(rng)
    expected = {}
    for each in (a, b):
        for mark, row in zip(each.mark.tolist(), each.rows, strict=True):
            before = expected.get(mark, np.zeros(4))
            expected[mark] = np.append(before[:-1] + row[:-1], max(before[-1], row[-1]))
    found = added(a, b)
    assert found.mark.tolist() == sorted(expected)
    assert {m: r.tolist() for m, r in zip(found.mark.tolist(), found.rows, strict=True)} == {
        m: r.tolist() for m, r in expected.items()
    }
    assert found.sums["n"].item() == 2


def test_what_others_tell_is_what_all_tell_without_one():
    learner = Learner(update=RDA())
    parts = [told_by(learner, examples(300, k), 3) for k in range(3)]
    others = without(reduce(added, parts), parts[1])
    expected = added(parts[0], parts[2])
    assert others.mark.tolist() == expected.mark.tolist()
    np.testing.assert_allclose(others.rows[:, :-1], expected.rows[:, :-1], atol=1e-12)
    assert others.sums["learned"].item() == 2


def test_a_feature_that_few_shards_saw_owes_the_pull_of_the_others():
    """A weight that one of four shards has is pulled as much more as four such shards pull."""
    learner = Learner(update=Plain(), shrinkage=Truncation(gravity=1e-3), learning_rate=0.1)
    rare = Batch(
        np.array([0, 1]), np.array([5], np.uint64), np.ones(1, np.float32), np.ones(1, np.float32)
    )
    common = Batch(
        np.array([0, 1]), np.array([6], np.uint64), np.ones(1, np.float32), np.ones(1, np.float32)
    )
    parts = [told_by(learner, batch, 4) for batch in (rare, common, common, common)]
    found = weights(mix(learner, reduce(added, parts), 4))
    alone = weights_told(parts[0])[5]
    pull = 1e-3 * 0.1 * boost(Plain(), 4) * 4  # of all shards, one example each
    assert found[5] == pytest.approx(alone - (pull - pull / 4))
    assert found[6] == pytest.approx(weights_told(parts[1])[6] - (pull / 3 - pull / 4))


def weights_told(told):
    return dict(zip((told.mark - np.uint64(1)).tolist(), told.rows[:, 8].tolist(), strict=True))


def test_boost_is_capped():
    assert boost(Plain(), 8) == 8
    assert boost(RDA(), 16) == 4
    assert boost(Plain(), 1000) == boost(Plain(), 32)


def test_a_budget_holds_for_all_shards_together():
    learner = Learner(update=Adaptive(), shrinkage=Truncation(gravity=0.0), max_live=30)
    parts = [told_by(learner, examples(200, k, words=100), 4) for k in range(4)]
    mixed = mix(learner, reduce(added, parts), 4)
    assert 0 < len(mixed) <= 30


def test_updates_that_cannot_be_mixed_are_refused_by_name():
    with pytest.raises(SettingError, match="Averaged"):
        check_mixes(Learner(update=Averaged()))


def test_shards_without_examples_change_nothing():
    learner = Learner(update=RDA())
    learner.learn(examples(300, 1))
    before = weights(learner)
    empty = Batch(
        np.zeros(1, np.int64),
        np.empty(0, np.uint64),
        np.empty(0, np.float32),
        np.empty(0, np.float32),
    )
    assert weights(mix(learner, told_by(learner, empty, 2), 2)) == before
