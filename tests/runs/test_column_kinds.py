"""What kind a column is: found by itself, or named by the user, and said if in doubt."""

import numpy as np
import pandas as pd
import pytest

from dwindle import TruncatedGradientClassifier, batch_of
from dwindle._base.errors import DataError
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from helpers.commands import dwindle, told


def numbers(n=400):
    rng = np.random.default_rng(5)
    label = rng.integers(0, 2, n)
    x = (2 * label - 1 + rng.normal(size=n)).round(3)
    return pd.DataFrame({"label": label, "x": x, "color": rng.choice(["red", "blue"], n)})


@pytest.fixture
def bad_cell(tmp_path):
    lines = numbers().to_csv(index=False).splitlines(keepends=True)
    lines[5] = "1,abc,red\n"
    (tmp_path / "v.csv").write_text("".join(lines))
    return tmp_path


def test_one_bad_cell_does_not_turn_numbers_into_categories(bad_cell):
    done = dwindle("train", "v.csv", "-m", "m", cwd=bad_cell, text=True, check=False)
    assert done.returncode == 1
    assert told(done) == [
        "v.csv:6: column 'x': expected a number (399 of 400 cells are numbers), got 'abc': "
        "write a number or nothing, or skip such lines with --skip-bad, "
        "or read categories with --categorical x"
    ]
    dwindle("train", "v.csv", "-m", "m", "--skip-bad", "--dense", cwd=bad_cell)
    model = Model.load(bad_cell / "m")
    assert (set(model.weights()), model.metadata["examples"]) == (
        {"x", "color=red", "color=blue"},
        399,
    )
    dwindle("train", "v.csv", "-m", "m", "--categorical", "x", "--dense", cwd=bad_cell)
    assert "x=abc" in Model.load(bad_cell / "m").weights()


def test_a_column_of_some_numbers_is_a_category_which_is_said(tmp_path):
    frame = numbers(100).assign(x=[str(i) if i % 4 else "none of it" for i in range(100)])
    frame.to_csv(tmp_path / "v.csv", index=False)
    done = dwindle("train", "v.csv", "-m", "m", cwd=tmp_path, text=True)
    assert told(done) == [
        "column 'x': 75 of 100 cells are numbers; line 2: 'none of it': taken as a category "
        "(--numeric x reads numbers)"
    ]


@pytest.mark.parametrize("word", ["NA", "n/a", "nan", "null", "None", "?", "-", ".", " "])
def test_words_for_missing_are_missing_in_a_column_of_numbers(tmp_path, word):
    frame = numbers(40).drop(columns="color")
    frame.to_csv(tmp_path / "empty.csv", index=False)
    frame.x = frame.x.astype(object)
    frame.loc[:9, "x"] = word
    frame.to_csv(tmp_path / "words.csv", index=False)
    frame.loc[:9, "x"] = None
    frame.to_csv(tmp_path / "empty.csv", index=False)
    for name in ("words", "empty"):
        done = dwindle("train", f"{name}.csv", "-m", name, cwd=tmp_path, text=True)
        assert told(done) == (
            [f"column 'x': 10 of 40 cells, as {word!r}, are missing"] if name == "words" else []
        )
    assert Model.load(tmp_path / "words").weights() == Model.load(tmp_path / "empty").weights()


