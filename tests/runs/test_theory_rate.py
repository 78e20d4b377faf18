"""The learning rate of the paper's theory, from the data: in the command line and the estimators."""

import numpy as np
import pytest

from dwindle import (
    Batch,
    Logistic,
    Poisson,
    SettingError,
    Squared,
    TruncatedGradientClassifier,
    Truncation,
    certify,
)
from dwindle.model.loading import load_model
from dwindle.runs.theory import theory_rate
from helpers.commands import dwindle, told

RNG = np.random.default_rng(8)
X = RNG.normal(size=(300, 4)).round(3)
Y = X[:, 0] + 0.3 * RNG.normal(size=300) > 0
NO = Truncation()
LENGTH = (1 + (X**2).sum(axis=1)).max()


def three_digits(number):
    return float(f"{number:.3g}")


def test_it_is_one_by_the_root_of_the_steps_in_units_of_the_longest_example():
    rows = [{f"x{j}": v for j, v in enumerate(x)} for x in X.tolist()]
    batches = [Batch.from_dicts(rows[:100], [1] * 100), Batch.from_dicts(rows[100:], [1] * 200)]
    assert theory_rate(batches, Logistic()) == three_digits(1 / np.sqrt(LENGTH * 300))
    assert theory_rate(batches, Logistic(), passes=4) == three_digits(1 / np.sqrt(LENGTH * 1200))
    first = (1 + (X[:100] ** 2).sum(axis=1)).max()
    assert theory_rate(batches[:1], Squared()) == three_digits(1 / (4 * first))  # where A eta = 1
    normal = theory_rate(batches, Logistic(), normalize=True)
    assert normal == three_digits(1 / np.sqrt(LENGTH / 5 * 300))
    with pytest.raises(SettingError, match=r"Assumption 3\.1, which Poisson"):
        theory_rate(batches, Poisson())


def test_the_regret_it_promises_falls_as_the_root_of_the_steps():
    slack = []
    for n in (100, 400, 1600):
        rng = np.random.default_rng(n)
        x = rng.integers(0, 2, (n, 3)) * 2 - 1
        batch = Batch.from_dicts(
            [{f"x{j}": float(v) for j, v in enumerate(row)} for row in x], x[:, 0].astype(float)
        )
        rate = theory_rate([batch], Logistic())
        found = certify([batch], {"x0": 1.0}, loss=Logistic(), shrinkage=NO, learning_rate=rate)
        slack.append(found.right - found.comparator_loss - found.comparator_penalty)
    assert slack[0] == pytest.approx(2 * slack[1], rel=0.02)
    assert slack[1] == pytest.approx(2 * slack[2], rel=0.02)


@pytest.mark.slow
def test_the_command_line_and_the_classifier_find_the_same(tmp_path):
    data = tmp_path / "a.vw"
    data.write_text("".join(
        f"{int(y)} | " + " ".join(f"x{j}:{v}" for j, v in enumerate(x)) + "\n"
        for x, y in zip(X.tolist(), Y, strict=True)
    ))  # fmt: skip
    how = ["--update", "plain", "--gravity", "1e-4", "--passes", "3", "-l", "theory", "--model"]
    done = dwindle("train", data, *how, tmp_path / "m", text=True)
    rate = three_digits(1 / np.sqrt(LENGTH * 900))
    assert f"learning rate {rate:g}, by theory" in told(done)
    model = load_model(tmp_path / "m")
    assert model.settings["learning_rate"]["Schedule"]["learning_rate"] == rate
    estimator = TruncatedGradientClassifier(
        update="plain", gravity=1e-4, passes=3, learning_rate="theory", shuffle=False
    ).fit(X, Y, feature_names=[f"x{j}" for j in range(4)])
    assert estimator.weights() == model.weights()
    estimator.fit_file(data)
    assert estimator.weights() == model.weights()
    piped = dwindle("train", "-", *how, tmp_path / "m", stdin=data.read_bytes(), check=False)
    assert b"a pipe can be read only once" in piped.stderr


def test_where_it_cannot_be_known_it_is_refused_by_name(tmp_path):
    data = tmp_path / "a.vw"
    data.write_text("1 | a\n0 | b\n" * 10)
    done = dwindle("train", data, "-l", "theory", "-m", tmp_path / "m", check=False, text=True)
    assert done.returncode == 2
    assert "is of the paper's updates: say --update plain or averaged" in done.stderr
    with pytest.raises(SettingError, match="needs to know all the data first"):
        TruncatedGradientClassifier(update="plain", learning_rate="theory").partial_fit(
            X, Y, classes=[False, True]
        )
