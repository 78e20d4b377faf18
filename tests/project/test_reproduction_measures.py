"""What is measured of results: medians over seeds, means over sets."""

import math

import numpy as np
import pytest

from experiments.measures import (
    LASSO,
    ROUNDING,
    TRUNCATION,
    best,
    dense_losses,
    distance,
    envelope,
    fewest,
    gains,
    lines,
    mean_best,
    mean_level,
    raw,
    spread,
)
from helpers.experiment_results import FULL, QUICK, line_of, only


def test_the_envelope_is_the_best_auc_with_at_most_so_many_features():
    [points] = (line_of(TRUNCATION, {3: 0.7, 10: 0.9, 5: 0.6, 20: 0.8})["points"],)
    assert envelope(points, [3, 5, 9, 10, 50]).tolist() == [0.7, 0.7, 0.7, 0.9, 0.9]
    assert np.isnan(envelope(points, [1, 2])).all()
    assert (best(points, 2), best(points, 9), best(points, 10)) == (0.5, 0.7, 0.9)
    assert (fewest(points, 0.65), fewest(points, 0.7), fewest(points, 0.8)) == (3, 3, 10)
    assert fewest(points, 0.95) == math.inf


def test_a_spread_is_median_least_and_most():
    assert spread([3, 1, 2, 9]) == (2.5, 1, 9)
    assert spread([]) is None


def test_gains_are_medians_over_the_seeds_both_lines_have_against_the_best_of_the_others():
    results = only(
        *(line_of(TRUNCATION, {5: auc}, seed=s) for s, auc in enumerate([0.9, 0.8, 0.7, 0.6])),
        *(line_of(ROUNDING, {5: 0.6}, seed=seed) for seed in range(3)),
        *(line_of(LASSO, {5: 0.7}, seed=seed) for seed in range(3)),
    )
    assert gains(results, TRUNCATION, [ROUNDING, LASSO], [4, 5]) == {
        ("ad", 4): 0.0,
        ("ad", 5): pytest.approx(0.1),
    }


def test_means_are_over_sets_and_spread_over_the_seeds_that_have_all_sets():
    results = only(
        *(line_of(LASSO, {1: auc}, "ad", seed) for seed, auc in enumerate([0.6, 0.7, 1.0])),
        *(line_of(LASSO, {1: auc}, "wbc", seed) for seed, auc in enumerate([0.8, 1.0])),
        *(line_of(ROUNDING, {1: 0.5}, name, 0) for name in ("ad", "wbc")),
    )
    assert mean_best(results, LASSO, 10) == pytest.approx((0.775, 0.7, 0.85))
    assert mean_level(results, LASSO) == pytest.approx((0.775, 0.7, 0.85))
    assert distance(results, LASSO, ROUNDING) == pytest.approx((0.2, 0.2, 0.2))


def test_what_is_lost_at_the_dense_end_is_from_the_best_to_the_densest_point():
    lasso, other = {5: 0.7, 50: 0.9, 600: 0.8}, {9: 0.8, 500: 0.85, 900: 0.75}
    results = only(line_of(LASSO, lasso), line_of(TRUNCATION, other))
    assert dense_losses(results, LASSO, TRUNCATION) == {"ad": pytest.approx((0.1, 0.0))}


def test_figure_5_has_every_threshold_there_is():
    thetas = [line.threshold for line in lines(FULL, "figure-5") if line.method == "truncation"]
    assert thetas == [None, "g", 0.01, 0.1, 1.0]
    assert lines(QUICK, "figure-5") == [TRUNCATION]


def test_raw_medians_follow_the_strengths_so_that_overfitting_shows():
    strong, weak = ({"strength": s, "kept": k, "auc": a} for s, k, a in ((2, 5, 0.9), (1, 50, 0.8)))
    other = [strong | {"kept": 7}, weak | {"auc": 0.7}, {"strength": 0.1, "kept": 99, "auc": 0.1}]
    assert raw([[weak, strong], other]) == [(6, 0.9), (50, 0.75)]
