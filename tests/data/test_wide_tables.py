"""Wide tables become what the reference makes of their cells; lists come back as they went."""

import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Block
from dwindle.data.formats.tables import wide as columns
from dwindle.data.formats.tables.distinct import distinct
from dwindle.data.formats.vw import parser as vw
from dwindle.data.options import ReadOptions
from dwindle.features.keys import key_of
from helpers import reference_columns as reference

INTERACTIONS = (
    ("price", "color"),
    ("price", "price"),
    ("color", "12", "color"),
    ("12", "12", "12"),
)

TYPES = {
    "y": pa.float64(),
    "w": pa.float64(),
    "price": pa.float64(),
    "12": pa.int64(),
    "color": pa.string(),
    "on": pa.bool_(),
}

floats = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 3.5, 1e-46, 3.4e38, 1e39, 1e20, float("nan"), float("inf")]),
    st.floats(),
)
texts = st.one_of(st.sampled_from(["", "red", "blue", "ü", "a\0b", "x" * 40]), st.text(max_size=8))
rows = st.fixed_dictionaries(
    {
        "y": st.one_of(st.none(), st.sampled_from([-1.0, 1.0]), floats),
        "w": st.one_of(st.none(), st.sampled_from([0.0, 2.0, -1.0])),
        "price": st.one_of(st.none(), floats),
        "12": st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        "color": st.one_of(st.none(), texts),
        "on": st.one_of(st.none(), st.booleans()),
    }
).map(lambda row: {name: row[name] for name in TYPES})


def array_of(cells, kind):
    if pa.types.is_dictionary(kind):  # which Arrow does not make of every type of strings
        return pa.array(cells, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(cells, kind)


def table_of(rows, types=TYPES):
    arrays = [array_of([row[name] for row in rows], kind) for name, kind in types.items()]
    return pa.RecordBatch.from_arrays(arrays, list(types))


def wide(table, **options):
    said = {"label_column": "y", "weight_column": "w"} | options
    return columns.wide(table, "data", ReadOptions(**said))


@given(st.lists(rows, max_size=8))
def test_a_wide_table_is_what_its_cells_say(rows):
    expected = reference.wide(rows, "y", "w")
    reference.check(wide(table_of(rows)), expected)


@given(st.lists(rows, max_size=8))
def test_products_of_columns_are_those_of_the_reference(rows):
    expected = reference.wide(rows, "y", "w", interactions=INTERACTIONS)
    reference.check(wide(table_of(rows), interactions=INTERACTIONS), expected)


@given(st.lists(rows, max_size=8), st.integers(0, 8), st.integers(0, 8))
def test_a_slice_of_a_table_is_that_part_of_it(rows, begin, size):
    expected = reference.wide(rows[begin : begin + size], "y", "w", interactions=INTERACTIONS)
    part = table_of(rows)[begin : begin + size]
    reference.check(wide(part, interactions=INTERACTIONS), expected)


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int64(), pa.large_string()),
        pa.dictionary(pa.uint16(), pa.string()),
    ],
)
def test_every_type_of_text_is_read_alike(kind):
    rows = [{"y": 1, "color": color} for color in ["red", None, "", "blue", "red"]]
    table = table_of(rows, {"y": pa.int8(), "color": kind})
    reference.check(wide(table, weight_column=None), reference.wide(rows, "y"))


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(9, 2)],
)
def test_every_type_of_number_is_read_alike(kind):
    rows = [{"y": 1, "price": price} for price in [3, None, 0, 7]]
    cells = [None if row["price"] is None else row["price"] for row in rows]
    if pa.types.is_decimal(kind):
        cells = [None if cell is None else decimal.Decimal(cell) for cell in cells]
    elif kind == pa.float16():
        cells = [None if cell is None else np.float16(cell) for cell in cells]
    table = pa.RecordBatch.from_arrays([pa.array([1] * 4), pa.array(cells, kind)], ["y", "price"])
    reference.check(wide(table, weight_column=None), reference.wide(rows, "y"))


