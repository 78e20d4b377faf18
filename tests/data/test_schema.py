"""The kind of a column is the same in every format, and decides what its cells are in later files."""

import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dwindle._base.errors import DataError, SettingError
from dwindle.data.formats import csv
from dwindle.data.formats.tables.kinds import kind_by_cells
from dwindle.data.frames import read_frame
from dwindle.data.options import ReadOptions, as_before, kept_reading, kinds_for
from dwindle.data.schema import Column, ColumnKinds, Kind, Schema, checked_kinds
from dwindle.data.stream import read


def guessed(*cells):
    cells = [None if cell == "" else cell for cell in cells]
    return kind_by_cells(pa.array(cells, pa.string()), "x", np.arange(2, len(cells) + 2))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", " -3e4 ", ".5", "5."], "number"),
        (["1", "", "NA", "?"], "number"),
        (["true", "False", "TRUE"], "number"),
        (["true", "maybe"], "category"),
        (["true"] * 99 + ["maybe"], "category"),
        (["0", "0.5", "-05"], "number"),
        (["00", "07"], "category"),
        (["94110", "02139"], "category"),
        (["12.5", "02139"], "number"),
        (["-5", "02139", "1"], "number"),
        (["1"] * 9 + ["abc"], "number"),
        (["1"] * 8 + ["abc", "abd"], "category"),
        (["007"] + ["1"] * 8 + ["abc"], "category"),
        (["red", "1"], "category"),
        (["1e400", "inf"], "number"),
        (["0x10", "1_000"], "category"),
    ],
)
def test_cells_of_text_are_numbers_if_nearly_all_are_and_none_is_a_code(cells, kind):
    assert guessed(*cells).kind == kind


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["3,5", "4", "-0,25", "NA"], "looks like numbers with a comma, as '3,5'"),
        (["1,234", "1.234,5"], "looks like numbers with a comma, as '1,234'"),
        (["05/31/2024", "6/1/24 1:30 PM"], "looks like dates, as '05/31/2024'"),
        (["31.05.2024", "01.06.2024"], "looks like dates, as '31.05.2024'"),
        ([str(100_000 + i) for i in range(100)], "100 whole numbers, all distinct, as ids are"),
        (["10.0.0.1", "10.0.0.2"], ""),
        (["a,b", "c,d"], ""),
        ([str(i % 50) for i in range(100)], ""),
        ([str(i * i) for i in range(100)], ""),
        ([str(-(2**63)), str(2**63 - 1)] * 50, ""),
        ([str(2**64 + i) for i in range(100)], ""),
    ],
)
def test_what_looks_like_numbers_dates_or_ids_is_said(cells, told):
    note = guessed(*cells).note
    assert told in note
    assert bool(told) == bool(note)


def test_whole_numbers_of_a_typed_source_that_look_like_ids_are_said():
    notes = []
    frame = pa.table({"id": range(100_000, 100_200), "price": [i % 9 for i in range(200)]})
    read_frame(frame, ReadOptions(label_column=None), ColumnKinds(note=notes.append))
    assert [note.partition(":")[0] for note in notes] == ["column 'id'"]


def test_a_column_without_values_is_decided_later():
    assert guessed("", "NA", "-") is None


def test_a_schema_is_the_same_after_it_was_written_and_so_is_how_data_is_read():
    schema = Schema((Column("a", Kind.TEXT, "words"), Column("b", Kind.DROP, "as told")))
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    options = ReadOptions(interactions=(("a", "b"),), columns={"b": "drop"}, schema=schema)
    kept = json.loads(json.dumps(kept_reading(options)))
    assert as_before(kept, ReadOptions()) == options


def test_what_models_of_version_0_1_ignored_is_dropped():
    kept = {"label_column": "y", "weight_column": None, "interactions": [], "ignore": ["b"]}
    assert as_before(kept, ReadOptions()).dropped == {"b"}


