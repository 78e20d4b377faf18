"""No options at all beside methods that search: how it is measured, and the page about it."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

pytest.importorskip("vowpalwabbit")  # one of those that are measured

from experiments.auto.__main__ import RULES, measure
from experiments.auto.measures import BARS, Part, as_accurate, as_small, never_behind, noise_gone
from experiments.auto.methods import BEYOND, FACTOR, LEAST, METHODS, walked
from experiments.auto.page import TITLES, page
from experiments.auto.sets import Case, Rows

DOCS = Path(__file__).parents[2] / "docs"
SEEDS = range(2)


def rows(seed):
    """Two columns that tell, and twenty that do not."""
    rng = np.random.default_rng(seed)
    x = np.hstack([rng.normal(size=(400, 2)), rng.random((400, 20)) < 0.2])
    label = np.where(x[:, 0] + x[:, 1] + rng.normal(size=400) > 0, 1.0, -1.0)
    x = csr_array(x)
    return Rows(x[:300], x[300:], label[:300], label[300:], random=20)


TINY = Case("tiny", rows, "held", SEEDS)


def results(**methods):
    """Results on sets a, b, ..: what each method has on each, as (AUC, kept, random kept)."""
    n = len(next(iter(methods.values())))
    names = "abcdefgh"[:n]
    return {
        "sets": [
            {"set": name, "part": "held", "test": 500, "random": 1000 if name == "a" else 0}
            for name in names
        ],
        "runs": [
            {"set": name, "seed": seed, "method": method, "auc": auc + spread, "kept": kept}
            | {"random": random, "seconds": 1.0, "by": "someone 1.0"}
            for method, figures in methods.items()
            for name, (auc, kept, random) in zip(names, figures, strict=True)
            for seed, spread in enumerate((-0.01, 0.01))
        ],
        "rules": RULES,
    }


@pytest.mark.slow
def test_every_method_is_measured_on_a_set_and_only_ours_again(tmp_path):
    measure([TINY], tmp_path)
    first = json.loads((tmp_path / "auto.json").read_text())
    assert {(run["seed"], run["method"]) for run in first["runs"]} == {
        (seed, method) for seed in SEEDS for method in METHODS
    }
    for run in first["runs"]:
        assert run["auc"] > 0.75, run
        assert 1 <= run["kept"] <= 22
        assert run["kept"] - 2 <= run["random"] <= 20
    text = (tmp_path / "auto.md").read_text()
    assert text == page(first)
    assert "| tiny | 0." in text
    measure([TINY], tmp_path)
    again = json.loads((tmp_path / "auto.json").read_text())
    kept, before = (
        [run for run in each["runs"] if run["method"] != "auto"] for each in (again, first)
    )
    assert kept == before  # to the microsecond: they were not run
    assert page(again).count("tiny") == text.count("tiny")


def test_the_penalty_that_is_taken_is_never_the_last_that_was_tried():
    tried = {}

    def judge(strength):
        tried[strength] = 0.5 if strength > 100 else 0.9 - abs(np.log2(strength) + 15) / 100
        return tried[strength]

    best = walked(judge, 1024.0)
    assert best == (2.0**-15, 0.9)
    assert best.penalty / min(tried) == FACTOR**BEYOND
    assert sum(auc > 0.5 for auc in tried.values()) >= LEAST
    assert max(tried) == 1024.0


def test_of_equal_penalties_the_strongest_is_taken():
    assert walked(lambda strength: 0.5 if strength > 2 else 1.0, 8.0).penalty == 2.0


def test_the_mean_auc_and_the_features_are_compared_with_those_of_l1():
    ours, theirs = [(0.90, 10, 0), (0.80, 1000, 0)], [(0.91, 100, 0), (0.791, 100, 0)]
    part = Part(results(auto=ours, liblinear=theirs))
    assert as_accurate(part) == ("0.8500 against 0.8505", True)
    assert as_small(part) == ("100 against 100", True)
    worse = Part(results(auto=[(0.90, 10, 0), (0.79, 1001, 0)], liblinear=theirs))
    assert not as_accurate(worse).met
    assert not as_small(worse).met


def test_a_set_that_the_other_was_not_run_on_is_not_compared():
    both = results(auto=[(0.9, 10, 0), (0.5, 9999, 0)], liblinear=[(0.9, 10, 0), (0.9, 1, 0)])
    both["runs"] = [
        run for run in both["runs"] if (run["set"], run["method"]) != ("b", "liblinear")
    ]
    assert as_accurate(Part(both)) == ("0.9000 against 0.9000", True)
    assert as_small(Part(both)).met


def test_the_worst_set_decides_beside_vowpal_wabbit_and_on_random_features():
    part = Part(results(auto=[(0.9, 60, 50), (0.796, 5, 0)], vw=[(0.8, 9, 9), (0.8, 9, 9)]))
    assert never_behind(part) == ("-0.0040 (b)", True)
    assert noise_gone(part) == ("95.0 % (a)", True)
    part = Part(results(auto=[(0.9, 61, 51), (0.794, 5, 0)], vw=[(0.8, 9, 9), (0.8, 9, 9)]))
    assert not never_behind(part).met
    assert not noise_gone(part).met


def test_the_page_leads_with_the_sets_that_gravity_was_not_tuned_on():
    alike = ((0.9, 10, 5), (0.8, 20, 0), (0.7, 30, 0))
    made = results(**dict.fromkeys(METHODS, alike))
    made["sets"][0]["part"], made["sets"][2]["part"] = "chosen", "new"
    told = page(made)
    places = [told.index(f"## {title}\n") for title in TITLES.values()]
    assert places == sorted(places)
    assert told.index("| b | 0.8000 ± 0.0141 |") < told.index("| a | 0.9000 ± 0.0141 |")
    assert "99.5 % (a): met" in told
    assert all(f"| {goal} |" in told for goal in BARS)


def test_the_page_is_that_of_its_results():
    results = json.loads((DOCS / "auto.json").read_text())
    assert (DOCS / "auto.md").read_text() == page(results)
