"""What several passes come to is told by what it is: before learning, while learning, held out."""

import json

import pytest

from dwindle.model.model import Model
from dwindle.model.storage import read, write
from helpers.commands import dwindle
from helpers.multi_pass_data import rows, vw_text

TEXT = vw_text(list(rows(300)))


def figures(*args):
    """The rows of the table, and the summary."""
    *table, summary = map(json.loads, dwindle(*args, "--json").stdout.splitlines())
    return table, summary


def test_the_first_pass_is_told_as_it_is_alone_and_the_last_one_apart(data, tmp_path):
    args = ("train", data, "-m", tmp_path / "m")
    _, once = figures(*args)
    table, summary = figures(*args, "--passes", 6)
    for name in ("examples", "loss", "auc", "best_constant_loss"):
        assert summary[name] == once[name]
    assert (once["last_pass_loss"], once["passes"], summary["passes"]) == (None, 1, 6)
    assert summary["last_pass_loss"] < 0.5 * summary["loss"]
    assert summary["last_pass_auc"] > summary["auc"]
    ends = [row for row in table if row["examples"] == 300 * row["pass_number"]]
    assert [row["pass_number"] for row in ends] == [1, 2, 3, 4, 5, 6]
    assert (ends[0]["loss"], ends[-1]["loss"]) == (summary["loss"], summary["last_pass_loss"])


def test_the_screen_names_each_figure(data, tmp_path):
    args = ("train", data, "-m", tmp_path / "m", "--passes", 3, "--holdout", 10)
    said = dwindle(*args, text=True).stderr.splitlines()
    _, summary = figures(*args)
    assert said[0].split() == ["pass", "examples", "loss", "since", "last", "AUC", "alive", "seen"]
    assert f"loss          {summary['loss']:.6f} logistic, in pass 1, before learning" in said
    assert (
        f"last pass     {summary['last_pass_loss']:.6f}, AUC {summary['last_pass_auc']:.4f} "
        "while learning, pass 3 of 3 (seen before)"
    ) in said
    [held] = [line for line in said if line.startswith("holdout ")]
    assert f"{summary['holdout_loss']:.6f} after pass" in held
    alone = dwindle("train", data, "-m", tmp_path / "m", text=True).stderr
    assert "pass" not in alone


@pytest.fixture
def two(tmp_path):
    """A model of many examples, seen once, and one of few, seen ten times."""
    for name, n, passes in (("many", 400, 1), ("few", 100, 10)):
        (tmp_path / f"{name}.vw").write_bytes(vw_text(list(rows(n, seed=n))))
        args = ("-m", tmp_path / name, "--passes", passes, "-q")
        dwindle("train", tmp_path / f"{name}.vw", *args)
    return tmp_path


def test_merge_and_inspect_count_an_example_once_however_many_passes_there_were(two):
    said = dwindle("merge", two / "many", two / "few", "-m", two / "both", text=True).stderr
    assert said.startswith("2 models of 500 examples: ")
    many, few, both = (Model.load(two / name) for name in ("many", "few", "both"))
    assert both.intercept == pytest.approx(0.8 * many.intercept + 0.2 * few.intercept, rel=1e-12)
    shown = dwindle("inspect", two / "few", text=True).stdout.splitlines()
    assert "examples      100" in shown
    assert "passes        10" in shown


def test_a_model_of_an_earlier_version_is_counted_once_too(two):
    table, about = read(two / "few", "model")
    metadata = about["metadata"]
    metadata |= {"examples": 1000, "pass": metadata.pop("passes"), "importance": 2000.0}
    columns = {name: table[name].combine_chunks().to_numpy() for name in ("id", "weight")}
    model = Model.load(two / "few")
    names = {"namespace": model.names, "feature": model.names}
    write(two / "older", "model", names | columns, about)
    found = Model.load(two / "older").metadata
    assert (found["examples"], found["passes"], found["importance"]) == (100, 10, 200.0)
    assert "pass" not in found
