"""Twenty classes beside Vowpal Wabbit: how they are measured, and the page about it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from experiments.classes import docstrings, measured, of_parts, table, topics, with_table

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_shows_what_was_measured():
    page = (DOCS / "several-classes.md").read_text()
    found = json.loads((DOCS / "several-classes.json").read_text())
    assert with_table(page, found) == page
    assert table(found) in page


def test_on_no_set_are_the_defaults_behind_theirs_by_more_than_half_a_point():
    sets = json.loads((DOCS / "several-classes.json").read_text())["sets"].values()
    for row in sets:
        for ours, theirs in zip(row["ours"], row["theirs"], strict=True):
            assert round(ours - theirs, 3) >= -0.005


def test_documents_are_pieces_of_docstrings_named_by_their_part(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.py").write_text(f'"""{(name + "x ") * 70}"""\n')
    assert list(docstrings(tmp_path / "a")) == ["ax " * 70]
    assert of_parts(tmp_path) == [("a", Counter({"ax": 60})), ("b", Counter({"bx": 60}))]


@pytest.mark.slow
def test_both_programs_learn_topics():
    found = measured(topics(1500, 500), shuffles=1)
    assert found["documents"] == 1500
    assert min(found["ours"] + found["theirs"]) > 0.2
