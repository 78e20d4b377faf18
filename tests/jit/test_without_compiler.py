"""With NUMBA_DISABLE_JIT=1 everything runs as plain Python, and comes to the same weights."""

import json
import os
import subprocess
import sys

import pytest

from dwindle.model.model import Model

COMBINATIONS = """
import json
from dwindle import *

def learned(loss, shrinkage, update, **settings):
    learner = Learner(loss, shrinkage, update, 0.1, **settings)
    examples = [
        {"a": 1.5, f"w{i % 5}": i % 4 - 1.25, f"n^{i * i % 11}": 1, "c": "red"} for i in range(60)
    ]
    labels = [1 if i % 3 else 0 if isinstance(loss, ClippedSquared | Poisson) else -1
              for i in range(60)]
    learner.learn(Batch.from_dicts(examples[:30], labels[:30]))
    learner.sweep()
    learner.next_pass()
    p = learner.learn(Batch.from_dicts(examples[30:], labels[30:])).tolist()
    if isinstance(loss, Logistic) and isinstance(update, Adaptive):
        p += [learner.learn_one(examples[0], 1), learner.predict_one({"a": 1, "none": 1})]
    learner.cooldown(2)
    return [learner.weights(), learner.intercept, p, learner.table.peak, learner.table.seen.count()]

adaptive, t1 = Adaptive(), Truncation(0.001)
runs = [
    *((loss, t1, adaptive) for loss in (
        Squared(), Logistic(), Hinge(), ClippedSquared(), Quantile(0.75), Huber(0.5), Poisson())),
    *((Squared(), s, Plain()) for s in (
        t1, Truncation(0.03, 0.2, 3), Rounding(0.05, 4), Subgradient(0.03), NoShrinkage())),
    *((Logistic(), t1, update) for update in (Plain(), Averaged(), FTRL(), RDA())),
]
found = {str(run): learned(*run) for run in runs}
found["normalized"] = learned(Logistic(), t1, adaptive, normalize=True)
found["budget"] = learned(Logistic(), t1, adaptive, max_live=12)
found["certificate"] = certify(
    [Batch.from_dicts([{"a": 1}, {"b": 2}] * 9, [1, -1] * 9)], {"a": 1, "b": -1},
    loss=Logistic(), shrinkage=t1, learning_rate=0.1,
)
print(json.dumps(found))
"""


def run(code, *, jit):
    environment = os.environ | {"NUMBA_DISABLE_JIT": "01"[not jit]}
    done = subprocess.run(
        [sys.executable, "-W", "error", *code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def close(found, expected):
    """The same, but for the last bits of numbers."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    else:
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-13)


@pytest.mark.slow
def test_python_and_machine_code_learn_the_same():
    found, expected = (json.loads(run(["-c", COMBINATIONS], jit=jit)) for jit in (False, True))
    assert len(expected) == 19
    close(found, expected)


LANES = """
import json
from dwindle import *
from dwindle.algorithm.sigmas import AUTOMATIC, Gravities, Sigmas
from dwindle.engine.lanes import LaneLearner

def learned(loss, update, shrinkage, **settings):
    learner = LaneLearner(loss, shrinkage, update, 0.5, **settings)
    examples = [
        {"a": 1.5, f"w{i % 5}": i % 4 - 1.25, f"n^{i * i % 11}": 1, "c": "red"} for i in range(24)
    ]
    batch = Batch.from_dicts(examples, [1 if i % 3 else -1 for i in range(24)])
    p = learner.learn(batch.rows(0, 16)).tolist()
    learner.sweep()
    learner.next_pass()
    p += learner.learn(batch.rows(16, 24)).tolist() + [learner.learn_one(examples[0], 1)]
    learner.cooldown(2)
    frontier = [list(lane[2:4]) for lane in learner.frontier()]
    lanes = [learner.weight_of_keys(k)[1].tolist() for k in range(learner.n_lanes)]
    return [lanes, learner.intercept, p, frontier, learner.lane, learner.table.used]

found = {
    "ftrl": learned(Logistic(), FTRL(), AUTOMATIC),
    "rda": learned(Squared(), RDA(), Sigmas(truncate_every=3), normalize=True),
    "adaptive": learned(Logistic(), Adaptive(), Sigmas(threshold=0.5), max_live=12),
    "plain": learned(Hinge(), Plain(), Gravities((0.0, 0.01, 0.1))),
}
print(json.dumps(found))
"""


@pytest.mark.slow
def test_python_and_machine_code_learn_the_same_lanes_to_the_bit():
    """Rows are rounded after each operation; of single numbers, exp may differ by its last bit."""
    found, expected = (json.loads(run(["-c", LANES], jit=jit)) for jit in (False, True))
    assert found["plain"] == expected["plain"]
    assert found["adaptive"] == expected["adaptive"]
    assert found == expected


LINES = """\
1 |a price:0.23 sqft:.25 age:.05 2006
-1 2 'tag |a price:0.18 sqft:0.15 1976 |b long_name_of_a_feature:12345.678901 x
1 |a price:1e-3 sqft:-0.32 |b x y z:3
-1 0.5 |b x:2 y \N{LATIN SMALL LETTER E WITH ACUTE}
"""


@pytest.mark.slow
def test_the_command_trains_from_text_without_a_compiler(tmp_path):
    data = tmp_path / "data.vw"
    data.write_text(20 * LINES, encoding="utf-8")
    for jit in (False, True):
        model = str(tmp_path / f"{jit}.parquet")
        options = ["--passes", "2", "--gravity", "1e-4", "--quiet", "--interactions", "a*b"]
        run(["-m", "dwindle", "train", str(data), "--model", model, *options], jit=jit)
    found, expected = (Model.load(tmp_path / f"{jit}.parquet") for jit in (False, True))
    assert found.names == expected.names
    close(found.weights(), expected.weights())
    assert len(found) > 10
