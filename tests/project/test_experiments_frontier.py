"""The frontier as a user runs it, in small, and what is read off it."""

import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from dwindle.features.batch import Batch
from experiments import data
from experiments.climbing import neighbours
from experiments.frontier import choosing, page
from experiments.frontier.measures import (
    REFERENCES,
    Model,
    best,
    frontier,
    models,
    reference,
    row,
    standard_error,
    surrounded,
)
from experiments.frontier.problems import DECAYS, FULL, QUICK, Problem, rows
from experiments.frontier.searching import STEP, Target, ladders_of, picks, searched
from experiments.frontier.ways import (
    LANES,
    NAMES,
    OURS,
    THEIRS,
    Point,
    Setting,
    _admitted,
    _among,
)

SMALL = Problem("wdbc", passes=(1,), most=9)
needs_wdbc = pytest.mark.skipif(not data.available("wdbc"), reason="no wdbc here: set DWINDLE_DATA")


def found(**by_way):
    """Results on one problem: (auc, weights, live) of each setting of each way."""
    return {
        "problems": [SMALL._asdict()],
        "runs": [
            {
                "problem": "wdbc",
                "way": way.replace("_", "-"),
                "test": 100,
                "positive": 50,
                "open": [],
                "points": [
                    [[0.3, 1, s, 1.0, None], [[*point, 0.1]]] for s, point in enumerate(points)
                ],
            }
            for way, points in by_way.items()
        ],
    }


def test_every_way_has_a_name_and_is_measured():
    assert sorted(NAMES) == sorted([*OURS, *THEIRS, *LANES])
    assert all(way in NAMES for problem in (*FULL, *QUICK) for way in problem.but)


def point(auc, weights):
    return [Point(auc, weights, 1000, 0.1)]


def test_what_is_picked_is_the_best_the_smallest_as_good_and_the_best_as_small():
    known = {(0,): point(0.91, 900), (1,): point(0.9, 300), (2,): point(0.8, 100)}
    known |= {(3,): point(0.7, 20)}
    target = Target(floor=0.8999, weights=100)
    assert list(picks(known, lambda _: True, target)) == [(0,), (1,), (2,), (3,)]
    alike = {(0,): point(0.90001, 10), (1,): point(0.90002, 10)}
    assert next(picks(alike, lambda place: place == (0,), target)) == (0,)


def test_a_search_goes_on_to_smaller_models_until_one_is_as_small_as_ftrl_s():
    known = {(0,): point(0.91, 900), (1,): point(0.7, 300), (2,): point(0.5, 0)}
    assert list(picks(known, lambda _: True, Target(0.95, 100))) == [(0,), (1,), (1,)]
    nothing = {(0,): point(0.5, 0)}
    assert set(picks(nothing, lambda _: True, Target(0.95, 100))) == {(0,)}


@needs_wdbc
def test_a_search_leaves_nothing_open_unless_it_is_cut_short():
    made = searched(SMALL._replace(most=60), "plain-rest", None)
    assert made["open"] == []
    ladders = ladders_of(SMALL, "plain-rest")
    tried = {setting for setting, _ in made["points"]}
    top = max(made["points"], key=lambda each: round(each[1][0].auc, 4))[0]
    assert {s.strength for s in tried} > {top.strength}
    assert min(s.learning_rate for s in tried) < top.learning_rate
    assert len(list(neighbours(ladders, (0, 0, 0, 0)))) == 4  # there is one pass, and no decay


def test_the_reference_is_the_smallest_ftrl_model_that_is_as_good_as_the_best():
    results = found(
        ftrl=[(0.9, 500, 1000), (0.8998, 300, 1000), (0.89, 10, 1000)],
        vw_ftrl=[(0.9001, 400, 1000)],
    )
    beside = reference(results, "wdbc")
    assert beside.best == 0.9001
    assert beside.weights == 300


