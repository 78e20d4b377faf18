"""Whether `dwindle evaluate` says what is true."""

import json
import math
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dwindle import DataError
from dwindle.algorithm.settings import LOSSES
from dwindle.data.options import ReadOptions
from dwindle.runs.evaluate import evaluate
from dwindle.runs.metrics import accuracy, auc
from dwindle.runs.predict import predict
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle

RNG = np.random.default_rng(0)
X = RNG.normal(size=(800, 3))
SCORE = X @ [1.0, -0.5, 0.0]
LABELS = {
    "logistic": np.where(SCORE + RNG.logistic(size=800) > 0, 1, -1),
    "hinge": np.where(SCORE + RNG.logistic(size=800) > 0, 1, -1),
    "squared": 3 + 2 * SCORE + RNG.normal(size=800),
    "huber": 3 + 2 * SCORE + RNG.normal(size=800),
    "quantile": 3 + 2 * SCORE + RNG.normal(size=800),
    "poisson": RNG.poisson(np.exp(0.5 * SCORE)),
    "clipped-squared": 1 / (1 + np.exp(-SCORE)),
}
SHARES = {"positive_share", "majority_accuracy", "threshold"}
FITS = {"hinge": {"accuracy", "auc", "average_precision", "precision", "recall", "f1"} | SHARES}
CHANCES = {"log_loss", "brier_score", "calibration_error", "best_f1", "best_f1_threshold"}
FITS |= {"logistic": FITS["hinge"] | CHANCES, "quantile": {"coverage"}}


