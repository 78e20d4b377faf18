"""``--keep N`` picks a model from a path, in every command that reads one."""

import json

import numpy as np
import pytest

from dwindle import Batch, Model, Path
from dwindle.engine.lane_scores import Choice
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.one_vs_rest import OneVsRest
from helpers.commands import dwindle
from helpers.planted_data import CLASSES, batch_of, svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A path, the models of two of its lanes, and data."""
    folder = tmp_path_factory.mktemp("path")
    (folder / "test.svm").write_text(svmlight(CLASSES[:100]))
    learner = LaneLearner(choice=Choice(tolerance=0.0))
    learner.learn(batch_of(CLASSES))
    path = Path.of(learner, {"labels": {"-1": -1, "1": 1}, "examples": 600, "seen": 40})
    path.save(folder / "path")
    path.model().save(folder / "chosen")
    path.model(keep=1).save(folder / "small")
    assert len(path.model(keep=1)) <= 1 < len(path)
    return folder


@pytest.mark.parametrize(
    "args",
    [
        ("predict", "test.svm"),
        ("predict", "test.svm", "--output-format", "csv"),
        ("evaluate", "test.svm"),
        ("explain", "test.svm", "--n", "2"),
    ],
    ids=" ".join,
)
def test_a_path_acts_as_its_chosen_model_and_keep_picks_another(folder, args):
    command, *rest = args
    as_chosen = dwindle(command, "path", *rest, cwd=folder).stdout
    assert as_chosen == dwindle(command, "chosen", *rest, cwd=folder).stdout
    picked = dwindle(command, "path", *rest, "--keep", 1, cwd=folder).stdout
    assert picked == dwindle(command, "small", *rest, cwd=folder).stdout
    assert picked != as_chosen


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "inspect"])
def test_a_file_of_one_model_has_nothing_to_keep_from(folder, command):
    data = () if command == "inspect" else ("test.svm",)
    done = dwindle(command, "chosen", *data, "--keep", 3, cwd=folder, check=False, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        "dwindle: chosen: has no lanes that keep could choose from: "
        "dwindle train --path writes them\n"
    )


def test_inspect_shows_the_frontier_and_the_weights_of_the_one_picked(folder):
    path = Path.load(folder / "path")
    said = dwindle("inspect", "path", cwd=folder, text=True).stdout
    rows = [line.split() for line in said[said.index("gravity") :].splitlines()[1:9]]
    shown = {f"{lane.loss:#.4g}": str(lane.kept) for lane in path.frontier()}
    assert all(shown[loss] in row for row in rows for loss in row if loss in shown)
    [chosen] = [row for row in rows if row[-1] == "chosen"]
    assert f"{path.frontier()[path.chosen].loss:#.4g}" in chosen
    assert "--keep N picks the best of at most N features" in said
    said = json.loads(dwindle("inspect", "path", "--keep", 1, "--json", cwd=folder).stdout)
    assert said["weights"] == Model.load(folder / "small").weights()
    assert [lane["kept"] for lane in said["frontier"]] == [lane.kept for lane in path.frontier()]


def test_inspect_shows_the_lanes_of_each_of_several_classes(tmp_path):
    learners = OneVsRest([LaneLearner() for _ in range(3)])
    rows = [{"red": 1}, {"green": 1}, {"blue": 1}] * 50
    learners.learn(Batch.from_dicts(rows, np.arange(150) % 3))
    Path.of(learners, {"classes": ["a", "b", "c"]}).save(tmp_path / "p")
    said = dwindle("inspect", "p", cwd=tmp_path, text=True).stdout
    assert said.count(" chosen") == 3
    assert "\nclass b\n" in said
    found = json.loads(dwindle("inspect", "p", "--json", cwd=tmp_path).stdout)
    assert {*found["frontier"]} == {"a", "b", "c"}


def test_a_model_that_was_chosen_shows_among_which(tmp_path):
    (tmp_path / "d.svm").write_text(svmlight(CLASSES))
    dwindle("train", "d.svm", "-m", "m", "-q", cwd=tmp_path)
    said = dwindle("inspect", "m", cwd=tmp_path, text=True).stdout
    assert said.count(" chosen") == 1
    assert "frontier" not in said
