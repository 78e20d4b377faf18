"""What is held out never touches a weight, is measured after each pass, and says when to stop."""

import gzip
import json

import numpy as np
import pytest

from dwindle import DataError, Squared
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.evaluate import evaluate
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle
from helpers.multi_pass_data import OVERFIT, TEXTS, bits, fitted, rows, vw_text
from helpers.observing import heard

pytestmark = pytest.mark.usefixtures("temporary")
TEXT = vw_text(list(rows()))


@pytest.mark.parametrize("every", [2, 7])
@pytest.mark.parametrize("passes", [1, 3])
def test_examples_held_out_never_touch_the_weights(data, tmp_path, every, passes):
    lines = data.read_bytes().splitlines(keepends=True)
    rest = [line for i, line in enumerate(lines, 1) if i % every]
    (tmp_path / "rest.vw").write_bytes(b"".join(rest))
    expected, whole = fitted([tmp_path / "rest.vw"], tmp_path / "a", passes=passes)
    # The rate is left as it is, so the last pass need not be the best: train until the best one.
    _, held = fitted([data], tmp_path / "b", passes=passes, holdout=every)
    model, _ = fitted([data], tmp_path / "b", passes=held.best_pass, holdout=every)
    if held.best_pass != passes:
        expected, whole = fitted([tmp_path / "rest.vw"], tmp_path / "a", passes=held.best_pass)
    assert bits(model) == bits(expected)
    assert model.metadata["examples"] == whole.examples == len(rest)
    assert model.metadata["loss"] == pytest.approx(whole.loss, rel=1e-12)  # summed in other batches


def test_the_holdout_is_measured_as_evaluate_does(data, tmp_path):
    (tmp_path / "held.vw").write_bytes(vw_text(list(rows(300, seed=1))))
    _, summary = fitted([data], tmp_path / "m", holdout=str(tmp_path / "held.vw"))
    found = evaluate(tmp_path / "m", [str(tmp_path / "held.vw")])
    assert summary.holdout_loss == pytest.approx(found["loss"], rel=1e-12)
    assert summary.holdout_auc == pytest.approx(found["auc"], abs=1e-4)


@pytest.mark.parametrize("form", TEXTS)
def test_a_holdout_s_file_may_have_any_format_and_be_in_any_blocks(form, tmp_path):
    given = list(rows())
    path, held = tmp_path / "train.vw", tmp_path / f"held.{form}.gz"
    path.write_bytes(vw_text(given))
    held.write_bytes(gzip.compress(TEXTS[form](given)))
    losses = {
        fitted([path], tmp_path / "m", holdout=str(held), reading=ReadOptions(block_size=size))[
            1
        ].holdout_loss
        for size in (3000, 2**21)
    }
    assert len(losses) == 1


def test_importance_weighs_the_holdout(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i % 3} | x:{i % 5}\n" for i in range(60)))
    for name, text in {
        "weighed": "1 3 | x:1\n2 1 | x:2\n1 0 | x:9\n| x:9\n",
        "repeated": "1 | x:1\n" * 3 + "2 | x:2\n",
    }.items():
        (tmp_path / name).write_text(text)
    losses = [
        fitted([tmp_path / "a.vw"], tmp_path / "m", holdout=str(tmp_path / name), loss=Squared())[
            1
        ].holdout_loss
        for name in ("weighed", "repeated")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-15)


@pytest.mark.parametrize("patience", [1, 2])
def test_a_run_ends_when_the_holdout_loss_falls_no_more_and_its_model_is_the_best(
    noise, tmp_path, patience
):
    seen = []
    training = TrainSettings(**OVERFIT, passes=50, patience=patience, keep=20)
    summary = train([str(noise)], tmp_path / "m", training, observer=heard(on_pass=seen.append))
    losses = [row.holdout_loss for row in seen]
    best = int(np.argmin(losses)) + 1
    assert [row.number for row in seen] == list(range(1, len(seen) + 1))
    assert [row.best for row in seen] == [
        loss < min(losses[:i], default=np.inf) for i, loss in enumerate(losses)
    ]
    assert (summary.best_pass, summary.passes) == (best, best + patience)
    assert 1 < best < summary.passes < 50
    assert summary.holdout_loss == min(losses)
    model = Model.load(tmp_path / "m")
    alone = TrainSettings(**OVERFIT, passes=best, keep=20)
    train([str(noise)], tmp_path / "alone", alone)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "alone").read_bytes()
    assert model.metadata["passes"] == best
    assert model.metadata["holdout_loss"] == min(losses)
    assert len(model) == summary.kept == 20
    assert {p.name for p in tmp_path.iterdir()} == {"m", "alone", "temporary"}