def write(path, labels, importance=None):
    lines = [
        f"{y:.6g} {'' if importance is None else importance[i]} | "
        + " ".join(f"x{j}:{v:.4f}" for j, v in enumerate(x))
        for i, (y, x) in enumerate(zip(labels, X, strict=True))
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_every_loss_has_an_evaluation():
    assert LABELS.keys() == LOSSES.keys() - {"auto"}


@pytest.mark.parametrize("name", LABELS)
def test_the_figures_are_those_that_fit_the_loss(tmp_path, name):
    data, y = write(tmp_path / "a.vw", LABELS[name]), LABELS[name].astype(np.float32)
    train([data], tmp_path / "m", TrainSettings(loss=name))
    found = evaluate(tmp_path / "m", [data])
    p = np.concatenate([part.prediction for part in predict(tmp_path / "m", [data])])
    common = {"examples", "loss_name", "loss", "best_constant_loss", "kept", "skipped"}
    assert found.keys() == common | FITS.get(name, {"rmse", "mae", "r2"})
    assert found["loss"] < found["best_constant_loss"]
    if "accuracy" in found:
        assert found["accuracy"] == np.mean((p > 0) == (y > 0))
        pairs = np.sign(p[y > 0][:, None] - p[y < 0])
        assert found["auc"] == pytest.approx(np.mean(pairs / 2 + 0.5), abs=1e-12)
    if name == "poisson":  # whose prediction is the logarithm of the mean
        assert found["rmse"] == pytest.approx(np.sqrt(np.mean((np.exp(p) - y) ** 2)))
        assert found["rmse"] < np.std(y)
    elif "rmse" in found:
        p = np.clip(p, 0, 1) if name == "clipped-squared" else p
        assert found["rmse"] == pytest.approx(np.sqrt(np.mean((p - y) ** 2)), rel=1e-6)
    if "coverage" in found:
        assert found["coverage"] == np.mean(y <= p)
        assert abs(found["coverage"] - 0.5) < 0.1


@pytest.mark.parametrize("name", ["logistic", "squared", "quantile"])
def test_an_example_of_importance_2_counts_as_two_in_every_figure(tmp_path, name):
    importance = RNG.integers(0, 4, 800)
    data = write(tmp_path / "a.vw", LABELS[name], importance)
    train([data], tmp_path / "m", TrainSettings(loss=name))
    lines = (tmp_path / "a.vw").read_text().splitlines(keepends=True)
    again = (
        line.split(" ", 2) for line, n in zip(lines, importance, strict=True) for _ in range(n)
    )
    (tmp_path / "b.vw").write_text("".join(f"{y} {rest}" for y, _, rest in again))
    weighted = evaluate(tmp_path / "m", [data])
    repeated = evaluate(tmp_path / "m", [str(tmp_path / "b.vw")])
    assert weighted.pop("examples") == np.count_nonzero(importance)
    assert repeated.pop("examples") == importance.sum()
    assert weighted.pop("loss_name") == repeated.pop("loss_name")
    assert weighted == pytest.approx(repeated, rel=1e-9)  # sums in another order


def test_one_class_has_an_accuracy_but_no_auc():
    assert math.isnan(auc([1.0, 2.0], [1, 1]))
    assert accuracy([1.0, -2.0], [1, 1]) == 0.5


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in ("logistic", "poisson", "quantile"):
        data = write(folder / f"{name}.vw", LABELS[name])
        train([data], folder / name, TrainSettings(loss=name, gravity=0.0))
    return folder


@pytest.mark.parametrize(
    ("model", "text", "message"),
    [
        ("logistic", "| x0\n| x1\n", "no labelled examples to evaluate on"),
        ("logistic", "", "no labelled examples to evaluate on"),
        ("logistic", "1 | x0\n2.5 | x1\n", r"a\.vw:2: expected a label of two classes"),
        (
            "poisson",
            "1 | x0\n-1 | x1\n",
            r"a\.vw:2: with Poisson a label must be 0 or more, got -1",
        ),
        ("poisson", "1 | x0\n1|x1\n", r"a\.vw:2: label '1' touches '\|'"),
    ],
)
def test_what_cannot_be_evaluated_is_told(models, tmp_path, model, text, message):
    (tmp_path / "a.vw").write_text(text)
    with pytest.raises(DataError, match=message):
        evaluate(models / model, [str(tmp_path / "a.vw")])


@pytest.mark.parametrize(
    ("model", "text"),
    [("logistic", "3 | x0\n"), ("quantile", '{"label": "yes", "features": {"x0": 1}}\n')],
)
def test_messages_name_no_option_that_evaluate_lacks(models, tmp_path, model, text):
    (tmp_path / "a").write_text(text)
    done = dwindle("evaluate", models / model, tmp_path / "a", check=False, text=True)
    assert done.returncode == 1
    assert "expected a" in done.stderr
    assert "--" not in done.stderr


def lines(*args):
    return dwindle("evaluate", *args, text=True).stdout.splitlines()


def test_the_lines_say_what_the_numbers_are(models, tmp_path):
    found = evaluate(models / "logistic", [str(models / "logistic.vw")])
    share = found["positive_share"]
    assert lines(models / "logistic", models / "logistic.vw") == [
        f"examples      800, {share:.2%} positive",
        f"loss          {found['loss']:.6f} logistic, the log loss",
        f"constant      {found['best_constant_loss']:.6f} is the best constant's loss",
        f"AUC           {found['auc']:.6f}",
        f"PR-AUC        {found['average_precision']:.6f} average precision, by chance {share:.6f}",
        f"Brier score   {found['brier_score']:.6f}",
        f"calibration   {found['calibration_error']:.6f} expected error, 15 bins",
        "",
        "at --threshold 0.5",
        f"accuracy      {found['accuracy']:.6f}, the commoner class has {max(share, 1 - share):.6f}",
        f"precision     {found['precision']:.6f}",
        f"recall        {found['recall']:.6f}",
        f"F1            {found['f1']:.6f}, best {found['best_f1']:.6f} "
        f"at {found['best_f1_threshold']:.4g}",
        "",
        "kept          3 features",
    ]
    (tmp_path / "one.vw").write_text("1 | x0\n1|x1\n")
    told = lines(models / "logistic", tmp_path / "one.vw", "--skip-bad")
    assert "AUC           none: one class only" in told
    assert "skipped       1 bad line" in told
    [said] = lines(models / "logistic", tmp_path / "one.vw", "--skip-bad", "--json")
    assert json.loads(said)["auc"] is None
    assert lines(models / "quantile", models / "quantile.vw")[3].startswith("coverage      0.")
    numbers = lines(models / "poisson", models / "poisson.vw")[3:6]
    assert [line.split()[0] for line in numbers] == ["RMSE", "MAE", "r2"]


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """A model of clicks, of which there are 3 %, and other clicks."""
    folder = tmp_path_factory.mktemp("rare")
    rng = np.random.default_rng(4)
    for name in ("train", "test"):
        x = rng.normal(size=(3000, 2))
        label = (x[:, 0] + rng.logistic(size=3000) > 3.8).astype(int)
        rows = zip(label, x, strict=True)
        text = (f"{y} | a:{a:.4f} b:{b:.4f}\n" for y, (a, b) in rows)
        (folder / f"{name}.vw").write_text("".join(text))
    dwindle("train", folder / "train.vw", "-m", folder / "m", "-q")
    return folder


def test_few_positives_do_not_deceive(rare):
    told = lines(rare / "m", rare / "test.vw")
    assert re.fullmatch(r"examples      3,000, [23]\.\d\d% positive", told[0])
    assert re.fullmatch(r"accuracy      0\.9\d+, the commoner class has 0\.9\d+", told[9])
    assert "accuracy says little here" in told[-2]
    assert all(len(line) <= 60 for line in told)


def test_the_threshold_is_chosen_and_the_best_one_is_named(rare):
    found = json.loads(lines(rare / "m", rare / "test.vw", "--json")[0])
    best = str(found["best_f1_threshold"])
    again = json.loads(lines(rare / "m", rare / "test.vw", "--threshold", best, "--json")[0])
    assert again["f1"] == pytest.approx(found["best_f1"])
    assert again["f1"] > found["f1"]
    assert again["recall"] > found["recall"]
    assert again["auc"] == found["auc"]
    assert f"at --threshold {0.25:g}" in lines(rare / "m", rare / "test.vw", "--threshold", 0.25)


def test_a_threshold_that_means_nothing_is_refused(rare, tmp_path):
    done = dwindle("evaluate", rare / "m", rare / "test.vw", "--threshold", 2, check=False)
    assert (done.returncode, b"from 0 to 1, got 2" in done.stderr) == (2, True)
    dwindle("train", rare / "train.vw", "-m", tmp_path / "m", "--loss", "hinge", "-q")
    done = dwindle("evaluate", tmp_path / "m", rare / "test.vw", "--threshold", 0.2, check=False)
    assert done.returncode == 2
    assert b"a threshold needs a model of two classes with probabilities" in done.stderr


def test_predictions_come_in_order_up_to_the_line_that_cannot_be_read(tmp_path):
    data = write(tmp_path / "data.vw", LABELS["logistic"])
    train([data], tmp_path / "model", TrainSettings())
    whole = [part.prediction for part in predict(tmp_path / "model", [data])]
    lines = Path(data).read_text().splitlines(keepends=True)
    lines[500] = "1 | a:b:c\n"
    bad = tmp_path / "bad.vw"
    bad.write_text("".join(lines))
    found = []
    with pytest.raises(DataError, match=r"bad.vw:501: second ':'"):
        found.extend(
            part.prediction
            for part in predict(tmp_path / "model", [str(bad)], ReadOptions(block_size=2000))
        )
    found = np.concatenate(found)
    assert len(found) > 400
    assert np.array_equal(found, np.concatenate(whole)[: len(found)])


def test_predictions_that_are_left_unfinished_leave_no_thread_and_no_open_file(tmp_path):
    data = write(tmp_path / "data.vw", LABELS["logistic"])
    train([data], tmp_path / "model", TrainSettings())
    before = set(threading.enumerate())  # some of the training's may still be about to end
    parts = predict(tmp_path / "model", [data], ReadOptions(block_size=500))
    next(parts)
    parts.close()
    begin = time.monotonic()
    while set(threading.enumerate()) - before and time.monotonic() < begin + 10:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - before
    assert not any(each.resolve() == Path(data) for each in Path("/proc/self/fd").iterdir())