def test_a_row_counts_live_features_only_where_weights_are_no_more_than_the_reference_has():
    results = found(
        ftrl=[(0.9, 300, 1000)],
        ftrl_budget=[(0.91, 400, 50), (0.8996, 200, 100), (0.8, 5, 5)],
        sgd=[(0.8, 5, 1000)],
    )
    budget, sgd = (row(results, "wdbc", way) for way in ("ftrl-budget", "sgd"))
    assert (budget.best.auc, budget.weights, budget.live) == (0.91, 200, 100)
    assert budget.small.auc == 0.8996
    assert (sgd.weights, sgd.live) == (math.inf, math.inf)


def grid(*settings):
    """Models that differ in rate and strength, all alike."""
    return [Model(0.9, 10, 10, (rate, 1, strength, 1.0, None)) for rate, strength in settings]


def test_a_model_is_surrounded_if_both_rates_and_both_strengths_next_to_it_were_tried():
    cross = grid((0.3, 1), (0.15, 1), (0.6, 1), (0.3, 0.5), (0.3, 2))
    assert [surrounded(model, cross) for model in cross] == [True] + [False] * 4
    assert best(cross[::-1]) is cross[0]
    for left_out in range(1, 5):
        assert not surrounded(cross[0], [each for each in cross if each is not cross[left_out]])
    assert not surrounded(cross[0], [cross[0], *grid((0.15, 4), (0.6, 4), (0.3, 0.5), (0.3, 2))])


def test_no_model_is_the_best_that_has_no_features_or_too_many():
    known = [Model(0.9, 100, 100, ()), Model(0.5, 0, 100, ())]
    assert best(known, 50) is None


def test_a_setting_s_model_is_the_mean_over_the_seeds():
    results = found(ftrl=[(0.9, 300, 1000)])
    results["runs"][0]["points"][0][1].append([0.8, 100, 500, 0.1])
    [model] = models(results, "wdbc", "ftrl")
    assert model[:3] == pytest.approx((0.85, 200, 750))
    assert model.aucs == (0.8, 0.9)
    one = standard_error(results, "wdbc")
    results["problems"][0]["seeds"] = (0, 1)
    assert standard_error(results, "wdbc") == pytest.approx(one / 2**0.5)


def test_the_standard_error_of_an_auc_is_hanley_and_mcneil_s():
    results = found(ftrl=[(0.5, 300, 1000)])
    assert standard_error(results, "wdbc") == pytest.approx(
        ((100 + 1) / (12 * 50 * 50)) ** 0.5, rel=0.01
    )


def test_a_frontier_leaves_out_what_another_model_beats():
    known = [Model(a, n, n, None) for a, n in ((0.7, 0), (0.8, 10), (0.75, 20), (0.9, 30))]
    assert frontier(known, "weights") == [(10, 0.8), (30, 0.9)]


def test_a_feature_is_let_in_the_second_time_and_stays():
    batch = Batch.from_arrays([0, 2, 4, 5], [7, 3, 7, 5, 7], [1, 2, 3, 4, 5], [1, -1, 1])
    first, later = _admitted(batch, 1)
    assert first.x.tolist() == [3, 5]
    assert first.start.tolist() == [0, 0, 1, 2]
    assert later.x.tolist() == [1, 3, 5]
    assert _among(batch, np.array([3, 5], np.uint64)).x.tolist() == [2, 4]


@needs_wdbc
@pytest.mark.slow
def test_a_budget_is_kept_and_ftrl_is_about_as_good_as_vw_s():
    distinct = rows(SMALL, 0).distinct
    points = {
        way: searched(SMALL, way, None)["points"] for way in ("ftrl", "ftrl-budget", "vw-ftrl")
    }
    top = {way: max(point.auc for _, [point] in points[way]) for way in points}
    assert top["ftrl"] >= top["vw-ftrl"] - 0.01  # in units of its own, so not weight by weight
    assert all(point.live == distinct for way in ("ftrl", "vw-ftrl") for _, [point] in points[way])
    assert all(point.live <= 0.3 * distinct for _, [point] in points["ftrl-budget"])


