"""Lists of features in tables come back as they went, and what is wrong with them is said."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Block, Parsed
from dwindle.data.formats.tables import lists as module
from dwindle.data.formats.tables.lists import (
    LIST_SCHEMA,
    from_arrow,
    numbered,
    pieces,
    to_arrow,
)
from dwindle.data.formats.vw import parser as vw
from dwindle.features.batch import Batch


def bits(batch):
    """Everything of a batch, to the bit."""
    arrays = [None if array is None else (array.dtype, array.tobytes()) for array in batch[:6]]
    return arrays, None if batch.names is None else list(batch.names)


def table_of(parsed, coded, **options):
    """The table of some examples, their features numbered or not."""
    return to_arrow(parsed, numbered(parsed.batch) if coded else None, **options)


vw_lines = st.sampled_from(
    [
        b"1 2 0.5 'tag | a b:2 |f c:red",
        b"-1 | a",
        b"|",
        b"1 |f c:red :2 |g 12:3",
        b"| b:-0.5 \xc3\xbc:1e-40",
    ]
)


@given(st.lists(vw_lines, min_size=1, max_size=6).map(b"\n".join), st.booleans())
def test_examples_come_back_from_lists_to_the_bit(text, coded):
    parsed = vw.parse(Block(np.frombuffer(text, np.uint8), "data"), interactions=(("f", ""),))
    table = table_of(parsed, coded)
    table.validate(full=True)
    assert table.schema == LIST_SCHEMA
    back = from_arrow(table, "data")
    assert bits(back.batch) == bits(parsed.batch)
    assert (back.tags and list(back.tags)) == (parsed.tags and list(parsed.tags))
    of_rows = [
        None if row is None else [item["key"] for item in row]
        for row in table["feature"].to_pylist()
    ]
    assert (of_rows if coded else table["key"].to_pylist()) == [
        parsed.batch.key[a:b].tolist() for a, b in pairwise(parsed.batch.start.tolist())
    ]
    assert back.line.tolist() == list(range(1, len(parsed.line) + 1))


@given(st.lists(vw_lines, min_size=1, max_size=6), st.integers(0, 6), st.booleans())
def test_part_of_a_list_table_is_part_of_its_examples(lines, at, coded):
    def parsed_of(lines):
        return vw.parse(Block(np.frombuffer(b"\n".join(lines), np.uint8), "data"))

    whole = table_of(parsed_of(lines), coded)
    for part, table in [(lines[:at], whole[:at]), (lines[at:], whole[at:])]:
        if part:
            back = from_arrow(table, "data").batch
            expected = parsed_of(part).batch
            assert (back.x.tolist(), back.key.tolist()) == (
                expected.x.tolist(),
                expected.key.tolist(),
            )
            assert list(back.names) == list(expected.names)


@pytest.mark.parametrize("coded", [True, False])
def test_names_that_are_not_unicode_are_refused_unless_only_dwindle_reads_them(coded):
    parsed = vw.parse(Block(np.frombuffer(b"1 | \xff b\n", np.uint8), "data"))
    with pytest.raises(UnicodeEncodeError):
        table_of(parsed, coded)
    back = from_arrow(table_of(parsed, coded, checked=False), "data")
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


def test_numbered_features_take_two_bytes_and_values_that_are_all_1_none():
    batch = Batch.from_arrays([0, 2, 3], [1, 2**60, 1], [1.0, 1.0, 1.0], [1, -1], [1, 1])
    table = table_of(Parsed(batch, np.array([1, 2]), []), True)
    numbers = table.column("feature").values
    assert numbers.indices.to_numpy().tolist() == [0, 1, 0]
    assert numbers.indices.type == pa.uint16()
    assert len(table.column("x").values) == len(table.column("key").values) == 0
    assert bits(from_arrow(table, "data").batch) == bits(batch)
    last = from_arrow(table[1:], "data").batch
    assert (last.start.tolist(), last.key.tolist(), last.x.tolist()) == ([0, 1], [1], [1.0])


@given(
    st.lists(st.lists(st.integers(0, 3000), max_size=40), max_size=200),
    st.sampled_from([1, 100]),
)
def test_examples_are_cut_where_there_are_more_features_than_numbers(rows, spread):
    start = np.cumsum([0, *map(len, rows)])
    key = np.array([k // spread for row in rows for k in row], np.uint64)
    batch = Batch.from_arrays(start, key, np.ones(len(key)), np.ones(len(rows)))
    parsed = Parsed(batch, np.arange(len(rows)), [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CODES", 512)
        found = list(pieces(parsed))
    assert [i for piece, _ in found for i in piece.line] == [*range(len(rows))]
    back = [from_arrow(to_arrow(piece, coded), "data").batch for piece, coded in found]
    assert (
        np.concatenate([np.empty(0, np.uint64), *(each.key for each in back)]).tolist()
        == key.tolist()
    )
    assert [n for each in back for n in np.diff(each.start)] == [*map(len, rows)]
    for piece, coded in found:
        assert coded is None or len(coded[0]) == len(np.unique(piece.batch.key)) <= 512
    if len(np.unique(key)) <= 512:
        assert all(coded is not None for _, coded in found)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([{"key": 1, "name": "a"}, None], "column 'feature' has nulls"),
        ([{"key": 1, "name": "a"}, {"key": 2, "name": None}], "some features have no name, others do"),
    ],
)  # fmt: skip
def test_numbered_features_without_a_key_or_some_without_a_name_are_refused(words, message):
    kind = LIST_SCHEMA.field("feature").type
    known = pa.array(words, kind.value_type.value_type)
    numbers = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.uint16()), known)
    feature = pa.ListArray.from_arrays([0, 2, 3], numbers, kind)
    with pytest.raises(DataError, match=rf"^data: {message}: convert the data again$"):
        from_arrow(lists(feature=feature), "data")


@pytest.mark.parametrize(
    "feature",
    [
        pa.array(["one", "two"]),
        pa.ListArray.from_arrays([0, 1, 2], pa.array(["a", "b"]).dictionary_encode()),
    ],
)
def test_a_column_that_happens_to_be_called_feature_is_left_alone(feature):
    table = lists(feature=feature)
    assert module.rows_of_lists(table) > 0
    assert from_arrow(table, "data").batch.key.tolist() == [1, 2, 3]


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
