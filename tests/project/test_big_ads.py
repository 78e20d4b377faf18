"""The paper's largest experiment, in small, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import big_ads_page
from experiments.big_ads import Plan, Watched, first_examples
from helpers.effort import in_full

ROOT = Path(__file__).parents[2]
MAX_LIVE = 1_000_000
RESULTS = ROOT / "docs" / "big-ads.json"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """What `make big-ads-small` writes."""
    [target] = [line for line in (ROOT / "Makefile").read_text().splitlines() if "--scale" in line]
    [scale, *options] = target.split("--scale ")[1].split()
    folder = tmp_path_factory.mktemp("big-ads")
    options[options.index("--output") + 1] = str(folder)
    command = [sys.executable, "-m", "experiments.big_ads", "--scale", scale, *options]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return folder


def results(folder):
    return json.loads((folder / "big-ads.json").read_text())


@in_full
@pytest.mark.slow
def test_the_small_run_keeps_its_budget_at_all_times(small):
    found = results(small)
    training = found["training"]
    summary = training["summary"]
    assert summary["examples"] == 26_000
    assert max(row["alive"] for row in training["rows"]) <= summary["peak_live"]
    assert summary["kept"] <= summary["peak_live"] <= found["about"]["max_live"] == MAX_LIVE
    for model in found["first"]["models"][1:]:
        assert model["kept"] <= model["peak_live"] <= model["max_live"]


@in_full
@pytest.mark.slow
def test_the_small_run_keeps_a_fifth_of_the_features_and_loses_less_than_the_paper_accepted(small):
    found = results(small)
    without = found["first"]["models"][0]
    assert big_ads_page.factor(found["training"]["summary"]) > 4.5
    assert big_ads_page.error(found) < without["error"] + big_ads_page.PAPER["more"]
    assert found["testing"]["generated"]["bayes_error"] < big_ads_page.error(found) < 0.35
    assert without["seen"] == pytest.approx(found["training"]["summary"]["seen"], rel=0.03)


@in_full
@pytest.mark.slow
def test_the_small_run_writes_a_page_and_a_picture_and_leaves_no_model(small):
    assert {path.name for path in small.iterdir()} == {
        f"big-ads.{end}" for end in ("json", "md", "svg")
    }
    page = (small / "big-ads.md").read_text()
    assert "This is a reduced run, with 26,000 examples." in page
    assert f"train - --interactions 'q*a' --update ftrl --gravity 1 --max-live {MAX_LIVE}" in page
    assert str(small) not in page
    assert big_ads_page.most_memory(results(small)) < big_ads_page.GIVEN


def test_models_of_the_first_examples_are_within_their_budgets_and_the_first_has_none():
    without, *others = first_examples(Plan(2000, 1000, 3, None))
    assert without["kept"] == without["peak_live"] == without["seen"]
    assert [each["max_live"] for each in others] == [without["seen"] // f for f in (4, 16, 64)]
    for each in others:
        assert each["kept"] <= each["peak_live"] <= each["max_live"]
        assert 0.2 < each["error"] < 0.6


@pytest.mark.slow
def test_the_memory_of_a_process_is_seen_until_it_ends():
    code = "import time; text = b'x' * 10**8; time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", code]) as process, Watched([process.pid]) as seen:
        process.wait()
    assert 10**8 < big_ads_page.peak(seen.samples) < 3 * 10**8
    assert 0 <= seen.samples[-1].processor[0] < 10


@pytest.mark.skipif(not RESULTS.exists(), reason="`make big-ads` has not been run")
def test_the_page_is_of_the_run_whose_results_are_beside_it(tmp_path):
    copy = tmp_path / RESULTS.name
    copy.write_text(RESULTS.read_text())
    for written in big_ads_page.write(copy):
        assert written.read_text() == RESULTS.with_name(written.name).read_text()
