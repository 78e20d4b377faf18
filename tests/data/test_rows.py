"""Rows of a database, and Arrow batches in Python, are learned as a file of them is."""

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dwindle
from dwindle import DataError, ReadOptions, TrainSettings
from dwindle.data.rows import Query
from helpers.commands import dwindle as command
from helpers.commands import told

ROWS = pa.table(
    {
        "id": list(range(3000)),
        "label": [i % 3 == 0 for i in range(3000)],
        "ad": [f"ad{i * i % 11}" for i in range(3000)],
        "price": pa.array([(i % 17) * 0.5 for i in range(3000)], pa.float64()),
    }
)
DENSE = TrainSettings(gravity=0.0, passes=2, reading=ReadOptions(columns={"id": "drop"}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the rows as a file, as a database, and a model of them."""
    duckdb = pytest.importorskip("duckdb")
    found = tmp_path_factory.mktemp("shop")
    pq.write_table(ROWS, found / "rows.parquet")
    with duckdb.connect(str(found / "the shop.db")) as base:
        base.register("given", ROWS)
        base.execute("CREATE TABLE visits AS SELECT * FROM given")
    dwindle.train([str(found / "rows.parquet")], found / "m.parquet", DENSE)
    return found


def weights(path):
    return dwindle.Model.load(path).weights()


WORDS = ("--dense", "--passes", "2", "--drop", "id", "--threads", "1")


def test_a_query_of_a_database_file_is_data(folder):
    query = "duckdb:the shop.db?SELECT * FROM visits ORDER BY id"
    done = command("train", query, *WORDS, "-m", "q.parquet", cwd=folder, text=True)
    assert weights(folder / "q.parquet") == weights(folder / "m.parquet")
    assert "ORDER BY" not in done.stderr
    there = command("predict", "q.parquet", query, cwd=folder)
    here = command("predict", "m.parquet", "rows.parquet", cwd=folder)
    assert there.stdout == here.stdout
    assert b"AUC" in command("evaluate", "q.parquet", query, cwd=folder).stdout


def test_a_query_runs_once_however_many_passes_there_are(folder, monkeypatch):
    ran = []
    reader = Query.reader
    monkeypatch.setattr(Query, "reader", lambda self: ran.append(self) or reader(self))
    query = "duckdb:SELECT label, ad, price FROM 'rows.parquet'"
    words = ("--dense", "--passes", "3", "--interactions", "ad*price", "-q")
    command("train", query, *words, "-m", "q.parquet", cwd=folder)
    assert ran == [query]


def test_a_query_of_no_database_reads_files_and_is_told_when_it_has_no_order(folder):
    query = "duckdb:SELECT label, ad, price FROM 'rows.parquet' WHERE ad <> '?'"
    done = command("train", query, *WORDS[:3], "-m", "q.parquet", cwd=folder, text=True)
    assert any("no ORDER BY: the rows may come in another order" in each for each in told(done))
    assert weights(folder / "q.parquet") == weights(folder / "m.parquet")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("duckdb:none.db?SELECT 1", "none.db: no such database"),
        ("duckdb:", "expected a query: duckdb:SELECT"),
        ("duckdb:SELEC 1", 'duckdb:SELEC 1: Parser Error: syntax error at or near "SELEC"'),
        ("duckdb:SELECT * FROM nothing", "Catalog Error"),
        ("duckdb:the shop.db?DELETE FROM visits", "read-only"),
        ("duckdb:the shop.db?SELECT ad FROM visits", "no column 'label' for the label"),
        (
            "duckdb:SELECT 1 AS label, 1e300 AS price",
            "duckdb:SELECT 1 AS label, 1e300 AS price:1: ",
        ),
    ],
)
def test_what_is_wrong_with_a_query_is_said_in_one_line(folder, query, said):
    done = command("train", query, "-q", "-m", "bad.parquet", cwd=folder, check=False, text=True)
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]
    assert not (folder / "bad.parquet").exists()


def test_arrow_batches_in_python_are_data(folder):
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    base = duckdb.connect(str(folder / "the shop.db"), read_only=True)
    relation = base.sql("SELECT * FROM visits ORDER BY id")
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches(max_chunksize=700))
    for given in (reader, [reader_of(ROWS)], relation, ROWS, polars.from_arrow(ROWS)):
        dwindle.train(given, folder / "a.parquet", DENSE)
        assert weights(folder / "a.parquet") == weights(folder / "m.parquet")
    base.close()


def reader_of(rows):
    return pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches())


def test_a_connection_of_adbc_is_data(folder, tmp_path):
    adbc = pytest.importorskip("adbc_driver_sqlite.dbapi")
    with adbc.connect(str(tmp_path / "shop.sqlite")) as base, base.cursor() as cursor:
        small = ROWS.set_column(1, "label", ROWS["label"].cast(pa.int64()))
        cursor.adbc_ingest("visits", small)
        base.commit()
        cursor.execute("SELECT * FROM visits ORDER BY id")
        dwindle.train(cursor.fetch_record_batch(), folder / "b.parquet", DENSE)
    assert weights(folder / "b.parquet") == weights(folder / "m.parquet")


def test_a_reader_is_read_once_and_a_table_as_often_as_needed(tmp_path):
    with pytest.raises(DataError, match="a pipe can be read only once"):
        dwindle.tune(reader_of(ROWS), tmp_path / "m.parquet")
    assert sum(len(parsed.line) for parsed in dwindle.read(ROWS)) == 3000


def test_batches_are_asked_for_as_they_are_needed():
    asked = []

    def batches():
        for i in range(1000):
            asked.append(i)
            yield ROWS.to_batches()[0]

    found = dwindle.read(pa.RecordBatchReader.from_batches(ROWS.schema, batches()))
    next(found)
    found.close()
    assert len(asked) < 20


def test_rows_that_arrow_says_are_damaged_are_refused(tmp_path):
    offsets = pa.py_buffer(b"\x00\x00\x00\x00\x01\x00\x00\x00")
    bad = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xff"))
    rows = pa.table({"label": [1], "ad": bad})
    with pytest.raises(DataError, match="Table of Arrow batches"):
        dwindle.train(rows, tmp_path / "m.parquet")