def test_columns_are_named_by_patterns_and_a_name_that_matches_none_is_an_error(tmp_path):
    frame = numbers(60).assign(id_a=range(60), id_b=range(60), day=range(60))
    frame.to_csv(tmp_path / "v.csv", index=False)
    options = ["--categorical", "id_?", "--drop", "day,color"]
    dwindle("train", "v.csv", "-m", "m", *options, cwd=tmp_path)
    names = {name.partition("=")[0] for name in Model.load(tmp_path / "m").weights()}
    assert names == {"x", "id_a", "id_b"}
    assert "id_a=7" in Model.load(tmp_path / "m").weights()
    for option in ("--categorical", "--numeric", "--text", "--drop"):
        done = dwindle(
            "train", "v.csv", "-m", "m", option, "x,idd_*", cwd=tmp_path, text=True, check=False
        )
        assert told(done) == [
            "v.csv: no column 'idd_*'; the columns are 'x', 'color', 'id_a', 'id_b', 'day'"
        ]
    done = dwindle(
        "train", "v.csv", "-m", "m", "--drop", "x", "--numeric", "x",
        cwd=tmp_path, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert told(done) == ["--drop x: it is already said to be number"]


@pytest.mark.parametrize("suffix", ["vw", "jsonl"])
def test_a_namespace_that_is_not_in_the_data_is_said_at_the_end(tmp_path, suffix):
    (tmp_path / "a.vw").write_text("1 |user age:3 |ad shoes |\n-1 |user age:2 |ad hats |d\n")
    (tmp_path / "a.jsonl").write_text(
        '{"label": 1, "features": {"user": {"age": 3}, "ad": {"shoes": 1}}}\n'
        '{"label": -1, "features": {"user": {"age": 2}, "ad": {"hats": 1}}}\n'
    )
    given = ["--drop", "us", "--drop", "ad", "--interactions", "user*zz"]
    done = dwindle("train", f"a.{suffix}", "-m", "m", *given, cwd=tmp_path, text=True)
    assert told(done) == [
        "no namespace 'us' in the data: it is neither dropped nor multiplied",
        "no namespace 'zz' in the data: it is neither dropped nor multiplied",
    ]
    given = ["--drop", "ad", "--interactions", "user*user"]
    done = dwindle("train", f"a.{suffix}", "-m", "m", *given, cwd=tmp_path, text=True)
    assert told(done) == []


KEYS = np.random.default_rng(2).integers(0, 50, 4000)


SCORE = np.random.default_rng(3).normal(size=50)[KEYS] * 2


CLICKED = (SCORE + np.random.default_rng(4).logistic(size=4000) > 0) * 1


def test_categories_of_integers_are_categories_in_pandas_and_in_parquet(tmp_path):
    frame = pd.DataFrame({"label": CLICKED, "key": KEYS})
    frame.astype({"key": "category"}).to_parquet(tmp_path / "c.parquet", index=False)
    dwindle("train", "c.parquet", "-m", "m", "--dense", cwd=tmp_path)
    names = {f"key={i}" for i in range(50)}
    assert set(Model.load(tmp_path / "m").weights()) == names
    x = frame[["key"]]
    model = TruncatedGradientClassifier().fit(x.astype("category"), CLICKED)
    assert set(model.weights()) == names
    assert (
        set(TruncatedGradientClassifier(columns={"k*": "category"}).fit(x, CLICKED).weights())
        == names
    )
    assert set(batch_of(x, columns={"key": "category"}).names) == names
    assert set(TruncatedGradientClassifier().fit(x, CLICKED).weights()) == {"key"}
    for kind in (int, float, str, object):  # as later frames have them
        same = model.decision_function(x.astype(kind)) == model.decision_function(
            x.astype("category")
        )
        assert same.all()
    with pytest.warns(UserWarning, match="frame: has 'more', which the model does not know"):
        model.predict(x.assign(more=1))
    with pytest.raises(DataError, match="frame: has none of the columns"):
        model.predict(pd.DataFrame({"other": [1]}))


def test_what_an_estimator_learned_from_a_frame_reads_files_by_its_columns(tmp_path):
    x = pd.DataFrame({"key": KEYS})
    model = TruncatedGradientClassifier(columns={"key": "category"}).fit(x, CLICKED)
    model.save(tmp_path / "m")
    x.to_csv(tmp_path / "x.csv", index=False)
    printed = dwindle("predict", "m", "x.csv", cwd=tmp_path, text=True).stdout.split()
    np.testing.assert_allclose(model.decision_function(x), [*map(float, printed)], rtol=1e-8)


def test_the_index_that_pandas_writes_is_not_learned_from(tmp_path):
    noise = np.random.default_rng(1).normal(size=2000)
    frame = pd.DataFrame({"label": np.repeat([0, 1], 1000), "x": noise})
    frame.sample(frac=1, random_state=0).to_parquet(tmp_path / "leak.parquet")
    command = "train", "leak.parquet", "-m", "m", "--dense"
    done = dwindle(*command, cwd=tmp_path, text=True)
    assert set(Model.load(tmp_path / "m").weights()) == {"x"}
    assert told(done) == [
        "column '__index_level_0__': it is the index of pandas: left out "
        "(--numeric __index_level_0__ reads it all the same)"
    ]
    dwindle(*command, "--numeric", "__index*", cwd=tmp_path)
    assert set(Model.load(tmp_path / "m").weights()) == {"x", "__index_level_0__"}


def test_a_kind_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="columns: 'a' is of kind 'num': expected one of number"):
        batch_of(pd.DataFrame({"a": [1]}), columns={"a": "num"})


