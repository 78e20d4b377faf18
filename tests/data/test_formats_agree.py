"""The same examples give the same model, to the bit, in whatever format they are written.

What a format has no words for is left out of its table below: svmlight has only numbered features,
a label each and no importance; tables have no namespaces; VW text crosses namespaces, not columns.
Features stand in the same order everywhere: a sum of floating-point numbers depends on it.
"""

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwindle import Truncation
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.convert import convert
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.compression import COMPRESSED
from helpers.observing import heard

N = 400


def model(path, **reading):
    """What is learned from a file: names, keys and weights of the features, and the intercept."""
    out = path.with_name("model.parquet")
    training = TrainSettings(shrinkage=Truncation(1e-3), passes=2, reading=ReadOptions(**reading))
    train([str(path)], out, training, observer=heard(on_note=str))
    found = Model.load(out)
    return found.names, found.key.tolist(), found.weight.tobytes(), found.intercept


# A row is a dict: "label", perhaps "weight", then its features in order. None is a missing value.


def vw_text(rows):
    """Every member that is a dict is a namespace, the others are in the default one."""
    return "".join(f"{_head(row)}{_sections(row)}\n" for row in rows).encode()


def _head(row):
    if row["label"] is None:
        return ""
    return f"{row['label']!r} " + (f"{row['weight']!r} " if row.get("weight") is not None else "")


def _sections(row):
    said = [
        f"|{name} " + _tokens(value) if isinstance(value, dict) else "| " + _tokens({name: value})
        for name, value in features(row).items()
    ]
    return " ".join(said) or "|"


def _tokens(members):
    said = {name: value for name, value in members.items() if value not in (None, "")}
    return " ".join(
        # `color:4` would be a number, so text that looks like one stands with its '='.
        f"{name}{'=' if value[0] in '0123456789' else ':'}{value}"
        if isinstance(value, str)
        else f"{name}:{float(value)!r}"
        for name, value in said.items()
    )


def features(row):
    return {name: value for name, value in row.items() if name not in ("label", "weight")}


def svmlight_text(rows):
    lines = [
        f"{row['label']!r} " + " ".join(f"{j}:{x!r}" for j, x in features(row).items() if x)
        for row in rows
    ]
    return "\n".join(lines).encode()


def csv_text(rows, delimiter=","):
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def tsv_text(rows):
    return csv_text(rows, "\t")


def json_lines(rows):
    said = [{k: row[k] for k in ("label", "weight") if k in row} for row in rows]
    lines = [json.dumps(s | {"features": features(row)}) for s, row in zip(said, rows, strict=True)]
    return "\n".join(lines).encode()


TEXTS = {
    "vw": vw_text,
    "svm": svmlight_text,
    "csv": csv_text,
    "tsv": tsv_text,
    "jsonl": json_lines,
}


def wide_files(rows, folder):
    """The rows as Parquet and Arrow files with a column for each feature."""
    table = pa.Table.from_pylist(rows)
    for codec in ("none", "snappy", "gzip", "zstd"):
        path = folder / f"{codec}.parquet"
        pq.write_table(table, path, row_group_size=70, compression=codec)
        yield path
    for codec in (None, "lz4", "zstd"):
        path = folder / f"{codec}.arrow"
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.ipc.new_file(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=70)
        yield path


def text_files(rows, folder, formats, compressions=tuple(COMPRESSED)):
    """The rows in each of these text formats and compressions."""
    for kind in formats:
        raw = TEXTS[kind](rows)
        for end in compressions:
            path = folder / f"data.{kind}{end}"
            path.write_bytes(COMPRESSED[end](raw))
            yield path


def agree(paths, **reading):
    """All of these give one model; and so does each of them as lists, made by `convert`."""
    expected = None
    for path in list(paths):
        found = model(path, **reading)
        expected = expected or found
        assert len(found[0]) > 5
        assert found == expected, path.name
        if path.suffix not in COMPRESSED:
            lists = path.with_name(path.name + ".lists.arrow")
            convert([str(path)], str(lists), ReadOptions(**reading), observer=heard(on_note=str))
            assert model(lists) == expected, path.name


@pytest.fixture(scope="module")
def numbered():
    """Features that are columns of a matrix, with large, small and negative numbers."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 12)) * 10.0 ** rng.integers(-3, 4, 12) * rng.integers(0, 2, (N, 12))
    label = np.where(x[:, 3] + rng.normal(size=N) > 0, 1, -1)
    names = ["0", "12", "7", *map(str, range(100, 108)), "18446744073709551614"]
    return [
        {"label": int(y), **dict(zip(names, map(float, row), strict=True))}
        for y, row in zip(label, x, strict=True)
    ]


@pytest.mark.slow
def test_numbered_features(numbered, tmp_path):
    texts = text_files(numbered, tmp_path, TEXTS)
    agree([*texts, *wide_files(numbered, tmp_path)])


@pytest.fixture(scope="module")
def named():
    """Columns of numbers, text and truth values; labels, weights and cells may be missing."""
    rng = np.random.default_rng(1)
    return [
        {
            "label": None if i % 17 == 0 else int(rng.integers(0, 2)),
            "weight": None if i % 7 == 0 else float(rng.uniform(0, 3)),
            "price": None if i % 5 == 0 else float(rng.uniform(0, 9)),
            "color": [None, "red", "dark-blue", "grün", "4"][rng.integers(0, 5)],
            "n": int(rng.integers(-2, 3)),
            "on": [True, False, None][rng.integers(0, 3)],
            "city": f"city{rng.integers(0, 40)}",
        }
        for i in range(N)
    ]


@pytest.mark.slow
def test_named_columns_with_text_and_missing_values(named, tmp_path):
    texts = text_files(named, tmp_path, ["vw", "csv", "tsv", "jsonl"])
    agree([*texts, *wide_files(named, tmp_path)], weight_column="weight")


@pytest.fixture(scope="module")
def spaced():
    """Features in namespaces, some of them in none."""
    rng = np.random.default_rng(2)
    return [
        {
            "label": float(rng.normal()),
            "weight": float(rng.uniform(0, 3)),
            "user": {"city": f"c{rng.integers(0, 9)}", "age": int(rng.integers(1, 99)) / 100},
            "hour": int(rng.integers(1, 24)) / 24,
            "ad": {"topic": f"t{rng.integers(0, 5)}", "12": float(rng.uniform(0.1, 1))},
            "12": float(rng.uniform(0.1, 1)),
        }
        for _ in range(N)
    ]


INTERACTIONS = (("user", "ad"), ("user", "user"), ("ad", "user", "ad"))


@pytest.mark.parametrize("interactions", [(), INTERACTIONS])
def test_namespaces(spaced, interactions, tmp_path):
    agree(text_files(spaced, tmp_path, ["vw", "jsonl"], [""]), interactions=interactions)


def test_ignored_namespaces(spaced, tmp_path):
    agree(text_files(spaced, tmp_path, ["vw", "jsonl"], [""]), columns={"user": "drop"})


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        {"interactions": (("price", "color"), ("city", "city"), ("n", "price", "color"))},
        {"columns": dict.fromkeys(["city", "price"], "drop")},
    ],
)
def test_crossed_and_ignored_columns(named, said, tmp_path):
    texts = text_files(named, tmp_path, ["csv", "tsv", "jsonl"], [""])
    agree([*texts, *wide_files(named, tmp_path)], weight_column="weight", **said)