def test_a_kind_is_decided_once_and_said_once():
    told = []
    kinds = ColumnKinds(note=told.append)
    assert kinds.features(["y", "a"], "f", {"y"}) == ["a"]
    assert kinds.decide("a", Kind.NUMBER, "why", "a doubt").kind is Kind.NUMBER
    assert kinds.decide("a", Kind.CATEGORY, "because", "another").kind is Kind.NUMBER
    for _ in range(2):
        kinds.tell()
    assert told == ["a doubt"]
    assert kinds.schema() == Schema((Column("a", Kind.NUMBER, "why"),))


def test_a_name_is_surer_than_a_pattern_and_the_first_pattern_than_the_next():
    kinds = ColumnKinds({"id_*": "category", "id_a": "number", "*": "drop"})
    assert [kinds.said(name) for name in ("id_a", "id_b", "x")] == ["number", "category", "drop"]


def test_a_column_that_never_had_a_value_is_left_out_by_the_model():
    kinds = ColumnKinds()
    kinds.features(["a", "b"], "f", {})
    kinds.decide("a", Kind.NUMBER, "why")
    assert kinds.schema().kind("b") is Kind.DROP
    later = ColumnKinds(remembered=kinds.schema())
    assert later.features(["a", "b", "c"], "g", {}) == ["a"]


