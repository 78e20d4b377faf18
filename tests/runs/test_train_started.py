"""Training goes on from an earlier model: exactly if that has the state, else from its weights."""

import json

import pytest

from dwindle import DataError, SettingError
from dwindle.data.options import ReadOptions
from dwindle.model.loading import load_model
from dwindle.model.model import Model
from dwindle.runs.observer import Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle
from helpers.observing import heard
from helpers.planted_data import CLASSES, svmlight
from helpers.stop_after import stopped_after
from helpers.training_text import lines

TEXT = lines(600).encode()
NOTE = (
    "dwindle: monday: only its weights go on, so each feature's learning rate begins anew; "
    "--save-state keeps it in the model"
)


@pytest.fixture
def days(tmp_path):
    """A file of each day, and one of both."""
    monday, tuesday = lines(600), lines(500, seed=1)
    (tmp_path / "monday.vw").write_text(monday)
    (tmp_path / "tuesday.vw").write_text(tuesday)
    (tmp_path / "both.vw").write_text(monday + tuesday)
    return tmp_path


def bits(path):
    model = Model.load(path)
    return model.weights(), model.intercept


@pytest.mark.parametrize(
    "how",
    [
        "-g 1e-4",
        "-g 1e-3 --truncate-every 7 --power-t 0.3 --keep 40",
        "--update plain -g 1e-3 --cooldown 30",
        "--update averaged -g 1e-3",
        "--update ftrl -g 1",
        "--update rda -g 1e-3",
        "-g 1e-4 --max-live 300",
        "",
        "--sigmas 0.25",
        "--sigmas 0,0.1,0.5 --update adaptive",
        "--gravity auto --update rda --keep 9",
        "--shrinkage rounding --threshold 0.01 --truncate-every 50",
    ],
)
def test_day_by_day_is_as_one_run_over_all_days_to_the_bit(days, how):
    dwindle("train", "both.vw", "-m", "both", *how.split(), "-q", cwd=days)
    dwindle("train", "monday.vw", "-m", "m", *how.split(), "--save-state", "-q", cwd=days)
    given = how.split()[how.split().index("--keep") :] if "--keep" in how else []
    given += ["--cooldown", "30"] if "--cooldown" in how else []
    dwindle("train", "tuesday.vw", "--start-from", "m", "-m", "m", *given, cwd=days)
    assert bits(days / "m") == bits(days / "both")
    found, whole = Model.load(days / "m"), Model.load(days / "both")
    assert found.settings == whole.settings
    for name in ("examples", "seen", "labels", "reading"):
        assert found.metadata[name] == whole.metadata[name]


def test_a_model_without_its_state_begins_with_its_weights_and_says_so(days):
    dwindle("train", "monday.vw", "-m", "monday", "-g", "1e-4", "-q", cwd=days)
    args = ("train", "tuesday.vw", "--start-from", "monday", "-m", "tuesday")
    said = dwindle(*args, cwd=days, text=True).stderr.splitlines()
    assert said.count(NOTE) == 1
    rows = dwindle(*args, "--json", cwd=days).stdout.splitlines()
    before = dwindle("evaluate", "monday", "tuesday.vw", "--json", cwd=days).stdout
    anew = dwindle("train", "tuesday.vw", "-m", "anew", "-g", "1e-4", "--json", cwd=days).stdout
    loss = json.loads(rows[-1])["loss"]
    assert loss < json.loads(anew.splitlines()[-1])["loss"]
    assert loss < 1.1 * json.loads(before)["loss"]
    model = Model.load(days / "tuesday")
    assert model.metadata["examples"] == 1100
    assert model.settings == Model.load(days / "monday").settings


@pytest.mark.parametrize("update", ["auto", "ftrl", "rda", "adaptive"])
def test_of_several_gravities_the_one_that_was_chosen_goes_on_in_all(tmp_path, update):
    for name, examples in (("a", CLASSES[:300]), ("b", CLASSES[300:])):
        (tmp_path / f"{name}.svm").write_text(svmlight(examples))
    how = ("--update", update, "--json")
    dwindle("train", "a.svm", "-m", "a", *how, cwd=tmp_path)
    chosen = Model.load(tmp_path / "a")
    learner = chosen.learner()
    assert learner.weights() == pytest.approx(chosen.weights(), rel=1e-3)
    assert learner.intercept == pytest.approx(chosen.intercept, rel=1e-5)
    assert learner.n_steps == 300
    anew = dwindle("train", "b.svm", "-m", "b", *how, cwd=tmp_path)
    on = dwindle("train", "b.svm", "--start-from", "a", "-m", "b", "--json", cwd=tmp_path)
    assert on.stderr == (
        b"dwindle: a: only the features that it kept go on; --save-state keeps all in the model\n"
    )
    loss = [json.loads(done.stdout.splitlines()[-1])["loss"] for done in (on, anew)]
    assert loss[0] < loss[1]
    assert Model.load(tmp_path / "b").settings == chosen.settings


