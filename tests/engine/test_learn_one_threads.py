"""A learner that learns one example at a time: copies, threads and memory."""

import copy
import gc
import pickle
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dwindle import (
    Batch,
    DataError,
    Learner,
    NoShrinkage,
    Plain,
    Squared,
    Truncation,
)
from dwindle.algorithm.clock import FIRST


def pickled(learner):
    return pickle.loads(pickle.dumps(learner))


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled])
def test_a_copy_goes_on_alone(copied):
    learner = Learner()
    learner.learn_one({"a": 1, "b": "x"}, 1)
    other = copied(learner)
    assert other.learn_one({"a": 1}, -1) == learner.predict_one({"a": 1})
    assert len(other.weights()) == 2
    assert learner.n_steps == 1


def test_threads_that_predict_at_once_do_not_disturb_each_other():
    learner = Learner(Squared(), NoShrinkage(), Plain(), 0.1, intercept=False)
    for i in range(20):
        learner.learn_one({f"f{i}": 1}, i)
    expected = [learner.predict_one({f"f{i}": 1}) for i in range(20)]

    def work(i):
        return {learner.predict_one({f"f{i}": 1, "new": "x" * 1000}) for _ in range(300)}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(20))) == [{p} for p in expected]


def test_a_thread_that_predicts_while_another_learns_finds_a_learner_that_was_there():
    learner = Learner(Squared(), Truncation(1e-3), Plain(), 0.1, intercept=False)
    done = threading.Event()

    def look():
        found = set()
        while not done.is_set():
            found.add(learner.predict_one({"same": 1}))
        return found

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as pool:
            seen = pool.submit(look)
            between = {learner.predict_one({"same": 1})}
            for i in range(5 * FIRST):  # past several windows of the clock, in a table with room
                learner.learn_one({"same": 1, f"other{i % 50}": 1}, i % 5)
                between.add(learner.predict_one({"same": 1}))
            done.set()
            assert seen.result() <= between
    finally:
        done.set()
        sys.setswitchinterval(before)


def test_a_learner_that_is_dropped_gives_its_table_back_at_once():
    learner = Learner()
    learner.learn_one({"a": 1}, 1)
    cells = weakref.ref(learner.table.cells)
    gc.disable()
    try:
        del learner
        assert cells() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_memory_follows_the_live_features_not_the_names_ever_seen():
    """50,000 names of 1000 bytes go by, which alone would take 50 MB."""
    script = """
import resource
from dwindle import Learner, Logistic, Plain, Truncation
learner = Learner(Logistic(), Truncation(1.0), Plain(), 0.1)
def learn(i):
    learner.learn_one({f"{i} {'x' * 1000}": 1.0, "a": f"{i} {'x' * 1000}"}, 1)
for i in range(5000):
    learn(i)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for i in range(5000, 30_000):
    learn(i)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 20_000  # kB


def test_threads_that_learn_from_batches_and_single_examples_take_turns():
    learner, n = Learner(shrinkage=NoShrinkage()), 30
    batches = [
        Batch.from_dicts([{f"{t}_{i}_{j}": 1.0 for j in range(20)} for i in range(n)], [1] * n)
        for t in range(4)
    ]

    def learn(t):
        for _ in range(20):
            learner.learn(batches[t])
            for i in range(n):
                learner.learn_one({f"one{t}_{i}": 1.0}, -1)
            learner.sweep()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(learn, range(4)))
    assert learner.n_steps == 4 * 20 * 2 * n
    assert learner.table.used == np.count_nonzero(learner.table.cells["key"])
    assert len(learner) == 4 * (20 * n + n)


def test_a_name_with_half_of_a_pair_of_surrogates_is_told():
    learner = Learner()
    for features in ({"a": 1.0, "b\ud800": 2.0}, {"a": "b\ud800"}):
        for act in (lambda x: learner.learn_one(x, 1), learner.predict_one):
            with pytest.raises(DataError, match=r"example 0: the name '.*ud800' is not Unicode"):
                act(features)
    with pytest.raises(DataError, match="example 1: the name"):
        Batch.from_dicts([{"a": 1.0}, {"\ud800": 1.0}])
    learner.learn_one({"a\udc80": 1.0}, 1)  # a byte that is not UTF-8
    assert learner.n_steps == 1