def test_a_dictionary_of_numbers_is_a_column_of_categories():
    numbers = pa.array([3, 4, 3]).dictionary_encode()
    table = pa.RecordBatch.from_arrays([pa.array([1, 1, 1]), numbers], ["y", "price"])
    assert list(wide(table, weight_column=None).batch.names) == ["price=3", "price=4", "price=3"]
    said = {"columns": {"price": "number"}}
    assert wide(table, weight_column=None, **said).batch.x.tolist() == [3, 4, 3]


def test_of_a_large_dictionary_only_what_is_used_is_hashed():
    dictionary = pa.array([str(i) for i in range(1000)])
    codes = pa.array([999, None, 7], pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, dictionary)
    table = pa.RecordBatch.from_arrays([pa.array([1, 1, 1]), column], ["y", "c"])
    batch = wide(table, weight_column=None).batch
    assert list(batch.names) == ["c=999", "c=7"]
    assert batch.key.tolist() == [key_of("c=999"), key_of("c=7")]


def test_a_column_of_nothing_is_absent():
    table = pa.RecordBatch.from_arrays([pa.array([1, 1]), pa.nulls(2)], ["y", "price"])
    assert wide(table, weight_column=None).batch.start.tolist() == [0, 0, 0]


def test_a_row_without_a_label_is_not_learned_from():
    batch = wide(
        table_of([{"y": None, "w": 5.0, "price": 1, "12": 1, "color": "", "on": True}])
    ).batch
    assert (batch.label.tolist(), batch.importance.tolist()) == ([0], [0])


def test_a_product_is_named_and_keyed_as_in_vw_text():
    """The namespaces of VW are the columns of a table, so the keys differ but not how they mix."""
    rows = [{"y": 1, "price": 2.0, "color": "red"}]
    types = {"y": pa.int8(), "price": pa.float64(), "color": pa.string()}
    batch = wide(
        table_of(rows, types), weight_column=None, interactions=(("price", "color"),)
    ).batch
    text = np.frombuffer(b"1 |price price:2 |color color:red", np.uint8)
    line = vw.parse(Block(text, "data"), interactions=(("price", "color"),)).batch
    assert batch.names[2] == line.names[2] == "price*color\0price*color=red"
    assert batch.x.tolist() == line.x.tolist() == [2, 1, 2]
    assert int(batch.key[2]) == reference.mix(key_of("price"), key_of("color=red"))


def test_names_are_not_made_before_they_are_asked_for():
    names = wide(
        table_of([{"y": 1, "w": 1, "price": 2, "12": 3, "color": "red", "on": True}])
    ).batch.names
    assert not isinstance(names, list)
    assert (len(names), names[-1], names[1:3]) == (4, "on", ["12", "color=red"])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            [1.5, float("nan")],
            "column 'price' is nan: write an empty cell or null for a missing value",
        ),
        ([1.5, float("-inf")], "column 'price' is -inf: write a finite number"),
        (
            [1.5, -1e300],
            "column 'price' is -1e+300, too large for single precision: write a number below 3.4e38 in size",
        ),
        (["a", "b\0"], "column 'price' holds a NUL character: remove it"),
    ],
)
def test_a_bad_cell_is_named_with_its_column_and_row(column, message):
    table = pa.RecordBatch.from_pydict({"y": [1, 1], "price": column})
    parsed = wide(table, weight_column=None)
    assert [str(fault) for fault in parsed.bad] == [f"data:2: {message}"]
    assert parsed.line.tolist() == [1]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            {"y": float("nan")},
            "label column 'y' is nan: write an empty cell or null for a missing value",
        ),
        (
            {"y": 1e39},
            "label column 'y' is 1e+39, too large for single precision: write a number below 3.4e38 in size",
        ),
        ({"w": -2.0}, "weight column 'w' is -2.0: write 0 to learn nothing from the row"),
        ({"w": float("inf")}, "weight column 'w' is inf: write a finite number"),
    ],
)
def test_a_bad_label_or_weight_is_named(cells, message):
    row = {"y": 1.0, "w": 1.0, "price": 1.0, "12": 1, "color": "red", "on": True}
    assert [str(fault) for fault in wide(table_of([row, row | cells])).bad] == [
        f"data:2: {message}"
    ]


