"""Lists of features in tables come back as they went, and what is wrong with them is said."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Block, Parsed
from dwindle.data.formats.tables.lists import LIST_SCHEMA, from_arrow, to_arrow
from dwindle.data.formats.vw import parser as vw
from dwindle.features.batch import Batch


def bits(batch):
    """Everything of a batch, to the bit."""
    arrays = [None if array is None else (array.dtype, array.tobytes()) for array in batch[:6]]
    return arrays, None if batch.names is None else list(batch.names)


vw_lines = st.sampled_from(
    [
        b"1 2 0.5 'tag | a b:2 |f c:red",
        b"-1 | a",
        b"|",
        b"1 |f c:red :2 |g 12:3",
        b"| b:-0.5 \xc3\xbc:1e-40",
    ]
)


@given(st.lists(vw_lines, min_size=1, max_size=6).map(b"\n".join))
def test_examples_come_back_from_lists_to_the_bit(text):
    parsed = vw.parse(Block(np.frombuffer(text, np.uint8), "data"), interactions=(("f", ""),))
    table = to_arrow(parsed)
    table.validate(full=True)
    assert table.schema == LIST_SCHEMA
    back = from_arrow(table, "data")
    assert bits(back.batch) == bits(parsed.batch)
    assert (back.tags and list(back.tags)) == (parsed.tags and list(parsed.tags))
    assert back.line.tolist() == list(range(1, len(parsed.line) + 1))


@given(st.lists(vw_lines, min_size=1, max_size=6), st.integers(0, 6))
def test_part_of_a_list_table_is_part_of_its_examples(lines, at):
    def parsed_of(lines):
        return vw.parse(Block(np.frombuffer(b"\n".join(lines), np.uint8), "data"))

    whole = to_arrow(parsed_of(lines))
    for part, table in [(lines[:at], whole[:at]), (lines[at:], whole[at:])]:
        if part:
            back = from_arrow(table, "data").batch
            expected = parsed_of(part).batch
            assert (back.x.tolist(), back.key.tolist()) == (
                expected.x.tolist(),
                expected.key.tolist(),
            )
            assert list(back.names) == list(expected.names)


def test_names_that_are_not_unicode_are_refused_unless_only_dwindle_reads_them():
    parsed = vw.parse(Block(np.frombuffer(b"1 | \xff b\n", np.uint8), "data"))
    with pytest.raises(UnicodeEncodeError):
        to_arrow(parsed)
    back = from_arrow(to_arrow(parsed, checked=False), "data")
    assert list(back.batch.names) == list(parsed.batch.names) == ["\udcff", "b"]


def test_lists_are_read_without_a_copy():
    batch = Batch.from_arrays([0, 2, 3], [1, 2, 3], [1.0, 2.0, 3.0], [1, -1])
    table = to_arrow(Parsed(batch, np.array([1, 2]), []))
    back = from_arrow(table, "data").batch
    assert back.key.ctypes.data == table.column("key").values.buffers()[1].address
    assert back.x.ctypes.data == table.column("x").values.buffers()[1].address
    assert back.names is None
    assert back.base is None
    assert all(array.flags.writeable for array in back[:5])  # to Numba, else, another type
    later = from_arrow(table[1:], "data").batch
    assert later.x.ctypes.data == back.x.ctypes.data + 8
    del table, back
    assert later.x.tolist() == [3.0]


def lists(**changes):
    given = {
        "label": pa.array([1.0, -1.0], pa.float32()),
        "importance": pa.array([1.0, 1.0], pa.float32()),
        "key": pa.array([[1, 2], [3]], pa.list_(pa.uint64())),
        "x": pa.array([[1.0, 2.0], [3.0]], pa.list_(pa.float32())),
    }
    return pa.RecordBatch.from_pydict(given | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": pa.array([1, np.nan], pa.float32())}, "label is nan: write an empty cell or null for a missing value"),
        ({"importance": pa.array([1, -1], pa.float32())}, "importance is -1.0: write 0 to learn nothing from the row"),
        ({"x": pa.array([[1, 2], [np.inf]], pa.list_(pa.float32()))}, "a value is inf: write a finite number"),
        ({"x": pa.array([[1, 2], [3, 4]], pa.list_(pa.float32()))}, "there are 1 keys, but 2 items of 'x'"),
        ({"key": pa.array([[1, 2], [2**64 - 1]], pa.list_(pa.uint64()))}, "a key is above 18446744073709551614, the largest there is"),
    ],
)  # fmt: skip
def test_a_bad_row_of_lists_is_named_and_left_out(changes, message):
    parsed = from_arrow(lists(**changes), "data")
    assert [str(fault) for fault in parsed.bad] == [f"data:2: {message}"]
    assert (parsed.line.tolist(), parsed.batch.key.tolist()) == ([1], [1, 2])


def test_zeros_in_lists_are_left_out():
    names = pa.array([["a", "b"], ["c"]])
    table = lists(x=pa.array([[0, 2], [3]], pa.list_(pa.float32())), name=names)
    batch = from_arrow(table, "data").batch
    assert (batch.start.tolist(), batch.key.tolist(), batch.x.tolist()) == (
        [0, 1, 2],
        [2, 3],
        [2, 3],
    )
    assert list(batch.names) == ["b", "c"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64()])
def test_the_numbers_of_names_in_lists_may_be_of_any_size(kind):
    words = [f"word{k}" for k in range(128)]
    place = pa.array([127, 0, 126], kind)
    names = pa.ListArray.from_arrays([0, 2, 3], pa.DictionaryArray.from_arrays(place, words))
    batch = from_arrow(lists(name=names), "data").batch
    assert list(batch.names) == ["word127", "word0", "word126"]


def test_nulls_in_lists_are_refused():
    with pytest.raises(DataError, match=r"^data: column 'key' has nulls: convert the data again$"):
        from_arrow(lists(key=pa.array([[1, 2], [None]], pa.list_(pa.uint64()))), "data")
