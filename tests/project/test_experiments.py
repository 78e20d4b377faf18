"""The experiments as a user runs them, in small."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from dwindle.algorithm.losses import Logistic
from dwindle.algorithm.shrinkage import Truncation
from experiments import curves, data, units
from experiments.curves import Line, drawn, ended
from experiments.page import RESULTS
from experiments.runs import Fold, How, Rows, Weights, family, folds, last_rate, learned, watched
from experiments.units import FULL, QUICK, Unit, measure

SMALL = QUICK._replace(folds=(2, 2), strengths=3)


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


@pytest.mark.slow
def test_what_is_chosen_does_not_look_at_the_test_part(monkeypatch):
    sparse = Unit("sparsified", "wpbc", 0, [20, "paper"])
    curve = Unit("curves", "wdbc", 0, list(Line("truncation", 10)))
    chosen, points = measure(sparse, SMALL)[0]["models"], measure(curve, SMALL)[0]["points"]
    with_other_tests(monkeypatch, "split")
    other, turned = measure(sparse, SMALL)[0]["models"], measure(curve, SMALL)[0]["points"]
    for model in chosen:
        assert chosen[model]["setting"] == other[model]["setting"]
        assert chosen[model]["kept"] == other[model]["kept"] > 0
        assert chosen[model]["test_auc"] == pytest.approx(1 - other[model]["test_auc"])
    assert [p["kept"] for p in points] == [p["kept"] for p in turned]
    assert [p["auc"] for p in points] == pytest.approx([1 - p["auc"] for p in turned])


def test_a_result_is_the_same_whenever_it_is_made():
    unit = Unit("curves", "wdbc", 3, list(Line("rounding", 10)))
    assert measure(unit, SMALL) == measure(unit, SMALL)


def small(loss="paper"):
    split = data.split("wdbc", 0, 100)
    rows = Rows(split.train, len(split.names))
    return family(loss, regression=False), rows


@pytest.mark.parametrize("loss", ["paper", "logistic"])
def test_weights_predict_what_their_learner_predicts(loss):
    kind, rows = small(loss)
    [learner] = learned(kind, How(Truncation(0.001), 0.1, 0.5), rows, (1,))
    weights = Weights.of(learner, rows.features)
    p = rows.predictions(kind, weights)[:, 0]
    assert p == pytest.approx(learner.predict(rows.batch), abs=1e-6)
    assert weights.kept[0] == len(learner) > 20


@pytest.mark.parametrize("order", ["before", "after"])
def test_watching_a_run_does_not_change_it(order):
    kind, rows = small()
    how = How(Truncation(0.01, order=order), 0.5, 0.5)
    *_, learner = learned(kind, how, rows, (1, 3))
    seen, live = watched(kind, how, rows, 3)
    one, two = (Weights.of(each, rows.features) for each in (learner, seen))
    assert np.array_equal(one.w, two.w)
    assert one.intercept == two.intercept
    assert len(live) == 60
    assert live[-1] == one.kept[0]


def test_a_soft_threshold_pulls_what_it_leaves_and_a_hard_one_does_not():
    weights = Weights(np.array([[0.5], [-0.2], [0.1]]), np.array([1.0]))
    soft, hard = (weights.shrunk([0.1, 0.3], soft=each) for each in (True, False))
    assert soft.w.tolist() == [[0.4, pytest.approx(0.2)], [-0.1, 0.0], [0.0, 0.0]]
    assert hard.w.tolist() == [[0.5, 0.5], [-0.2, 0.0], [0.0, 0.0]]
    assert soft.kept.tolist() == hard.kept.tolist() == [2, 1]


def test_no_weight_leaves_zero_with_the_steepest_gravity_but_some_do_with_half_of_it():
    kind, rows = small("logistic")
    assert isinstance(kind.loss, Logistic)
    kept = []
    for factor in (1.5, 0.3):
        how = How(Truncation(factor * rows.steepest(kind)), 1e-3, 1.0)
        *_, learner = learned(kind, how, rows, (30,))
        with learner.after_cooldown(100) as cooled:
            kept.append(len(cooled))
    assert kept[0] < 3 < kept[1]


def test_folds_hold_out_every_example_once():
    _, rows = small()
    made: list[Fold] = folds(rows, 3)
    assert sum(fold.held.batch.n_examples for fold in made) == rows.batch.n_examples
    assert {fold.train.batch.n_examples + fold.held.batch.n_examples for fold in made} == {
        rows.batch.n_examples
    }


def test_a_subgradient_s_weights_are_rounded_by_the_pull_of_the_last_step():
    what = drawn("wdbc", 0, Line("subgradient", 10), 2)
    how = what.how(0.05, 0.01)
    *_, learner = learned(what.kind, how, what.train, (1, 3))
    weight = np.abs(learner.table.weights()[1])
    kept = ended(what.line, 0.05, how, 3, learner, what.train).kept[0]
    assert last_rate(how, 3) == pytest.approx(0.01 * curves.DECAY**2)
    assert kept == (weight > last_rate(how, 3) * 10 * 0.05).sum() < len(weight)


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
    assert "stopped: the same command goes on from what is finished" in said.splitlines()
    before = journal.read_text().splitlines()
    assert len(before) > 4

    out, said = experiments(tmp_path).communicate()
    assert "16 pictures" in out, said
    assert not any(json.loads(line)[0] in said for line in before[1:])
    assert not journal.exists()
    results = json.loads((tmp_path / "results.json").read_text())
    assert {row["set"] for row in results["sets"]} == set(QUICK.sets)
    assert "This is a quick run" in (tmp_path / "reproduction.md").read_text()
    assert len(list((tmp_path / "reproduction").glob("*.png"))) == 8
    for run in results["sparsified"]:
        if run["random"]:
            assert run["models"]["cooldown"]["kept"] < 0.1 * run["features"]


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
