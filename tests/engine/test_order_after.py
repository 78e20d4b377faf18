"""Section 5's order, in which the pull comes after the step, against its formulas taken literally."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from dwindle import (
    Adaptive,
    Averaged,
    Batch,
    ClippedSquared,
    LateRounding,
    LateTruncation,
    Learner,
    Logistic,
    Plain,
    Rounding,
    Schedule,
    SettingError,
    Truncation,
    certify,
)
from helpers.effort import few_examples
from helpers.ingredients import LOSSES, SCHEDULES, rates_of
from helpers.random_streams import batch_of, cut, seeds, stream

LATE = [
    Truncation(gravity=0.0371, order="after"),
    Truncation(gravity=0.0371, truncate_every=3, order="after"),
    Truncation(gravity=0.0371, threshold=0.2, truncate_every=2, order="after"),
    Rounding(threshold=0.05, order="after"),
    Rounding(threshold=0.05, truncate_every=4, order="after"),
]
BOTH = [LOSSES[1], LOSSES[4]]  # logistic, and section 5's own, whose slope is often 0
late = pytest.mark.parametrize("shrinkage", LATE, ids=str)
losses = pytest.mark.parametrize("loss", BOTH, ids=lambda loss: str(loss.loss))


def agree(learner, weights):
    names = weights.keys() - {reference.INTERCEPT}
    ours = learner.weights()
    assert ours.keys() <= names
    np.testing.assert_allclose(
        [ours.get(name, 0.0) for name in names], [weights[name] for name in names], 1e-9, 1e-9
    )
    assert learner.intercept == pytest.approx(weights.get(reference.INTERCEPT, 0.0), 1e-9, 1e-9)


def final(learner):
    return learner.weights(), learner.intercept, learner.n_steps


def test_the_order_chooses_the_class_and_nothing_else():
    assert type(LATE[0]) is LateTruncation
    assert type(LATE[3]) is LateRounding
    assert LateTruncation(0.0371) == LATE[0]
    assert type(Truncation(0.1, order="before")) is Truncation
    with pytest.raises(SettingError, match="order must be before or after, got 'between'"):
        Truncation(0.1, order="between")


@losses
@late
@given(seed=seeds, intercept=st.booleans(), scaled=st.booleans(), second_pass=st.booleans())
@few_examples(4)
def test_lazy_learning_is_section_5_literally(
    loss, shrinkage, seed, intercept, scaled, second_pass
):
    examples = stream(seed, loss.labels)
    n, passes = len(examples), 1 + second_pass
    learned = sum(importance > 0 for _, _, importance in examples)
    for schedule in SCHEDULES:
        rates = rates_of(schedule, passes * n, [i // max(learned, 1) for i in range(passes * n)])
        gravity = getattr(shrinkage, "gravity", None)
        parameters = shrinkage.truncate_every, gravity, shrinkage.threshold
        how = {"intercept": intercept, "normalize": scaled}
        expected = list(
            reference.section_5(examples * passes, rates, loss.slope, *parameters, **how)
        )
        learner = Learner(loss.loss, shrinkage, Plain(), schedule, **how)
        predictions = learner.learn(batch_of(examples))
        if second_pass:
            agree(learner, expected[n - 1][1])
            learner.next_pass()
            agree(learner, expected[n - 1][1])  # by the rate of the last step, and not of the next
            predictions = np.append(predictions, learner.learn(batch_of(examples)))
        np.testing.assert_allclose(predictions, [p for p, _ in expected], 1e-9, 1e-9)
        agree(learner, expected[-1][1])


@pytest.mark.slow
@late
@given(seed=seeds, cuts=seeds, n_features=st.sampled_from([9, 3000]))
@few_examples(3)
def test_batching_sweeping_and_resuming_never_change_a_bit(shrinkage, seed, cuts, n_features):
    examples = stream(seed, (0.0, 1.0), n_features, 1200 if n_features > 9 else 40)
    schedule = Schedule(0.3, power_t=0.25, pass_decay=0.5)

    def new():
        return Learner(ClippedSquared(), shrinkage, Plain(), schedule, normalize=True)

    at_once, in_runs, resumed, single = new(), new(), new(), new()
    whole, parts, again, ones = [], [], [], []
    for number in range(2):
        if number:
            for learner in (at_once, in_runs, resumed, single):
                learner.next_pass()
            resumed = Learner.from_state(resumed.state())
            assert final(resumed) == final(at_once)
        whole.append(at_once.learn(batch_of(examples)))
        for run in cut(examples, cuts):
            if run:
                parts.append(in_runs.learn(batch_of(run)))
                again.append(resumed.learn(batch_of(run)))
            in_runs.sweep()
            resumed = Learner.from_state(resumed.state())
        for features, label, importance in examples:
            if len({name for name, _ in features}) == len(features):
                ones.append(single.learn_one(dict(features), label, importance))
            else:  # which a dict cannot say
                ones.append(single.learn(batch_of([(features, label, importance)]))[0])
    assert np.array_equal(np.concatenate(parts), np.concatenate(whole))
    assert np.array_equal(np.concatenate(again), np.concatenate(whole))
    assert final(in_runs) == final(resumed) == final(at_once)
    if all(len({name for name, _ in features}) == len(features) for features, _, _ in examples):
        np.testing.assert_allclose(ones, np.concatenate(whole), 1e-12, 1e-12)


def test_learning_one_by_one_gives_the_same_weights_to_the_bit():
    rng = np.random.default_rng(3)
    examples = [
        ([(str(j), float(np.float32(rng.normal()))) for j in rng.permutation(12)[:4]],
         float(rng.integers(2)), 1.0) for _ in range(2000)
    ]  # fmt: skip
    at_once, single = (
        Learner(ClippedSquared(), Truncation(0.02, truncate_every=3, order="after"), Plain(), 0.1)
        for _ in range(2)
    )
    named = [(dict(features), y) for features, y, _ in examples]
    whole = at_once.learn(Batch.from_dicts([x for x, _ in named], [y for _, y in named]))
    assert [single.learn_one(x, y) for x, y in named] == whole.tolist()
    assert final(single) == final(at_once)
    assert [single.predict_one(x) for x, _ in named[:20]] == at_once.predict(
        Batch.from_dicts([x for x, _ in named[:20]])
    ).tolist()
    assert 0 < len(single) < 12


@given(seed=seeds)
@few_examples(10)
def test_it_is_algorithm_1_where_every_example_has_every_feature_but_for_a_first_pull(seed):
    """An example of slope 0 comes first, which only sets the time stamps."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 1.0, (31, 4)).astype(np.float32).tolist()
    y = [0.0, *rng.integers(0, 2, 30).astype(float)]
    rows = [[(str(j), v) for j, v in enumerate(row)] for row in x]
    examples = [(row, label, 1.0) for row, label in zip(rows, y, strict=True)]
    after, before = (
        Learner(ClippedSquared(), Truncation(0.05, order=order), Plain(), 0.2)
        for order in ("after", "before")
    )
    predictions = after.learn(batch_of(examples))
    np.testing.assert_allclose(predictions, before.learn(batch_of(examples)), 1e-9, 1e-12)
    before.cooldown(1)  # section 3's pull after the last step
    assert after.weights() == pytest.approx(before.weights(), 1e-9, 1e-12)


