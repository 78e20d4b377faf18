"""Labels and class weights that cannot be what was meant are told, as a user meets them."""

import numpy as np
import pytest

from dwindle.estimators.classifier import TruncatedGradientClassifier
from helpers.commands import dwindle


def _train(folder, labels, *how, check=True):
    rows = [f"{label},{i % 7},{i % 3}" for i, label in enumerate(labels)]
    (folder / "a.csv").write_text("\n".join(["y,x,z", *rows, ""]))
    told = ("train", "a.csv", "-m", "m.parquet", "--label-column", "y", *how)
    return dwindle(*told, check=check, cwd=folder, text=True)


@pytest.mark.parametrize(
    ("labels", "weights"),
    [
        ((0, 1), "yes=10"),
        ((0, 1), "0=1,2=10"),
        ((-1, 1), "0=5"),
        ((1, 2), "0=5"),
        ((1, 1), "yes=2"),
    ],
)
def test_the_weight_of_a_class_that_numbers_do_not_have_is_refused(tmp_path, labels, weights):
    done = _train(tmp_path, [*labels] * 20, "--class-weight", weights, check=False)
    assert done.returncode == 2
    assert "which is none of the classes" in done.stderr


def test_a_weight_is_of_no_class_once_the_second_label_comes(tmp_path):
    done = _train(tmp_path, [1] * 20, "--class-weight", "0=5")
    assert done.returncode == 0
    more = ("train", "a.csv", "b.csv", "-m", "m.parquet", "--label-column", "y")
    (tmp_path / "b.csv").write_text("y,x,z\n-1,2,3\n")
    done = dwindle(*more, "--class-weight", "0=5", check=False, cwd=tmp_path, text=True)
    assert "class_weight names '0', which is none of the classes: -1, 1" in done.stderr


def test_a_weight_without_a_class_is_refused(tmp_path):
    done = _train(tmp_path, [0, 1] * 20, "--class-weight", "10", check=False)
    assert done.returncode == 2
    assert "expected weights like spam=5,ham=1 or balanced, got '10'" in done.stderr


def test_the_estimator_refuses_the_weight_of_another_class():
    x, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match="class_weight names 'yes', which is none of the classes"):
        TruncatedGradientClassifier(class_weight={"yes": 3}).fit(x, y)
    TruncatedGradientClassifier(class_weight={0: 1, 1: 2, 2: 3}).fit(
        x, y
    )  # a fold may lack a class


def test_rows_without_a_label_are_counted(tmp_path):
    done = _train(tmp_path, ["", 1, "", 0] * 10)
    assert "20 of 40 examples have no label, or importance 0" in done.stderr
    assert "nan" not in done.stderr
    done = _train(tmp_path, [1, 0] * 10)
    assert "no label" not in done.stderr


def test_one_class_alone_is_told_and_gravity_is_not_blamed(tmp_path):
    done = _train(tmp_path, [1] * 40)
    assert "all labels are the same: there is nothing to tell apart" in done.stderr
    assert "worse than the best constant" not in done.stderr


@pytest.mark.parametrize("how", [("--loss", "squared"), ("--class-weight", "yes=0,no=0")])
def test_data_without_a_label_that_counts_makes_no_model(how, tmp_path):
    label = ("yes", "no") if "--class-weight" in how else ("", "")
    rows = "".join(f"{label[i % 2]},{i}\n" for i in range(20))
    (tmp_path / "a.csv").write_text("label,x\n" + rows)
    done = dwindle("train", "a.csv", "-m", "m", *how, cwd=tmp_path, check=False, text=True)
    assert done.returncode == 1
    assert "a.csv: no examples to learn from" in done.stderr
    assert not (tmp_path / "m").exists()
