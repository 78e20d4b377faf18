"""A changed bit in a table is refused if it has checksums, and never harms the process."""

import random

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwindle import Batch
from dwindle._base.errors import DataError
from dwindle.data.cached_examples import CachedExamples
from dwindle.data.formats.block import Block
from dwindle.data.formats.tables import arrow, lists
from dwindle.data.formats.vw import parser as vw
from dwindle.data.frames import batch_of
from dwindle.data.options import ReadOptions
from helpers.effort import FULL

TEXT = b"".join(
    b"%d %d 'tag%d |u n%d:0.%d n%d |v c%d\n" % ((-1) ** i, 1 + i % 2, i, i % 5, i + 1, i + 9, i % 3)
    for i in range(20)
)


def parsed():
    return vw.parse(Block(np.frombuffer(TEXT, np.uint8), "data.vw"))


def wide():
    return pa.table(
        {
            "label": [0, 1] * 15,
            "price": [None, 0.5, 1.5] * 10,
            "color": ["red", "blü", None] * 10,
            "shop": pa.array(["a", "b", "c"] * 10).dictionary_encode(),
            "on": [True, False, None] * 10,
            "words": [["p", "q"], [], ["q"]] * 10,
            "when": pa.array(range(30), pa.timestamp("s")),
        }
    )


def read(path):
    """All that a file says."""
    found = []
    for part in arrow.batches(str(path), ReadOptions()):
        batch = part.batch
        arrays = [each.tobytes() for each in batch[:5]]
        found.append((arrays, list(batch.names or ()), list(part.tags or ()), part.bad))
    return found


def flips(raw, n):
    """Some bits to change: n of them, in different bytes, always the same ones."""
    chosen = random.Random(1)
    for i in sorted(chosen.sample(range(len(raw)), min(n, len(raw)))):
        changed = bytearray(raw)
        changed[i] ^= 1 << chosen.randrange(8)
        yield i, bytes(changed)


def test_a_changed_bit_anywhere_in_a_converted_file_is_refused(tmp_path):
    path = tmp_path / "data.arrow"
    arrow.write(str(path), [parsed(), parsed()._replace(tags=None)])
    raw = path.read_bytes()
    assert len(read(path)) == 2
    for i, changed in flips(raw, len(raw) if FULL else 700):
        path.write_bytes(changed)
        with pytest.raises(DataError) as refused:
            read(path)
        assert str(path) in str(refused.value), i


def test_a_converted_file_that_is_cut_short_anywhere_is_refused(tmp_path):
    path = tmp_path / "data.arrow"
    arrow.write(str(path), [parsed(), parsed()])
    raw = path.read_bytes()
    for end in {*range(8, len(raw), 61), *range(len(raw) - 90, len(raw))}:
        path.write_bytes(raw[:end])
        with pytest.raises(DataError, match=r"data\.arrow: "):
            read(path)


def test_another_reader_does_not_mind_the_checksums(tmp_path):
    path = tmp_path / "data.arrow"
    arrow.write(str(path), [parsed(), parsed()])
    assert pl.read_ipc_stream(path).height == 40
    with pa.ipc.open_stream(path) as stream:
        assert stream.read_all().num_rows == 40


def write_lists(path, coded=None):
    table = lists.to_arrow(parsed(), coded)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_batch(table)


def test_numbers_of_no_feature_are_refused(tmp_path):
    kind = lists.LIST_SCHEMA.field("feature").type
    known = pa.array([{"key": 7, "name": "a"}], kind.value_type.value_type)
    numbers = pa.array([0, 1], pa.uint16())
    made = pa.DictionaryArray.from_arrays(numbers, known, safe=False)
    table = lists.to_arrow(parsed().rows(0, 2))
    feature = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), made, kind)
    table = table.set_column(3, "feature", feature)
    with pa.ipc.new_stream(str(tmp_path / "data"), table.schema) as writer:
        writer.write_batch(table)
    with pytest.raises(DataError, match="codes from 0 to 1 of 1 words"):
        read(tmp_path / "data")


def write_numbered_lists(path):
    write_lists(path, lists.numbered(parsed().batch))


def write_stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, wide().schema) as writer:
        writer.write_table(wide())


