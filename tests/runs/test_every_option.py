"""Every setting of the one table can be given on the command line, and is what the model says."""

import pytest

from dwindle.algorithm.settings import FAMILIES, LearnerSettings, options_of
from dwindle.cli.train import command
from dwindle.model.model import Model
from dwindle.runs.settings import TrainSettings
from helpers.commands import dwindle

# What makes each setting a legal one, and a value that is not the default.
WITH = {
    "margin": ("--loss hinge", "0.5"),
    "tau": ("--loss quantile", "0.9"),
    "delta": ("--loss huber", "2.5"),
    "threshold": ("--gravity 0.01", "0.25"),
    "beta": ("--update ftrl", "0.5"),
    "gravity": ("", "0.01"),
    "truncate_every": ("--gravity 0.01", "7"),
    "learning_rate": ("", "0.05"),
    "power_t": ("", "0.5"),
    "initial_t": ("--power-t 0.5", "10.0"),
    "pass_decay": ("", "0.5"),
    "max_live": ("", "500"),
    "intercept": ("", None),
    "normalize": ("", None),
    "loss": ("", "hinge"),
    "shrinkage": ("", "none"),
    "update": ("", "averaged"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "a.vw"
    path.write_text("".join(f"{1 - 2 * (i % 2)} | w{i % 7} x:{i % 3}\n" for i in range(60)))
    return path


def test_every_setting_of_a_learner_is_tried_here():
    assert WITH.keys() == options_of(LearnerSettings).keys()


def test_the_command_has_every_setting_of_the_table():
    assert options_of(TrainSettings).keys() <= {option.name for option in command.params}


@pytest.mark.parametrize("name", WITH)
def test_a_setting_that_is_given_is_in_the_model(data, tmp_path, name):
    others, value = WITH[name]
    flag = "--no-intercept" if name == "intercept" else "--" + name.replace("_", "-")
    given = [flag] if value is None else [flag, value]
    dwindle("train", data, "-m", tmp_path / "m", "-q", *others.split(), *given)
    settings = Model.load(tmp_path / "m").settings
    if name in FAMILIES:
        [made] = settings[name]
        assert made == FAMILIES[name][value].__name__
    elif name in settings and name != "learning_rate":
        assert settings[name] == {"intercept": False, "normalize": True, "max_live": 500}[name]
    else:
        fields = {k: v for part in settings.values() if isinstance(part, dict)
                  for each in part.values() for k, v in each.items()}  # fmt: skip
        assert fields[name] == float(value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("--loss logistic --tau 0.9", "tau is a setting of loss quantile, not of logistic"),
        ("--tau 0.9", "tau is a setting of loss quantile, not of auto"),
        ("--shrinkage none --gravity 1", "gravity is a setting of shrinkage truncation or subgr"),
        ("--update plain --beta 1", "beta is a setting of update adaptive or ftrl or rda, not of"),
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