def test_columns_are_told_while_others_are_met():
    kinds, every = ColumnKinds(), [f"c{i}" for i in range(3000)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as thread:
            meeting = thread.submit(
                lambda: [kinds.features(every[i : i + 3], "body", ()) for i in range(0, 3000, 3)]
            )
            while not meeting.done():
                kinds.schema()
            meeting.result()
    finally:
        sys.setswitchinterval(before)
    assert [column.name for column in kinds.schema()] == every


def test_schemas_of_parts_are_united_unless_a_column_is_of_two_kinds():
    number, category = Column("a", Kind.NUMBER, "n"), Column("a", Kind.CATEGORY, "c")
    other, empty = Column("b", Kind.TEXT, "t"), Column("a", Kind.DROP, "it had no values")
    assert Schema((number,)).united(Schema((other,))).columns == (number, other)
    assert Schema((empty,)).united(Schema((category,))).columns == (category,)
    assert Schema((category,)).united(Schema((empty,))).columns == (category,)
    with pytest.raises(DataError, match="column 'a' is a category"):
        Schema((number,)).united(Schema((category,)))


def test_an_unknown_kind_is_refused():
    with pytest.raises(SettingError, match="'zip' is of kind 'cat': expected one of number, cat"):
        checked_kinds({"zip": "cat"})


# The same rows in every format.

TYPES = {
    "price": st.floats(-1e6, 1e6, width=32),
    "hour": st.integers(0, 23),
    "zip": st.sampled_from(["94110", "02139", "K1A0B1", "10001"]),
    "color": st.sampled_from(["red", "blue", "dark green", "ü"]),
    "on": st.booleans(),
}
rows = st.fixed_dictionaries({"label": st.sampled_from([0, 1])} | TYPES)
COLUMNS = {"hour": "category", "zip": "category", "color": "category"}


def in_every_format(frame, folder):
    """Yield the name of each format with the batches that it is read as."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_csv(folder / "a.tsv", index=False, sep="\t")
    lines = [json.dumps(row) for row in frame.to_dict("records")]
    (folder / "flat.jsonl").write_text("\n".join(lines))
    nested = [{"label": row.pop("label"), "features": row} for row in frame.to_dict("records")]
    (folder / "nested.jsonl").write_text("\n".join(map(json.dumps, nested)))
    pq.write_table(table, folder / "a.parquet")
    pyarrow.feather.write_feather(table, folder / "a.feather")
    for path in sorted(folder.iterdir()):
        yield path.name, lambda options, kinds, path=path: list(read([str(path)], options, kinds))
    frames = {
        "pandas": frame,
        "categories": frame.astype({"zip": "category", "hour": "category"}),
        "polars": pl.from_pandas(frame),
        "arrow": table,
    }
    for name, each in frames.items():
        yield name, lambda options, kinds, each=each: [read_frame(each, options, kinds)]


def features(parts):
    assert not any(parsed.bad for parsed in parts)
    found = []
    for parsed in parts:
        batch = parsed.batch
        for i in range(batch.n_examples):
            here = slice(batch.start[i], batch.start[i + 1])
            names = list(batch.names)[here]
            found.append(
                (float(batch.label[i]), dict(zip(names, batch.x[here].tolist(), strict=True)))
            )
    return found


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rows, min_size=1, max_size=12))
def test_the_same_rows_are_the_same_features_in_every_format(tmp_path_factory, rows):
    frame = pd.DataFrame(rows)
    options = ReadOptions(columns=COLUMNS)
    expected = schema = None
    folder = tmp_path_factory.mktemp("formats")
    for name, parts in in_every_format(frame, folder):
        kinds = kinds_for(options)
        found = features(parts(options, kinds))
        expected = expected or found
        assert found == expected, name
        here = {column.name: column.kind for column in kinds.schema()}
        schema = schema or here
        assert here == schema, name
    remembered = Schema(tuple(Column(name, kind, "") for name, kind in schema.items()))
    for name, parts in in_every_format(frame, folder):  # as a model of any of them reads them
        options = ReadOptions(schema=remembered)
        assert features(parts(options, kinds_for(options))) == expected, name


def test_a_category_of_whole_numbers_is_spelled_alike_whatever_its_type():
    schema = Schema((Column("k", Kind.CATEGORY, "as told"),))
    options = ReadOptions(label_column=None, schema=schema)
    for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.string()):
        values = pa.array([3, None, 4]).cast(kind)
        for column in (values, values.dictionary_encode()):
            parsed = read_frame(pa.table({"k": column}), options, kinds_for(options))
            assert list(parsed.batch.names) == ["k=3", "k=4"], column.type


def test_a_number_is_read_from_text_where_the_model_has_numbers():
    schema = Schema((Column("k", Kind.NUMBER, "all of the first 9 are"),))
    options = ReadOptions(label_column=None, schema=schema)
    frame = pa.table({"k": ["3", "NA", "true", " 4.5"]})
    parsed = read_frame(frame, options, kinds_for(options))
    assert parsed.batch.x.tolist() == [3, 1, 4.5]
    with pytest.raises(DataError, match="frame:2: column 'k': expected a number"):
        read_frame(pa.table({"k": ["3", "x"]}), options, kinds_for(options))


def test_block_sizes_do_not_change_a_kind(monkeypatch):
    text = "label,a,b\n" + "".join(f"1,{i},x{i}\n" for i in range(50)) + "1,abc,5\n"
    found = []
    for block in (64, 1 << 20):
        monkeypatch.setattr(csv, "BLOCK", block)
        parts = list(csv.batches(io.BytesIO(text.encode()), "f", ReadOptions()))
        names = [name for parsed in parts for name in parsed.batch.names]
        found.append((names, [fault.line for parsed in parts for fault in parsed.bad]))
    assert found[0] == found[1]
    assert found[0][1] == [52]


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (kinds_for(ReadOptions()), "--numeric zip reads numbers"),
        (kinds_for(ReadOptions(allow_unknown=False)), None),
        (ColumnKinds(), "columns={'zip': 'number'} reads numbers"),
    ],
)
def test_only_ways_that_the_user_has_are_proposed(kinds, told):
    notes = []
    kinds._tell = notes.append
    file = io.BytesIO(b"label,zip\n1,02139\n")
    list(csv.batches(file, "a.csv", ReadOptions(), kinds=kinds))
    kinds.tell()
    where = "column 'zip': numbers with leading zeros, as '02139': taken as a category"
    assert notes == [where if told is None else f"{where} ({told})"]
