"""A data frame and its Parquet file are the same examples."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwindle import (
    Adaptive,
    DataError,
    Learner,
    Logistic,
    SettingError,
    TruncatedGradientClassifier,
    Truncation,
)
from dwindle.data.frames import batch_of
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train

N = 3000


def clicks():
    """Every kind of column, with something missing in each."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "click": pa.array(rng.choice([-1, 1], N)),
            "price": pa.array(rng.normal(size=N), mask=rng.random(N) < 0.1),
            "hour": pa.array(rng.integers(0, 24, N), pa.int32(), mask=rng.random(N) < 0.1),
            "ad": pa.array(rng.choice(["shoes", "hats", "é", ""], N), mask=rng.random(N) < 0.1),
            "site": pa.array([f"site {i % 700}" for i in range(N)]).dictionary_encode(),
            "mobile": pa.array(rng.random(N) < 0.5, mask=rng.random(N) < 0.1),
            "weight": pa.array(rng.uniform(0, 2, N)),
        }
    )
    return table.replace_schema_metadata(None)


FRAMES = {
    "arrow": lambda table: table,
    "arrow, in pieces": lambda table: pa.concat_tables(
        [table[:100], table[100:1000], table[1000:]]
    ),
    "arrow, a batch": lambda table: table.combine_chunks().to_batches()[0],
    "pandas": lambda table: table.to_pandas().set_index(np.arange(N) * 7 % 11),
    "pandas, of Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_model_of_the_frame_is_that_of_the_file_to_the_bit(tmp_path, frame):
    table = clicks()
    data, model = str(tmp_path / "clicks.parquet"), tmp_path / "model.parquet"
    pq.write_table(table, data, row_group_size=1000)
    settings = {"shrinkage": Truncation(1e-4), "update": Adaptive(), "learning_rate": 0.3}
    reading = ReadOptions(label_column="click", weight_column="weight")
    train([data], model, TrainSettings(loss=Logistic(), reading=reading, **settings))
    from_file = Model.load(model)
    learner = Learner(Logistic(), **settings)
    learner.learn(batch_of(frame(table), label="click", weight="weight"))
    from_frame = Model.of(learner)
    assert len(from_file) > 600
    assert from_frame.key.tobytes() == from_file.key.tobytes()
    assert from_frame.weight.tobytes() == from_file.weight.tobytes()
    assert list(from_frame.names) == list(from_file.names)
    assert from_frame.intercept == from_file.intercept


def test_without_a_label_there_is_something_to_predict_and_nothing_to_learn():
    learner = Learner()
    batch = batch_of(pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None]}))
    assert list(batch.names) == ["a", "b=x"]
    assert learner.predict(batch).tolist() == [0, 0]
    with pytest.raises(DataError, match="the batch has no labels"):
        learner.learn(batch)


def test_categories_that_no_row_has_are_no_features():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"], categories=["w", "x", "y", "z"])})
    assert list(batch_of(frame).names) == ["a=x", "a=y"]


def test_a_null_label_is_not_learned_from():
    batch = batch_of(pl.DataFrame({"y": [1, None], "a": [1, 2]}), label="y")
    assert batch.importance.tolist() == [1, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_no_rows_make_no_examples(frame):
    assert batch_of(frame({"a": []})).n_examples == 0


REFUSED = [
    ({"a": [1.0, float("inf")]}, None, "frame:2: column 'a' is inf: write a finite number"),
    ({"a": [1]}, "y", "frame: no column 'y' for the label; the columns are 'a'"),
    ({"a": [[1]]}, None, "frame: column 'a' is of type list<item: int64>, which is no feature"),
]


@pytest.mark.parametrize(("columns", "label", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_what_is_wrong_with_a_frame_is_told_with_its_row(columns, label, message):
    with pytest.raises(DataError) as caught:
        batch_of(pa.table(columns), label)
    assert message in str(caught.value)


@pytest.mark.parametrize("frame", [[{"a": 1}], {"a": [1]}, np.eye(2), pl.LazyFrame({"a": [1]})])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(DataError, match="expected a data frame of pandas, Polars or Arrow, got"):
        batch_of(frame)


def test_frames_and_files_need_neither_pandas_nor_polars(tmp_path):
    script = """
import sys
class Absent:
    def find_spec(name, *_):
        if name in ("pandas", "polars"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent)
import pyarrow as pa
from dwindle import Learner
from dwindle.data.frames import batch_of
Learner().save(sys.argv[1])
Learner.load(sys.argv[1])
print(list(batch_of(pa.table({"a": [1, None], "b": ["x", "y"]}), label="a").names))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['b=x', 'b=y']"


@pytest.mark.parametrize("kind", ["pandas", "category", "object", "polars", "arrow"])
def test_an_estimator_learns_text_columns_by_their_values(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"hour": rng.integers(0, 24, 500), "ad": rng.choice(["shoes", "hats"], 500)}
    )
    clicked = np.where((frame.ad == "shoes") ^ (rng.random(500) < 0.1), "yes", "no")
    given = {
        "pandas": lambda: frame,
        "category": lambda: frame.astype({"ad": "category"}),
        "object": lambda: frame.astype({"ad": object}),
        "polars": lambda: pl.from_pandas(frame),
        "arrow": lambda: pa.Table.from_pandas(frame, preserve_index=False),
    }[kind]()
    model = TruncatedGradientClassifier().fit(given, clicked)
    assert set(model.weights()) == {"hour", "ad=shoes", "ad=hats"}
    assert model.score(given, clicked) > 0.85
    batch = batch_of(frame)
    assert model.weights() == TruncatedGradientClassifier().fit(batch, clicked).weights()
    with pytest.raises(ValueError, match="500 examples, but 499"):
        model.fit(given, clicked[:-1])


def test_a_column_of_several_types_is_refused_by_its_name():
    with pytest.raises(DataError, match=r"column a .*make all its values of one type"):
        batch_of(pd.DataFrame({"a": [1, "x"]}))


def test_no_words_at_all_are_refused():
    with pytest.raises(SettingError, match="ngrams must be 1 or more, got 0"):
        batch_of(pa.table({"a": ["some words"]}), columns={"a": "text"}, ngrams=0)
