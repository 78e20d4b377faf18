"""A run decides once what each column is, its model remembers it, and other files are read by it."""

import json

import numpy as np
import pandas as pd
import pytest

from dwindle import TruncatedGradientClassifier, load
from dwindle._base.errors import DataError
from dwindle.data.formats import csv
from dwindle.model.loading import load_model
from dwindle.model.model import Model
from dwindle.runs.observer import Stopped
from dwindle.runs.predict import predict
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle, told
from helpers.observing import heard
from helpers.stop_after import stopped_after

US, OTHERS = ["94110", "10001", "60601", "02139"], ["K1A0B1", "SW1A"]
EFFECT = dict(zip(US + OTHERS, [3, -3, 2, -2, 3, -3], strict=True))


def clicks(n, zips, seed):
    """Clicks that zip codes decide, and a number a little."""
    rng = np.random.default_rng(seed)
    zip_code, x = rng.choice(zips, n), rng.normal(size=n).round(3)
    score = np.array([EFFECT[z] for z in zip_code]) + x
    return pd.DataFrame({"label": (score + rng.logistic(size=n) > 0) * 1, "zip": zip_code, "x": x})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    clicks(2000, US + OTHERS, 0).to_csv(folder / "train.csv", index=False)
    american = clicks(1000, US[:3], 1)
    american.to_csv(folder / "us.csv", index=False)
    as_numbers = american.astype({"zip": int})
    as_numbers.to_parquet(folder / "us.parquet")
    as_numbers.to_json(folder / "us.jsonl", orient="records", lines=True)
    dwindle("train", "train.csv", "--model", "m", "--dense", cwd=folder)
    return folder


def measured(folder, model, file, *options):
    return json.loads(dwindle("evaluate", model, file, "--json", *options, cwd=folder).stdout)


@pytest.mark.parametrize("file", ["us.csv", "us.parquet", "us.jsonl"])
def test_zip_codes_stay_categories_in_a_file_in_which_all_are_numbers(data, file):
    assert measured(data, "m", file)["auc"] > 0.92


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_one_row_through_a_pipe_is_predicted_as_in_its_file(data, name):
    whole = dwindle("predict", "m", f"us.{name}", cwd=data, text=True).stdout.splitlines()
    lines = (data / f"us.{name}").read_bytes().splitlines(keepends=True)
    one = b"".join(lines[: 2 if name == "csv" else 1])
    done = dwindle("predict", "m", "-", "--format", name, stdin=one, cwd=data)
    assert done.stdout.decode().split() == whole[:1]


def test_a_frame_is_read_by_the_columns_of_the_model_s_file(data):
    model, frame = load(data / "m"), pd.read_csv(data / "us.csv")
    assert frame.zip.dtype == np.int64
    printed = dwindle("predict", "m", "us.csv", cwd=data, text=True).stdout.split()
    with pytest.warns(UserWarning, match="have lost these zeros, so read the column as strings"):
        score = model.decision_function(frame[["zip", "x"]])
    np.testing.assert_allclose(score, [float(each) for each in printed], rtol=1e-8)
    assert list(model.explain({"zip": 94110}).contributions) == ["zip=94110"]


def test_a_frame_whose_zip_codes_are_strings_has_lost_no_zeros(data, recwarn):
    frame = pd.read_csv(data / "train.csv", dtype={"zip": str})
    score = load(data / "m").decision_function(frame[["zip", "x"]])
    printed = dwindle("predict", "m", "train.csv", cwd=data, text=True).stdout.split()
    np.testing.assert_allclose(score, [float(each) for each in printed], rtol=1e-8)
    assert not recwarn.list


