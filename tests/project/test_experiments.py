"""The experiments as a user runs them, in small."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dwindle.runs.tune.grid import Grid
from experiments import data, units
from experiments.measures import Line
from experiments.page import RESULTS
from experiments.units import FULL, QUICK, Unit, measure, setting_of

SMALL = QUICK._replace(
    folds=3,
    grid=Grid(update=("plain",), pass_decay=(0.8,), passes=(3,)),
    curve_grid=Grid(update=("plain",), pass_decay=(0.8,), passes=(3,)),
    strengths=3,
)


def needs(*names):
    missing = [name for name in names if not data.available(name)]
    return pytest.mark.skipif(bool(missing), reason=f"no {missing} here: set DWINDLE_DATA")


def test_every_unit_has_a_name_of_its_own():
    for plan in (FULL, QUICK):
        names = [unit.name for unit in units.units(plan)]
        assert len(set(names)) == len(names)
        assert all(units.cost(unit) > 0 for unit in units.units(plan))


def with_other_tests(monkeypatch, name):
    """The set as it is but for its test part, whose labels are turned around."""
    split = data.split

    def changed(*given):
        found = split(*given)
        turned = found.test._replace(label=-found.test.label)
        return found._replace(test=turned)

    monkeypatch.setattr(data, name, changed)


def test_what_is_chosen_does_not_look_at_the_test_part(monkeypatch):
    sparse = Unit("sparsified", "wdbc", 0, 100)
    curve = Unit("curves", "wdbc", 0, list(Line("truncation", 10)))
    chosen, points = measure(sparse, SMALL)[0], measure(curve, SMALL)[0]["points"]
    with_other_tests(monkeypatch, "split")
    other, turned = measure(sparse, SMALL)[0], measure(curve, SMALL)[0]["points"]
    for model in ("dense", "sparse", "unrested"):
        assert chosen[model]["setting"] == other[model]["setting"]
        assert chosen[model]["kept"] == other[model]["kept"]
        assert chosen[model]["test_auc"] == pytest.approx(1 - other[model]["test_auc"])
    assert [p["kept"] for p in points] == [p["kept"] for p in turned]
    assert [p["auc"] for p in points] == pytest.approx([1 - p["auc"] for p in turned])


def test_a_result_is_the_same_whenever_it_is_made():
    unit = Unit("curves", "wdbc", 3, list(Line("rounding", 10)))
    assert measure(unit, SMALL) == measure(unit, SMALL)


def test_the_strengths_of_a_line_go_from_few_features_to_most():
    for line in (Line("truncation", 10), Line("rounding", 20), Line("subgradient", 10)):
        unit = Unit("curves", "wdbc", 0, list(line))
        kept = [p["kept"] for p in measure(unit, SMALL._replace(strengths=6))[0]["points"]]
        assert kept[0] < 60
        assert kept[-1] > 500


def test_a_subgradient_s_weights_that_swing_around_zero_are_rounded_at_the_end():
    split = data.split("wdbc", 0, units.RANDOM)
    setting = setting_of(Line("subgradient", 10), 10, 0.05, 0.01, 0.8, 3)
    learner = units.trained([split.train], setting, units.Logistic())
    kept, p = units._finished(learner, setting, split.test)
    assert len(learner) > 900
    weight = np.abs(learner.table.weights()[1])
    assert kept == (weight > 0.01 * 0.8**3 * 10 * 0.05).sum() < 300
    assert len(p) == split.test.n_examples


def experiments(folder):
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", "--quick", "--output", folder],
        cwd=RESULTS.parent.parent,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
@needs(*QUICK.sets)
def test_the_quick_run_goes_on_where_it_was_stopped_and_ends_with_page_and_pictures(tmp_path):
    journal = tmp_path / "results.journal"
    stopped = experiments(tmp_path)
    while stopped.poll() is None and not (journal.exists() and journal.read_text().count("\n") > 4):
        time.sleep(0.1)
    os.killpg(stopped.pid, signal.SIGINT)  # as a terminal does
    said = stopped.communicate()[1]
    assert stopped.returncode == 1
    assert said.endswith("stopped: the same command goes on from what is finished\n")
    before = journal.read_text().splitlines()
    assert len(before) > 4

    out, said = experiments(tmp_path).communicate()
    assert "14 pictures" in out, said
    assert not any(json.loads(line)[0] in said for line in before[1:])
    assert not journal.exists()
    results = json.loads((tmp_path / "results.json").read_text())
    assert {row["set"] for row in results["sets"]} == set(QUICK.sets)
    assert "This is a quick run" in (tmp_path / "reproduction.md").read_text()
    assert len(list((tmp_path / "reproduction").glob("*.png"))) == 7
    for run in results["sparsified"]:
        if run["random"]:
            assert run["sparse"]["kept"] < 0.1 * run["features"]


@pytest.mark.slow
def test_data_that_is_not_there_is_told_in_one_line(tmp_path):
    empty = {"XDG_CACHE_HOME": str(tmp_path), "DWINDLE_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "--quick", "--output", tmp_path, "--jobs", "1"],
        cwd=RESULTS.parent.parent, env=os.environ | empty | {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1
    assert "DWINDLE_DATA may name a folder that has it" in done.stderr.splitlines()[-1]
