"""Lanes do not depend on batches, copies, checkpoints, looks or interrupts, to the bit."""

import copy
import pickle
import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, Learner, Schedule
from dwindle.algorithm.sigmas import Sigmas
from dwindle.engine import lanes
from dwindle.engine.kinds import learner_from
from helpers.effort import few_examples
from helpers.lane_learners import (
    CENTRED,
    LOGISTIC,
    SIGMAS,
    SQUARED,
    UPDATES,
    called,
    final,
    lane_learner,
    shrinkages,
)
from helpers.random_streams import batch_of, cut, seeds, stream

updates = pytest.mark.parametrize("update", UPDATES, ids=called)
FTRL, RDA, ADAPTIVE, PLAIN = UPDATES


def same(*learners):
    first, *others = map(final, learners)
    for other in others:
        assert other == first
    full = [each.table.cells[each.table.cells["key"] != 0] for each in learners]
    assert len({np.sort(cells, order="key").tobytes() for cells in full}) == 1


@updates
@given(seed=seeds, cuts=seeds, n_features=st.sampled_from([9, 3000]), which=st.integers(0, 4))
@few_examples(4)
def test_batching_never_changes_a_bit_or_the_choice(update, seed, cuts, n_features, which):
    examples = stream(seed, LOGISTIC.labels, n_features, 1200 if n_features > 9 else 40)
    shrinkage = shrinkages(update.has_threshold)[which]
    schedule = Schedule(0.3, power_t=0.2)
    at_once, in_runs, one_by_one = (
        lane_learner(update, shrinkage=shrinkage, rate=schedule) for _ in range(3)
    )
    predictions = at_once.learn(batch_of(examples))
    in_parts = [in_runs.learn(batch_of(run)) for run in cut(examples, cuts) if run]
    single = [one_by_one.learn(batch_of([example]))[0] for example in examples]
    assert np.array_equal(np.concatenate(in_parts), predictions)
    assert np.array_equal(single, predictions)
    same(at_once, in_runs, one_by_one)


def words(n, n_words=500):
    """Sparse and dense features."""
    rng = np.random.default_rng(5)
    dicts = [
        {f"w{k}": float(x) for k, x in zip(rng.integers(0, n_words, 5), rng.random(5), strict=True)}
        for _ in range(n)
    ]
    label = np.where(["w1" in d or len(d) == 4 for d in dicts], 1, -1)
    for i, each in enumerate(dicts):
        each["level"] = 50.0 + rng.normal()  # columns far from 0, one of them with a gap
        if not 400 < i < 420:
            each["gap"] = 1e4 + i
    return dicts, label


@pytest.mark.parametrize("update", [*UPDATES, CENTRED], ids=called)
def test_learning_one_is_learning_a_batch_of_one(update):
    dicts, label = words(900)
    one, many = (lane_learner(update) for _ in range(2))
    predictions = many.learn(Batch.from_dicts(dicts, label))
    assert [one.learn_one(d, y) for d, y in zip(dicts, label, strict=True)] == predictions.tolist()
    same(one, many)
    assert one.weights() == many.weights()


def copies(learner, folder):
    learner.save(folder / "lanes.checkpoint")
    yield Learner.load(folder / "lanes.checkpoint")
    yield pickle.loads(pickle.dumps(learner))
    yield copy.deepcopy(learner)
    yield learner_from(learner.state())


@pytest.mark.parametrize("at", [0, 7, 512, 700])
@pytest.mark.parametrize(
    ("update", "loss"),
    [*((u, LOGISTIC) for u in (*UPDATES, CENTRED)), (FTRL, SQUARED)],
    ids=called,
)
def test_a_copy_at_any_step_goes_on_as_if_never_stopped(update, loss, at, tmp_path):
    dicts, label = words(1400)
    batch = Batch.from_dicts(dicts, label)
    shrinkage = Sigmas(truncate_every=3)
    learner, whole = (lane_learner(update, loss, shrinkage, max_live=300) for _ in range(2))
    predictions = whole.learn(batch)
    learner.learn(batch.rows(0, at))
    for other in (*copies(learner, tmp_path), learner):
        assert type(other) is lanes.LaneLearner
        assert repr(other) == repr(learner)
        assert np.array_equal(other.learn(batch.rows(at, 1400)), predictions[at:])
        same(other, whole)
        assert other.weights() == whole.weights()
        assert other.eviction_report() == whole.eviction_report()