def write_file(path):
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_file(str(path), wide().schema, options=options) as writer:
        writer.write_table(wide())


def write_parquet(path):
    pq.write_table(wide(), path)


@pytest.mark.parametrize(
    "write", [write_lists, write_numbered_lists, write_stream, write_file, write_parquet]
)
def test_a_changed_bit_in_a_table_without_checksums_is_read_or_refused(write, tmp_path):
    path = tmp_path / "data"
    write(path)
    raw = path.read_bytes()
    expected, n_refused = read(path), 0
    assert expected
    for _, changed in flips(raw, 250):
        path.write_bytes(changed)
        try:
            read(path)
        except DataError:
            n_refused += 1
    assert n_refused > 10


def test_a_changed_bit_in_a_page_of_parquet_with_checksums_is_refused(tmp_path):
    path = tmp_path / "data.parquet"
    price = np.random.default_rng(0).normal(size=100)
    table = pa.table({"label": [0, 1] * 50, "price": price})
    pq.write_table(
        table, path, write_page_checksum=True, compression="none", use_dictionary=["label"]
    )
    raw = path.read_bytes()
    page = raw.index(price.tobytes())
    assert read(path)
    for i in range(page, page + price.nbytes, 7):
        path.write_bytes(raw[:i] + bytes([raw[i] ^ 1]) + raw[i + 1 :])
        with pytest.raises(DataError, match=r"data\.parquet: cannot be read: .*CRC"):
            read(path)


@pytest.mark.parametrize("code", [-1, 2, 2**31 - 1])
def test_a_code_that_no_word_has_is_refused_in_a_frame(code):
    code = pa.array([0, 1, code], pa.int32())
    column = pa.DictionaryArray.from_arrays(code, pa.array(["red", "blue"]), safe=False)
    with pytest.raises(DataError, match=r"frame: column 'color' is damaged: codes from -?\d+ to"):
        batch_of(pa.table({"color": column}))


@pytest.mark.parametrize("ends", [[0, 2, 1], [0, -1, 2]])
def test_offsets_out_of_range_are_refused_in_a_frame(ends):
    texts = pa.py_buffer(b"ab")
    offsets = pa.py_buffer(np.array(ends, np.int32))
    strings = pa.Array.from_buffers(pa.string(), 2, [None, offsets, texts])
    items = pa.array(["x", "y"])
    several = pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, offsets], children=[items])
    for column in (strings, several):
        with pytest.raises(DataError, match="frame: column 'a' is damaged: "):
            batch_of(pa.table({"a": column}))


def test_text_that_is_not_utf_8_is_refused_in_a_frame():
    offsets, texts = pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")
    column = pa.Array.from_buffers(pa.string(), 1, [None, offsets, texts])
    with pytest.raises(DataError, match="frame: column 'a' is damaged: Invalid UTF8"):
        batch_of(pa.table({"a": column}))


def test_a_changed_bit_in_the_cache_is_noticed():
    cached = CachedExamples(lambda: iter([parsed(), parsed()]), str, once=False)
    assert len(list(cached.parsed())) == len(list(cached.parsed())) == 2
    file = cached._cache._file
    for place in (900, 2500):
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 16]))
        file.flush()
        with pytest.raises(DataError, match=r"the cache of the data .* is damaged"):
            list(cached.parsed())
        file.seek(place)
        file.write(bytes([byte]))
        file.flush()
    assert all(isinstance(each.batch, Batch) for each in cached.parsed())
    cached.close()


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.date64(), *(pa.timestamp(u) for u in ("s", "ms", "us"))]
)
def test_dates_that_no_calendar_has_are_refused_by_row(kind, tmp_path):
    path = tmp_path / "data.parquet"
    most = 2**31 - 1 if kind == pa.date32() else 864 * 10**15
    number = pa.array([0, most], pa.int32() if kind == pa.date32() else pa.int64())
    table = pa.table({"label": [0, 1], "when": number.view(kind)})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    (part,) = arrow.batches(str(path), ReadOptions())
    assert [fault.line for fault in part.bad] == [2]
    assert "column 'when': expected a date" in str(part.bad[0])
    assert str(most) in str(part.bad[0])
