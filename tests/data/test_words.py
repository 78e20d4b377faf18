"""The words of a text column are those that plain Python finds, with the keys of VW text."""

import unicodedata
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwindle.data.formats.block import Block
from dwindle.data.formats.tables.words import words
from dwindle.data.formats.vw import parser as vw
from dwindle.features.keys import key_of

KANA_AND_HAN = [(0x3041, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)]


def split(text):
    """The words of a text, one character at a time."""
    found = [""]
    for c in text:
        if unicodedata.category(c)[0] not in "LNM" or ord(c) >= 1 << 18:
            found.append("")
        elif any(first <= ord(c) <= last for first, last in KANA_AND_HAN):
            found += [c, ""]
        else:
            found[-1] += c
    return [word for word in found if word]


def reference(text, ngrams, counts):
    """{n-gram: value} of a text."""
    single = split(pa.compute.utf8_lower(pa.scalar(text)).as_py())
    grams = [
        "_".join(single[i : i + n])
        for n in range(1, ngrams + 1)
        for i in range(len(single) - n + 1)
    ]
    return {gram: n if counts else 1 for gram, n in Counter(grams).items()}


def features(found, i):
    """{name: value} of row i."""
    at = slice(*found.start[i : i + 2])
    names = [found.names[w].as_py() for w in found.word[at].tolist()]
    return dict(zip(names, found.x[at].tolist(), strict=True))


texts = st.one_of(
    st.text(max_size=20),
    st.text("aB1 _'-ß漢字かé🙂\0\n", max_size=20),
    st.lists(st.sampled_from(["free", "Money", "10", "don't"])).map(" ".join),
)


@given(st.lists(st.one_of(st.none(), texts), max_size=6), st.integers(1, 3), st.booleans())
@example(["漢字" * 50, "a", "b"], 2, False)
@example(["1日" * 5000], 1, False)  # a word ends at every other byte
def test_words_are_runs_of_letters_and_digits_in_lower_case(rows, ngrams, counts):
    found = words(pa.array(rows, pa.string()), "mail", ngrams, counts=counts)
    assert len(found.start) == len(rows) + 1
    for i, text in enumerate(rows):
        expected = reference(text or "", ngrams, counts)
        assert features(found, i) == {f"mail\0{word}": n for word, n in expected.items()}
    bare = [name.partition("\0")[2] for name in found.names.to_pylist()]
    assert found.key.tolist() == [key_of(name, "mail") for name in bare]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_any_type_of_strings_and_any_part_of_a_column_will_do(kind):
    column = pa.array(["lost", "free money", None, "free", "lost"]).cast(kind)
    found = words(column[1:4], "text")
    assert [features(found, i) for i in range(3)] == [
        {"text\0free": 1, "text\0money": 1},
        {},
        {"text\0free": 1},
    ]


def test_a_word_has_the_key_of_the_same_word_in_vw_text():
    line = np.frombuffer(b"1 |text win 10 free_money", np.uint8)
    found = words(pa.array(["Win 10"]), "text")
    pair = words(pa.array(["Free money!"]), "text", ngrams=2)
    assert [*found.key, pair.key[-1]] == vw.parse(Block(line, "mails.vw")).batch.key.tolist()