@needs_wdbc
def test_a_strength_is_that_on_the_sum_of_the_losses():
    known = rows(SMALL, 0)
    n = known.train.n_examples
    setting = Setting(learning_rate=1.0, passes=2, strength=6.0)
    gravities = {way: OURS[way].gravity(setting, known) for way in ("ftrl", "rda", "plain", "tg")}
    assert gravities == {
        "ftrl": 6.0, "rda": 3.0 / n, "plain": 6.0 / n, "tg": 6.0 / (n * known.length)
    }  # fmt: skip


@needs_wdbc
def test_the_length_is_measured_in_units_of_each_feature():
    known = rows(SMALL, 0)
    x, key = known.train.x.astype(float), known.train.key
    unit = {k: np.sqrt(np.square(x[key == k]).mean()) for k in np.unique(key)}
    scaled = np.array([value / unit[k] for value, k in zip(x, key, strict=True)])
    start = known.train.start
    lengths = [np.sqrt(1 + np.square(scaled[a:b]).sum()) for a, b in itertools.pairwise(start)]
    assert known.length == pytest.approx(np.mean(lengths))


@pytest.mark.slow
def test_the_quick_frontier_writes_its_page_its_charts_and_every_model(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "experiments.frontier", "--quick", "--output", tmp_path], check=True
    )
    assert {path.name for path in tmp_path.iterdir()} == {
        "frontier.json", "frontier.md", "frontier-weights.svg", "frontier-live.svg",
    }  # fmt: skip
    results = json.loads((tmp_path / "frontier.json").read_text())
    written = (tmp_path / "frontier.md").read_text()
    for problem in QUICK:
        assert f"## {problem.name}" in written
        assert {run["way"] for run in results["runs"] if run["problem"] == problem.name} == (
            set(NAMES) - set(problem.but)
        )


@pytest.fixture(scope="module")
def results():
    """Those that the page shows."""
    return json.loads((page.DOCS / "frontier.json").read_text())


@pytest.mark.slow
def test_the_page_is_what_the_results_say_to_the_letter(results):
    assert page.write(results) == (page.DOCS / "frontier.md").read_text()


def test_one_rule_says_which_of_equal_models_is_shown(results):
    for name in choosing.names(results):
        shown = [best(models(results, name, way)) for way in REFERENCES]
        beside = reference(results, name)
        assert beside.at_best == max(shown, key=lambda model: model.auc).weights
        assert round(beside.best, 4) == max(round(model.auc, 4) for model in shown)


def test_a_smaller_and_better_model_than_the_automatic_choice_is_told(results):
    text = (page.DOCS / "frontier.md").read_text()
    for name in choosing.names(results):
        [auto] = models(results, name, "auto")
        beaten = any(
            lane.auc > auto.auc and lane.weights < auto.weights
            for lane in models(results, name, "auto-path")
        )
        assert (f"on {name}, where the choice has an AUC of {auto.auc:.4f}" in text) == beaten


def test_the_results_have_every_way_on_every_set_that_is_not_left_out_by_name(results):
    made = {(run["problem"], run["way"]) for run in results["runs"]}
    assert made == {(each.name, way) for each in FULL for way in set(NAMES) - set(each.but)}


def test_no_model_on_the_page_is_at_an_end_of_what_was_tried(results):
    at_an_end = []
    for run in results["runs"]:
        name, way = run["problem"], run["way"]
        known, beside = models(results, name, way), reference(results, name)
        shown = [best(known), best(known, beside.weights)]
        good = [model for model in known if model.auc >= beside.floor]
        least = min((model.weights for model in good), default=0)
        alike = [model for model in good if model.weights <= least * STEP + 1]
        shown += sorted(alike, key=lambda model: not surrounded(model, known))[:1]
        at_an_end += [
            (name, way, model)
            for model in filter(None, shown if way not in LANES else [])
            if not surrounded(model, known) or model.setting[3] == DECAYS[-1]
        ]
        at_an_end += run["open"]
    assert at_an_end == []
