"""The page about the paper's experiments says what the results say."""

import json
import re

import pytest

from experiments import figures, page
from experiments.claims import CLAIMS
from experiments.findings import (
    DIFFERS,
    enough_removed,
    median_peak,
    shares_removed,
    worst_tests,
)
from experiments.measures import at_an_edge
from experiments.paper_says import UCI
from experiments.variants import (
    ALONE,
    CONTROLS,
    COOLDOWN,
    EVERY_MEANS,
    SECTION5,
    SOFT,
    WITHOUT_REST,
)
from helpers.effort import in_full
from helpers.experiment_results import FULL, QUICK


def committed():
    """The results that are committed, and the page."""
    return json.loads(page.RESULTS.read_text()), page.PAGE.read_text()


def test_the_page_is_what_the_results_say_to_the_letter():
    results, text = committed()
    assert page.write(results) == text


def test_the_page_shows_every_claim_and_every_figure():
    text = page.write(FULL)
    for claim in CLAIMS:
        assert f"| [{claim.about}](#" in text, claim.key
        assert f"| {claim.about} | {claim.says} |" in text, claim.key
    assert re.findall(r"reproduction/(.*)\.svg", text) == figures.names(FULL)
    assert len(figures.names(FULL)) == 8


def test_no_setting_that_was_chosen_is_at_an_end_of_what_was_tried():
    results, text = committed()
    assert at_an_edge(results) == []
    assert "none has a learning rate or gravity at an end of what was tried" in text
    run = results["sparsified"][0]["models"]["alone"]
    run["tried"]["gravity"][1] = run["setting"]["gravity"]
    assert len(at_an_edge(results)) == 1


def test_a_control_stands_beside_every_claim_of_sparsity():
    results, _ = committed()
    of_sparsity = [claim for claim in CLAIMS if claim.of_sparsity]
    assert len(of_sparsity) == 8
    for claim in of_sparsity:
        assert any(claim.find(results, control) for control in CONTROLS), claim.key
    for run in results["sparsified"]:
        assert {"soft", "hard"} <= run["models"].keys()
        assert run["models"]["soft"]["kept"] > 0


def test_no_model_that_was_chosen_is_empty():
    results, _ = committed()
    assert all(
        one["kept"] for run in results["sparsified"] for one in run["models"].values() if one
    )


def bars_of(results, variants):
    """The most that any of several variants removes of each set with random features."""
    shares = [shares_removed(results, variant) for variant in variants]
    return {name: max(each[name].median for each in shares if name in each) for name in UCI}


def test_without_a_cooldown_nine_tenths_are_removed_from_seven_sets_and_with_it_from_all():
    results, _ = committed()
    alone, most = bars_of(results, WITHOUT_REST), bars_of(results, EVERY_MEANS)
    assert alone["ad"] > 0.71
    assert sum(share > 0.9 for name, share in alone.items() if name != "ad") >= 7
    assert min(most.values()) > 0.95


def test_the_page_begins_with_how_many_claims_hold_and_what_a_cooldown_costs():
    results, text = committed()
    begin = text.split("## Which claims hold")[1].split("\n| claim |")[0]
    for variant in (ALONE, COOLDOWN):
        found = [one for claim in CLAIMS if (one := claim.find(results, variant))]
        holding = sum(one.verdict != DIFFERS for one in found)
        assert re.search(rf"{holding} of (the paper's )?{len(found)} ", begin)
    assert all(each in begin for each in worst_tests(results, COOLDOWN))
    assert enough_removed(results, COOLDOWN)[1] == len(UCI) - 1
    assert 0 < median_peak(results, ALONE) < median_peak(results, SOFT) <= 1


def test_each_figure_says_over_how_many_seeds_its_medians_are():
    results, text = committed()
    sparse, curved = (
        len({one["seed"] for one in results[part]}) for part in ("sparsified", "curves")
    )
    assert f"over {sparse} seeds in figures 1 and 2, and over {curved} in figures 3 to 7" in text
    assert "medians over 5 seeds;" in page.write(FULL)


def test_links_within_the_page_lead_to_headings():
    text = page.write(FULL)
    headings = {
        re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-")
        for line in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= headings


def test_tables_have_as_many_cells_in_each_row():
    for block in page.write(FULL).split("\n\n"):
        rows = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in rows}) <= 1, rows[0]


def differs(claim):
    found = [claim.find(FULL, variant) for variant in (ALONE, SECTION5)]
    return any(one is not None and one.verdict == DIFFERS for one in found)


def test_where_a_claim_differs_the_page_gives_the_reason(monkeypatch):
    monkeypatch.setattr(page, "REASONS", {})
    differing = [claim for claim in CLAIMS if differs(claim)]
    assert differing
    assert page.write(FULL).count(page.UNKNOWN) == len(differing)
    monkeypatch.setitem(page.REASONS, differing[0].key, "The moon was full.")
    text = page.write(FULL)
    assert f"*{differing[0].about}*:\nThe moon was full.\n" in text
    assert text.count(page.UNKNOWN) == len(differing) - 1


def test_every_reason_is_of_a_claim():
    keys = {claim.key for claim in CLAIMS}
    assert page.REASONS.keys() <= keys
    assert len(keys) == len(CLAIMS)


@pytest.mark.slow
def test_a_quick_run_has_a_page_and_figures_of_what_there_is(tmp_path):
    text = page.write(QUICK)
    assert "This is a quick run" in text
    assert "Numbers are those of one seed." in text
    assert "crx + 1000" not in text
    files = figures.draw(QUICK, tmp_path)
    assert {file.stem for file in files} == {"figure-1", "figure-live", "figure-2", "figure-3"}


def test_a_run_of_nothing_has_a_page_without_claims_and_figures(tmp_path):
    nothing = QUICK | {"sets": [], "sparsified": [], "curves": []}
    assert "Figure" not in page.write(nothing)
    assert figures.draw(nothing, tmp_path) == []


@in_full
@pytest.mark.slow
def test_each_figure_is_drawn_twice_to_the_same_bytes(tmp_path):
    first, second = figures.draw(FULL, tmp_path / "1"), figures.draw(FULL, tmp_path / "2")
    assert [f.name for f in first] == [
        f"{name}{suffix}" for name in figures.names(FULL) for suffix in (".png", ".svg")
    ]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name
        assert one.read_bytes().startswith(b"\x89PNG" if one.suffix == ".png" else b"<?xml")
        assert one.stat().st_size < 600_000
