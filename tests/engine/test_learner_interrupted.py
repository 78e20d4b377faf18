"""A learner that is copied or interrupted goes on as if it had not been."""

import json
import pickle
import signal
import threading

import numpy as np
import pytest

from dwindle import FTRL, RDA, Adaptive, Averaged, Batch, Learner, Logistic, Plain, Truncation


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


def interrupted(learn):
    """Whether an interrupt came while it learned."""
    timer = threading.Timer(0.02, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        learn()
    except KeyboardInterrupt:
        return True
    finally:
        timer.join()
    return False


def test_an_interrupt_leaves_a_learner_that_knows_how_far_it_is():
    rng = np.random.default_rng(0)
    n, nnz = 300_000, 20
    key = rng.integers(0, 5000, n * nnz).astype(np.uint64)
    label = rng.choice([-1.0, 1.0], n)
    batch = Batch.from_arrays(np.arange(n + 1) * nnz, key, np.ones(n * nnz), label)
    learner, other = (Learner(Logistic(), Truncation(1e-3), Plain(), 0.1) for _ in range(2))
    other.learn(batch.rows(0, 10))  # compiled
    learner.learn(batch.rows(0, 10))
    assert interrupted(lambda: learner.learn(batch.rows(10, n)))
    assert 10 <= learner.n_steps < n
    other.learn(batch.rows(10, learner.n_steps))
    assert learner.weights() == other.weights()
    assert learner.n_steps == other.n_steps
    for each in (learner, other):
        each.learn(batch.rows(0, 100))
    assert learner.weights() == other.weights()


def test_an_interrupt_between_examples_leaves_no_half_learned_one():
    learner, other = (Learner(Logistic(), Truncation(1e-3), Plain(), 0.1) for _ in range(2))

    def example(i):
        return {f"f{(7 * i + k) % 4000}": 1.0 for k in range(30)}, (-1) ** i

    def learn():
        while True:
            learner.learn_one(*example(learner.n_steps))

    learner.learn_one(*example(0))
    for _ in range(20):
        assert interrupted(learn)
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
