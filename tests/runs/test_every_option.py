"""Every setting of the one table can be given on the command line, and is what the model says."""

import numpy as np
import pytest

from dwindle import Schedule, SettingError, Stopped, train
from dwindle.algorithm.settings import FAMILIES, LearnerSettings, options_of
from dwindle.cli.train import command
from dwindle.model.model import Model
from dwindle.runs.settings import TrainSettings
from helpers.commands import dwindle
from helpers.observing import heard

# What makes each setting a legal one, and a value that is not the default.
WITH = {
    "margin": ("--loss hinge", "0.5"),
    "tau": ("--loss quantile", "0.9"),
    "delta": ("--loss huber", "2.5"),
    "threshold": ("--gravity 0.01", "0.25"),
    "beta": ("--update ftrl", "0.5"),
    "gravity": ("", "0.01"),
    "sigmas": ("", "0.25"),
    "l2": ("--gravity 0.01", "0.001"),
    "truncate_every": ("--gravity 0.01", "7"),
    "order": ("--gravity 0.01", "after"),
    "learning_rate": ("", "0.05"),
    "power_t": ("", "0.5"),
    "initial_t": ("--power-t 0.5", "10.0"),
    "pass_decay": ("", "0.5"),
    "max_live": ("", "500"),
    "intercept": ("", None),
    "normalize": ("", None),
    "standardize": ("--loss squared", None),
    "loss": ("", "hinge"),
    "shrinkage": ("", "none"),
    "update": ("", "averaged"),
}
IN_FILES = {"sigmas": "values"}  # how a model's settings call them, if otherwise
ON = ("intercept", "standardize")  # unless told otherwise


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "a.vw"
    # Both labels in either of two folds: an AUC needs them.
    path.write_text("".join(f"{1 - 2 * (i // 2 % 2)} | w{i % 7} x:{i % 3}\n" for i in range(60)))
    return path


def test_every_setting_of_a_learner_is_tried_here():
    assert WITH.keys() == options_of(LearnerSettings).keys()


def test_the_command_has_every_setting_of_the_table():
    assert options_of(TrainSettings).keys() <= {option.name for option in command.params}


@pytest.mark.parametrize("name", WITH)
def test_a_setting_that_is_given_is_in_the_model(data, tmp_path, name):
    others, value = WITH[name]
    flag = f"--{'no-' * (name in ON)}{name.replace('_', '-')}"
    given = [flag] if value is None else [flag, value]
    dwindle("train", data, "-m", tmp_path / "m", "-q", *others.split(), *given)
    settings = Model.load(tmp_path / "m").settings
    if name in FAMILIES:
        [made] = settings[name]
        assert made == FAMILIES[name][value].__name__
    elif name == "standardize":
        assert "scale_labels" not in settings
    elif name == "order":
        assert [*settings["shrinkage"]] == ["LateTruncation"]
    elif name in settings and name != "learning_rate":
        assert settings[name] == {"intercept": False, "normalize": True, "max_live": 500}[name]
    else:
        fields = {k: v for part in settings.values() if isinstance(part, dict)
                  for each in part.values() if isinstance(each, dict)
                  for k, v in each.items()}  # fmt: skip
        assert fields[IN_FILES.get(name, name)] == ([0.25] if name == "sigmas" else float(value))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("--loss logistic --tau 0.9", "tau is a setting of loss quantile, not of logistic"),
        ("--tau 0.9", "tau is a setting of loss quantile, not of auto"),
        (
            "--shrinkage none --gravity 1",
            "gravity is a setting of shrinkage truncation or elastic-net or",
        ),
        (
            "--update plain --beta 1",
            "beta is a setting of update adaptive or centred or ftrl or rda",
        ),
        ("--shrinkage rounding", "shrinkage rounding needs a threshold"),
        ("--loss quantile --tau 1.5", "tau must be between 0 and 1, got 1.5"),
    ],
)
def test_a_setting_that_does_not_fit_is_told_in_one_line(data, tmp_path, wrong, message):
    done = dwindle("train", data, "-m", tmp_path / "m", *wrong.split(), check=False, text=True)
    assert done.returncode == 2
    told = done.stderr
    assert told.startswith(f"dwindle: {message}")
    assert len(told.splitlines()) == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "name", [name for name in WITH if name not in {"max_live", "shrinkage", "sigmas"}]
)
def test_tune_takes_it_too_and_the_command_it_prints_makes_the_same_model(data, tmp_path, name):
    others, value = WITH[name]
    flag = f"--{'no-' * (name in ON)}{name.replace('_', '-')}"
    given = [*others.split(), flag, *([] if value is None else [value])]
    small = ["--folds", "2", "--passes", "1", "--cooldown", "1", "--no-picture"]
    tried = [] if "learning" in name else ["--learning-rate", "0.1"]
    told = dwindle("tune", data, "-m", tmp_path / "m", *given, *small, *tried, text=True).stderr
    [command] = [line.split(maxsplit=1)[1] for line in told.splitlines() if line[:8] == "command "]
    again = command.replace(str(tmp_path / "m"), str(tmp_path / "n")).split()[1:]
    dwindle(*again, "-q")
    assert Model.load(tmp_path / "m").weights() == Model.load(tmp_path / "n").weights()
    assert Model.load(tmp_path / "m").settings == Model.load(tmp_path / "n").settings


