"""One example at a time is the same as a batch of one, to the bit, and as strict."""

import gc
import math
import types
from collections import Counter, OrderedDict, UserDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import typeof

from dwindle import (
    Adaptive,
    Averaged,
    Batch,
    DataError,
    DivergedError,
    Hinge,
    Learner,
    Logistic,
    NoShrinkage,
    Plain,
    Poisson,
    Rounding,
    Schedule,
    Squared,
    Truncation,
)
from dwindle.algorithm.clock import WINDOW
from dwindle.engine.learn_one import JOINED, NUMBERS
from dwindle.jit.kinds import Packed as PackedType

LEARNERS = [
    lambda: Learner(Logistic(), Truncation(0.01), Adaptive(), 0.3),
    lambda: Learner(Logistic(), Truncation(0.01, truncate_every=3), Plain(), 0.1, normalize=True),
    lambda: Learner(Hinge(), Rounding(0.05), Plain(), Schedule(0.1, power_t=0.5), intercept=False),
    lambda: Learner(Logistic(), Truncation(0.01), Averaged(), 0.1),
]

names = st.text(max_size=6) | st.sampled_from(
    ["0", "12", "012", "é", "a=b", "\udc80", "18446744073709551615"]
)
numbers = (
    st.floats(-1e3, 1e3)
    | st.integers(-(10**6), 10**6)
    | st.booleans()
    | st.sampled_from([0, 0.0, -0.0, 1e-50, 2**53, 2**53 + 1, 2**60 + 1, 3e38])
    | st.floats(-9, 9, width=32).map(np.float32)
    | st.integers(-9, 9).map(np.int16)
)
features = st.dictionaries(names, numbers | st.text(max_size=5), max_size=8)
examples = st.tuples(
    features, st.sampled_from([-1, 1, True, 1.0, np.int64(-1)]), st.sampled_from([1.0, 2, 0, 0.5])
)


def state(learner):
    _, weight = learner.table.weights()
    cells = learner.table.cells
    return (
        cells.tobytes(),
        learner.bias.tobytes(),
        list(learner.table.names.of(cells["key"][cells["key"] != 0] - np.uint64(1))),
        weight.tolist(),
        learner.n_steps,
        learner.table.peak,
        learner.table.seen.count(),
    )


def first_of(do, make_batch):
    return do(make_batch())[0]


@pytest.mark.slow
@pytest.mark.parametrize("make", LEARNERS)
@settings(max_examples=40)
@given(stream=st.lists(examples, max_size=12))
@example(stream=[({"a": 0.5, "b": "red", "b=red": 2}, 1, 1.0)])
def test_one_by_one_is_a_batch_to_the_bit(make, stream):
    one_by_one, batched = make(), make()
    for x, label, importance in stream:
        batch = partial(Batch.from_dicts, [x], [label], [importance])
        learned = outcome(partial(one_by_one.learn_one, x, label, importance))
        assert learned == outcome(partial(first_of, batched.learn, batch))
        predicted = outcome(partial(one_by_one.predict_one, x))
        assert predicted == outcome(partial(first_of, batched.predict, batch))
        assert state(one_by_one) == state(batched)


def outcome(work):
    """What it comes to, or what it says when it refuses."""
    try:
        return repr(float(work()))
    except (DataError, DivergedError) as error:
        return str(error)


@pytest.mark.slow
def test_a_long_stream_sweeps_grows_and_winds_the_clock_alike():
    rng = np.random.default_rng(0)
    stream = [
        ({f"word {j}": 1.0 for j in rng.integers(0, 20_000, 5)}, rng.choice([-1.0, 1.0]))
        for _ in range(WINDOW + 100)
    ]
    one_by_one, batched = (Learner(Logistic(), Truncation(2e-3), Adaptive(), 0.3) for _ in range(2))
    for x, label in stream:
        one_by_one.learn_one(x, label)
    batched.learn(Batch.from_dicts([x for x, _ in stream], [label for _, label in stream]))
    assert len(one_by_one.table.cells) > 1024
    assert state(one_by_one) == state(batched)


