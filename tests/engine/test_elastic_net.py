"""L2 beside gravity: a flow of its own, settled lazily; test_algorithm.py compares it eagerly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import (
    FTRL,
    Adaptive,
    Averaged,
    Batch,
    ElasticNet,
    Learner,
    Logistic,
    Plain,
    Squared,
    TruncatedGradientClassifier,
    Truncation,
)
from dwindle.algorithm.shrinkage import shrink
from dwindle.model.model import Model
from helpers.commands import dwindle

weights = st.floats(-3, 3)
amounts = st.floats(0, 5)
strengths = st.floats(1e-6, 2)


@given(v=weights, a=amounts, b=amounts, l2=strengths, gravity=st.floats(0, 1))
def test_two_steps_are_one_of_their_sum(v, a, b, l2, gravity):
    net = ElasticNet(l2, gravity)
    twice = shrink(net, shrink(net, v, a, 1.0), b, 1.0)
    assert twice == pytest.approx(shrink(net, v, a + b, 1.0), rel=1e-9, abs=1e-9)


@given(v=weights, a=amounts, l2=strengths, gravity=st.floats(0, 1))
def test_it_follows_the_slope_of_its_penalty(v, a, l2, gravity):
    w, n = v, 4000
    for _ in range(n):
        moved = w - a / n * (gravity * np.sign(w) + l2 * w)
        w = moved if moved * w > 0 else 0.0
    assert shrink(ElasticNet(l2, gravity), v, a, 1.0) == pytest.approx(w, abs=2e-2)


@given(v=weights, a=amounts, gravity=st.floats(0, 1))
def test_a_small_l2_is_truncation_and_no_gravity_is_decay(v, a, gravity):
    truncated = shrink(Truncation(gravity), v, a, gravity)
    assert shrink(ElasticNet(1e-9, gravity), v, a, 1.0) == pytest.approx(truncated, abs=1e-6)
    assert shrink(ElasticNet(0.3), v, a, 1.0) == pytest.approx(v * math.exp(-0.3 * a))


def test_a_strong_l2_is_ridge_regression():
    """With squared loss (p - y)^2 the least of its mean plus l2/2 w^2 is (2 X'X/n + l2)^-1 2 X'y/n."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 3))
    y = x @ [1.0, -2.0, 0.5] + rng.normal(0, 0.1, 2000)
    rows = [dict(zip("abc", row, strict=True)) for row in x.tolist()]
    learner = Learner(Squared(), ElasticNet(l2=3.0), Plain(), 0.002, intercept=False)
    for _ in range(3):
        learner.learn(Batch.from_dicts(rows, y))
    ridge = np.linalg.solve(2 * x.T @ x / 2000 + 3.0 * np.eye(3), 2 * x.T @ y / 2000)
    found = learner.weights()
    assert [found[k] for k in "abc"] == pytest.approx(ridge.tolist(), abs=0.1)


@pytest.mark.parametrize("update", [Plain(), Adaptive(), FTRL()])
def test_more_l2_gives_smaller_weights(update):
    rng = np.random.default_rng(1)
    rows = [{f"w{j}": 1.0 for j in rng.integers(0, 30, 5)} for _ in range(500)]
    batch = Batch.from_dicts(rows, [1.0 if "w3" in row or "w7" in row else -1.0 for row in rows])
    sizes = []
    for shrinkage in (Truncation(), ElasticNet(0.1), ElasticNet(1.0), ElasticNet(10.0)):
        learner = Learner(Logistic(), shrinkage, update, 0.3)
        learner.learn(batch)
        sizes.append(sum(w * w for w in learner.weights().values()))
    assert sizes == sorted(sizes, reverse=True)


def test_the_command_line_takes_l2_and_the_model_says_so(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i % 2} | w{i % 7} x:{i % 3}\n" for i in range(60)))
    dwindle("train", tmp_path / "a.vw", "--l2", "1e-3", "-g", "1e-3", "-m", tmp_path / "m", "-q")
    told = Model.load(tmp_path / "m").settings["shrinkage"]
    assert told == {"ElasticNet": {"l2": 1e-3, "gravity": 1e-3, "truncate_every": 1}}
    assert TruncatedGradientClassifier(l2=1e-3).ingredients().shrinkage == ElasticNet(1e-3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("--l2 1e-3 --threshold 1", "threshold is a setting of shrinkage truncation or rounding"),
        ("--l2 1e-3 --shrinkage none", "l2 is a setting of shrinkage elastic-net, not of none"),
        ("--l2 1e-3 --max-live 10", "max_live needs Truncation without a threshold"),
        ("--l2 -1", "l2 must be finite and above 0, got -1.0"),
        ("--l2 1e-3 --update averaged", "Averaged is Theorem 3.2's mean, which knows only"),
    ],
)
def test_what_does_not_go_with_l2_is_refused_by_name(tmp_path, wrong, message):
    (tmp_path / "a.vw").write_text("1 | a\n0 | b\n")
    done = dwindle(
        "train", tmp_path / "a.vw", "-m", tmp_path / "m", *wrong.split(), check=False, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr


def test_averages_are_refused_in_python_too():
    with pytest.raises(ValueError, match="knows only Truncation: got ElasticNet"):
        Learner(shrinkage=ElasticNet(0.1), update=Averaged())