def test_other_delimiters_and_files_without_a_header(tmp_path):
    frame = numbers(100)
    frame.to_csv(tmp_path / "plain.csv", index=False)
    frame.to_csv(tmp_path / "semi.csv", sep=";", index=False)
    (tmp_path / "semi").write_bytes((tmp_path / "semi.csv").read_bytes())
    frame.to_csv(tmp_path / "bare.csv", header=False, index=False)
    dwindle("train", "plain.csv", "-m", "m", cwd=tmp_path)
    expected = Model.load(tmp_path / "m").weights()
    for given in (
        ["semi.csv", "--delimiter", ";"],
        ["semi", "--delimiter", ";"],
        ["bare.csv", "--header", "label,x,color"],
    ):
        dwindle("train", *given, "-m", "m", cwd=tmp_path)
        assert Model.load(tmp_path / "m").weights() == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "label;x\n1;2\n", "a.csv:1: one column, 'label;x': expected ',' between cells, got ';': say --delimiter ';'"),
        ("a", "label;x\n1;2\n", "a: is it CSV with ';' between cells? say --delimiter ';'"),
        ("a.csv", "1,2\n0,3\n", "a.csv: no column 'label' for the label; the columns are '1', '2' (if it has no header, name the columns with --header)"),
        ("a.csv", "label,x\r1,2\r0,3\r", r"a.csv:1: lines end in carriage returns alone, as on old Macs: write them as newlines (tr '\r' '\n')"),
        ("a.csv", 'label,x,z\n1,2,3\n0,"3,4\n1,2,3\n', "a.csv:3: a quote is opened here and not closed: close it, or write a quote that belongs to a cell twice, and the cell in quotes"),
    ],
)  # fmt: skip
def test_a_csv_file_that_is_none_gets_a_hint(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text.encode())
    done = dwindle("train", name, "-m", "m", cwd=tmp_path, text=True, check=False)
    assert done.returncode == 1
    assert told(done) == [message]


def test_reading_options_may_name_kinds_in_python():
    assert ReadOptions(columns={"a": "drop", "b": "text"}).dropped == {"a"}


def test_options_of_tables_are_said_to_do_nothing_on_text_without_columns(tmp_path):
    (tmp_path / "a.vw").write_text("1 |w good:1\n-1 |w bad\n" * 20)
    options = "--label-column", "q", "--weight-column", "w", "--categorical", "w"
    done = dwindle("train", "a.vw", "--model", "m", *options, cwd=tmp_path, text=True)
    said = "--label-column q, --weight-column w, --categorical w only says how to read tables"
    assert told(done) == [f"a.vw: has no columns: {said}"]
    done = dwindle("train", "a.vw", "--model", "m", cwd=tmp_path, text=True)
    assert not told(done)