def test_sums_that_a_model_of_another_update_lacks_are_asked_for(days):
    dwindle("train", "monday.vw", "-m", "m", "-g", "1e-4", "-q", cwd=days)
    how = ("--gravity", "auto", "--update", "rda", "-q")
    args = ("train", "tuesday.vw", "--start-from", "m", "-m", "n", *how)
    done = dwindle(*args, cwd=days, check=False, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "dwindle: m: dual averaging needs sums that this model lacks: train the earlier one with "
        "--save-state, or go on with --update ftrl\n"
    )


@pytest.mark.parametrize("state", [["--save-state"], []])
@pytest.mark.parametrize("how", ["-g 1e-4 --update adaptive", "--sigmas 0,0.5", "-l 0.1"])
def test_from_several_gravities_to_another_setting_the_weights_go_on(days, how, state):
    dwindle("train", "monday.vw", "-m", "m", *state, "-q", cwd=days)
    args = ("train", "tuesday.vw", "--start-from", "m", "-m", "n", *how.split(), "--json")
    rows = dwindle(*args, cwd=days).stdout.splitlines()
    anew = dwindle("train", "tuesday.vw", "-m", "o", "--json", cwd=days).stdout.splitlines()
    assert json.loads(rows[-1])["loss"] < json.loads(anew[-1])["loss"]


