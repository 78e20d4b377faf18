"""The page about regression says what was measured."""

import json
from pathlib import Path

from experiments.regression_page import lead, page, verdict

DOCS = Path(__file__).parents[2] / "docs"


def row(name, ours, sgd):
    r2 = {"ours": ours, "sgd": sgd, "sgd_once": 0.1, "vw": -3.0, "constant": 0.0}
    return {"set": name, "rows": 1000, "columns": 3, "r2": r2, "kept": 2.4, "features": 3}


def test_the_page_shows_the_results_that_are_stored_beside_it():
    results = json.loads((DOCS / "regression.json").read_text())
    assert (DOCS / "regression.md").read_text() == page(results)


def test_the_verdict_counts_and_names_the_worst():
    told = verdict([row("a", 0.9, 0.88), row("b", 0.5, 0.6)])
    assert "met on 1 of 2 sets; the largest gap is 0.100 (b)" in told
    assert lead(row("a", 0.9, 0.88)) > 0
    about = {"seeds": 5, "seconds": 1, "versions": {}}
    shown = page({"about": about, "sets": [row("b", 0.5, 0.6)]})
    assert "**Behind by more**: b (0.100)" in shown
    assert "| b | 1,000 | 3 | 2.4 of 3 | 0.500 |" in shown
