"""A journal keeps what is finished, whatever cuts it short."""

import math

import pytest

from dwindle import DataError
from dwindle.runs.journal import Journal

ABOUT = {"folds": 3, "grid": [0.1, None], "cooldown": (1, 2)}
RESULTS = {"a fold 0": [1.5, math.nan], "a fold 1": None, "b fold 0": [[0.1, 0.2], None]}


def filled(path):
    journal = Journal(path, ABOUT)
    for name, result in RESULTS.items():
        journal.add(name, result)
    return path


def test_what_was_finished_is_there_again(tmp_path):
    journal = Journal(filled(tmp_path / "j"), ABOUT)
    assert len(journal) == 3
    for name, result in RESULTS.items():
        assert name in journal
        assert repr(journal[name]) == repr(result)
    assert "c" not in journal


def test_other_work_is_refused_and_stays(tmp_path):
    path = filled(tmp_path / "j")
    before = path.read_bytes()
    with pytest.raises(DataError, match="j: was written with other settings or other data"):
        Journal(path, ABOUT | {"folds": 4})
    assert path.read_bytes() == before


def test_until_something_is_finished_there_is_no_file(tmp_path):
    Journal(tmp_path / "j", ABOUT)
    assert not (tmp_path / "j").exists()


def test_other_work_of_which_nothing_is_finished_gives_way(tmp_path):
    path = filled(tmp_path / "j")
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    Journal(tmp_path / "j", 7).add("x", 1)
    assert len(Journal(tmp_path / "j", 7)) == 1


@pytest.mark.parametrize("text", ["a diary", "PAR1\x00\n", "[1]\n", '{"about": 1\n', "7\n"])
def test_a_file_that_is_no_journal_is_refused_and_stays(tmp_path, text):
    (tmp_path / "j").write_text(text)
    with pytest.raises(DataError, match="j: is not a journal"):
        Journal(tmp_path / "j", ABOUT)
    assert (tmp_path / "j").read_text() == text


def test_cut_short_at_any_byte_it_loses_only_the_last_line(tmp_path):
    whole = filled(tmp_path / "whole").read_bytes()
    path = tmp_path / "j"
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        lines = whole[:cut].count(b"\n")
        journal = Journal(path, ABOUT)
        assert len(journal) == max(lines - 1, 0)
        for name, result in RESULTS.items():
            if name not in journal:
                journal.add(name, result)
        assert path.read_bytes() == whole