def test_names_of_every_length_have_the_keys_of_a_batch():
    learner, other = Learner(), Learner()
    texts = [letter * n for n in range(40) for letter in "aé7"]
    for features in (dict.fromkeys(texts, 1.0), {name: name[::2] for name in texts}):
        learner.learn_one(features, 1)
        other.learn(Batch.from_dicts([features], [1]))
    assert state(learner) == state(other)


def test_what_happens_between_two_examples_is_noticed():
    one_by_one, batched = (Learner(learning_rate=Schedule(0.3, pass_decay=0.5)) for _ in range(2))
    many = Batch.from_dicts([{f"{i} {j}": 1.0 for j in range(9)} for i in range(99)], [1] * 99)
    for happens in (
        lambda learner: learner.learn(many),
        lambda learner: learner.cooldown(1000),
        lambda learner: learner.next_pass(),
        lambda learner: learner.sweep(),
        lambda learner: learner.table.make_room(10_000),
        lambda learner: learner.__setstate__(learner.__getstate__()),
        lambda learner: learner.table.names.expect(5000),
    ):
        x = {"a": 0.5, "b": "red", f"new {batched.n_steps}": 2.0}
        one_by_one.learn_one(x, 1)
        batched.learn(Batch.from_dicts([x], [1]))
        happens(one_by_one)
        happens(batched)
        assert one_by_one.predict_one(x) == batched.predict(Batch.from_dicts([x]))[0]
        assert state(one_by_one) == state(batched)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_an_example_may_have_any_number_of_features(n):
    learner = Learner()
    learner.learn_one({f"f{i}": 1.0 for i in range(n)}, 1)
    assert len(learner) == n
    assert Learner().predict_one({f"f{i}": 1.0 for i in range(n)}) == 0
    assert set(learner.weights()) == {f"f{i}" for i in range(n)}


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_every_kind_of_number_is_taken_without_making_a_batch(kind, monkeypatch):
    learner, other = Learner(), Learner()
    other.learn(Batch.from_dicts([{"a": kind(1), "b": "x"}], [kind(1)], [kind(1)]))
    monkeypatch.setattr(Batch, "from_dicts", None)
    learner.learn_one({"a": kind(1), "b": "x"}, kind(1), kind(1))
    assert state(learner) == state(other)


@pytest.mark.parametrize(
    "features",
    [
        Counter("abba"),
        defaultdict(int, {"a": 1, "b": 2}),
        OrderedDict([("a", 1), ("b", 2)]),
        UserDict({"a": 1, "b": 2}),
        {"a": "x" * JOINED, "b": 2},
        {"a": np.str_("x"), "b": 2},
        {"a": np.longdouble(1), "b": 2},
    ],
    ids=lambda f: type(f).__name__,
)
def test_every_mapping_is_taken(features):
    learner, other = Learner(), Learner()
    learner.learn_one(features, 1)
    other.learn(Batch.from_dicts([features], [1]))
    assert len(learner) == 2
    assert state(learner) == state(other)


REFUSED = [
    ({"a": math.nan}, 1, 1.0, "example 0: the value of feature 'a' is nan, not finite"),
    (
        {"a": 1e39},
        1,
        1.0,
        "example 0: the value of feature 'a' is 1e+39, too large for single precision",
    ),
    ({"a": None}, 1, 1.0, "example 0: feature 'a' must be a number or a string, got None"),
    (
        {"a": Decimal(1)},
        1,
        1.0,
        "example 0: feature 'a' must be a number or a string, got Decimal('1')",
    ),
    (
        {"a": Fraction(1, 2)},
        1,
        1.0,
        "example 0: feature 'a' must be a number or a string, got Fraction(1, 2)",
    ),
    ({"a": 1, 2: 1}, 1, 1.0, "example 0: a feature's name must be a string, got 2 (write '2')"),
    ([("a", 1)], 1, 1.0, "example 0: expected a dict of name: value, got list"),
    ({"a": 1}, 0, 1.0, "example 0: with Logistic a label must be -1 or 1, got 0"),
    ({"a": 1}, False, 1.0, "example 0: with Logistic a label must be -1 or 1, got 0"),
    ({"a": 1}, math.nan, 1.0, "example 0: the label is nan, not finite"),
    (
        {"a": 1},
        1,
        -1.0,
        "example 0: importance must be 0 or more, got -1.0 (0 learns nothing from it)",
    ),
    ({"a": 1}, 1, math.inf, "example 0: the importance is inf, not finite"),
    ({"a": 1}, "yes", 1.0, "expected one row of numbers, got <U3 (1,)"),
]