def test_the_weight_of_a_number_survives_its_first_value(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{3 * i} | x:{i}\n" for i in range(1, 200)))
    (tmp_path / "b.vw").write_text("300 | x:100\n")
    how = ("--loss", "squared", "--passes", 20, "-q")
    dwindle("train", "a.vw", "-m", "m", *how, cwd=tmp_path)
    before = Model.load(tmp_path / "m").weights()["x"]
    dwindle("train", "b.vw", "--start-from", "m", "-m", "m", "-q", cwd=tmp_path)
    assert Model.load(tmp_path / "m").weights()["x"] == pytest.approx(before, rel=0.1)


def test_settings_that_are_given_are_taken_and_the_others_are_the_model_s(days):
    dwindle("train", "monday.vw", "-m", "m", "-g", "1e-4", "--save-state", "-q", cwd=days)
    args = ("train", "tuesday.vw", "--start-from", "m", "-m", "n", "-l", 0.1, "-q")
    dwindle(*args, cwd=days)
    settings = Model.load(days / "n").settings
    assert settings["shrinkage"]["Truncation"]["gravity"] == 1e-4
    assert settings["learning_rate"]["Schedule"]["learning_rate"] == 0.1
    train(
        [str(days / "tuesday.vw")],
        days / "o",
        TrainSettings(learning_rate=0.1),
        start_from=days / "m",
    )
    assert bits(days / "o") == bits(days / "n")
    assert not Model.load(days / "n").state
    with pytest.raises(SettingError, match=r"trained with Logistic.*another loss cannot go on"):
        train(
            [str(days / "tuesday.vw")],
            days / "o",
            TrainSettings(loss="hinge"),
            start_from=days / "m",
        )
    done = dwindle(*args, "--interactions", "text*sign", cwd=days, check=False)
    assert done.returncode == 2
    assert b"m: its features are read as they were before: leave out --interactions" in done.stderr


def test_several_classes_go_on_day_by_day(tmp_path):
    rows = [f"{'abc'[i % 3]},{'xyz'[i % 3 if i % 5 else 0]},{i % 7}\n" for i in range(400)]
    for name, part in (("a", rows[:250]), ("b", rows[250:]), ("both", rows)):
        (tmp_path / f"{name}.csv").write_text("label,word,n\n" + "".join(part))
    how = ("-g", "1e-4", "--max-live", 30, "-q")
    dwindle("train", "both.csv", "-m", "whole", *how, cwd=tmp_path)
    dwindle("train", "a.csv", "-m", "m", *how, "--save-state", cwd=tmp_path)
    dwindle("train", "b.csv", "--start-from", "m", "-m", "m", "-q", cwd=tmp_path)
    whole, found = load_model(tmp_path / "whole"), load_model(tmp_path / "m")
    assert (found.weights(), found.intercept) == (whole.weights(), whole.intercept)
    assert found.settings == whole.settings
    named = ("--classes", "a,b")
    args = ("train", "b.csv", "--start-from", "m", "-m", "n", *named)
    done = dwindle(*args, cwd=tmp_path, check=False, text=True)
    assert done.stderr == "dwindle: m: was trained with other classes: a, b, c\n"


@pytest.mark.parametrize("state", [True, False])
def test_a_regression_goes_on_in_the_unit_of_its_labels(tmp_path, state):
    rows = [f"{1000 + 7 * (i % 13) + 3 * (i % 5)} | a:{i % 13} b:{i % 5}\n" for i in range(600)]
    for name, part in (("a", rows[:350]), ("b", rows[350:]), ("both", rows)):
        (tmp_path / f"{name}.vw").write_text("".join(part))
    dwindle("train", "both.vw", "-m", "whole", "-q", cwd=tmp_path)
    dwindle("train", "a.vw", "-m", "m", "-q", *(["--save-state"] if state else []), cwd=tmp_path)
    args = ("train", "b.vw", "--start-from", "m", "-m", "n", "--json")
    summary = json.loads(dwindle(*args, cwd=tmp_path).stdout.splitlines()[-1])
    assert summary["loss"] < 0.2 * summary["best_constant_loss"]
    assert (bits(tmp_path / "n") == bits(tmp_path / "whole")) is state


def test_a_model_of_sums_cannot_go_on_without_them(days):
    dwindle("train", "monday.vw", "-m", "m", "--update", "rda", "-g", "1e-3", "-q", cwd=days)
    with pytest.raises(
        DataError, match=r"RDA.* this model lacks: train the earlier one with --sav"
    ):
        train([str(days / "tuesday.vw")], days / "n", start_from=days / "m")


def test_labels_and_columns_mean_what_they_meant(tmp_path):
    head = "city,clicked,x\n"
    (tmp_path / "a.csv").write_text(head + "07001,1,2\n8002,0,1\n07001,1,3\n" * 20)
    (tmp_path / "b.csv").write_text(head + "7001,1,2\n8002,0,1\n" * 20)
    dwindle("train", "a.csv", "-m", "m", "--label-column", "clicked", "-q", cwd=tmp_path)
    dwindle("train", "b.csv", "--start-from", "m", "-m", "n", "-q", cwd=tmp_path)
    assert set(Model.load(tmp_path / "n").weights()) == {
        "x",
        "city=07001",
        "city=7001",
        "city=8002",
    }
    (tmp_path / "c.csv").write_text("city,clicked,x\n7001,2,2\n")
    done = dwindle("train", "c.csv", "--start-from", "m", "-m", "n", cwd=tmp_path, check=False)
    assert b"c.csv:2: expected a label of two classes (0 and 1), got 2" in done.stderr


def test_a_started_run_that_is_stopped_goes_on_to_the_same_bits(days):
    dwindle("train", "monday.vw", "-m", "m", "--save-state", "-q", cwd=days)
    how = TrainSettings(reading=ReadOptions(block_size=20_000), save_state=True)
    tuesday = [str(days / "tuesday.vw")]
    train(tuesday, days / "whole", how, start_from=days / "m")
    stopping = heard(stopping=stopped_after(3))
    with pytest.raises(Stopped):
        train(tuesday, days / "part", how, start_from=days / "m", observer=stopping)
    train(tuesday, days / "part", how, resume=True)
    assert (days / "part").read_bytes() == (days / "whole").read_bytes()


def test_the_state_changes_nothing_but_the_file_s_size(data, tmp_path):
    args = ("train", data, "-g", "1e-3", "--keep", 30, "-q")
    for how in (["--passes", "1"], ["--passes", "3", "--holdout", "5"]):
        dwindle(*args, *how, "-m", tmp_path / "plain")
        dwindle(*args, *how, "-m", tmp_path / "whole", "--save-state")
        plain, whole = (Model.load(tmp_path / name) for name in ("plain", "whole"))
        assert (bits(tmp_path / "plain"), len(plain)) == (bits(tmp_path / "whole"), len(whole))
        assert plain.metadata == whole.metadata
        assert len(whole.learner()) > 30
        shown = [dwindle("inspect", tmp_path / name).stdout for name in ("plain", "whole")]
        assert [b"--start-from goes on exactly" in text for text in shown] == [False, True]
        said = [dwindle("predict", tmp_path / name, data).stdout for name in ("plain", "whole")]
        assert said[0] == said[1]
