"""A command that is killed, in whatever phase, comes to the same file when it is run again."""

import pytest

from attacks import kills
from attacks.scenarios import SCENARIOS
from attacks.syscalls import SUPPORTED
from helpers.effort import FULL

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="needs Linux on x86-64"),
    pytest.mark.slow,
]
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@pytest.fixture(scope="module")
def two_passes():
    attack = kills.Attack(BY_NAME["train, two passes"])
    yield attack
    attack.close()


PHASES = [phase for phase in kills.PHASES if phase != kills.JOURNAL]


@pytest.mark.parametrize("phase", PHASES)
def test_a_run_that_is_killed_in_this_phase_goes_on_to_the_same_bits(phase, two_passes):
    fell, wrong = two_passes.attempt([(phase, two_passes.phases[phase] // 2)])
    assert fell == [phase]
    assert wrong == []


def test_a_run_that_is_killed_again_and_again_goes_on_to_the_same_bits(two_passes):
    points = [(kills.CHECKPOINT, 3), (kills.LEARNING, 1), (kills.RENAME, 1), (kills.OUTPUT, 0)]
    fell, wrong = two_passes.attempt(points)
    assert fell == [phase for phase, _ in points]
    assert wrong == []


def test_another_file_is_noticed(two_passes, monkeypatch):
    monkeypatch.setattr(two_passes, "expected", b"another")
    _, wrong = two_passes.attempt([(kills.LEARNING, 0)])
    assert wrong == ["run again, it wrote another file"]


@pytest.mark.skipif(not FULL, reason="only in `make test-all`")
def test_kills_of_all_commands_fall_into_every_phase():
    result = kills.run(150, "full", SCENARIOS, lambda _: None)
    assert result["found"] == []
    assert set(result["phases"]) == set(kills.PHASES)