def test_passes_are_told_on_the_terminal_and_as_json(noise, tmp_path):
    args = ("train", noise, "-m", tmp_path / "m", "--passes", 2, "--holdout", 3)
    said = dwindle(*args).stderr.decode()
    done = dwindle(*args, "--json").stdout.splitlines()
    told = [row for row in map(json.loads, done) if "pass" in row]
    summary = json.loads(done[-1])
    figures = ["holdout_loss", "holdout_auc", "holdout_accuracy"]
    assert [list(row) for row in told] == [["pass", *figures, "best"]] * 2
    for row in told:
        best = ", best so far" if row["best"] else ""
        assert (
            f"\npass {row['pass']}: holdout loss {row['holdout_loss']:.4f}, "
            f"AUC {row['holdout_auc']:.4f}{best}\n" in said
        )
    assert (
        f"\nholdout       {summary['holdout_loss']:.6f} after pass {summary['best_pass']}, "
        f"the best of 2, AUC {summary['holdout_auc']:.4f}\n" in said
    )
    assert "holdout" not in dwindle(*args[:-2]).stderr.decode()


@pytest.mark.parametrize(
    ("holdout", "text", "message"),
    [
        ("1", "", "holdout must be a whole number, 2 or more, got 1"),
        ("10", "", "holdout (1 example in 10): no labelled examples to measure the model on"),
        ("none.vw", "", "none.vw: no such file or folder"),
        ("held.vw", "", "holdout (held.vw): no labelled examples to measure the model on"),
        ("held.vw", "| x\n", "holdout (held.vw): no labelled examples to measure the model on"),
        ("held.vw", "1|x\n", "held.vw:1: label '1' touches '|': write '1 |'"),
        (
            "held.vw",
            "1 | x\n0 | x\n",
            "held.vw:2: expected a label of two classes (-1 and 1), got 0 "
            "(say --loss squared to learn numbers, or name all classes with --classes)",
        ),
    ],
)
def test_a_holdout_that_cannot_be_is_told_in_one_line(tmp_path, holdout, text, message):
    (tmp_path / "a.vw").write_text("1 | x\n-1 | y\n" * 3)
    (tmp_path / "held.vw").write_text(text)
    args = ("train", "a.vw", "-m", "m", "--holdout", holdout, "-q", "--passes", 2)
    done = dwindle(*args, cwd=tmp_path, check=False)
    assert done.stderr.decode() == f"dwindle: {message}\n"
    assert done.returncode == (2 if holdout == "1" else 1)
    assert {p.name for p in tmp_path.iterdir()} == {"a.vw", "held.vw", "temporary"}


def test_a_label_that_does_not_fit_the_holdout_is_told_before_the_pass_is_over(data, tmp_path):
    (tmp_path / "held.vw").write_text("1 | x\n0 | x\n")
    (tmp_path / "a.vw").write_bytes(data.read_bytes() + b"nonsense\n")
    with pytest.raises(DataError, match=r"held\.vw:2: expected a label of two classes"):
        fitted([tmp_path / "a.vw"], tmp_path / "m", holdout=str(tmp_path / "held.vw"))


def test_bad_lines_of_a_holdout_s_file_are_counted(data, tmp_path):
    (tmp_path / "held.vw").write_text("1|x\n1 | x\n-1 | y\n")
    _, summary = fitted([data], tmp_path / "m", holdout=str(tmp_path / "held.vw"), skip_bad=True)
    assert summary.skipped == 1
    assert summary.bad_lines == [f"{tmp_path}/held.vw:1: label '1' touches '|': write '1 |'"]
