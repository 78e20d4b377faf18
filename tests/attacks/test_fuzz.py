"""Inputs by chance do no harm; and what does harm is found, counted and survived."""

import json
import os
import signal
import sys
import time
from random import Random

import pytest

from attacks import fuzz
from attacks.target import CORPUS, GUIDED, Difference, Target, inputs_in
from attacks.targets import TARGETS
from attacks.worker import attack, made
from helpers.effort import FULL

BY_NAME = {target.name: target for target in TARGETS}
CASES = sorted(CORPUS.glob("*/*"))

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_the_corpus_is_read_as_the_references_read_it(case):
    target = BY_NAME[case.parent.name]
    for data in inputs_in(case):
        for seed in range(1 if case.name == GUIDED else 5):  # which decides the settings
            target.attempt(data, Random(f"{seed} {len(data)}"))


@linux_only
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_inputs_made_by_chance_do_no_harm(target):
    tally = attack(target, "always", 1000 if FULL else 25)
    assert tally.found == []
    assert tally.inputs == tally.accepted + tally.refused == (1000 if FULL else 25)


def planted(run):
    return Target("planted", lambda rng, _: bytes([rng.randrange(10)]), run, 1, "nothing")


@linux_only
def test_a_difference_is_counted_and_the_others_are_run():
    def run(data, rng):
        if data[0] == 3:
            raise Difference("three")
        return data[0] < 5

    tally = attack(planted(run), 1, 200)
    assert tally.differences > 5
    assert tally.inputs == tally.accepted + tally.refused + tally.differences == 200
    i, what = tally.found[0]
    assert what == "three"
    assert made(planted(run), 1, i, [])[0] == b"\x03"


@linux_only
def test_a_traceback_is_a_difference():
    tally = attack(planted(lambda data, _: 1 // data[0] >= 0), 1, 100)
    assert tally.differences > 3
    assert all("ZeroDivisionError" in what for _, what in tally.found)


@linux_only
def test_an_input_that_ends_the_process_is_named_and_the_others_are_run():
    def run(data, rng):
        if data[0] == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return True

    tally = attack(planted(run), 1, 60)
    assert tally.crashes > 2
    assert tally.accepted + tally.crashes == tally.inputs == 60
    assert all(made(planted(run), 1, i, [])[0] == b"\x03" for i, _ in tally.found)


@linux_only
def test_an_input_that_never_ends_is_stopped():
    tally = attack(planted(lambda data, _: data[0] != 3 or time.sleep(99)), 1, 8, patience=0.3)
    assert tally.hangs == len(tally.found) > 0
    assert tally.crashes == 0


@linux_only
def test_a_run_says_its_seed_and_keeps_its_results_by_target(tmp_path, capsys):
    output = tmp_path / "results.json"
    for name in ("svmlight", "vw"):
        arguments = ["--inputs", "20", "--seed", "7", "--target", name, "--output", str(output)]
        assert fuzz.main(arguments) is False
    assert "seed 7, 20 inputs" in capsys.readouterr().out
    found = json.loads(output.read_text())["fuzz"]
    assert {name: each["inputs"] for name, each in found.items()} == {"svmlight": 20, "vw": 20}