def test_a_product_too_large_is_a_bad_row():
    row = {"y": 1.0, "w": 1.0, "price": 1e30, "12": 1, "color": "red", "on": True}
    parsed = wide(table_of([row, row | {"price": 1.0}]), interactions=(("price", "price"),))
    assert parsed.line.tolist() == [2]
    assert [fault.message for fault in parsed.bad] == [
        "a product of the interaction price*price is too large for single precision: scale its values down"
    ]


ONE = pa.RecordBatch.from_pydict(
    {"y": [1], "price": [2.0], "when": pa.array([0], pa.duration("s"))}
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "data: column 'when' is of type duration[s], which is no feature: make it numbers or strings, or leave it out with --drop when"),
        ({"label_column": "z"}, "data: no column 'z' for the label; the columns are 'y', 'price', 'when'"),
        ({"weight_column": "z"}, "data: no column 'z' for the weight; the columns are 'y', 'price', 'when'"),
        ({"columns": {"z": "drop"}}, "data: no column 'z'; the columns are 'price', 'when'"),
        ({"interactions": (("price", "z"),)}, "data: no column 'z' for an interaction; the columns are 'y', 'price', 'when'"),
        ({"interactions": (("price", "y"),)}, "data: the interaction price*y is of column 'y', which is the label or the weight: interactions are of features"),
        ({"interactions": (("when", "price"),), "columns": {"when": "drop"}}, "data: the interaction when*price is of column 'when', which is left out: interactions are of features"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_whole_table_is_said_at_once(options, message):
    with pytest.raises(DataError) as caught:
        wide(ONE, **{"weight_column": None} | options)
    assert str(caught.value) == message


def test_an_ignored_column_may_be_of_any_type():
    assert list(wide(ONE, weight_column=None, columns={"when": "drop"}).batch.names) == ["price"]


def test_text_labels_are_numbered_and_named():
    table = pa.RecordBatch.from_pydict({"y": [None, "yes", " no ", "yes"], "price": [1, 2, 3, 4]})
    parsed = columns.wide(table, "data", ReadOptions(label_column="y"))
    assert parsed.batch.importance.tolist() == [0, 1, 1, 1]
    assert [parsed.label(i) for i in (1, 2, 3)] == ["yes", "no", "yes"]


def test_two_columns_of_one_name_are_refused():
    table = pa.RecordBatch.from_arrays(
        [pa.array([1]), pa.array([1]), pa.array([1])], ["y", "a", "a"]
    )
    with pytest.raises(DataError, match=r"^data: 2 columns are named 'a': rename all but one$"):
        wide(table, weight_column=None)


@pytest.mark.parametrize("n_keys", [0, 1, 5, 3000, 2**63])
def test_distinct_keys_are_numbered_in_the_order_they_come(n_keys):
    key = np.random.default_rng(0).integers(0, max(n_keys, 1), 5000 if n_keys else 0, np.uint64)
    first, which = distinct(key)
    assert key[first].tolist() == list(dict.fromkeys(key.tolist()))
    assert key[first][which].tolist() == key.tolist()


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (pa.array([{"a": decimal.Decimal("1.5")}]), ["u\0a"]),
        (pa.array([[(7, 2)]], pa.map_(pa.int64(), pa.int64())), ["u\x007"]),
        (pa.array([{"a": b"x"}]), []),
    ],
)
def test_members_of_structs_and_maps_may_be_of_any_type(column, names):
    parsed = columns.wide(pa.record_batch({"label": [1], "u": column}), "a.parquet", ReadOptions())
    assert list(parsed.batch.names) == names
    assert len(parsed.bad) == (not names)


def test_a_label_or_weight_of_another_type_is_refused_by_its_role():
    table = pa.record_batch({"label": [1], "w": ["heavy"]})
    with pytest.raises(DataError, match="weight column 'w' is of type string: expected numbers"):
        columns.wide(table, "a.parquet", ReadOptions(weight_column="w"))


def test_a_label_of_spaces_is_no_label():
    table = pa.record_batch({"label": ["spam", "  ", "ham"]})
    assert columns.wide(table, "a.parquet", ReadOptions()).batch.importance.tolist() == [1, 0, 1]