def test_a_dict_is_a_row_of_the_columns_that_a_model_remembers(tmp_path):
    rows = [
        {"label": i % 2, "body": ["see you at the station", "win free money right now"][i % 2]}
        | {"zip": 94110 + i % 3, "when": f"2024-05-31 1{i % 2}:00", "kind": "abc"[i % 3]}
        for i in range(60)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for label in ("label", "kind"):  # two classes, and several
        roles = "--label-column", label, "--drop", "kind" if label == "label" else "label"
        dwindle(
            *("train", "a.jsonl", "--model", "m", "--dense", *roles),
            *("--categorical", "zip", "--text", "body"),
            cwd=tmp_path,
        )
        model, row = load_model(tmp_path / "m"), rows[1]
        expected = next(predict(tmp_path / "m", [str(tmp_path / "a.jsonl")], kind="score"))
        np.testing.assert_array_equal(model.predict(row)[0], expected.prediction[1])
        found = model.explain(row)
        names = (found if label == "label" else found["b"]).contributions
        assert {"body^free", "zip=94111", "when.hour=11"} <= set(names)


def test_what_is_neither_a_dict_nor_a_batch_is_refused(data):
    model = Model.load(data / "m")
    with pytest.raises(DataError, match="expected a Batch, or one example as a dict, got list"):
        model.predict([{"zip": 94110}])
    with pytest.raises(DataError, match="has none of the columns that the model was trained on"):
        model.explain({"zap": 94110})


def test_the_model_says_what_each_column_is_and_why(data):
    schema = Model.load(data / "m").metadata["reading"]["schema"]
    assert schema == [
        {"name": "zip", "kind": "category", "why": "numbers with leading zeros, as '02139'"},
        {"name": "x", "kind": "number", "why": "all of the first 2000 are"},
    ]
    shown = dwindle("inspect", "m", cwd=data, text=True).stdout
    assert "category      zip\nnumber        x\n" in shown


def test_a_column_that_is_missing_or_new_is_named(data):
    (data / "renamed.csv").write_text((data / "us.csv").read_text().replace("zip", "zap", 1))
    done = dwindle("predict", "m", "renamed.csv", cwd=data, text=True)
    assert told(done) == [
        "renamed.csv: lacks 'zip', which the model was trained on",
        "renamed.csv: has 'zap', which the model does not know: not read",
    ]


def test_data_of_which_no_column_is_known_is_refused_unless_asked_for(data):
    (data / "other.csv").write_text((data / "us.csv").read_text().replace("zip,x", "a,b", 1))
    done = dwindle("evaluate", "m", "other.csv", cwd=data, text=True, check=False)
    assert done.returncode == 1
    assert told(done) == [
        "other.csv: has none of the columns that the model was trained on ('zip', 'x'); "
        "its columns are 'a', 'b': is it the right file? (--allow-unknown goes on all the same)"
    ]
    assert measured(data, "m", "other.csv", "--allow-unknown")["auc"] == 0.5


def test_text_of_which_no_feature_is_known_is_refused_but_one_odd_row_is_answered(data):
    lines = [f"1 |a f{i} g{i}\n" for i in range(10)]
    (data / "other.vw").write_text("".join(lines))
    done = dwindle("predict", "m", "other.vw", cwd=data, text=True, check=False)
    assert done.returncode == 1
    assert told(done)[0].startswith("other.vw: the model knows none of the first 20 features, as")
    assert (
        len(dwindle("predict", "m", "other.vw", "--allow-unknown", cwd=data).stdout.split()) == 10
    )
    odd = dwindle("predict", "m", "-", stdin=b"1 |a f g h i j k l m n o p q\n", cwd=data)
    assert len(odd.stdout.split()) == 1


def test_a_cell_of_another_kind_than_in_training_is_a_bad_line(data):
    text = "label,zip,x\n1,94110,0.5\n0,94110,much\n"
    (data / "odd.csv").write_text(text)
    done = dwindle("predict", "m", "odd.csv", cwd=data, text=True, check=False)
    assert told(done) == [
        "odd.csv:3: column 'x': expected a number (all of the first 2000 are), got 'much': "
        "write a number or nothing, or skip such lines with --skip-bad"
    ]


def test_the_order_of_files_never_changes_a_kind_in_silence(data):
    forward = dwindle("train", "train.csv", "us.csv", "-m", "f", cwd=data, text=True)
    assert told(forward) == [
        "column 'zip': numbers with leading zeros, as '02139': taken as a category "
        "(--numeric zip reads numbers)"
    ]
    back = dwindle("train", "us.csv", "train.csv", "-m", "b", cwd=data, text=True, check=False)
    assert back.returncode == 1
    assert "column 'zip': expected a number (all of the first 1000 are), got " in told(back)[0]
    assert "--categorical zip" in told(back)[0]
    dwindle("train", "us.csv", "train.csv", "-m", "b", "--categorical", "zip", cwd=data)
    assert set(Model.load(data / "b").weights()) == set(Model.load(data / "f").weights())


def test_a_holdout_is_read_by_the_columns_of_the_data(data):
    done = dwindle("train", "train.csv", "--holdout", "us.csv", "-m", "h", cwd=data, text=True)
    assert set(Model.load(data / "h").weights()) == set(Model.load(data / "m").weights())
    assert [line for line in told(done) if ".csv: " in line] == []


def test_columns_of_files_are_compared_once_however_many_passes(data):
    for name, columns in (("p", ["label", "a"]), ("q", ["label", "b"])):
        frame = pd.DataFrame(np.arange(20).reshape(10, 2) % 2, columns=columns)
        frame.to_parquet(data / f"{name}.parquet", index=False)
    given = ["p.parquet", "q.parquet", "--passes", 3, "--holdout", "p.parquet"]
    done = dwindle("train", *given, "-m", "pq", cwd=data, text=True)
    assert [line for line in told(done) if ".parquet: " in line] == [
        "q.parquet: lacks 'a', which files before it have",
        "q.parquet: has 'b', which files before it lack",
    ]


def test_files_of_one_run_may_have_other_columns_which_is_said(data):
    (data / "first.csv").write_text("label,a,b\n1,1,2\n0,2,3\n")
    (data / "second.csv").write_text("label,b,c\n1,1,x\n0,2,y\n")
    done = dwindle("train", "first.csv", "second.csv", "-m", "two", "--dense", cwd=data, text=True)
    assert told(done) == [
        "second.csv: lacks 'a', which files before it have",
        "second.csv: has 'c', which files before it lack",
    ]
    assert set(Model.load(data / "two").weights()) == {"a", "b", "c=x", "c=y"}


def test_a_column_without_values_in_training_is_no_feature_later(data):
    (data / "empty.csv").write_text("label,a,b\n1,1,\n0,2,\n1,3,\n")
    dwindle("train", "empty.csv", "-m", "e", "--interactions", "a*b", cwd=data)
    (data / "full.csv").write_text("label,a,b\n1,1,x\n")
    printed = [
        dwindle("predict", "e", name, cwd=data).stdout.split()[0]
        for name in ("full.csv", "empty.csv")
    ]
    assert printed[0] == printed[1]


def test_models_of_parts_of_a_table_are_merged_unless_a_column_is_of_two_kinds(data):
    half = (data / "train.csv").read_text().splitlines(keepends=True)
    for name, rows in (("one", half[1:1000]), ("other", half[1000:])):
        (data / f"{name}.csv").write_text("".join([half[0], *rows]))
        dwindle("train", f"{name}.csv", "-m", f"{name}.m", cwd=data)
    dwindle("merge", "one.m", "other.m", "-m", "both", cwd=data)
    assert measured(data, "both", "us.csv")["auc"] > 0.92
    dwindle("train", "us.csv", "-m", "us.m", cwd=data)
    done = dwindle("merge", "one.m", "us.m", "-m", "both", cwd=data, text=True, check=False)
    assert "us.m: cannot be merged with one.m: column 'zip' is a number" in done.stderr
    dwindle("train", "other.csv", "--drop", "zip", "-m", "without.m", cwd=data)
    done = dwindle("merge", "one.m", "without.m", "-m", "both", cwd=data, text=True, check=False)
    assert "column 'zip' is left out (as told) in one and a category (" in done.stderr


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_run_that_is_resumed_decides_the_same_even_of_columns_that_come_late(
    tmp_path, monkeypatch, n
):
    monkeypatch.setattr(csv, "BLOCK", 200)
    rows = [f"{i % 2},{i % 7},{f'0{i}' if i > 40 else ''}\n" for i in range(90)]
    (tmp_path / "a.csv").write_text("label,x,code\n" + "".join(rows))
    paths, settings = [str(tmp_path / "a.csv")], TrainSettings(passes=2, gravity=0.0)
    quiet = {"on_note": lambda _text: None}
    train(paths, tmp_path / "whole", settings, observer=heard(**quiet))
    with pytest.raises(Stopped):
        train(
            paths, tmp_path / "part", settings, observer=heard(stopping=stopped_after(n), **quiet)
        )
    train(paths, tmp_path / "part", settings, observer=heard(**quiet), resume=True)
    whole, part = (Model.load(tmp_path / name) for name in ("whole", "part"))
    assert part.weights() == whole.weights()
    assert part.metadata["reading"] == whole.metadata["reading"]
    assert "code=042" in whole.weights()


def test_learning_goes_on_by_the_columns_of_the_model(data):
    dwindle("train", "us.csv", "-m", "on", "--start-from", "m", cwd=data)
    assert set(Model.load(data / "on").weights()) == set(Model.load(data / "m").weights())


def test_files_learned_from_one_by_one_are_read_by_the_columns_of_the_first(data):
    model = TruncatedGradientClassifier()
    with pytest.warns(UserWarning, match="column 'zip': numbers with leading zeros"):
        model.partial_fit_file(data / "train.csv", classes=[0, 1])
    model.partial_fit_file(data / "us.csv")
    assert "zip" not in model.weights()


def test_a_model_of_text_refuses_a_table_none_of_whose_columns_it_knows(tmp_path):
    (tmp_path / "a.vw").write_text("1 |w good:1\n-1 |w bad\n" * 20)
    (tmp_path / "iris.csv").write_text("length,width\n" + "5.1,3.5\n4.9,3\n" * 5)
    dwindle("train", "a.vw", "--model", "m", cwd=tmp_path)
    done = dwindle("predict", "m", "iris.csv", cwd=tmp_path, check=False, text=True)
    assert done.returncode == 1
    assert told(done)[0].startswith(
        "iris.csv: the model knows none of the first 2 features, as 'length': is it the right file?"
    )
    assert dwindle("predict", "m", "iris.csv", "--allow-unknown", cwd=tmp_path).stdout