@updates
def test_a_second_pass_changes_the_weights_but_not_what_lanes_are_judged_by(update, tmp_path):
    dicts, label = words(600)
    batch = Batch.from_dicts(dicts, label)
    learner = lane_learner(update, rate=Schedule(0.5, pass_decay=0.5))
    learner.learn(batch)
    judged = [(lane.loss, lane.auc, lane.judged) for lane in learner.frontier()]
    learner.next_pass()
    *others, whole = (*copies(learner, tmp_path), learner)
    for each in (*others, whole):
        each.learn(batch)
        assert [(lane.loss, lane.auc, lane.judged) for lane in each.frontier()] == judged
    same(*others, whole)


@updates
@given(seed=seeds, n=st.integers(0, 60), which=st.integers(0, 4))
@few_examples(5)
def test_a_cooldown_that_is_looked_at_is_undone(update, seed, n, which):
    learner = lane_learner(update, shrinkage=shrinkages(update.has_threshold)[which])
    learner.learn(batch_of(stream(seed, LOGISTIC.labels)))
    before = final(learner)
    with learner.after_cooldown(n) as cooled:
        looked_at = final(cooled)
    assert final(learner) == before
    with pytest.raises(ZeroDivisionError), learner.after_cooldown(n):
        raise ZeroDivisionError
    assert final(learner) == before
    learner.cooldown(n)
    assert final(learner) == looked_at


@pytest.mark.parametrize("update", [ADAPTIVE, PLAIN], ids=called)
@pytest.mark.parametrize("every", [1, 4])
def test_two_cooldowns_are_one_as_long_as_both(update, every):
    one, two = (lane_learner(update, shrinkage=Sigmas(truncate_every=every)) for _ in range(2))
    dicts, label = words(601)
    for learner in (one, two):
        learner.learn(Batch.from_dicts(dicts, label))
    kept = one.kept()
    one.cooldown(500)
    two.cooldown(3)
    two.cooldown(497)
    assert one.n_steps == two.n_steps == 1101
    assert (one.kept() == two.kept()).all()
    assert one.kept().sum() < kept.sum()
    np.testing.assert_allclose(
        one.predict(Batch.from_dicts(dicts)), two.predict(Batch.from_dicts(dicts)), 1e-4, 1e-5
    )


def test_the_choice_is_never_stale():
    """Asking which lane is chosen at any moment does not change which one is chosen later."""
    dicts, label = words(400)
    batch = Batch.from_dicts(dicts, label)
    unimportant = Batch.from_dicts(dicts, label, np.zeros(400))
    asked, not_asked = (lane_learner(ADAPTIVE) for _ in range(2))
    for learner in (asked, not_asked):
        look = final if learner is asked else id
        learner.learn(batch)
        look(learner)
        with learner.after_cooldown(300) as cooled:
            look(cooled)
        look(learner)
        learner.learn(unimportant)
        look(learner)
        learner.cooldown(300)
        look(learner)
        learner.sweep()
    same(asked, not_asked)


@pytest.mark.parametrize("n", [1, 3])
def test_an_interrupt_leaves_lanes_that_know_how_far_they_are(monkeypatch, n):
    rng = np.random.default_rng(0)
    n_examples, nnz = 3000, 20
    key = rng.integers(0, 5000, n_examples * nnz).astype(np.uint64)
    label = rng.choice([-1.0, 1.0], n_examples)
    batch = Batch.from_arrays(np.arange(n_examples + 1) * nnz, key, np.ones(len(key)), label)
    learner, other = (lane_learner() for _ in range(2))
    method, calls = learner._learn_from, iter(range(1, 10**9))

    def interrupting(*given):
        if next(calls) % n == 0:
            signal.raise_signal(signal.SIGINT)
        return method(*given)

    monkeypatch.setattr(learner, "_learn_from", interrupting)
    with pytest.raises(KeyboardInterrupt):
        learner.learn(batch)
    monkeypatch.undo()
    at = learner.n_steps
    assert 0 < at < n_examples
    other.learn(batch.rows(0, at))
    same(learner, other)
    for each in (learner, other):
        each.learn(batch.rows(at, n_examples))
    same(learner, other)


