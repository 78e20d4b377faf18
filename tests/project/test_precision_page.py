"""The page about single precision says what was measured, and by what."""

import json
from pathlib import Path

import numpy as np
import pytest

from dwindle import Adaptive, Batch, Logistic
from experiments.precision import Case, Double, compared, learned, swapped
from experiments.precision_page import change, factor, page

DOCS = Path(__file__).parents[2] / "docs"


def some_batch():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.5)
    rows = [{str(j): v for j, v in enumerate(row) if v} for row in x.tolist()]
    return Batch.from_dicts(rows, np.where(x[:, 0] > 0.2, 1, -1))


def test_the_page_shows_the_results_that_are_stored_beside_it():
    results = json.loads((DOCS / "precision.json").read_text())
    assert (DOCS / "precision.md").read_text() == page(results)


def test_single_precision_changes_no_loss_by_a_thousandth_and_no_count_by_a_hundredth():
    rows = json.loads((DOCS / "precision.json").read_text())["rows"]
    assert max(change(row, "single", "loss") for row in rows) < 1e-3
    assert max(change(row, "single", "kept") for row in rows) < 1e-2
    worst = {
        kind: max(change(row, kind, "kept") for row in rows) for kind in ("single", "shuffled")
    }
    assert worst["single"] < worst["shuffled"]


def test_the_page_says_how_often_single_precision_is_further_than_two_swapped_examples():
    results = json.loads((DOCS / "precision.json").read_text())
    n = sum(factor(row) > 1 for row in results["rows"])
    assert f"than two swapped examples on {n} of {len(results['rows'])} rows" in page(results)


@pytest.mark.slow  # compiles
def test_double_is_adaptive_up_to_rounding_and_more_exact():
    batch = some_batch()
    double, single = (
        learned(batch, Logistic(), 1e-3, kind, np.arange(200)) for kind in (Double(), Adaptive())
    )
    apart = np.abs(double.prediction - single.prediction).max()
    assert 0.0 < apart < 1e-4
    assert double.kept == single.kept


@pytest.mark.slow  # compiles
def test_the_controls_are_the_same_examples_in_another_order():
    assert swapped(4).tolist() == [0, 1, 3, 2]
    [row] = compared(Case("some", some_batch, gravities=(1e-3,)))
    assert row["double"]["apart"] == 0.0 < row["swapped"]["apart"] < row["shuffled"]["apart"]
