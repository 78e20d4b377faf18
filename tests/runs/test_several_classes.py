"""Several classes on the command line: learned one against the rest, predicted, measured, shown."""

import json
import re

import numpy as np
import pytest

import dwindle as dw
from dwindle import Model
from dwindle.model.loading import load_model
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle

NAMES = ("cat", "dog", "owl")


def rows(n=300, seed=0):
    """(class, features as VW text) of examples whose words tell their class, mostly."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        k = int(rng.choice(3, p=[0.5, 0.3, 0.2]))
        words = [
            f"w{(k if rng.random() < 0.6 else rng.integers(3)) * 10 + rng.integers(10)}"
            for _ in range(4)
        ]
        yield k, words


def csv(n=300, seed=0):
    lines = (f"{NAMES[k]},{','.join(words)}\n" for k, words in rows(n, seed))
    return "label,a,b,c,d\n" + "".join(lines)


def vw(n=300, seed=0, label=lambda k: k + 1):
    return "".join(f"{label(k)} | {' '.join(words)}\n" for k, words in rows(n, seed))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.csv").write_text(csv())
    (tmp_path / "test.csv").write_text(csv(100, seed=1))
    (tmp_path / "train.vw").write_text(vw())
    return tmp_path


def test_text_classes_are_trained_predicted_and_measured(folder):
    done = dwindle("train", "train.csv", "-m", "m", cwd=folder, text=True)
    assert "3 classes: cat, dog, owl" in done.stderr
    assert "accuracy" in done.stderr
    said = dwindle("predict", "m", "test.csv", cwd=folder, text=True).stdout.split()
    truth = [line.split(",")[0] for line in csv(100, seed=1).splitlines()[1:]]
    accuracy = np.mean([a == b for a, b in zip(said, truth, strict=True)])
    assert accuracy > 0.7
    found = json.loads(dwindle("evaluate", "m", "test.csv", "--json", cwd=folder, text=True).stdout)
    assert found["accuracy"] == pytest.approx(accuracy)
    assert [each["class"] for each in found["classes"]] == list(NAMES)
    assert sum(map(sum, found["confusion"])) == sum(each["support"] for each in found["classes"])


def test_probabilities_have_a_column_for_each_class_and_sum_to_one(folder):
    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    out = dwindle("predict", "m", "test.csv", "--proba", cwd=folder, text=True).stdout
    chance = np.array([line.split() for line in out.splitlines()], float)
    assert chance.shape == (100, 3)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0, atol=1e-6)


def test_the_figures_are_those_of_scikit_learn(folder):
    from sklearn import metrics  # noqa: PLC0415  (only here)

    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    found = json.loads(dwindle("evaluate", "m", "test.csv", "--json", cwd=folder, text=True).stdout)
    said = dwindle("predict", "m", "test.csv", cwd=folder, text=True).stdout.split()
    out = dwindle("predict", "m", "test.csv", "--proba", cwd=folder, text=True).stdout
    chance = np.array([line.split() for line in out.splitlines()], float)
    truth = [line.split(",")[0] for line in csv(100, seed=1).splitlines()[1:]]
    assert found["confusion"] == metrics.confusion_matrix(truth, said).tolist()
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, chance), abs=1e-6)
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(truth, said, average="macro"))
    ours = [[each[name] for each in found["classes"]] for name in ("precision", "recall", "f1")]
    theirs = metrics.precision_recall_fscore_support(truth, said)[:3]
    np.testing.assert_allclose(ours, theirs)


def test_a_report_shows_the_confusion_matrix(folder):
    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    lines = dwindle("evaluate", "m", "test.csv", cwd=folder, text=True).stdout.splitlines()
    assert any(line.split() == ["cat", "dog", "owl"] for line in lines)
    assert any(line.split()[:1] == ["accuracy"] for line in lines)


def test_inspect_shows_the_heaviest_features_of_each_class(folder):
    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    shown = dwindle("inspect", "m", "--top", "2", cwd=folder, text=True).stdout
    assert [f"class {name}: intercept" in shown for name in NAMES] == [True] * 3
    found = json.loads(dwindle("inspect", "m", "--json", cwd=folder, text=True).stdout)
    assert list(found["weights"]) == list(NAMES)


@pytest.mark.parametrize(
    "options", [{"gravity": 0.0}, {"passes": 2, "gravity": 1e-3, "cooldown": 5, "keep": 7}]
)
def test_each_class_has_the_weights_of_two_classes_against_the_rest(folder, options):
    said = {"learning_rate": 0.7, "beta": 0.1, "pass_decay": 0.9}  # whose defaults are others
    settings = TrainSettings(loss="logistic", **said, **options)
    train([str(folder / "train.vw")], folder / "several", settings)
    several = load_model(folder / "several")
    assert several.classes == [1, 2, 3]
    for k, model in enumerate(several.members):
        (folder / "one.vw").write_text(vw(label=lambda c, k=k: 1 if c == k else -1))
        train([str(folder / "one.vw")], folder / "one", settings)
        one = Model.load(folder / "one")
        assert np.array_equal(one.weight, model.weight)
        assert np.array_equal(one.key, model.key)
        assert one.intercept == model.intercept


def test_whole_numbers_are_learned_as_numbers_and_this_is_said(folder):
    done = dwindle("train", "train.vw", "-m", "m", cwd=folder, text=True)
    told = "labels are whole numbers, 3 different ones at the beginning: learned as numbers; "
    assert told + "say --loss logistic to learn them as classes" in done.stderr
    assert done.stderr.count("whole numbers") == 1
    done = dwindle("train", "train.vw", "-m", "m", "--loss", "logistic", cwd=folder, text=True)
    assert "3 classes: 1, 2, 3" in done.stderr
    assert set(dwindle("predict", "m", "train.vw", cwd=folder).stdout.split()) == {b"1", b"2", b"3"}


def test_a_class_that_comes_later_is_refused_unless_it_was_named(folder):
    late = csv(300) + "emu,w1,w2,w3,w4\n"
    (folder / "late.csv").write_text(late)
    whole = dwindle("train", "train.csv", "late.csv", "-m", "m", cwd=folder, check=False, text=True)
    assert whole.returncode == 1
    assert "late.csv:302: expected a label among cat, dog, owl, got 'emu'" in whole.stderr
    assert "--classes" in whole.stderr
    named = ("--classes", "cat,dog,emu,owl")
    dwindle("train", "train.csv", "late.csv", "-m", "m", *named, cwd=folder)
    assert load_model(folder / "m").classes == ["cat", "dog", "emu", "owl"]


@pytest.mark.parametrize("gravity", [1e-4, "auto"])
def test_a_stopped_run_goes_on_to_the_bit(folder, gravity):
    class Stopping(dw.Observer):
        left = 2

        def should_stop(self):
            self.left -= 1
            return self.left == 0

    settings = TrainSettings(passes=3, gravity=gravity, holdout=5)
    paths = [str(folder / "train.csv")]
    train(paths, folder / "whole", settings)
    with pytest.raises(dw.Stopped):
        train(paths, folder / "parts", settings, observer=Stopping())
    train(paths, folder / "parts", settings, resume=True)
    whole, parts = load_model(folder / "whole"), load_model(folder / "parts")
    assert whole.metadata == parts.metadata
    for one, other in zip(whole.members, parts.members, strict=True):
        assert np.array_equal(one.weight, other.weight)
        assert one.intercept == other.intercept


def test_class_weights_are_importances(folder):
    (folder / "weighed.csv").write_text(
        "label,a,b,c,d,w\n"
        + "".join(f"{NAMES[k]},{','.join(words)},{(1, 3, 1)[k]}\n" for k, words in rows(300))
    )
    dwindle("train", "weighed.csv", "-m", "column", "--weight-column", "w", cwd=folder)
    dwindle("train", "train.csv", "-m", "option", "--class-weight", "dog=3", cwd=folder)
    for one, other in zip(
        load_model(folder / "column").members, load_model(folder / "option").members, strict=True
    ):
        assert np.array_equal(one.weight, other.weight)


def test_balanced_classes_weigh_the_same(folder):
    dwindle("train", "train.csv", "-m", "m", "--class-weight", "balanced", cwd=folder)
    count = np.bincount([k for k, _ in rows()])
    weights = ",".join(
        f"{name}={300 / 3 / n!r}" for name, n in zip(NAMES, count.tolist(), strict=True)
    )
    dwindle("train", "train.csv", "-m", "same", "--class-weight", weights, cwd=folder)
    ours, theirs = load_model(folder / "m"), load_model(folder / "same")
    assert np.array_equal(ours.members[0].weight, theirs.members[0].weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class-weight", "emu=3"], "class_weight names 'emu', which is none of the classes: cat, dog, owl"),
        (["--class-weight", "cat"], "expected weights like spam=5,ham=1 or balanced, got 'cat'"),
        (["--class-weight", "cat=-1"], "class_weight of cat must be 0 or more, got -1"),
        (["--classes", "cat"], "at least two classes are needed to tell them apart, got cat"),
        (["--classes", "cat,dog,owl", "--loss", "squared"], "learns numbers: it has no classes"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(folder, options, message):
    done = dwindle("train", "train.csv", "-m", "m", *options, cwd=folder, check=False, text=True)
    assert done.returncode == 2
    assert message in done.stderr


def test_several_classes_are_tuned(folder):
    grid = ("--folds", "2", "--learning-rate", "1.6", "--passes", "1", "--gravity", "0,1e-3")
    done = dwindle("tune", "train.csv", "-m", "m", *grid, "--no-picture", cwd=folder, text=True)
    assert "accuracy" in done.stderr
    assert load_model(folder / "m").classes == list(NAMES)
    done = dwindle(
        *("tune", "train.csv", "-m", "m", *grid, "--metric", "auc"),
        cwd=folder,
        check=False,
        text=True,
    )
    assert "metric auc is of two classes: of several there are loss, log_loss, accuracy" in (
        done.stderr
    )


def test_the_accuracy_on_the_holdout_is_told_after_each_pass_and_in_the_model(folder):
    how = ("train", "train.csv", "-m", "m", "--passes", "2", "--holdout", "5")
    said = dwindle(*how, cwd=folder, text=True).stderr
    assert "dwindle: 3 classes: cat, dog, owl\n" in said
    metadata = load_model(folder / "m").metadata
    assert f", accuracy {metadata['holdout_accuracy']:.4f}, best so far\n" in said
    assert re.search(r"last pass .*, accuracy 0\.\d+ while learning, pass 2 of 2", said)
    assert "None" not in dwindle("inspect", "m", cwd=folder, text=True).stdout


def test_long_names_above_the_confusion_matrix_are_cut_while_they_can_be_told_apart(folder):
    long = {"cat": "a" * 30, "dog": "b" * 30, "owl": "c" * 30}
    text = (folder / "train.csv").read_text()
    for name, other in long.items():
        text = text.replace(f"\n{name},", f"\n{other},")
    (folder / "long.csv").write_text(text)
    (folder / "alike.csv").write_text(text.replace("b" * 30, "a" * 29))
    for file, told in (("long", f"{'':30} {'a' * 15} {'b' * 15} {'c' * 15}\n"), ("alike", "taken")):
        dwindle("train", f"{file}.csv", "-m", "m", cwd=folder)
        assert told in dwindle("evaluate", "m", f"{file}.csv", cwd=folder, text=True).stdout


def test_balanced_weights_of_a_pipe_are_refused_since_it_is_read_once(folder):
    how = ("train", "-", "-m", "m", "--format", "csv", "--class-weight", "balanced")
    done = dwindle(*how, cwd=folder, check=False, stdin=(folder / "train.csv").read_bytes())
    assert b"a pipe can be read only once" in done.stderr


def test_balanced_weights_go_on_from_a_model_with_data_that_lacks_a_class(folder):
    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    header, *lines = (folder / "test.csv").read_text().splitlines(keepends=True)
    (folder / "few.csv").write_text(header + "".join(x for x in lines if not x.startswith("owl")))
    how = ("--start-from", "m", "--class-weight", "balanced")
    dwindle("train", "few.csv", "-m", "m", *how, cwd=folder)
    assert load_model(folder / "m").classes == list(NAMES)


def test_a_label_that_the_model_to_go_on_from_lacks_is_refused_without_naming_an_option(folder):
    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    (folder / "new.csv").write_text("label,a\ncat,w1\nemu,w2\n")
    done = dwindle(
        *("train", "new.csv", "-m", "n", "--start-from", "m"), cwd=folder, check=False, text=True
    )
    assert (
        "new.csv:3: expected a label among cat, dog, owl, got 'emu': the model knows no other"
        in (done.stderr)
    )


@pytest.mark.parametrize("weight", ["balanced", "cat=0.5,owl=3.0"])
def test_tune_weighs_classes_and_its_command_makes_the_same_model(folder, weight):
    how = ("--classes", "cat,dog,owl", "--class-weight", weight)
    grid = ("--folds", "2", "--learning-rate", "1.5", "--passes", "1", "--gravity", "0")
    done = dwindle(
        *("tune", "train.csv", "-m", "m", *how, *grid, "--no-picture"), cwd=folder, text=True
    )
    [command] = [line for line in done.stderr.splitlines() if line.startswith("command ")]
    assert f"--classes cat,dog,owl --class-weight {weight}" in command
    tuned = (folder / "m").read_bytes()
    dwindle(*command.split()[2:], cwd=folder)
    assert (folder / "m").read_bytes() == tuned


def test_models_of_several_classes_are_merged(folder):
    for name, seed in (("one", 1), ("two", 2)):
        (folder / f"{name}.csv").write_text(csv(200, seed))
        dwindle("train", f"{name}.csv", "-m", name, cwd=folder)
    dwindle("merge", "one", "two", "-m", "both", cwd=folder)
    both = load_model(folder / "both")
    assert both.classes == list(NAMES)
    dwindle("evaluate", "both", "test.csv", cwd=folder)


def test_a_model_of_several_classes_is_not_one_model_and_this_is_said(folder):
    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    with pytest.raises(dw.DataError, match=r"m: has a model for each of 3 classes: open it with"):
        Model.load(folder / "m")


def test_an_estimator_loads_what_the_command_line_trained(folder):
    dwindle("train", "train.csv", "-m", "m", cwd=folder)
    found = dw.load(folder / "m")
    assert found.classes_.tolist() == list(NAMES)
    said = dwindle("predict", "m", "test.csv", cwd=folder, text=True).stdout.split()
    import pandas as pd  # noqa: PLC0415  (only here)

    frame = pd.read_csv(folder / "test.csv").drop(columns="label")
    assert found.predict(frame).tolist() == said


def test_without_options_each_class_leaves_out_what_tells_nothing_of_it(tmp_path):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, 1500)
    lines = [
        f"{kind + 1} | w{kind if rng.random() < 0.8 else rng.integers(3)}:1 year:{rng.normal(2000, 5):.1f} "
        + " ".join(f"n{j}:1" for j in rng.choice(200, 5, replace=False))
        for kind in kinds
    ]
    (tmp_path / "train.vw").write_text("\n".join(lines) + "\n")
    told = ("train", tmp_path / "train.vw", "-m", tmp_path / "m", "--json", "--loss", "logistic")
    summary = json.loads(dwindle(*told, text=True).stdout.splitlines()[-1])
    assert set(summary["class_frontiers"]) == {"1", "2", "3"}
    for k, member in enumerate(load_model(tmp_path / "m").members):
        assert f"w{k}" in member.weights()
        assert len(member) <= 60
        [chosen] = [lane for lane in summary["class_frontiers"][f"{k + 1}"] if lane["chosen"]]
        assert chosen["kept"] == len(member)
    dense = (
        "train",
        tmp_path / "train.vw",
        "-m",
        tmp_path / "d",
        "--dense",
        "-q",
        "--loss",
        "logistic",
    )
    dwindle(*dense)
    assert all(len(member) > 190 for member in load_model(tmp_path / "d").members)
