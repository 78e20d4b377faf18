"""The page about reliability says what the attacks found."""

import json
from pathlib import Path

import pytest

from attacks import kills
from attacks.page import page
from attacks.targets import TARGETS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def results():
    return json.loads((DOCS / "reliability.json").read_text())


def test_the_page_shows_the_results_that_are_stored_beside_it(results):
    assert (DOCS / "reliability.md").read_text() == page(results)


def test_a_million_inputs_of_every_target_did_no_harm(results):
    found = results["fuzz"]
    assert set(found) == {target.name for target in TARGETS}
    assert sum(each["inputs"] for each in found.values()) >= 10**6
    assert not any(each["differences"] + each["crashes"] + each["hangs"] for each in found.values())


def test_a_thousand_kills_fell_into_every_phase_at_least_twenty_times(results):
    found = results["kills"]
    assert found["kills"] >= 1000
    assert set(found["phases"]) == set(kills.PHASES)
    assert min(found["phases"].values()) >= 20
    assert found["found"] == []


def test_harm_would_be_shown(results):
    results["fuzz"]["vw"]["crashes"] = 3
    results["kills"]["found"] = ["train: another file"]
    shown = page(results)
    assert "of which 3 did harm" in shown
    assert "; 1 runs ended with another file" in shown
