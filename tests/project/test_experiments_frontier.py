"""The frontier as a user runs it, in small, and what is read off it."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from dwindle.features.batch import Batch
from experiments import data
from experiments.frontier import page as frontier_page
from experiments.frontier.measures import Model, frontier, models, reference, row
from experiments.frontier.problems import FULL, QUICK, Problem, rows
from experiments.frontier.ways import (
    LENGTH,
    NAMES,
    OURS,
    THEIRS,
    Setting,
    _admitted,
    _among,
    measured,
    settings,
)

SMALL = Problem("wdbc", rates=(0.3,), strengths=(0.3, 3.0))


def found(**by_way):
    """Results on one problem: (auc, weights, live) of each setting of each way."""
    return {
        "problems": [SMALL._asdict()],
        "runs": [
            {
                "problem": "wdbc",
                "seed": 0,
                "way": way.replace("_", "-"),
                "points": [[[0.3, 1, s, None], [*point, 0.1]] for s, point in enumerate(points)],
            }
            for way, points in by_way.items()
        ],
    }


def test_every_way_has_a_name_and_is_measured():
    assert list(NAMES) == [*OURS, *THEIRS]
    assert all(way in NAMES for problem in (*FULL, *QUICK) for way in problem.but)


def test_all_ways_choose_from_the_same_settings_and_budgets_multiply_them():
    plain = settings(SMALL)
    assert [setting.strength for setting in plain] == [0.3, 3.0]
    assert {setting.share for setting in plain} == {None}
    within = settings(SMALL._replace(shares=(0.3, 0.1)), budget=True)
    assert {setting._replace(share=None) for setting in within} == set(plain)
    assert len(within) == 2 * len(plain)


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
    assert (budget.best, budget.weights, budget.live) == (0.91, 200, 100)
    assert (sgd.weights, sgd.live) == (math.inf, math.inf)


def test_a_setting_s_model_is_the_mean_over_the_seeds():
    results = found(ftrl=[(0.9, 300, 1000)])
    other = found(ftrl=[(0.8, 100, 500)])["runs"]
    results["runs"] += [run | {"seed": 1} for run in other]
    [model] = models(results, "wdbc", "ftrl")
    assert model[:3] == pytest.approx((0.85, 200, 750))


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


@pytest.mark.skipif(not data.available("wdbc"), reason="no wdbc here: set DWINDLE_DATA")
def test_a_budget_is_kept_and_ftrl_is_about_as_good_as_vw_s():
    distinct = rows(SMALL, 0).distinct
    points = {way: dict(measured(SMALL, 0, way)) for way in ("ftrl", "ftrl-budget", "vw-ftrl")}
    best = {way: max(point.auc for point in points[way].values()) for way in points}
    assert best["ftrl"] >= best["vw-ftrl"] - 0.01  # in units of its own, so not weight by weight
    for setting in settings(SMALL):
        assert points["ftrl"][setting].live == points["vw-ftrl"][setting].live == distinct
        assert points["ftrl-budget"][setting._replace(share=0.3)].live <= 0.3 * distinct


def test_a_strength_is_that_on_the_sum_of_the_losses():
    setting = Setting(learning_rate=1.0, passes=2, strength=6.0)
    gravities = {way: OURS[way].gravity(setting, 10) for way in ("ftrl", "rda", "plain", "tg")}
    assert gravities == {"ftrl": 6.0, "rda": 0.3, "plain": 0.6, "tg": 6.0 / (10 * LENGTH)}


@pytest.mark.slow
def test_the_quick_frontier_writes_its_page_its_charts_and_every_model(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "experiments.frontier", "--quick", "--output", tmp_path], check=True
    )
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {
        "frontier.json", "frontier.md", "frontier-weights.svg", "frontier-live.svg",
    }  # fmt: skip
    results = json.loads((tmp_path / "frontier.json").read_text())
    page = (tmp_path / "frontier.md").read_text()
    for problem in QUICK:
        assert f"## {problem.name}" in page
        assert {run["way"] for run in results["runs"] if run["problem"] == problem.name} == (
            set(NAMES) - set(problem.but)
        )


def test_the_page_is_what_the_results_say_to_the_letter():
    results = json.loads((frontier_page.DOCS / "frontier.json").read_text())
    assert frontier_page.write(results) == (frontier_page.DOCS / "frontier.md").read_text()
