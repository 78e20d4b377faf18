"""The page about many machines says what was measured."""

import json
from pathlib import Path

from experiments.many.page import losses, misses, page, verdict

DOCS = Path(__file__).parents[2] / "docs"


def case(shards, auc, kept, seed=0):
    return {
        "set": "rcv1",
        "kind": "rda",
        "shards": shards,
        "split": "random",
        "seed": seed,
        "auc": auc,
        "loss": 0.2,
        "kept": kept,
    }


def test_the_page_shows_the_results_that_are_stored_beside_it():
    results = json.loads((DOCS / "many-machines.json").read_text())
    assert (DOCS / "many-machines.md").read_text() == page(results)


def test_all_digests_of_the_page_are_one():
    found = json.loads((DOCS / "many-machines.json").read_text())["bits"]
    digests = {value for value in found.values() if isinstance(value, str)}
    digests |= {found[name][0] for name in ("killed in each phase", "hung", "scheduler killed")}
    digests |= {*found["simulated"]["digests"]}
    digests |= {*found.get("killed at random", {}).get("digests", ())}
    assert len(digests) == 1


def test_a_case_misses_a_bar_by_its_auc_or_by_its_features():
    one = case(1, 0.98, 100)
    assert not misses(one, [case(8, 0.9793, 100)], 8)
    assert misses(one, [case(8, 0.9785, 100)], 8)
    assert not misses(one, [case(32, 0.9785, 100)], 32)
    assert misses(one, [case(32, 0.98, 90), case(32, 0.98, 120, 1)], 32)
    told = verdict([one, case(8, 0.9795, 90), case(32, 0.97, 120)])
    assert "met in 1 of 2 cases" in told
    assert "rcv1, RDA, 32 shards (AUC -0.0100, features +20%)" in told


def test_updates_whose_log_loss_suffers_by_shards_are_named():
    one, two, many = case(1, 0.98, 100), case(2, 0.98, 100), case(8, 0.98, 100)
    fine = losses([one, two, many])
    assert "In all cases log loss is within 10 %" in fine
    told = losses([one, two | {"loss": 0.3}, many | {"loss": 5.0}])
    assert "on rcv1 0.300 and 5.000 with 2 and 8 shards (one machine 0.200)" in told
    assert "Do not use `--update rda` with shards" in told
    assert "In all other cases" in told