@pytest.mark.parametrize(
    ("x", "label", "importance", "message"), REFUSED, ids=[m for *_, m in REFUSED]
)
def test_what_a_batch_refuses_is_refused_and_changes_nothing(x, label, importance, message):
    learner = Learner()
    learner.learn_one({"a": 1}, 1)
    before = state(learner)
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            learner.learn_one(x, label, importance)
        assert str(caught.value) == message
    assert state(learner) == before


def test_a_label_that_was_not_looked_at_is_not_taken_for_fitting():
    learner = Learner()
    learner.learn_one({"a": 1}, 7, 0)
    with pytest.raises(DataError, match="a label must be -1 or 1, got 7"):
        learner.learn_one({"a": 1}, 7)


def test_labels_that_fit_are_not_remembered_for_ever():
    learner = Learner(Poisson(), NoShrinkage(), Plain(), 1e-9)
    for count in range(1000):
        learner.learn_one({"a": 1}, count)
    assert len(learner._fast.labels) <= 64


def test_a_run_that_diverges_one_by_one_is_stopped_with_a_sentence():
    learner = Learner(Squared(), NoShrinkage(), Plain(), 1e3)

    def learn():
        for _ in range(200):
            learner.learn_one({"a": 1e3}, 1)

    with pytest.raises(DivergedError, match=r"example 0: the prediction is .*; lower the rate"):
        learn()


def test_classes_of_the_same_name_and_fields_are_not_taken_for_each_other():
    def one():
        class Same(NamedTuple):
            x: float

        return Same(1.0)

    this, other = one(), one()
    assert str(typeof(this)) == str(typeof(other))
    assert PackedType(typeof(this)) == PackedType(typeof(this)) != PackedType(typeof(other))


def test_probabilities_are_the_logistic_of_the_prediction():
    learner = Learner()
    learner.learn_one({"a": 1}, 1)
    p = learner.predict_one({"a": 1})
    chance = learner.predict_proba_one({"a": 1})
    assert chance.keys() == {-1, 1}
    assert chance[1] == pytest.approx(1 / (1 + math.exp(-p)))
    assert sum(chance.values()) == 1
    with pytest.raises(
        DataError,
        match="probabilities need a loss of two classes with a link, as Logistic; not Squared",
    ):
        Learner(Squared()).predict_proba_one({"a": 1})


def test_an_integer_beyond_all_floats_is_refused_and_changes_nothing():
    learner = Learner(Logistic(), Truncation(), Plain(), 0.1)
    learner.learn_one({"a": 1}, 1)
    before = learner.weights(), learner.n_steps, learner.table.used
    for ask in (lambda x: learner.learn_one(x, 1), learner.predict_one):
        with pytest.raises((DataError, OverflowError)):
            ask({"big": 10**400, "b": 1})
    assert (learner.weights(), learner.n_steps, learner.table.used) == before


def test_a_learner_does_not_refer_to_compiled_code():
    """Else tools that measure an object by all it refers to would walk through all of Numba."""
    learner = Learner(Logistic(), Truncation(0.01), Plain(), 0.1)
    learner.learn_one({"a": 1.0}, 1)
    learner.predict_one({"a": 1.0})
    seen, waiting = set(), [learner]
    while waiting:
        waiting = [
            each
            for each in gc.get_referents(*waiting)
            if id(each) not in seen
            and not isinstance(each, type | types.ModuleType | types.FunctionType)
        ]
        seen |= set(map(id, waiting))
        assert not [each for each in waiting if type(each).__module__.startswith("numba")]
