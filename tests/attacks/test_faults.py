"""What a system call that fails does to a command: the old file stays, and the message names it."""

import errno
import os
from pathlib import Path

import pytest

from attacks import faults
from attacks.scenarios import SCENARIOS
from attacks.syscalls import SUPPORTED, supervised
from helpers.effort import FULL, in_full

pytestmark = [
    pytest.mark.skipif(not SUPPORTED, reason="needs Linux on x86-64"),
    pytest.mark.slow,
]
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
FEW = ["convert", "merge"] if not FULL else sorted(BY_NAME)


def written():
    Path("new").write_bytes(b"x" * 10)
    os.rename("new", "moved")


def test_a_supervisor_sees_each_call_and_the_file_it_is_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    end = supervised(written, ["write", "rename"], lambda _: None)
    assert end.code == 0
    own = [(event.name, Path(event.path).name) for event in end.events]
    assert ("write", "new") in own
    assert own[-1] == ("rename", "moved")


def test_a_call_fails_as_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    end = supervised(written, ["rename"], lambda _: errno.EACCES)
    assert end.code == 70
    assert "PermissionError" in end.said
    assert Path("new").exists()


def test_an_old_file_that_is_lost_is_noticed(monkeypatch):
    """The attack itself is attacked: a command that writes straight to its file."""

    def careless(self):
        Path(self.target).write_bytes(b"half")
        Path("other").write_bytes(b"rest")

    scenario = BY_NAME["merge"]
    attack = faults.Attack(scenario)
    monkeypatch.setattr(type(scenario), "run", careless)
    n = sum(1 for _ in attack._run(lambda _: None).events)
    attack._begin()
    found = [wrong for i in range(n) for wrong in attack.attempt(i)[2]]
    attack.close()
    assert any(
        "another file" in each or "old file" in each or "traceback" in each for each in found
    )


def test_a_file_is_synced_before_it_is_renamed_and_its_folder_after():
    attack = faults.Attack(BY_NAME["merge"])
    own = [(each.name, each.path) for each in attack.events() if each.name not in faults.MEMORY]
    attack.close()
    names = [name for name, _ in own]
    at = names.index("rename")
    assert names[at - 1] == names[at + 1] == "fsync"
    assert ".m.parquet." in own[at - 1][1]
    assert own[at + 1][1] == str(attack.folder)
    assert "write" in names[: at - 1]
    assert "write" not in names[at:]


@pytest.mark.parametrize("name", FEW)
def test_whatever_fails_the_old_file_stays_and_nothing_is_left_behind(name):
    outcome = faults.run([BY_NAME[name]], None, lambda _: None, memory=FULL)[name]
    assert outcome.found == []
    assert outcome.refused >= 3


@in_full
def test_all_commands_are_attacked():
    assert {name.partition(",")[0] for name in FEW} == {
        "train",
        "tune",
        "convert",
        "predict",
        "merge",
    }
