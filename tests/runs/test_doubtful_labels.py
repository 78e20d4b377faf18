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


def test_evaluate_and_inspect_say_what_classes_weighed(tmp_path):
    _train(tmp_path, [0, 0, 0, 1] * 10, "--class-weight", "balanced")
    done = dwindle("evaluate", "m.parquet", "a.csv", cwd=tmp_path, text=True)
    assert "class weights 0=0.6667, 1=2 in training" in done.stdout
    done = dwindle("inspect", "m.parquet", cwd=tmp_path, text=True)
    assert "class weight  0=0.666667, 1=2" in done.stdout


def test_whole_numbers_that_are_classes_have_no_point(tmp_path):
    x, y = np.eye(3), np.array([1.0, 2.0, 3.0])
    TruncatedGradientClassifier().fit(x, y).save(tmp_path / "m.parquet")
    (tmp_path / "a.svm").write_text("1 1:1\n2 2:1\n3 3:1\n")
    done = dwindle("evaluate", "m.parquet", "a.svm", "--allow-unknown", cwd=tmp_path, text=True)
    assert "1.0 " not in done.stdout.replace("1.0000", "")
    (tmp_path / "a.svm").write_text("4 1:1\n")
    done = dwindle("evaluate", "m.parquet", "a.svm", check=False, cwd=tmp_path, text=True)
    assert "expected a label among 1, 2, 3, got 4:" in done.stderr


def test_a_hinge_model_is_not_told_to_choose_a_threshold(tmp_path):
    _train(tmp_path, [0] * 59 + [1], "--loss", "hinge")
    done = dwindle("evaluate", "m.parquet", "a.csv", cwd=tmp_path, text=True)
    assert "Look at PR-AUC, precision and recall." in done.stdout


@pytest.mark.parametrize("option", ["--drop", "--categorical"])
def test_the_label_is_no_column_to_say_the_kind_of(tmp_path, option):
    done = _train(tmp_path, [0, 1] * 5, option, "y", check=False)
    assert "a.csv: column 'y' is the label, the weight or the name of rows" in done.stderr


def test_classes_share_the_budget(tmp_path):
    how = ("--loss", "logistic", "--max-live")
    done = _train(tmp_path, [1, 2, 3] * 5, *how, "3", check=False)
    assert "more than max_live = 1 (of several classes, the share of each)" in done.stderr
    done = _train(tmp_path, [1, 2, 3] * 5, *how, "2", check=False)
    assert "max_live is shared by the classes: expected 3 or more, got 2" in done.stderr


def test_what_is_kept_of_several_classes_are_weights(tmp_path):
    _train(tmp_path, [1, 2, 3] * 5, "--loss", "logistic", "--dense")
    done = dwindle("merge", "m.parquet", "m.parquet", "-m", "n", cwd=tmp_path, text=True)
    assert "6 weights of 3 classes kept" in done.stderr


def test_a_share_to_hold_out_is_told_as_a_number(tmp_path):
    done = _train(tmp_path, [0, 1] * 5, "--holdout", "0.1", check=False)
    assert "got 0.1: 10 holds out every 10th example" in done.stderr


def test_a_model_cannot_go_on_with_another_loss(tmp_path):
    _train(tmp_path, ["no", "yes"] * 5)
    how = ("--start-from", "m.parquet", "--loss", "squared")
    done = _train(tmp_path, ["no", "yes"] * 5, *how, check=False)
    assert "m.parquet: was trained with Logistic(), and another loss cannot go on" in done.stderr


def test_a_search_by_accuracy_says_so_where_it_says_little(tmp_path):
    _train(tmp_path, ([0] * 19 + [1]) * 5)
    how = ("--label-column", "y", "--learning-rate", "0.1", "--gravity", "0", "--no-picture")
    how += ("--passes", "1", "--pass-decay", "1", "--cooldown", "0", "--folds", "2")
    how += ("--metric", "accuracy")
    tune = ("tune", "a.csv", "-m", "m.parquet", *how)
    done = dwindle(*tune, "--metric", "accuracy", cwd=tmp_path, text=True)
    assert "accuracy says little: the commoner class has 95.00% of the examples" in done.stderr
    done = dwindle(*tune, "--metric", "average_precision", cwd=tmp_path, text=True)
    assert "says little" not in done.stderr
