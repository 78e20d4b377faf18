"""The paper's largest experiment, in small, as a user runs it."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from experiments import big_ads_page
from experiments.big_ads import MEMORY, Watched, options
from experiments.big_ads_first import METHODS, SHARE, first_models
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
    for run in found["runs"].values():
        summary = run["training"]["summary"]
        assert summary["examples"] == 26_000
        assert max(row["alive"] for row in run["training"]["rows"]) <= summary["peak_live"]
        assert summary["kept"] <= summary["peak_live"] <= found["about"]["max_live"] == MAX_LIVE
        bayes = run["testing"]["generated"]["bayes_error"]
        assert bayes < big_ads_page.error(run) < 0.5


@in_full
@pytest.mark.slow
def test_the_small_run_writes_a_page_and_a_picture_and_leaves_no_model(small):
    assert {path.name for path in small.iterdir()} == {
        f"big-ads.{end}" for end in ("json", "md", "svg")
    }
    page = (small / "big-ads.md").read_text()
    assert "This is a reduced run of truncated gradient, with 26,000 examples." in page
    for one in results(small)["settings"]["models"]:
        assert one["open"] == 0
        assert one["tried"][0] < one["learning_rate"] < one["tried"][1]
        assert f"--update {one['update']} --learning-rate {one['learning_rate']:g} " in page
    assert str(small) not in page
    for run in results(small)["runs"].values():
        assert big_ads_page.most_memory(run) < MEMORY * 1e9


def test_gravity_on_the_sum_of_losses_grows_with_the_root_of_the_examples():
    chosen = {"update": "adaptive", "learning_rate": 2.4, "strength": 0.2}
    asked = options(chosen, 1_000_000, 25_000_000)
    assert asked == [
        *("--update", "adaptive", "--learning-rate", "2.4"),
        *("--gravity", "4e-08", "--cooldown", "25000000"),
    ]
    asked = options(chosen | {"update": "ftrl"}, 1_000_000, 25_000_000)
    assert asked == ["--update", "ftrl", "--learning-rate", "2.4", "--gravity", "1"]


@in_full
@pytest.mark.slow
def test_models_of_the_first_examples_are_within_their_budgets_and_the_baselines_have_none():
    models = first_models(3, 1000, 2000, 500)
    dense = [one for one in models if one["max_live"] is None]
    sparse = [one for one in models if one["max_live"] is not None]
    assert [one["update"] for one in dense] == list(METHODS)
    assert {one["update"] for one in sparse} == set(METHODS)
    for best, smallest in pairwise(sparse):
        if best["update"] == smallest["update"]:
            assert best["held"] <= smallest["held"]
            assert smallest["kept"] <= best["kept"]
    for one in dense:
        assert one["max_live"] is None
        assert one["kept"] == one["peak_live"] == one["seen"]
        assert one["open"] or one["tried"][0] < one["learning_rate"] < one["tried"][1]
    for one in sparse:
        assert one["kept"] <= one["peak_live"] <= one["max_live"] == one["seen"] // SHARE
        assert 0.2 < one["error"] < 0.6
    found = {"first": {"models": models}}
    assert big_ads_page.baseline(found)["error"] == min(one["error"] for one in dense)


@pytest.mark.slow
def test_the_memory_of_a_process_is_seen_until_it_ends():
    code = "import time; text = b'x' * 10**8; time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", code]) as process, Watched([process.pid]) as seen:
        process.wait()
    assert 10**8 < big_ads_page.peak(seen.samples) < 3 * 10**8
    assert 0 <= seen.samples[-1].processor[0] < 10


@pytest.mark.skipif(not RESULTS.exists(), reason="`make big-ads` has not been run")
def test_no_run_holds_more_than_the_budget_that_the_page_says_it_had():
    found = json.loads(RESULTS.read_text())
    page = big_ads_page.text(found)
    for name, run in found["runs"].items():
        budget = big_ads_page.budget(found, name)
        assert 0.99 * budget < run["training"]["summary"]["peak_live"] <= budget
        assert f"{budget:,} features" in page
        assert big_ads_page.most_memory(run) < MEMORY * 1e9


@pytest.mark.skipif(not RESULTS.exists(), reason="`make big-ads` has not been run")
def test_the_page_is_of_the_run_whose_results_are_beside_it(tmp_path):
    copy = tmp_path / RESULTS.name
    copy.write_text(RESULTS.read_text())
    for written in big_ads_page.write(copy):
        assert written.read_text() == RESULTS.with_name(written.name).read_text()
