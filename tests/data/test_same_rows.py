"""The same rows give the same features in another file, order, chunking or format.

The first file decides what each column is. Everything that is read later by its schema must agree:
a part of its rows, in which all cells of a column of words may be numbers; other blocks; another
format; a data frame; a dict.
"""

import io
from csv import DictWriter
from dataclasses import replace
from json import dumps

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dwindle.data import schema
from dwindle.data.frames import read_frame
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.stream import read
from helpers.effort import FULL

MOST = 200 if FULL else 8
WORDS = st.sampled_from(["x", "1", "2", "03", "1.5", "true", "no", "é", "a b", "-"])
CELLS = {
    "word": st.none() | WORDS,
    "count": st.none() | st.integers(-9, 9),
    "price": st.none() | st.integers(-8, 8).map(lambda n: n / 4),
    "flag": st.booleans(),
}
ROW = st.fixed_dictionaries({"label": st.sampled_from([0, 1])} | CELLS)
ROWS = st.lists(  # with the members of each in the same order
    ROW.map(lambda row: {name: row[name] for name in ("label", *CELLS)}), min_size=1, max_size=12
)
OPTIONS = ReadOptions(label_column="label")


def csv(rows, path, delimiter=","):
    file = io.StringIO()
    writer = DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: _cell(v) for k, v in row.items()} for row in rows)
    path.write_text(file.getvalue())


def _cell(value):
    return str(value).lower() if isinstance(value, bool) else value


def tsv(rows, path):
    csv(rows, path, "\t")


def jsonl(rows, path):
    path.write_text("".join(dumps(row) + "\n" for row in rows))


def table(rows):
    kinds = {"label": pa.int8(), "word": pa.string(), "count": pa.int64(), "price": pa.float64()}
    fields = [*kinds.items(), ("flag", pa.bool_())]
    return pa.Table.from_pylist(rows, pa.schema(fields))


def parquet(rows, path):
    pq.write_table(table(rows), path, row_group_size=3)


def arrow(rows, path):
    with pa.ipc.new_file(path, table(rows).schema) as writer:
        writer.write_table(table(rows), 2)


WRITERS = {"csv": csv, "tsv": tsv, "jsonl": jsonl, "parquet": parquet, "arrow": arrow}


def listed(batch):
    """The names and values of each example's features, and its label."""
    names = [*map(str, batch.key)] if batch.names is None else list(batch.names)
    return [
        (names[a:b], batch.x[a:b].tolist(), float(batch.label[i]))
        for i, (a, b) in enumerate(zip(batch.start[:-1], batch.start[1:], strict=True))
    ]


def features(paths, options, kinds=None):
    found = []
    for parsed in read(list(map(str, paths)), options, kinds):
        assert not parsed.bad
        found += listed(parsed.batch)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("first", WRITERS)
@settings(max_examples=MOST, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, data=st.data())
def test_the_same_rows_have_the_same_features_whatever_file_they_are_in(
    first, rows, data, tmp_path
):
    origin = tmp_path / f"first.{first}"
    WRITERS[first](rows, origin)
    kinds = kinds_for(OPTIONS, lambda _: None)
    whole = features([origin], OPTIONS, kinds)
    known = replace(OPTIONS, schema=kinds.schema())
    order = data.draw(st.permutations(range(len(rows))))
    cut = data.draw(st.integers(0, len(rows)))
    size = data.draw(st.integers(1, 200))
    for end, write in WRITERS.items():
        parts = []
        for k, some in enumerate((order[:cut], order[cut:])):
            if some:
                parts.append(tmp_path / f"part{k}.{end}")
                write([rows[i] for i in some], parts[-1])
        found = features(parts, replace(known, block_size=size))
        assert found == [whole[i] for i in order], end
    for i in order[:2]:
        kinds = schema.ColumnKinds(None, known.schema, lambda _: None)
        assert listed(read_frame(table([rows[i]]), known, kinds).batch) == [whole[i]]


NAMES = st.sampled_from(["a", "b=1", "7", "é", "x^y", "0", "12"])
VALUES = st.integers(-8, 8).filter(bool).map(lambda n: n / 4)
SPARSE = st.lists(
    st.tuples(st.sampled_from([-1, 1]), st.dictionaries(NAMES, VALUES, max_size=5)), min_size=1,
    max_size=12,
)  # fmt: skip


def vw_line(label, members):
    return f"{label} | " + " ".join(f"{name}:{x}" for name, x in members.items()) + "\n"


def svmlight_line(label, members):
    numbered = sorted({len(name) * 31 + ord(name[0]): x for name, x in members.items()}.items())
    return f"{label} " + " ".join(f"{j}:{x}" for j, x in numbered) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(("end", "line"), [("vw", vw_line), ("svm", svmlight_line)])
@settings(max_examples=MOST, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=SPARSE, data=st.data())
def test_sparse_rows_have_the_same_features_whatever_file_they_are_in(
    end, line, rows, data, tmp_path
):
    def write(some, name):
        path = tmp_path / f"{name}.{end}"
        path.write_text("".join(line(*row) for row in some), encoding="utf-8")
        return path

    def found(paths, options=OPTIONS):
        return [
            (sorted(zip(names or [], x, strict=True)), label)
            for names, x, label in features(paths, options)
        ]

    whole = found([write(rows, "whole")])
    order = data.draw(st.permutations(range(len(rows))))
    cut = data.draw(st.integers(0, len(rows)))
    parts = [write([rows[i] for i in order[:cut]], "a"), write([rows[i] for i in order[cut:]], "b")]
    parts = [path for path in parts if path.stat().st_size]
    small = replace(OPTIONS, block_size=data.draw(st.integers(1, 100)))
    assert found(parts, small) == [whole[i] for i in order]
