"""The names of live features: always known, whoever spells them and when; and of few others."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dwindle import FTRL, Adaptive, Batch, Learner, Logistic, Truncation
from dwindle.engine.cardinality import DistinctCounter
from dwindle.engine.name_table import FEW, SLACK, NameTable
from dwindle.engine.short_names import LONGEST
from dwindle.features.names import Text


def name_of(key):
    return f"space\0word {key}"


def fleeting(t, n, rng):
    """A batch of n examples: of 50 features two that stay, and 20 that come once or again."""
    known = rng.integers(0, 50, (n, 2))
    once = 50 + t * n * 20 + np.arange(n * 20).reshape(n, 20)
    again = rng.integers(50, 50 + (t + 1) * n * 20, (n, 3))
    key = np.hstack([known, once, again]).astype(np.uint64)
    label = np.where(known[:, 0] < 25, 1.0, -1.0)
    names = Text.of([name_of(k) for k in key.ravel().tolist()])
    start = np.arange(n + 1) * key.shape[1]
    batch = Batch.from_arrays(start, key.ravel(), np.ones(key.size), label)
    return batch._replace(names=names)


def living(learner):
    cells = learner.table.cells
    return cells["key"][cells["key"] != 0] - np.uint64(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("update", "gravity", "max_live"),
    [(Adaptive(), 0.02, None), (Adaptive(), 0.0, 3000), (FTRL(), 1.0, 3000), (FTRL(), 1.0, 60_000)],
    ids=str,
)
@pytest.mark.parametrize("n", [40, 2000])  # spelled at once, or by another thread
def test_every_live_feature_has_its_name_and_few_dead_ones_do(update, gravity, max_live, n):
    rng = np.random.default_rng(0)
    learner = Learner(Logistic(), Truncation(gravity), update, max_live=max_live)
    seen = DistinctCounter()
    for t in range(30):
        batch = fleeting(t, n, rng)
        learner.learn(batch)
        seen.observe(batch.key)
        if t % 7 == 0:
            key = living(learner)
            assert list(learner.table.names.of(key)) == [name_of(k) for k in key.tolist()]
    learner.sweep()
    key, names = living(learner), learner.table.names
    assert list(names.of(key)) == [name_of(k) for k in key.tolist()]
    learner.sweep()
    assert len(names) <= max(2 * SLACK * len(key), FEW)
    assert n < 2000 or len(key) < 0.5 * seen.count()


def test_one_by_one_and_batches_in_turn_know_the_same_names():
    rng = np.random.default_rng(1)
    learner = Learner(Logistic(), Truncation(0.01), Adaptive(), max_live=2000)
    for t in range(20):
        learner.learn(fleeting(t, 100, rng))
        learner.learn_one({f"alone {t} {k}": 1.0 for k in range(30)}, 1)
    known = set(learner.weights())
    assert any(name.startswith("alone 19 ") for name in known)
    assert all(name.startswith(("alone ", "space^word ")) for name in known)


def test_a_list_of_names_may_be_filled_anew_after_it_was_learned_from():
    learner = Learner(Logistic(), Truncation(), Adaptive())
    names = []
    for t in range(3):
        names[:] = [f"a{t}", f"b{t}"]
        key = np.array([10 * t, 10 * t + 1], np.uint64)
        learner.learn(Batch.from_arrays([0, 2], key, [1.0, 1.0], [1.0], names=names))
    assert set(learner.weights()) == {f"{letter}{t}" for letter in "ab" for t in range(3)}


@pytest.mark.slow
def test_names_of_a_batch_learned_from_again_and_again_do_not_pile_up():
    rng = np.random.default_rng(2)
    learner = Learner(Logistic(), Truncation(), Adaptive(), max_live=2000)
    batch = fleeting(0, 1000, rng)
    for _ in range(10):
        learner.learn(batch)
    waiting = sum(len(each.key) for some in learner.table.names._unread for each in some)
    assert waiting < 10_000


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_knows_the_names_and_learns_on():
    """In a process of its own: what forks here has threads of others."""
    code = """if True:
        import os, sys
        import numpy as np
        from engine.test_name_table import fleeting, living, name_of
        from dwindle import FTRL, Learner, Logistic, Truncation
        rng = np.random.default_rng(0)
        learner = Learner(Logistic(), Truncation(1.0), FTRL(), max_live=60_000)
        for t in range(12):
            learner.learn(fleeting(t, 2000, rng))
        child = os.fork()
        learner.learn(fleeting(12, 2000, rng))
        key = living(learner)
        fine = list(learner.table.names.of(key)) == [name_of(k) for k in key.tolist()]
        if child == 0:
            os._exit(0 if fine else 1)
        sys.exit(not fine or os.waitpid(child, 0)[1] != 0)
    """
    here = str(Path(__file__).parents[1])
    run = [sys.executable, "-W", "ignore", "-c", code]
    assert subprocess.run(run, cwd=here, timeout=120, check=False).returncode == 0


def test_long_names_are_cut_short_once_all_take_too_much():
    table, keys = NameTable(most=10_000), np.arange(2**60, 2**60 + 300, dtype=np.uint64)
    names = [f"n{k}_" + "ü" * (40 if k % 2 else 3) for k in range(300)]
    for begin in range(0, 300, 10):
        part = slice(begin, begin + 10)
        table.enter(keys[part], names[part], np.arange(10))
    found = list(table.of(keys))
    short = [
        name[:12] + "…" + f"{key:016x}" for key, name in zip(keys.tolist(), names, strict=True)
    ]
    for got, name, cut in zip(found, names, short, strict=True):
        if len(name.encode()) <= LONGEST:
            assert got == name
        else:
            assert got.startswith(name[:8])
            assert got.endswith(cut[-17:])
            assert len(got.encode()) <= LONGEST
    assert table.shortens
    free = NameTable()
    free.enter(keys, names, np.arange(300))
    assert list(free.of(keys)) == names


def test_a_budget_of_features_bounds_the_bytes_of_names_and_no_weight_depends_on_it(monkeypatch):
    monkeypatch.setattr("dwindle.engine.table.LEAST", 1000)
    rows = [{f"{i % 20}_{'x' * 500}": 1.0, f"{i % 7}": 2.0} for i in range(100)]
    learners = [Learner(max_live=60), Learner()]
    for learner in learners:
        for begin in range(0, 100, 10):
            labels = [1 if i % 3 else -1 for i in range(10)]
            learner.learn(Batch.from_dicts(rows[begin : begin + 10], labels))
    bounded, free = (sorted(each.weights().items()) for each in learners)
    assert [weight for _, weight in bounded] == [weight for _, weight in free]
    assert max(len(name) for name, _ in bounded) <= LONGEST < max(len(name) for name, _ in free)
    again = Learner.from_state(learners[0].state())
    assert again.table.names.shortens
    assert again.weights() == learners[0].weights()
