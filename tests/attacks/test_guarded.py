"""Learning kernels stay inside their arrays: these end where memory that nothing may touch begins."""

import faulthandler
import os
import signal

import numpy as np
import pytest

from attacks.guard import SUPPORTED, guarded
from dwindle import Adaptive, Averaged, Batch, Gravities, LaneLearner, Learner, Plain, Truncation
from dwindle.algorithm.dual_averaging import FTRL, RDA
from dwindle.engine import lanes, learner_state, table
from dwindle.engine.table import empty_cells

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="needs mprotect"),
    pytest.mark.slow,
]


def test_a_step_outside_ends_the_process():
    array = guarded(np.arange(10.0))
    assert array.tolist() == list(range(10))
    pid = os.fork()
    if not pid:
        faulthandler.disable()
        np.lib.stride_tricks.as_strided(array, (11,)).sum()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGSEGV


def batch(n, seed, bits):
    """Examples with names, importances and bases; keys of 32 or 64 bits."""
    rng = np.random.default_rng(seed)
    start = np.concatenate([[0], np.cumsum(rng.integers(0, 9, n))]).astype(np.int64)
    key = rng.integers(0, 400, start[-1]).astype(np.uint32 if bits == 32 else np.uint64)
    return Batch(
        start,
        key,
        rng.normal(size=start[-1]).astype(np.float32),
        rng.choice([-1, 1], n).astype(np.float32),
        rng.choice([0, 1, 2], n).astype(np.float32),
        rng.normal(size=n).astype(np.float32) if seed % 2 else None,
    )


def at_a_wall(given):
    return Batch(*(None if each is None else guarded(each) for each in given[:6]))


LEARNERS = {
    "plain": lambda: Learner(update=Plain(), shrinkage=Truncation(1e-2)),
    "adaptive": lambda: Learner(update=Adaptive(), shrinkage=Truncation(1e-3, truncate_every=3)),
    "averaged": lambda: Learner(update=Averaged(), shrinkage=Truncation(1e-3), learning_rate=0.1),
    "ftrl": lambda: Learner(update=FTRL(), shrinkage=Truncation(1e-2)),
    "rda": lambda: Learner(update=RDA(), shrinkage=Truncation(1e-2)),
    "budget": lambda: Learner(max_live=40),
    "lanes": lambda: LaneLearner(shrinkage=Gravities((0.0, 1e-3, 1e-2))),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learning_and_predicting_stay_inside_their_arrays_and_come_to_the_same_bits(
    name, monkeypatch
):
    def learned(prepare):
        learner, found = LEARNERS[name](), []
        for seed, n in enumerate((1, 30, 200, 7)):
            for bits in (64, 32) if name == "adaptive" else (64,):  # each is compiled anew
                given = prepare(batch(n, seed, bits))
                found.append(learner.learn(given).tobytes())
                found.append(learner.predict(given).tobytes())
        learner.sweep()
        key, weight = learner.weight_of_keys()
        return found, key.tobytes(), weight.tobytes()

    usual = learned(lambda given: given)
    for module in (table, lanes, learner_state):
        monkeypatch.setattr(
            module, "empty_cells", lambda update, n: guarded(empty_cells(update, n))
        )
    assert learned(at_a_wall) == usual
