"""Dealing data to shards: every line is in one of them, whole, and none is empty."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import DataError, ReadOptions, SettingError, read
from dwindle.data.sources import Slice, sources
from dwindle.distributed.plan import check_files, line_before, shards_of
from helpers.effort import few_examples


def text_of(pieces):
    found = b""
    for piece in pieces:
        with Path(piece.path).open("rb") as file:
            found += file.read()[piece.begin : piece.end]
    return found


@given(
    st.lists(st.lists(st.integers(0, 60), max_size=20), min_size=1, max_size=6),
    st.integers(1, 12),
    st.booleans(),
)
@few_examples(60)
def test_shards_are_all_lines_in_order_and_each_is_whole(tmp_path_factory, files, shards, newline):
    folder = tmp_path_factory.mktemp("dealt")
    paths = []
    for k, lengths in enumerate(files):
        lines = [b"1 | " + b"a" * n for n in lengths]
        paths.append(folder / f"{k:02}.vw")
        paths[-1].write_bytes(b"\n".join(lines) + (b"\n" if newline and lines else b""))
    whole = b"".join(path.read_bytes() for path in paths)
    if not whole:
        return
    dealt = shards_of(sources([str(path) for path in paths]), ReadOptions(), shards, 1)
    assert b"".join(map(text_of, dealt)) == whole
    assert 1 <= len(dealt) <= shards
    for pieces in dealt:
        assert pieces
        for piece in pieces:
            text = text_of([piece])
            assert piece.end == piece.size or text.endswith(b"\n")


def test_one_large_file_becomes_shards_of_about_the_same_size(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 | a b c\n-1 | d e f\n" * 5000)
    dealt = shards_of(sources([str(path)]), ReadOptions(), 8, 1)
    sizes = [len(text_of(pieces)) for pieces in dealt]
    assert len(sizes) == 8
    assert max(sizes) - min(sizes) <= 40


def test_compressed_files_and_tables_are_dealt_whole(tmp_path):
    for k in range(4):
        (tmp_path / f"{k}.vw.gz").write_bytes(gzip.compress(b"1 | a\n" * 100))
    (tmp_path / "t.csv").write_text("label,x\n1,2\n0,3\n" * 50)
    dealt = shards_of(sources([str(tmp_path)]), ReadOptions(), 3, 1)
    assert all(piece.begin == 0 and piece.end == piece.size for each in dealt for piece in each)
    assert sum(map(len, dealt)) == 5


def test_a_slice_is_read_as_the_lines_that_it_is(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 | a\n-1 | b\n1 | c\n")
    [parsed] = read([Slice.of(str(path), 6, 13)])
    assert parsed.batch.label.tolist() == [-1.0]
    assert line_before(str(path), 6) == 1


def test_without_a_number_there_are_no_tiny_shards(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 | a\n" * 10)
    assert len(shards_of(sources([str(path)]), ReadOptions(), None, 8)) == 1


def test_pipes_and_empty_files_are_refused(tmp_path):
    with pytest.raises(SettingError, match="not a pipe"):
        check_files(sources(["-"]))
    (tmp_path / "a.vw").write_text("")
    with pytest.raises(DataError, match="no examples"):
        shards_of(sources([str(tmp_path / "a.vw")]), ReadOptions(), 2, 1)
