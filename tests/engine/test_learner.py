"""The learner's manners: what it returns, keeps, refuses and leaves untouched."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import (
    FTRL,
    RDA,
    Adaptive,
    Averaged,
    Batch,
    ClippedSquared,
    DataError,
    DivergedError,
    Hinge,
    Huber,
    Learner,
    Logistic,
    NoShrinkage,
    Plain,
    Poisson,
    Quantile,
    Rounding,
    Schedule,
    Squared,
    Subgradient,
    Truncation,
)
from dwindle.algorithm.clock import FIRST, WINDOW
from dwindle.algorithm.losses import accepted_labels
from helpers.compiled import signatures


def test_learning_one_returns_the_prediction_made_before_learning():
    learner = Learner(Squared(), NoShrinkage(), Plain(), 0.25, intercept=False)
    assert learner.learn_one({"a": 1}, 2) == 0
    assert learner.learn_one({"a": 1}, 2) == 1  # w = 0.25 * 2 * 2
    assert learner.predict_one({"a": 2}) == 3
    assert learner.weights() == {"a": 1.5}
    assert learner.n_steps == 2


def test_weights_are_settled_and_only_those_not_zero():
    learner = Learner(Squared(), Truncation(gravity=1.0), Plain(), 0.1, intercept=False)
    learner.learn_one({"a": 1}, 1)
    assert learner.weights() == {"a": 0.2}
    learner.learn_one({"b": 1}, 1)
    assert learner.weights() == {"a": pytest.approx(0.1), "b": 0.2}
    learner.learn_one({"c": 1}, 1)
    assert learner.weights().keys() == {"b", "c"}
    assert len(learner) == 2
    assert learner.table.used == 3  # a's cell waits for a sweep
    learner.sweep()
    assert learner.table.used == 2


def test_names_enter_with_their_feature_and_leave_with_it():
    learner = Learner(Squared(), Truncation(gravity=0.01), Plain(), 0.1)
    for i in range(5000):
        learner.learn_one({f"once {i}": 1, "always": 1, "17": 1}, 1)
    assert "always" in learner.weights()
    assert "17" in learner.weights()
    live = {name for name in learner.weights() if name.startswith("once")}
    assert 0 < len(live) < 1000
    assert len(learner.table.names) <= learner.table.used <= 1024
    assert all(name == f"once {int(name[5:])}" for name in live)


def test_resting_goes_on_past_the_end_of_a_window():
    learner = Learner(Squared(), Truncation(gravity=2**-10), Plain(), 1.0, intercept=False)
    learner.learn_one({"a": 1}, 4)
    learner.cooldown(WINDOW + 5)
    assert learner.n_steps == WINDOW + 6
    assert learner.weights() == {}
    learner.learn_one({"a": 1}, 4)
    assert learner.weights() == {"a": 8}
    learner.cooldown(1024)
    assert learner.weights() == {"a": 7}


def test_key_0_is_a_feature_like_any_other():
    learner = Learner(Squared(), NoShrinkage(), Plain(), 0.1, intercept=False)
    learner.learn(Batch.from_arrays([0, 2], np.array([0, 2**64 - 2], np.uint64), [1, 1], [1]))
    learner.sweep()
    assert learner.weights() == {"0": 0.2, str(2**64 - 2): 0.2}


def test_an_example_without_features_teaches_the_intercept():
    learner = Learner(Squared(), Truncation(gravity=9), Plain(), 0.25)
    learner.learn_one({}, 2)
    assert learner.weights() == {}
    assert learner.intercept == 1
    assert learner.predict_one({}) == 1


def test_without_intercept_there_is_none():
    for update in (Plain(), Adaptive(), Averaged()):
        learner = Learner(Squared(), NoShrinkage(), update, 0.25, intercept=False)
        learner.learn_one({"a": 1}, 2)
        assert learner.intercept == 0


@pytest.mark.parametrize("update", [Plain(), Adaptive(), Averaged()], ids=str)
def test_importance_0_learns_nothing(update):
    learner = Learner(Logistic(), Truncation(0.01), update, 0.1)
    learner.learn_one({"a": 1, "b": 1}, 1)
    cells, step, intercept = learner.table.cells.copy(), learner.n_steps, learner.intercept
    learner.learn_one({"a": 3, "new": 1}, -1, importance=0)
    assert np.array_equal(learner.table.cells, cells)
    assert (learner.n_steps, learner.intercept) == (step, intercept)
    assert "new" not in learner.weights()


def test_importance_multiplies_the_gradient():
    one, two = (Learner(Squared(), NoShrinkage(), Plain(), r) for r in (0.1, 0.05))
    one.learn_one({"a": 1}, 1)
    two.learn_one({"a": 1}, 1, importance=2)
    assert one.weights() == two.weights()


def test_a_base_is_added_to_the_prediction_and_what_is_learned_is_the_rest():
    learner = Learner(Squared(), NoShrinkage(), Plain(), 0.25, intercept=False)
    batch = Batch.from_dicts([{"a": 1}, {"a": 1}], [2, 2], base=[1, 0])
    assert learner.learn(batch).tolist() == [1, 0.5]
    assert learner.predict(batch).tolist() == [2.25, 1.25]


def test_a_name_given_twice_counts_twice():
    learner = Learner(Squared(), NoShrinkage(), Plain(), 0.1, intercept=False)
    learner.learn(Batch.from_arrays([0, 2], [5, 5], [1, 2], [1]))
    assert learner.weights() == {"5": pytest.approx(0.6)}


def state(learner):
    return (
        learner.table.cells.copy(),
        learner.intercept,
        learner.n_steps,
        learner.weights(),
        len(learner.table.names),
    )


REFUSED = [
    (Logistic(), {"a": 1}, 0, "example 0: with Logistic a label must be -1 or 1, got 0"),
    (Hinge(), {"a": 1}, 2, "example 0: with Hinge a label must be -1 or 1, got 2"),
    (
        ClippedSquared(),
        {"a": 1},
        -1,
        "example 0: with ClippedSquared a label must be between 0 and 1, got -1",
    ),
    (Poisson(), {"a": 1}, -1, "example 0: with Poisson a label must be 0 or more, got -1"),
    (Squared(), {"a": math.nan}, 1, "example 0: the value of feature 'a' is nan, not finite"),
    (Squared(), {"a": 1}, math.inf, "example 0: the label is inf, not finite"),
]


@pytest.mark.parametrize(("loss", "features", "label", "message"), REFUSED, ids=str)
def test_bad_input_says_what_and_where_and_changes_nothing(loss, features, label, message):
    learner = Learner(loss, Truncation(0.01), Plain(), 0.1)
    learner.learn_one({"a": 1}, 1)
    before = state(learner)
    with pytest.raises(DataError) as caught:
        learner.learn_one(features, label)
    assert str(caught.value) == message
    after = state(learner)
    assert np.array_equal(before[0], after[0])
    assert before[1:] == after[1:]


def test_one_bad_label_refuses_the_whole_batch():
    learner = Learner()
    with pytest.raises(DataError, match="example 2: with Logistic a label must be -1 or 1, got 3"):
        learner.learn(Batch.from_dicts([{"a": 1}] * 4, [1, -1, 3, 1]))
    assert learner.n_steps == 0


LABELS = st.sampled_from([-1.0, 1.0, 0.0, 0.5, 2.0, -3.0])


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), ClippedSquared(), Poisson()], ids=str)
@given(st.lists(st.tuples(LABELS, st.sampled_from([0.0, 1.0])), min_size=1))
def test_the_first_label_that_counts_and_does_not_fit_is_named(loss, examples):
    label, importance = np.array(examples, np.float32).T
    fits = accepted_labels(loss)[0](label)
    unfit = [i for i in range(len(label)) if importance[i] and not fits[i]]
    batch = Batch.from_dicts([{"a": 1}] * len(label), label, importance)
    if unfit:
        with pytest.raises(DataError, match=f"^example {unfit[0]}: .* got {label[unfit[0]]:g}$"):
            Learner(loss).learn(batch)
    else:
        Learner(loss).learn(batch)


def test_a_label_that_will_not_be_learned_from_is_not_looked_at():
    Learner().learn(Batch.from_dicts([{"a": 1}], [0], [0]))


def test_a_batch_without_labels_can_be_predicted_but_not_learned_from():
    batch = Batch.from_dicts([{"a": 1}])
    assert Learner().predict(batch).tolist() == [0]
    with pytest.raises(DataError, match="the batch has no labels"):
        Learner().learn(batch)


def test_a_run_that_diverges_is_stopped_with_a_sentence():
    learner = Learner(Squared(), NoShrinkage(), Plain(), 1e3)
    examples = Batch.from_dicts([{"a": 1e3}] * 200, [1] * 200)
    with pytest.raises(
        DivergedError, match=r"example \d+: the prediction is .*; lower the rate \(it is 1000\)"
    ):
        learner.learn(examples)


def test_a_slope_too_steep_to_remember_is_told_and_not_learned_from():
    learner = Learner(Squared(), NoShrinkage(), Adaptive(), 0.3)
    with pytest.raises(DivergedError):
        learner.learn_one({"a": 1}, 3e20)
    assert learner.weights() == {}


@pytest.mark.parametrize("intercept", [False, True])
def test_an_adaptive_step_is_divided_by_the_length_of_its_example(intercept):
    learner = Learner(intercept=intercept)
    learner.learn_one({"a": 4.0, "b": 0.5}, 1)  # each is the first value, and so the unit
    first = 0.6 / math.sqrt(3) * 0.5 / (0.2 + 0.5)
    assert learner.weights() == pytest.approx({"a": first / 4, "b": first / 0.5}, rel=1e-6)
    p = learner.learn_one({"c": 1.0, "a": 3.0}, 1)
    slope = 1 / (1 + math.exp(p))
    of_a = (4**2 + 3**2) / 2  # the mean square
    step = 0.6 / math.sqrt(1 + 1 + 3**2 / of_a) * slope / (0.2 + slope)
    assert learner.weights()["c"] == pytest.approx(step, rel=1e-6)


def test_the_rate_unless_told_is_the_update_s():
    assert Learner().schedule == Schedule(0.6)
    for update, rate in ((FTRL(), 0.8), (RDA(), 1.5), (Plain(), 0.3), (Averaged(), 0.3)):
        assert Learner(update=update).schedule == Schedule(rate)


def test_the_feature_without_a_name_keeps_it():
    learner = Learner()
    learner.learn_one({"": 1}, 1)
    assert list(learner.weights()) == [""]


@pytest.mark.parametrize("n", [FIRST - 1, FIRST, FIRST + 1, WINDOW])
def test_divergence_at_the_edge_of_a_window_is_not_learned_twice(n):
    learner = Learner(Squared(), NoShrinkage(), Plain(), 1e3, intercept=False)
    learner.learn(Batch.from_dicts([{}] * (n - 30), [1] * (n - 30)))
    with pytest.raises(DivergedError):
        learner.learn(Batch.from_dicts([{"a": 1e3}] * 200, [1] * 200))


class NotALoss(NamedTuple):
    pass


CONTRADICTIONS = [
    ({"learning_rate": 0}, "learning_rate must be finite and above 0, got 0.0"),
    ({"learning_rate": math.nan}, "learning_rate must be finite and above 0, got nan"),
    (
        {"learning_rate": Schedule(0.1, power_t=-1)},
        "power_t must be finite and 0 or more, got -1.0",
    ),
    (
        {"learning_rate": Schedule(0.1, pass_decay=0)},
        "pass_decay must be finite and above 0, got 0.0",
    ),
    (
        {"learning_rate": Schedule(0.1, initial_t=0)},
        "initial_t must be finite and above 0, got 0.0",
    ),
    ({"shrinkage": Truncation(-1)}, "gravity must be 0 or more, got -1"),
    ({"shrinkage": Truncation(math.nan)}, "gravity must be 0 or more, got nan"),
    (
        {"shrinkage": Truncation(math.inf)},
        "gravity must be finite; Rounding removes weights at once",
    ),
    ({"shrinkage": Truncation(1, threshold=-1)}, "threshold must be 0 or more, got -1"),
    (
        {"shrinkage": Rounding(0.1, truncate_every=0)},
        "truncate_every must be a whole number, 1 or more, got 0",
    ),
    (
        {"shrinkage": Rounding(0.1, truncate_every=2.5)},
        "truncate_every must be a whole number, 1 or more, got 2.5",
    ),
    ({"loss": Quantile(2)}, "tau must be between 0 and 1, got 2"),
    ({"loss": Huber(-1)}, "delta must be finite and above 0, got -1"),
    ({"loss": Hinge(math.nan)}, "margin must be finite, got nan"),
    ({"update": Adaptive(beta=0)}, "beta must be from 1e-30 to 1e+30, got 0"),
    (
        {"update": Averaged(), "shrinkage": Rounding(0.1)},
        "Averaged is Theorem 3.2's mean, which knows only Truncation: got Rounding(threshold=0.1, truncate_every=1)",
    ),
    (
        {"update": Averaged(), "shrinkage": Subgradient(0.1)},
        "Averaged is Theorem 3.2's mean, which knows only Truncation: got Subgradient(gravity=0.1, truncate_every=1)",
    ),
    (
        {"update": Averaged(), "shrinkage": Truncation(0.1, truncate_every=2)},
        "Averaged is Theorem 3.2's mean, which asks for truncate_every=1 and no threshold: "
        "got Truncation(gravity=0.1, threshold=inf, truncate_every=2)",
    ),
    (
        {"update": Averaged(), "shrinkage": Truncation(0.1, threshold=1)},
        "Averaged is Theorem 3.2's mean, which asks for truncate_every=1 and no threshold: "
        "got Truncation(gravity=0.1, threshold=1, truncate_every=1)",
    ),
    (
        {"update": Averaged(), "learning_rate": Schedule(0.1, power_t=0.5)},
        "Averaged is Theorem 3.2's mean, which asks for a constant rate: "
        "got Schedule(learning_rate=0.1, power_t=0.5, initial_t=1.0, pass_decay=1.0)",
    ),
    (
        {"loss": NotALoss()},
        "NotALoss() is not a loss: NotALoss has no method value and no slope (docs/own-loss.md shows how)",
    ),
    (
        {"loss": Logistic},
        "<class 'dwindle.algorithm.losses.Logistic'> is not a loss: type has no method value and no slope "
        "(docs/own-loss.md shows how)",
    ),
    (
        {"shrinkage": Plain()},
        "Plain() is not a shrinkage: Plain has no method shrink (docs/own-loss.md shows how)",
    ),
]


@pytest.mark.parametrize(
    ("settings", "message"), CONTRADICTIONS, ids=[m for _, m in CONTRADICTIONS]
)
def test_settings_that_contradict_each_other_are_refused_by_name(settings, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        Learner(**settings)
    assert str(caught.value) == message


def test_integers_and_floats_in_a_setting_mean_the_same_and_compile_once():
    a = Learner(Hinge(margin=1), Truncation(gravity=1, threshold=2), Plain(), 1)
    a.learn(Batch.from_dicts([{"a": 1}], [1]))
    compiled = len(signatures(a))
    b = Learner(Hinge(margin=1.0), Truncation(gravity=1.0, threshold=2.0), Plain(), 1.0)
    b.learn(Batch.from_dicts([{"a": 1}], [1]))
    assert len(signatures(b)) == compiled
    assert repr(a) == repr(b)


def test_a_value_that_scaling_makes_vanish_leaves_the_weights_finite():
    learner = Learner(Logistic(), Truncation(), Adaptive(), 0.1, normalize=True)
    for _ in range(3):
        learner.learn_one({"a": 1.0, "b": 1.0, "least": 2.0**-149}, 1)
    assert np.isfinite(list(learner.weights().values())).all()