@given(seed=seeds)
@few_examples(5)
def test_a_lane_does_not_depend_on_how_many_registers_are_for_it(seed):
    """Of lanes of one and the same gravity each is the run of that gravity, 1, 8 or 9 of them."""
    examples = stream(seed, LOGISTIC.labels, n_examples=80)
    learners = [lane_learner(shrinkage=Sigmas((0.1,) * n_lanes)) for n_lanes in (1, 8, 9)]
    predictions = [learner.learn(batch_of(examples)) for learner in learners]
    assert np.array_equal(predictions[0], predictions[1])
    assert np.array_equal(predictions[0], predictions[2])
    expected = learners[0].weight_of_keys(0)
    for learner in learners:
        for lane in range(learner.n_lanes):
            assert np.array_equal(learner.weight_of_keys(lane), expected)


def test_looking_changes_nothing():
    dicts, label = words(300)
    batch = Batch.from_dicts(dicts, label)
    learner = lane_learner()
    learner.learn(batch)
    cells, before = learner.table.cells.tobytes(), final(learner)
    learner.predict(batch), learner.predict_lanes(batch), learner.predict_one({"w1": 1})
    learner.explain({"w1": 1}), learner.weights(), learner.frontier(), len(learner)
    learner.predict_proba_one({"w1": 1})
    assert (learner.table.cells.tobytes(), final(learner)) == (cells, before)


def test_examples_of_importance_0_are_predicted_and_that_is_all():
    dicts, label = words(300)
    learner = lane_learner()
    learner.learn(Batch.from_dicts(dicts, label))
    cells, steps = learner.table.cells.tobytes(), learner.n_steps
    expected = learner.predict_lanes(Batch.from_dicts(dicts))[:, learner.best_so_far]
    found = learner.learn(Batch.from_dicts([*dicts, {"new": 1}], [*label, 1], np.zeros(301)))
    np.testing.assert_array_equal(found[:-1], expected)
    assert (learner.table.cells.tobytes(), learner.n_steps) == (cells, steps)
    assert learner.shrinkage == SIGMAS


def looked_at(learner, dicts):
    """Look at all that can be looked at."""
    (
        learner.predict_one(dicts[0]),
        learner.predict(Batch.from_dicts(dicts)),
        learner.explain(dicts[0]),
    )
    learner.frontier(), learner.weights(), len(learner), learner.intercept
    with learner.after_cooldown(7) as cooled:
        cooled.frontier()
    return learner


@pytest.mark.parametrize(
    ("update", "loss", "settings"),
    [
        *((update, LOGISTIC, {"max_live": 200}) for update in (*UPDATES, CENTRED)),
        (FTRL, SQUARED, {"scale_labels": True, "normalize": True}),
    ],
    ids=called,
)
@given(seed=seeds)
@few_examples(4)
def test_examples_one_by_one_in_batches_and_from_copies_are_one_stream(
    update, loss, settings, seed
):
    rng = np.random.default_rng(seed)
    dicts, label = words(700)
    importance = rng.choice([0.0, 1.0, 2.5], 700, p=[0.1, 0.8, 0.1])
    whole, mixed = (lane_learner(update, loss, **settings) for _ in range(2))
    expected = whole.learn(Batch.from_dicts(dicts, label, importance))
    at, found = 0, []
    while at < 700:
        n = int(rng.integers(1, 60))
        rows = slice(at, min(at + n, 700))
        match rng.integers(4):
            case 0:
                found += mixed.learn(
                    Batch.from_dicts(dicts[rows], label[rows], importance[rows])
                ).tolist()
            case 1:
                each = zip(
                    dicts[rows], label[rows].tolist(), importance[rows].tolist(), strict=True
                )
                found += [mixed.learn_one(*example) for example in each]
            case 2:
                mixed = pickle.loads(pickle.dumps(mixed))
                continue
            case 3:
                mixed = looked_at(mixed, dicts)
                continue
        at = rows.stop
    assert found == expected.tolist()
    same(whole, mixed)
    assert mixed.scores.state() == whole.scores.state()
    assert mixed.weights() == whole.weights()
