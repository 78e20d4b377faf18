"""Predictions as tables that pandas reads, with ids, scores, probabilities and labels."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from dwindle.runs.prediction_table import predict_table
from helpers.commands import dwindle

RNG = np.random.default_rng(2)
N = 200
FRAME = pd.DataFrame(
    {
        "customer": [f"c{i}" for i in range(N)],
        "color": RNG.choice(["red", "green", "blue"], N),
        "x": RNG.normal(size=N),
    }
)
POSITIVE = (FRAME.color == "red") ^ (FRAME.x > 0)
LABELS = {
    "numbers 0 and 1": POSITIVE.astype(int),
    "words": np.where(POSITIVE, "yes", "no"),
    "several": np.where(POSITIVE, FRAME.color, "none"),
    "prices": 100 + 20 * FRAME.x,
}


@pytest.fixture(scope="module", params=LABELS)
def case(request, tmp_path_factory):
    """The name of a task, and a folder with its data and model."""
    folder = tmp_path_factory.mktemp("case")
    frame = FRAME.assign(label=LABELS[request.param])
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_parquet(folder / "a.parquet")
    frame.to_json(folder / "a.jsonl", orient="records", lines=True)
    dwindle("train", "a.csv", "-m", "m", "-q", "--drop", "customer", cwd=folder)
    return request.param, folder


def read(path):
    by_name = {".csv": pd.read_csv, ".tsv": pd.read_table, ".parquet": pd.read_parquet}
    lines = {".jsonl": lambda p: pd.DataFrame(map(json.loads, p.read_text().splitlines()))}
    return (by_name | lines)[path.suffix](path)


@pytest.mark.parametrize("out", ["o.csv", "o.tsv", "o.parquet", "o.jsonl"])
def test_every_format_has_the_same_rows_which_are_those_of_the_lines(case, out):
    name, folder = case
    dwindle("predict", "m", "a.csv", "-o", out, "--id-column", "customer", cwd=folder)
    table = read(folder / out)
    assert table["id"].tolist() == FRAME.customer.tolist()
    lines = dwindle("predict", "m", "a.csv", cwd=folder, text=True).stdout.split()
    if name == "prices":
        assert list(table) == ["id", "prediction"]
        np.testing.assert_allclose(table.prediction, np.array(lines, float), 1e-7)
    elif name == "several":
        classes = sorted(set(LABELS[name]))
        assert list(table) == ["id", "label", *(f"probability_{each}" for each in classes)]
        assert table["label"].tolist() == lines
        chance = table[[f"probability_{each}" for each in classes]].to_numpy()
        assert np.allclose(chance.sum(axis=1), 1.0)
        assert table["label"].tolist() == [classes[k] for k in chance.argmax(axis=1)]
    else:
        assert list(table) == ["id", "score", "probability", "label"]
        np.testing.assert_allclose(table.score, np.array(lines, float), 1e-7)
        np.testing.assert_allclose(table.probability, 1 / (1 + np.exp(-table.score)))
        words = dwindle("predict", "m", "a.csv", "--label", cwd=folder, text=True).stdout.split()
        assert table["label"].astype(str).tolist() == words


@pytest.mark.parametrize("data", ["a.csv", "a.parquet", "a.jsonl"])
def test_rows_are_named_by_a_column_whatever_the_format_of_the_data(case, data):
    _, folder = case
    done = dwindle("predict", "m", data, "--id-column", "customer", cwd=folder, text=True)
    assert [line.split()[-1] for line in done.stdout.splitlines()] == FRAME.customer.tolist()
    assert done.stderr == ""  # nothing about a new column


def test_tags_of_vw_text_are_ids_and_bad_lines_leave_no_row(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i % 2} 'tag{i} | x:{i}\n" for i in range(10)))
    dwindle("train", tmp_path / "a.vw", "-m", tmp_path / "m", "-q")
    (tmp_path / "b.vw").write_text("'one | x:1\n| x:b:c\n'three | x:3\n| x:4\n")
    args = ("predict", tmp_path / "m", tmp_path / "b.vw", "--output-format", "csv", "--skip-bad")
    done = dwindle(*args)
    table = pd.read_csv(io.BytesIO(done.stdout), keep_default_na=False)
    assert table["id"].tolist() == ["one", "three", ""]
    assert b"skipped 1 bad line" in done.stderr
    (tmp_path / "o.csv").write_text("earlier")
    assert dwindle(*args[:3], "-o", tmp_path / "o.csv", check=False).returncode == 1
    assert (tmp_path / "o.csv").read_text() == "earlier"


def test_without_ids_there_is_no_column_of_them_and_no_rows_are_a_table_too(case):
    _, folder = case
    [rows] = predict_table(folder / "m", [str(folder / "a.csv")])
    assert "id" not in rows.table.schema.names
    (folder / "none.csv").write_text("color,x\n")
    dwindle("predict", "m", "none.csv", "-o", "none.parquet", cwd=folder)
    assert list(pd.read_parquet(folder / "none.parquet")) == rows.table.schema.names


def test_the_threshold_of_evaluate_is_that_of_the_labels(case):
    name, folder = case
    if name in {"several", "prices"}:
        done = dwindle(
            *("predict", "m", "a.csv", "--label", "--threshold", 0.2), cwd=folder, check=False
        )
        assert done.returncode != 0
        return
    dwindle("predict", "m", "a.csv", "-o", "o.csv", "--threshold", 0.2, cwd=folder)
    table = pd.read_csv(folder / "o.csv")
    told = table["label"].isin([1, "yes"])
    assert (told == (table.probability > 0.2)).all()
    found = dwindle("evaluate", "m", "a.csv", "--threshold", 0.2, "--json", cwd=folder)
    assert json.loads(found.stdout)["accuracy"] == np.mean(told == POSITIVE)


def test_a_table_is_compressed_by_its_extension(case):
    _, folder = case
    dwindle("predict", "m", "a.csv", "-o", "o.csv", cwd=folder)
    dwindle("predict", "m", "a.csv", "-o", "o.csv.gz", cwd=folder)
    assert gzip.decompress((folder / "o.csv.gz").read_bytes()) == (folder / "o.csv").read_bytes()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("-o", "o.csv", "--proba"), "--proba is for lines of text"),
        (("--threshold", 0.2), "--threshold decides on labels: give --label, or write a table"),
        (("--id-column", "nobody"), "no column 'nobody' for the names of rows"),
        (("-o", "a.csv"), "is read here and would be written over"),
    ],
)
def test_what_cannot_be_written_is_told(case, args, told):
    _, folder = case
    done = dwindle("predict", "m", "a.csv", *args, cwd=folder, check=False, text=True)
    assert done.returncode in {1, 2}
    assert told in done.stderr


def test_labels_that_are_no_whole_numbers_are_not_cut(tmp_path):
    (tmp_path / "a.csv").write_text("label,x\n" + "0.5,1\n1.5,2\n" * 20)
    how = ("--classes", "0.5,1.5", "--loss", "logistic", "--passes", "5")
    dwindle("train", "a.csv", "-m", "m", *how, cwd=tmp_path)
    dwindle("predict", "m", "a.csv", "-o", "p.csv", cwd=tmp_path)
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert {line.rsplit(",")[-1] for line in lines} == {'"label"', "0.5", "1.5"}


def test_a_name_of_another_format_is_refused_for_predictions_and_models(case):
    _, folder = case
    done = dwindle("predict", "m", "a.csv", "-o", "p.xlsx", cwd=folder, check=False, text=True)
    assert done.returncode == 2
    assert "p.xlsx: a table is written as .csv, .tsv, .parquet or .jsonl" in done.stderr
    done = dwindle("train", "a.csv", "-m", "x.csv", cwd=folder, check=False, text=True)
    assert done.returncode == 2
    assert "x.csv: a model is a Parquet file: name it x.parquet" in done.stderr
    assert not {*folder.glob("p.xlsx"), *folder.glob("x.csv")}


@pytest.mark.parametrize("ids", [FRAME.customer, pd.Series(range(1000, 1000 + 2 * N, 2))])
def test_the_index_of_pandas_can_name_the_rows(case, ids):
    _, folder = case
    FRAME.assign(customer=ids).set_index("customer").to_parquet(folder / "indexed.parquet")
    how = "--id-column", "customer"
    done = dwindle("predict", "m", "indexed.parquet", *how, cwd=folder, text=True)
    assert [line.split()[-1] for line in done.stdout.splitlines()] == [*map(str, ids)]
