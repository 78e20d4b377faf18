"""The kernels against the specification, over every combination of ingredients."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reference
from dwindle import Adaptive, Averaged, Learner, NoShrinkage, Plain, Truncation
from helpers.effort import few_examples
from helpers.ingredients import (
    LOSSES,
    SCHEDULES,
    SHRINKAGES,
    UPDATES,
    near,
    over_ingredients,
    pulls_of,
    rates_of,
    sign,
)
from helpers.random_streams import batch_of, cut, seeds, stream

losses = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: str(loss.loss))
# Where a loss is but its slope, two of them are enough to tell.
two_losses = pytest.mark.parametrize("loss", LOSSES[:2], ids=lambda loss: str(loss.loss))
shrinkages = pytest.mark.parametrize("shrinkage", SHRINKAGES, ids=lambda pair: str(pair[0]))


def agree(learner, weights):
    """The learner's weights are the reference's."""
    eps = near(learner.update)
    names = weights.keys() - {reference.INTERCEPT}
    ours = learner.weights()
    assert ours.keys() <= names
    np.testing.assert_allclose(
        [ours.get(name, 0.0) for name in names], [weights[name] for name in names], eps, eps
    )
    assert learner.intercept == pytest.approx(weights.get(reference.INTERCEPT, 0.0), eps, eps)


def rounding_decides_on_a_sign(learner, examples, expected):
    """Whether a weight is the reference's to 1e-12, but one is 0 and the other is not, or below it.

    A prediction that is 0 but for rounding makes such a weight of a slope that should be 0. For sgn
    that is a whole pull, so from there on the two are as right as each other, and apart.
    """
    for i, (_, weights) in enumerate(expected):
        if i == len(examples):
            learner.next_pass()
        learner.learn(batch_of([examples[i % len(examples)]]))
        ours = learner.weights()
        for name in weights.keys() - {reference.INTERCEPT}:
            w = ours.get(name, 0.0)
            if sign(w) != sign(weights[name]) and abs(w - weights[name]) < 1e-12:
                return True
    return False


@over_ingredients()
@given(seed=seeds, intercept=st.booleans(), scaled=st.booleans(), second_pass=st.booleans())
@few_examples(2)
def test_lazy_learning_is_algorithm_1(
    loss, shrinkage, update, seed, intercept, scaled, second_pass
):
    examples = stream(seed, loss.labels)
    n = len(examples)
    ingredients = loss.loss, shrinkage[0], update[0]
    for schedule in SCHEDULES:
        learner, other = (
            Learner(*ingredients, schedule, intercept=intercept, normalize=scaled) for _ in range(2)
        )
        passes = 1 + second_pass
        learned = sum(importance > 0 for _, _, importance in examples)
        rates = rates_of(schedule, passes * n, [i // max(learned, 1) for i in range(passes * n)])
        expected = list(
            reference.learn(
                examples * passes,
                rates,
                pulls_of(shrinkage[0], rates),
                loss.slope,
                shrinkage[1],
                update[1](),
                intercept=intercept,
                normalize=scaled,
            )
        )
        if shrinkage[1] is reference.subgradient:
            assume(not rounding_decides_on_a_sign(other, examples, expected))
        predictions = learner.learn(batch_of(examples))
        if second_pass:
            agree(learner, expected[n - 1][1])
            learner.next_pass()
            predictions = np.append(predictions, learner.learn(batch_of(examples)))
        eps = near(update[0])
        np.testing.assert_allclose(predictions, [p for p, _ in expected], eps, eps)
        agree(learner, expected[-1][1])


def final(learner):
    return learner.weights(), learner.intercept, learner.n_steps


def goes_with(_loss, shrinkage, update):
    """Averaged refuses most shrinkages: test_learner.py."""
    return not isinstance(update, Averaged) or shrinkage in SHRINKAGES[:2]


@over_ingredients([*(u for u, _ in UPDATES), Averaged()], allowed=goes_with)
@given(seed=seeds, cuts=seeds, n_features=st.sampled_from([9, 3000]))
@few_examples(2)
def test_batching_never_changes_a_bit(loss, shrinkage, update, seed, cuts, n_features):
    examples = stream(seed, loss.labels, n_features, 1200 if n_features > 9 else 40)
    at_once = Learner(loss.loss, shrinkage[0], update, 0.1)
    predictions = at_once.learn(batch_of(examples))
    in_runs = Learner(loss.loss, shrinkage[0], update, 0.1)
    cut_predictions = [in_runs.learn(batch_of(run)) for run in cut(examples, cuts) if run]
    one_by_one = Learner(loss.loss, shrinkage[0], update, 0.1)
    single_predictions = [one_by_one.learn(batch_of([example]))[0] for example in examples]
    assert np.array_equal(np.concatenate(cut_predictions), predictions)
    assert np.array_equal(single_predictions, predictions)
    assert final(at_once) == final(in_runs) == final(one_by_one)


@two_losses
@shrinkages
@given(seed=seeds, cuts=seeds)
@few_examples(6)
def test_sweeping_at_any_moment_never_changes_a_bit_with_the_plain_update(
    loss, shrinkage, seed, cuts
):
    examples = stream(seed, loss.labels)
    unswept, swept = (Learner(loss.loss, shrinkage[0], Plain(), 0.1) for _ in range(2))
    predictions = unswept.learn(batch_of(examples))
    parts = []
    for run in cut(examples, cuts):
        parts.append(swept.learn(batch_of(run)) if run else np.empty(0))
        swept.sweep()
    assert np.array_equal(np.concatenate(parts), predictions)
    assert final(swept) == final(unswept)
    assert swept.table.used == len(swept)


@given(seed=seeds, when=st.sets(st.integers(0, 30), max_size=4))
def test_a_sweep_makes_the_adaptive_update_forget_dead_features_and_no_others(seed, when):
    loss, (update, memory) = LOSSES[1], UPDATES[1]
    # Not 0.5, the slope at p = 0: a pull that undoes a step to the bit may round either way.
    shrinkage = Truncation(gravity=0.37)
    examples = [e for e in stream(seed, loss.labels) if e[2] > 0]
    learner = Learner(loss.loss, shrinkage, update, 0.1)
    rates = [0.1] * len(examples)
    expected = reference.learn(
        examples,
        rates,
        pulls_of(shrinkage, rates),
        loss.slope,
        reference.t1,
        memory(),
        intercept=True,
        swept_before=when,
    )
    for i, (example, (p, weights)) in enumerate(zip(examples, expected, strict=True)):
        if i in when:
            learner.sweep()
        eps = near(update)
        assert learner.learn(batch_of([example]))[0] == pytest.approx(p, eps, eps)
        agree(learner, weights)


@over_ingredients()
@given(seed=seeds, n=st.integers(0, 40))
@few_examples(2)
def test_resting_is_learning_from_examples_that_say_nothing(loss, shrinkage, update, seed, n):
    examples = stream(seed, loss.labels)
    after_cooldown, bored = (
        Learner(loss.loss, shrinkage[0], update[0], SCHEDULES[4], intercept=False) for _ in range(2)
    )
    for learner in (after_cooldown, bored):
        learner.learn(batch_of(examples))
    before = final(after_cooldown)
    with after_cooldown.after_cooldown(n) as rested:
        looked_at = final(rested)
    assert final(after_cooldown) == before
    after_cooldown.cooldown(n)
    bored.learn(batch_of([([], loss.labels[0], 1.0)] * n))
    assert looked_at == final(after_cooldown) == final(bored)


@losses
@given(seed=seeds)
@few_examples(20)
def test_averaging_is_the_mean_of_the_weights_that_predicted(loss, seed):
    """w_hat_T = (1/T) sum of w_t over t = 1..T, Theorem 3.2."""
    examples = [e for e in stream(seed, loss.labels) if e[2] > 0]
    assume(examples)
    for shrinkage, shrink in (
        (Truncation(gravity=0.02), reference.t1),
        (NoShrinkage(), lambda v, _: v),
    ):
        learner = Learner(loss.loss, shrinkage, Averaged(), 0.1)
        rates = [0.1] * len(examples)
        run = reference.learn(
            examples,
            rates,
            pulls_of(shrinkage, rates),
            loss.slope,
            shrink,
            reference.Plain(),
            intercept=True,
        )
        total, before = {}, {}
        pull = 0.1 * getattr(shrinkage, "gravity", 0.0)
        for _, after in run:
            for name, w in before.items():
                felt = w if name is reference.INTERCEPT else shrink(w, pull)
                total[name] = total.get(name, 0.0) + felt
            before = after
        learner.learn(batch_of(examples))
        agree(learner, {name: t / len(examples) for name, t in total.items()})
        by_hand = [
            sum(learner.weights().get(name, 0.0) * x for name, x in features) + learner.intercept
            for features, _, _ in examples
        ]
        np.testing.assert_allclose(learner.predict(batch_of(examples)), by_hand, 1e-9, 1e-12)


@over_ingredients()
@given(seed=seeds, scaled=st.booleans())
@few_examples(2)
def test_predicting_is_the_weights_times_the_features_and_changes_nothing(
    loss, shrinkage, update, seed, scaled
):
    examples = stream(seed, loss.labels)
    learner = Learner(loss.loss, shrinkage[0], update[0], 0.1, normalize=scaled)
    learner.learn(batch_of(examples))
    before = learner.table.cells.copy()
    weights = learner.weights()
    by_hand = [
        (sum(weights.get(name, 0.0) * x for name, x in features) + learner.intercept)
        / (np.sqrt(len(features) + 1) if scaled else 1)
        for features, _, _ in examples
    ]
    np.testing.assert_allclose(learner.predict(batch_of(examples)), by_hand, 1e-9, 1e-12)
    assert np.array_equal(learner.table.cells, before)


@given(seed=seeds, factor=st.sampled_from([2.0**-20, 0.125, 64.0, 2.0**30]))
def test_the_adaptive_update_is_free_of_each_feature_s_scale(seed, factor):
    examples = stream(seed, (-1.0, 1.0))
    stretched = [
        ([(name, x * factor if name == "3" else x) for name, x in features], label, importance)
        for features, label, importance in examples
    ]
    shrinkage = Truncation(gravity=0.01)
    learners = [
        Learner(shrinkage=shrinkage, update=Adaptive(), learning_rate=0.3) for _ in range(2)
    ]
    first, second = (
        learner.learn(batch_of(run))
        for learner, run in zip(learners, (examples, stretched), strict=True)
    )
    np.testing.assert_allclose(first, second, 1e-6)  # G and N are in single precision