def test_tune_takes_shrinkages_with_different_settings_in_one_list(data, tmp_path):
    grid = "--shrinkage truncation,rounding,subgradient --gravity 0.01 --threshold 0.1,inf"
    dwindle("tune", data, "-m", tmp_path / "m", *grid.split(), "--learning-rate", "0.1",
            "--passes", "1", "--folds", "2", "--update", "plain", "--no-picture", "-q")  # fmt: skip
    assert (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("--max-live 5 --threshold 0.1", "max_live needs"),
        ("--power-t -1", "power_t must be finite and 0 or more"),
        ("--loss quantile --tau 3", "tau must be between 0 and 1"),
        ("--shrinkage rounding", "shrinkage rounding needs a threshold"),
        ("--shrinkage auto", "shrinkage must be one of truncation"),
        ("--update plain --beta 1", "beta is a setting of update adaptive"),
    ],
)
def test_tune_refuses_settings_before_it_reads_the_data(tmp_path, wrong, message):
    (tmp_path / "bad.vw").write_text("not | a line of VW : text\n")
    data = tmp_path / "bad.vw"
    done = dwindle("tune", data, "-m", tmp_path / "m", *wrong.split(), check=False, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(f"dwindle: {message}")


@pytest.mark.parametrize(
    "wrong",
    [
        {"passes": "3"}, {"passes": None}, {"keep": "3"}, {"max_live": "3"}, {"cooldown": None},
        {"gravity": "0.1"}, {"update": "fast"}, {"shrinkage": "auto"},
        {"learning_rate": Schedule(0.1), "power_t": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_in_python_a_setting_of_the_wrong_kind_is_refused_by_name(data, tmp_path, wrong):
    with pytest.raises(SettingError, match=next(reversed(wrong))):
        train([str(data)], tmp_path / "m", TrainSettings(**wrong))


def test_what_a_resumed_run_is_not_told_is_as_it_was(data, tmp_path):
    how = TrainSettings(keep=3, skip_bad=True, gravity=1e-3, passes=2)
    for model in ("whole", "parts"):
        stop = heard(stopping=lambda model=model: model == "parts")
        try:
            train([str(data)], tmp_path / model, how, observer=stop)
        except Stopped:
            train([str(data)], tmp_path / model, resume=True, given=())
    assert len(Model.load(tmp_path / "parts")) == 3
    assert Model.load(tmp_path / "parts").weights() == Model.load(tmp_path / "whole").weights()


def test_a_numpy_integer_holds_out_examples_as_an_integer_does(data, tmp_path):
    for model, n in (("a", 10), ("b", np.int64(10))):
        train([str(data)], tmp_path / model, TrainSettings(holdout=n, passes=2))
    assert Model.load(tmp_path / "a").weights() == Model.load(tmp_path / "b").weights()