def test_a_feature_that_died_long_ago_is_pulled_by_all_the_steps_it_was_away():
    """What makes the order sparser: Algorithm 1 pulls a weight of zero, which is nothing."""
    for order, weight in (("after", 0.0), ("before", 0.5)):
        shrinkage = Truncation(gravity=0.25, order=order)
        learner = Learner(Logistic(), shrinkage, Plain(), 1.0, intercept=False)
        learner.learn_one({"rare": 1.0}, 1)
        for _ in range(40):
            learner.learn_one({"common": 1.0}, 1)
        assert "rare" not in learner.weights()
        learner.sweep()
        learner.learn_one({"rare": 1.0}, 1)
        assert learner.weights().get("rare", 0.0) == weight


def test_a_cooldown_is_owed_by_the_same_formula():
    for steps, left in ((1, 0.5), (2, 0.5 - 0.2), (3, 0.5 - 0.2), (4, 0.5 - 0.4), (6, 0.0)):
        shrinkage = Truncation(gravity=0.1, truncate_every=2, order="after")
        learner = Learner(Logistic(), shrinkage, Plain(), 1.0, intercept=False)
        learner.learn_one({"a": 1.0}, 1)
        learner.cooldown(steps)
        assert learner.weights().get("a", 0.0) == pytest.approx(left)


def test_a_cooldown_after_a_pass_is_owed_by_the_rate_of_the_last_example():
    shrinkage, schedule = Truncation(gravity=0.01, order="after"), Schedule(1.0, pass_decay=0.5)
    learner = Learner(Logistic(), shrinkage, Plain(), schedule, intercept=False)
    for name in ("a", "b", "c"):
        learner.learn_one({name: 1.0}, 1)
    learner.next_pass()
    with learner.after_cooldown(1000) as cooled:  # more than the clock's first window has
        assert cooled.weights() == {}
    learner.cooldown(7)
    expected = {"a": 0.5 - 0.09, "b": 0.5 - 0.08, "c": 0.5 - 0.07}
    assert learner.weights() == pytest.approx(expected)
    assert learner.predict_one({"a": 1.0}) == pytest.approx(0.41)
    assert Learner.from_state(learner.state()).weights() == learner.weights()
    p = learner.learn_one({"a": 1.0}, 1)  # which has not paid yet, and then pays by its own rate
    assert p == 0.5
    paid = 0.5 + 0.5 / (1 + np.exp(0.5)) - 10 * 0.5 * 0.01
    assert learner.weights()["a"] == pytest.approx(paid)


@pytest.mark.parametrize("update", [Adaptive(), Averaged()], ids=str)
def test_other_updates_are_refused_by_name(update):
    with pytest.raises(SettingError, match="order 'after' is section 5's, whose update is Plain"):
        Learner(Logistic(), Truncation(0.1, order="after"), update)


def test_a_budget_and_a_certificate_are_refused_by_name():
    with pytest.raises(SettingError, match=r"max_live needs Truncation .*: got LateTruncation"):
        Learner(Logistic(), Truncation(0.1, order="after"), Plain(), max_live=10)
    with pytest.raises(TypeError, match="about truncated gradient, not LateTruncation"):
        certify([], {}, loss=Logistic(), shrinkage=LATE[0], learning_rate=0.1)
