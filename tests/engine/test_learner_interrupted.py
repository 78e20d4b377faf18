"""A learner that is copied or interrupted goes on as if it had not been."""

import json
import pickle
import signal

import numpy as np
import pytest

from dwindle import FTRL, RDA, Adaptive, Averaged, Batch, Learner, Logistic, Plain, Truncation
from dwindle.engine.learn_one import FastPath
from dwindle.engine.name_table import NameTable
from dwindle.engine.table import Table


@pytest.mark.parametrize("update", [Plain(), Adaptive(), Averaged()], ids=str)
def test_a_pickled_learner_goes_on_to_the_bit(update):
    learner = Learner(Logistic(), Truncation(0.001), update, 0.1)
    examples = [
        ({f"w{(i * i) % 997}": 1.0, f"n{i % 7}": 2.0, "3": 1}, 1 if i % 3 else -1)
        for i in range(4000)
    ]
    for features, label in examples[:2000]:
        learner.learn_one(features, label)
    copy = pickle.loads(pickle.dumps(learner))
    for each in (learner, copy):
        for features, label in examples[2000:]:
            each.learn_one(features, label)
    assert copy.weights() == learner.weights()
    assert (copy.intercept, copy.n_steps, repr(copy)) == (
        learner.intercept,
        learner.n_steps,
        repr(learner),
    )
    assert (copy.table.peak, copy.table.seen.count()) == (
        learner.table.peak,
        learner.table.seen.count(),
    )


def interrupt_before(monkeypatch, owner, name, n):
    """An interrupt comes with each n-th call of a method."""
    method, calls = getattr(owner, name), iter(range(1, 10**9))

    def interrupting(*given):
        if next(calls) % n == 0:
            signal.raise_signal(signal.SIGINT)
        return method(*given)

    monkeypatch.setattr(owner, name, interrupting)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_an_interrupt_leaves_a_learner_that_knows_how_far_it_is(monkeypatch, n):
    rng = np.random.default_rng(0)
    n_examples, nnz = 30_000, 20
    key = rng.integers(0, 5000, n_examples * nnz).astype(np.uint64)
    label = rng.choice([-1.0, 1.0], n_examples)
    batch = Batch.from_arrays(np.arange(n_examples + 1) * nnz, key, np.ones(len(key)), label)
    learner, other = (Learner(Logistic(), Truncation(1e-3), Plain(), 0.1) for _ in range(2))
    for each in (learner, other):
        each.learn(batch.rows(0, 10))
    interrupt_before(monkeypatch, learner, "_learn_from", n)  # while the kernel runs
    with pytest.raises(KeyboardInterrupt):
        learner.learn(batch.rows(10, n_examples))
    monkeypatch.undo()
    assert 10 < learner.n_steps < n_examples
    other.learn(batch.rows(10, learner.n_steps))
    assert learner.weights() == other.weights()
    assert learner.n_steps == other.n_steps
    for each in (learner, other):
        each.learn(batch.rows(0, 100))
    assert learner.weights() == other.weights()


@pytest.mark.parametrize(
    ("owner", "name", "n"),
    [
        (FastPath, "packed", 7),
        (Learner, "_make_room", 2),
        (Table, "make_room", 1),
        (Table, "sweep", 1),
        (NameTable, "expect", 1),
    ],
)
def test_an_interrupt_between_examples_leaves_no_half_learned_one(monkeypatch, owner, name, n):
    learner, other = (Learner(Logistic(), Truncation(1e-3), Plain(), 0.1) for _ in range(2))

    def example(i):
        return {f"f{(7 * i + k) % 4000}": 1.0 for k in range(30)}, (-1) ** i

    def learn():
        while learner.n_steps < 20_000:
            learner.learn_one(*example(learner.n_steps))

    interrupt_before(monkeypatch, owner, name, n)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            learn()
    monkeypatch.undo()
    assert 0 < learner.n_steps < 20_000
    for i in range(learner.n_steps):
        other.learn_one(*example(i))
    assert learner.weights() == other.weights()


@pytest.mark.parametrize("update", [Plain(), Adaptive(), Averaged(), FTRL(), RDA()], ids=str)
def test_a_learner_made_of_another_s_state_goes_on_to_the_bit(update):
    learner = Learner(Logistic(), Truncation(0.001), update, 0.1)
    half = Batch.from_dicts([{f"n^w{i % 97}": 1.0, "3": i} for i in range(500)], [1, -1] * 250)
    learner.learn(half)
    state = learner.state()
    rest = {name: value for name, value in state.items() if name not in {"cells", "names"}}
    copy = Learner.from_state(
        json.loads(json.dumps(rest)) | {"cells": state["cells"], "names": state["names"]}
    )
    for each in (learner, copy):
        each.learn(half)
        each.cooldown(3)
    assert copy.weights() == learner.weights()
    assert copy.intercept == learner.intercept
    assert pickle.dumps(copy.state()) == pickle.dumps(learner.state())
