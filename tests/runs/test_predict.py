"""A model in use: its predictions, how good they are, and what it consists of."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from dwindle import Learner
from dwindle.model.model import Model
from helpers.commands import dwindle
from helpers.training_text import fitted, lines

UMASK = os.umask(0o022)
os.umask(UMASK)


TEXT = lines().encode()


def test_predictions_keep_the_order_and_the_tags(data, tmp_path):
    fitted([data], tmp_path)
    model = tmp_path / "m.parquet"
    scores = dwindle("predict", model, data, "--tags").stdout.decode().splitlines()
    assert [line.split()[1] for line in scores] == [f"tag{i}" for i in range(3000)]
    chances = np.array(dwindle("predict", model, data, "--proba").stdout.split(), float)
    np.testing.assert_allclose(
        chances, 1 / (1 + np.exp(-np.array([float(s.split()[0]) for s in scores]))), 1e-7
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_predicting_needs_no_column_of_labels(tmp_path, kind):
    frame = pd.DataFrame({"label": [1, -1] * 50, "hour": range(100), "ad": ["shoes", "hats"] * 50})

    def written(frame, name):
        path = tmp_path / f"{name}.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
        return path

    model = tmp_path / "m.parquet"
    dwindle("train", written(frame, "train"), "--model", model)
    labelled = dwindle("predict", model, written(frame, "test")).stdout
    assert len(labelled.splitlines()) == 100
    bare = written(frame.drop(columns="label"), "bare")
    assert dwindle("predict", model, bare).stdout == labelled
    done = dwindle("evaluate", model, bare, check=False)
    assert done.returncode == 1
    assert b"no column 'label'" in done.stderr


def test_predictions_that_fail_leave_the_earlier_file(data, tmp_path):
    model, bad, out = tmp_path / "m.parquet", tmp_path / "bad.vw", tmp_path / "out.txt"
    dwindle("train", data, "-m", model)
    bad.write_text("1 |f a\n1|f b\n")
    out.write_text("precious")
    assert dwindle("predict", model, bad, "-o", out, check=False).returncode == 1
    assert out.read_text() == "precious"
    dwindle("predict", model, data, "-o", out)
    assert out.read_bytes() == dwindle("predict", model, data).stdout


def test_a_missing_model_leaves_the_earlier_output_alone(data, tmp_path):
    (tmp_path / "out").write_text("before")
    assert (
        dwindle("predict", tmp_path / "none", data, "-o", tmp_path / "out", check=False).returncode
        == 1
    )
    assert (tmp_path / "out").read_text() == "before"


def test_a_model_saved_from_python_serves_the_command_line(data, tmp_path):
    learner = Learner()
    learner.learn_one({"a": 1}, 1)
    Model.of(learner).save(tmp_path / "m")
    assert len(dwindle("predict", tmp_path / "m", data).stdout.splitlines()) == 3000
    assert (tmp_path / "m").stat().st_mode & 0o444 == 0o444 & ~UMASK


def test_evaluate_prints_what_scikit_learn_computes(data, tmp_path):
    fitted([data], tmp_path)
    found = json.loads(dwindle("evaluate", tmp_path / "m.parquet", data, "--json").stdout)
    y = np.array([int(line.split()[0]) for line in data.read_text().splitlines()])
    p = np.array(dwindle("predict", tmp_path / "m.parquet", data, "--proba").stdout.split(), float)
    assert found["auc"] == pytest.approx(roc_auc_score(y, p), abs=1e-9)
    assert found["log_loss"] == pytest.approx(log_loss(y, p), rel=1e-6)
    assert found["accuracy"] == accuracy_score(y, np.where(p > 0.5, 1, -1))
    share = np.mean(y > 0)
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    assert found["best_constant_loss"] == pytest.approx(entropy, rel=1e-6)


def test_inspect_shows_what_pandas_reads(data, tmp_path):
    fitted([data], tmp_path)
    frame = pd.read_parquet(tmp_path / "m.parquet")
    text = dwindle("inspect", tmp_path / "m.parquet", "--top", 5).stdout.decode()
    for _, row in frame.head(5).iterrows():
        assert f"{row.namespace}^{row.feature}" in text
        assert f"{row.weight:+.6g}" in text
    said = json.loads(dwindle("inspect", tmp_path / "m.parquet", "--json").stdout)
    assert said["kept"] == len(frame)
    assert list(said["weights"].values()) == frame.weight.tolist()
