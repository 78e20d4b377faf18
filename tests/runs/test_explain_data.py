"""`dwindle explain`: the features of an example, and what each adds to its prediction."""

import json

import numpy as np
import pytest

from dwindle import SettingError, explain
from dwindle.runs.predict import predict
from helpers.commands import dwindle

LINES = [
    f"{i % 3} 'id{i} |w a{i % 3} b{i % 5} c{i % 7} d{i % 11} |n x:{i % 4}\n" for i in range(300)
]
TASKS = {"two": ("--drop", "n"), "several": (), "numbers": ("--loss", "squared")}


@pytest.fixture(scope="module", params=TASKS)
def case(request, tmp_path_factory):
    """The name of a task, and a folder with its data and model."""
    folder = tmp_path_factory.mktemp("case")
    lines = [line for line in LINES if request.param != "two" or line[0] != "2"]
    (folder / "a.vw").write_text("".join(lines))
    how = () if request.param == "numbers" else ("--loss", "logistic")
    dwindle("train", "a.vw", "-m", "m", "-q", "--dense", *how, *TASKS[request.param], cwd=folder)
    return request.param, folder


def test_the_numbers_add_up_to_what_predict_says(case):
    name, folder = case
    data = [str(folder / "a.vw")]
    [scores] = predict(folder / "m", data, kind="score")
    found = list(explain(folder / "m", data, n=20))
    assert len(found) == 20
    for i, each in enumerate(found):
        why = each.explanation
        assert why.prediction == pytest.approx(why.intercept + sum(why.contributions.values()))
        expected = scores.prediction[i]
        assert why.prediction == pytest.approx(np.max(expected))  # of the class that is predicted
        assert each.id == scores.tags[i]
        assert each.place == f"{data[0]}:{i + 1}"
        assert (each.label is None, each.probability is None) == (name == "numbers",) * 2


def test_json_is_a_line_for_each_example_with_all_its_features(case):
    name, folder = case
    args = ("explain", "m", "a.vw", "--n", 3, "--top", 1, "--json")
    told = [json.loads(line) for line in dwindle(*args, cwd=folder).stdout.splitlines()]
    assert [each["place"] for each in told] == ["a.vw:1", "a.vw:2", "a.vw:3"]
    for each in told:
        assert each["score"] == pytest.approx(
            each["intercept"] + sum(each["contributions"].values())
        )
        assert any(name.startswith("w^a") for name in each["contributions"])
    if name != "numbers":
        labels = dwindle("predict", "m", "a.vw", "--label", cwd=folder, text=True).stdout.split()
        assert [float(each["label"]) for each in told] == [float(label) for label in labels[:3]]


def test_the_screen_shows_the_largest_and_the_sum_of_the_others(case):
    name, folder = case
    text = dwindle("explain", "m", "a.vw", "--n", 2, "--top", 2, cwd=folder, text=True).stdout
    first, second = text.rstrip("\n").split("\n\n")
    assert first.startswith("a.vw:1  id0  score ")
    assert ("label 0" in first) == (name != "numbers")
    rows = [line.rsplit(None, 2) if "│" in line else line for line in second.splitlines()[1:]]
    assert len(rows) == 4
    assert "others)" in second
    assert rows[-1][0].strip() == "(intercept)"
    assert all(len(line) < 80 for line in text.splitlines())


def test_nothing_known_is_explained_by_nothing(tmp_path):
    (tmp_path / "a.vw").write_text("1 | a\n-1 | b\n")
    dwindle("train", tmp_path / "a.vw", "-m", tmp_path / "m", "-q", "--no-intercept")
    (tmp_path / "b.vw").write_text("| unknown\n")
    done = dwindle("explain", tmp_path / "m", tmp_path / "b.vw", text=True)
    assert "(intercept) +0.00000 │" in done.stdout


def test_none_cannot_be_asked_for(case):
    _, folder = case
    with pytest.raises(SettingError, match="n must be 1 or more, got 0"):
        explain(folder / "m", [str(folder / "a.vw")], n=0)
