"""docs/serving.md says what docs/serving.json holds."""

import json
from pathlib import Path

from benchmarks.serve_page import filled

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_written_from_the_results():
    page = (DOCS / "serving.md").read_text("utf-8")
    results = json.loads((DOCS / "serving.json").read_text())
    assert filled(page, results) == page
    assert "River + FastAPI" in page


def test_figures_of_the_page_follow_the_results():
    page = (DOCS / "serving.md").read_text("utf-8")
    results = json.loads((DOCS / "serving.json").read_text())
    results["cases"]["predict 1, dwindle, JSON"][0]["server_cpu_us_per_example"] = 0.5
    assert "| 0.5 |" in filled(page, results)
