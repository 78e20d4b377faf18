"""Whatever form X has, the bits are the same and columns keep their names."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array, load_npz, save_npz

import dwindle
from dwindle import Batch, DataError, Learner, Logistic, Truncation
from helpers.compiled import signatures
from helpers.matrices import data, in_order, same

FORMS = {
    "csr": lambda x: x,
    "csc": lambda x: x.tocsc(),
    "coo": lambda x: x.tocoo(),
    "dense": lambda x: x.toarray(),
    "double": lambda x: x.astype(np.float64),
    "64-bit": lambda x: csr_array(
        (x.data, x.indices.astype(np.int64), x.indptr.astype(np.int64)), shape=x.shape
    ),
    "list": lambda x: x.toarray().tolist(),
    "fortran": lambda x: np.asfortranarray(x.toarray()),
    "batch order": lambda x: x[np.arange(x.shape[0])],
}


def frozen(x):
    copy = x.copy()
    for part in (copy.data, copy.indices, copy.indptr):
        part.flags.writeable = False
    return copy


FORMS["read-only"] = frozen


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_x_gives_the_same_bits(form):
    x, y = data()
    other = FORMS[form](x)
    model = in_order().fit(other, y)
    assert same(model.coef_, in_order().fit(x, y).coef_)
    assert np.array_equal(model.decision_function(other), model.decision_function(x))


def test_single_precision_and_mapped_matrices_are_not_copied(tmp_path, monkeypatch):
    x, y = data()
    save_npz(tmp_path / "x.npz", x, compressed=False)
    parts = [
        np.lib.format.open_memmap(tmp_path / f"{k}.npy", "w+", a.dtype, a.shape)
        for k, a in enumerate((x.data, x.indices, x.indptr))
    ]
    for part, a in zip(parts, (x.data, x.indices, x.indptr), strict=True):
        part[:] = a
    mapped = csr_array(
        tuple(np.load(tmp_path / f"{k}.npy", mmap_mode="r") for k in range(3)), shape=x.shape
    )
    assert not mapped.data.flags.writeable
    batches = []
    learn = Learner.learn
    monkeypatch.setattr(
        Learner, "learn", lambda self, batch: (batches.append(batch), learn(self, batch))[1]
    )
    for given_x in (x, mapped):
        model = in_order().fit(given_x, y)
        assert np.shares_memory(batches[-1].x, given_x.data)
        assert np.shares_memory(batches[-1].key, given_x.indices)
        assert same(model.coef_, in_order().fit(load_npz(tmp_path / "x.npz"), y).coef_)


def test_read_only_data_compiles_no_kernel_again():
    x, y = data()
    model = in_order().partial_fit(x, y, classes=[0, 1])
    compiled = len(signatures(model._predictor))
    model.partial_fit(frozen(x), y)
    assert len(signatures(model._predictor)) == compiled


def test_a_batch_is_learned_from_as_it_is():
    examples = [{"color": c, f"n{i % 50}": 1} for i, c in enumerate(["red", "blue"] * 100)]
    y = np.array(["yes", "no"] * 100)
    weight = np.tile([1.0, 2.0, 0.0, 1.0], 50)
    model = in_order().fit(Batch.from_dicts(examples), y, sample_weight=weight)
    learner = Learner(Logistic(), Truncation(1e-3))
    learner.learn(Batch.from_dicts(examples, np.where(y == "yes", 1, -1), weight))
    assert model.weights() == learner.weights()
    assert model.score(Batch.from_dicts(examples), y) == 1
    for i in range(0, 200, 100):
        model.partial_fit(Batch.from_dicts(examples[i : i + 100]), y[i : i + 100])
    with pytest.raises(DataError, match="there are 200 examples, but 199 values of label"):
        model.partial_fit(Batch.from_dicts(examples), y[1:])


def test_a_data_frame_s_columns_keep_their_names(tmp_path):
    x, y = data(d=20)
    names = [f"column {j}" for j in range(20)]
    frame = pd.DataFrame(x.toarray(), columns=names)
    model = in_order().fit(frame, y)
    plain = in_order().fit(x, y)
    assert model.feature_names_in_.tolist() == names
    assert same(model.coef_, plain.coef_)
    assert model.weights() == {names[int(j)]: w for j, w in plain.weights().items()}
    model.save(tmp_path / "m")
    loaded = dwindle.load(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(frame), plain.decision_function(x))
    assert same(loaded.coef_, plain.coef_)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"column 0": "another"}))


@pytest.mark.parametrize("form", ["numpy", "nullable", "polars", "arrow"])
def test_a_missing_number_in_a_frame_is_a_feature_that_is_absent(form):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(1, 9, (60, 3)), columns=["a", "b", "c"]).astype("Int64")
    y = (frame.a > frame.b).astype(int).to_numpy()
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    forms = {
        "numpy": lambda f: f.astype(float),
        "nullable": lambda f: f,
        "polars": pl.from_pandas,
        "arrow": pa.Table.from_pandas,
    }
    given_x, filled = forms[form](frame), frame.fillna(0).astype(float)
    model, expected = in_order().fit(given_x, y), in_order().fit(filled, y)
    assert same(model.coef_, expected.coef_)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    score = model.decision_function(given_x)
    assert np.array_equal(score, expected.decision_function(filled))
    assert frame.isna().any().all()
    with pytest.raises(ValueError, match="NaN"):
        in_order().fit(frame.astype(float).to_numpy(), y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(filled.assign(a=np.inf))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_names_of_columns_are_those_of_features_in_a_file(tmp_path, frame):
    (tmp_path / "t.vw").write_text("1 | a:3 b:1\n-1 | b:2 c:1\n" * 20)
    model = in_order().fit_file(tmp_path / "t.vw")
    x = frame({"c": [0, 1], "b": [1, 2], "a": [3, 0]})
    assert np.array_equal(model.predict(x), [1, -1])
    same_rows = Batch.from_dicts([{"a": 3, "b": 1}, {"b": 2, "c": 1}])
    assert np.allclose(model.decision_function(x), model.decision_function(same_rows))


def test_a_warning_names_the_caller_s_line_and_speaks_python():
    body = [f"win some free money number {i}" for i in range(60)]
    frame = pd.DataFrame({"body": body, "x": range(60)})
    with pytest.warns(UserWarning, match="taken as text") as warned:
        model = in_order().fit(frame, [0, 1, 2] * 20)
    assert warned[0].filename == __file__
    assert "(columns={'body': 'category'} for one feature a cell)" in str(warned[0].message)
    with pytest.raises(AttributeError, match="from a file or from a frame with strings: see"):
        _ = model.coef_


def test_explanations_of_several_classes_are_keyed_by_plain_words():
    x, y = data()
    named = np.array(["red", "green", "blue"])[np.arange(len(y)) % 3]
    assert [*map(type, in_order().fit(x, named).explain(x[:1]))] == [str] * 3


@pytest.mark.parametrize("rows", [[{"item": "tea"}], {"item": "tea"}])
def test_dicts_are_refused_with_what_to_use_instead(rows):
    frame = pd.DataFrame({"item": ["tea", "shoes"] * 9})
    model = dwindle.TruncatedGradientClassifier().fit(frame, [0, 1] * 9)
    with pytest.raises(TypeError, match=r"X: expected a matrix or a data frame, .* pd.DataFrame"):
        model.predict(rows)
    assert model.predict(pd.DataFrame([{"item": "tea"}])) == [0]
