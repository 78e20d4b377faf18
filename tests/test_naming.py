"""The names of live features: always known, whoever spells them and when; and of few others."""

import numpy as np
import pytest

from dwindle import Adaptive, Batch, Ftrl, Learner, Logistic, Truncation
from dwindle.names import Text
from dwindle.naming import FEW, SLACK
from dwindle.sketch import Distinct


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


@pytest.mark.parametrize(
    ("update", "gravity", "max_live"),
    [(Adaptive(), 0.02, None), (Adaptive(), 0.0, 3000), (Ftrl(), 1.0, 3000), (Ftrl(), 1.0, 60_000)],
    ids=str,
)
@pytest.mark.parametrize("n", [40, 2000])  # spelled at once, or by another thread
def test_every_live_feature_has_its_name_and_few_dead_ones_do(update, gravity, max_live, n):
    rng = np.random.default_rng(0)
    learner = Learner(Logistic(), Truncation(gravity), update, max_live=max_live)
    seen = Distinct()
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
