"""Parquet and Arrow files, wide or of lists, hold the examples that CSV and JSON lines do."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwindle._base.errors import DataError
from dwindle.data.formats import block as blocks
from dwindle.data.formats import csv, jsonl
from dwindle.data.formats.block import Block
from dwindle.data.formats.tables import arrow, lists, sizes
from dwindle.data.formats.vw import parser as vw
from dwindle.data.options import ReadOptions
from helpers import reference_columns as reference

INTERACTIONS = (("price", "color"), ("color", "color"), ("n", "price", "color"))
ROWS = [
    {
        "y": None if i % 11 == 0 else (-1) ** i,
        "w": None if i % 7 == 0 else i / 4,
        "price": None if i % 5 == 0 else (i % 13) / 3,
        "n": i % 4,
        "color": [None, "red", "blue", "ü"][i % 4],
        "on": [True, False, None][i % 3],
    }
    for i in range(1, 300)
]
SAID = {"label_column": "y", "weight_column": "w"}


def table():
    kinds = [pa.int64(), pa.float64(), pa.float64(), pa.int32(), pa.string(), pa.bool_()]
    schema = pa.schema(list(zip(ROWS[0], kinds, strict=True)))
    return pa.Table.from_pylist(ROWS, schema)


def write_parquet(path):
    pq.write_table(table(), path, row_group_size=70)


def write_file(path):
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table().schema) as writer:
        writer.write_table(table(), max_chunksize=70)


def write_stream(path):
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, table().schema) as writer:
        writer.write_table(table(), max_chunksize=70)


def write_polars(path):
    pl.from_arrow(table()).with_columns(pl.col("color").cast(pl.Categorical)).write_parquet(path)


def write_pandas(path):
    kinds = {"y": "Int64", "color": "category", "on": "boolean"}
    pd.DataFrame(ROWS).astype(kinds).to_feather(path)


WRITERS = [write_parquet, write_file, write_stream, write_polars, write_pandas]


@pytest.fixture(params=WRITERS, ids=[writer.__name__ for writer in WRITERS])
def path(request, tmp_path):
    path = str(tmp_path / "data")
    request.param(path)
    return path


def read_csv(**options):
    text = io.BytesIO(pd.DataFrame(ROWS).astype({"y": "Int64"}).to_csv(index=False).encode())
    return list(csv.batches(text, "data", ReadOptions(**SAID, **options)))


def read_jsonl(**options):
    lines = [
        json.dumps({"label": row["y"], "weight": row["w"], "features": dict(list(row.items())[2:])})
        for row in ROWS
    ]
    data = np.frombuffer("\n".join(lines).encode(), np.uint8)
    return [jsonl.parse(Block(data, "data"), **options)]


def joined(parts):
    """All that parsed parts say, but for the numbers of lines."""
    batches = [parsed.batch for parsed in parts]
    return (
        [name for batch in batches for name in batch.names],
        np.concatenate([batch.key for batch in batches]).tobytes(),
        np.concatenate([batch.x for batch in batches]).tobytes(),
        np.concatenate([np.diff(batch.start) for batch in batches]).tobytes(),
        np.concatenate([batch.label for batch in batches]).tobytes(),
        np.concatenate([batch.importance for batch in batches]).tobytes(),
    )


@pytest.mark.parametrize("interactions", [(), INTERACTIONS])
def test_the_same_examples_are_equal_in_every_format(path, interactions):
    parts = list(arrow.batches(path, ReadOptions(**SAID, interactions=interactions)))
    assert joined(parts) == joined(read_csv(interactions=interactions))
    assert joined(parts) == joined(read_jsonl(interactions=interactions))
    assert [line for parsed in parts for line in parsed.line] == list(range(1, 300))
    good, bad = reference.wide(ROWS, "y", "w", interactions=interactions)
    assert bad == []
    assert joined(parts)[0] == [name for *_, features in good.values() for name, _, _ in features]


def test_what_is_ignored_is_not_read(path):
    dropped = {"price": "drop", "on": "drop"}
    parts = list(arrow.batches(path, ReadOptions(**SAID, columns=dropped)))
    assert joined(parts) == joined(read_csv(columns=dropped))
    assert joined(parts) == joined(read_jsonl(ignore=frozenset(dropped)))


def test_an_ignored_column_may_be_of_any_type(tmp_path):
    path = str(tmp_path / "data.parquet")
    pq.write_table(pa.table({"y": [1], "a": [2], "when": pa.array([0], pa.duration("s"))}), path)
    with pytest.raises(DataError, match=r"data.parquet: column 'when' is of type duration"):
        list(arrow.batches(path, ReadOptions(label_column="y")))
    (parsed,) = arrow.batches(path, ReadOptions(label_column="y", columns={"when": "drop"}))
    assert list(parsed.batch.names) == ["a"]


def test_bad_rows_are_numbered_through_the_file(tmp_path):
    path = str(tmp_path / "data.parquet")
    prices = np.ones(200)
    prices[[3, 150]] = np.nan
    pq.write_table(pa.table({"y": np.ones(200), "price": prices}), path, row_group_size=70)
    parts = list(arrow.batches(path, ReadOptions(label_column="y")))
    assert [str(fault) for parsed in parts for fault in parsed.bad] == [
        f"{path}:{row}: column 'price' is nan: write an empty cell or null for a missing value"
        for row in (4, 151)
    ]
    assert sum(len(parsed.line) for parsed in parts) == 198


def test_large_batches_are_cut(monkeypatch, path):
    monkeypatch.setattr(arrow, "MOST_ROWS", 16)
    monkeypatch.setattr(sizes, "MOST_ROWS", 16)
    parts = list(arrow.batches(path, ReadOptions(**SAID)))
    assert max(len(parsed.line) for parsed in parts) <= 16
    assert [line for parsed in parts for line in parsed.line] == list(range(1, 300))
    assert joined(parts) == joined(read_csv())


# Lists


def parsed_text():
    text = b"1 2 0.5 'tag | a b:2 |f c:red\n-1 |f c:blue d:0.1\n1 |f c:red\n"
    given = [Block(np.frombuffer(text * n, np.uint8), "data.vw") for n in (1, 5)]
    return [vw.parse(block, interactions=(("f", "f"),)) for block in given]


def same(one, other):
    for a, b in zip(one.batch[:6], other.batch[:6], strict=True):
        assert (a is None) == (b is None)
        assert a is None or (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
    assert list(one.batch.names) == list(other.batch.names)
    assert list(one.tags or ()) == list(other.tags or ())


def test_lists_come_back_from_a_file_to_the_bit(tmp_path):
    path = str(tmp_path / "data.arrow")
    given = parsed_text()
    untagged = given[0]._replace(tags=None)
    arrow.write(path, [*given, untagged])
    back = list(arrow.batches(path, ReadOptions(label_column="label")))
    for one, other in zip([blocks.joined(given), untagged], back, strict=True):
        same(one, other)
    assert [line for parsed in back for line in parsed.line] == list(range(1, 22))


def test_lists_come_back_from_parquet_to_the_bit(tmp_path):
    path = str(tmp_path / "data.parquet")
    given = parsed_text()[1]
    table = pa.Table.from_batches([lists.to_arrow(given)])
    pq.write_table(table.drop_columns("feature"), path)
    (back,) = arrow.batches(path, ReadOptions(label_column="label"))
    same(given, back)


def test_lists_are_read_where_the_file_is_mapped(tmp_path):
    path = str(tmp_path / "data.arrow")
    arrow.write(path, parsed_text())
    before = pa.total_allocated_bytes()
    back = list(arrow.batches(path, ReadOptions(label_column="label")))
    assert pa.total_allocated_bytes() == before
    assert back[0].batch.x.flags.writeable  # to Numba, else, another type
    assert back[0].batch.x.sum() == blocks.joined(parsed_text()).batch.x.sum()


def test_lists_have_no_columns_to_ignore(tmp_path):
    path = str(tmp_path / "data.arrow")
    arrow.write(path, parsed_text())
    with pytest.raises(DataError, match="lists of features have no columns for interactions"):
        list(
            arrow.batches(
                path, ReadOptions(label_column="label", columns=dict.fromkeys(["a"], "drop"))
            )
        )


# Files that are not what they seem


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_column": "z"}, "no column 'z' for the label; the columns are 'y', 'w', 'price', 'n', 'color', 'on'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_whole_file_is_said_at_once(path, options, message):
    with pytest.raises(DataError) as caught:
        list(arrow.batches(path, ReadOptions(**options)))
    assert str(caught.value) == f"{path}: {message}"


def test_another_file_is_refused_by_its_first_bytes(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(b"1 | a b c\n")
    with pytest.raises(DataError) as caught:
        list(arrow.batches(str(path), ReadOptions(label_column="y")))
    assert (
        str(caught.value)
        == f"{path}: expected a Parquet or Arrow file, but it begins with b'1 | a b '"
    )


@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_a_truncated_file_is_refused_by_name(path, kept, tmp_path):
    whole = Path(path).read_bytes()
    short = tmp_path / "short"
    short.write_bytes(whole[: int(len(whole) * kept)])
    with pytest.raises(DataError) as caught:
        list(arrow.batches(str(short), ReadOptions(**SAID)))
    assert str(caught.value).startswith(f"{short}: cannot be read: ")


def test_a_file_that_is_not_there_is_not_bad_data(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(arrow.batches(str(tmp_path / "none"), ReadOptions(label_column="y")))
