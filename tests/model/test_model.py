"""The model's file and the checkpoint's: whole, readable by others, and refused when damaged."""

import json
import os
import pickle
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Averaged, Batch, DataError, Learner, Logistic, Plain, Truncation, load
from dwindle.features.names import Text
from dwindle.model import storage
from dwindle.model.checkpoint import load_checkpoint, save_checkpoint
from dwindle.model.model import Model
from dwindle.model.order import heaviest_first
from helpers.effort import few_examples, in_full
from helpers.ingredients import SCHEDULES, over_ingredients
from helpers.random_streams import batch_of, cut, seeds, stream


def trained(seed=0, **settings):
    learner = Learner(**({"shrinkage": Truncation(1e-3)} | settings))
    learner.learn(batch_of(stream(seed, (-1.0, 1.0))))
    learner.learn_one({"color": "red", "price": 3.5}, 1)
    return learner


def test_a_model_comes_back_as_it_was(tmp_path):
    learner = trained()
    model = Model.of(learner, {"labels": {"0": -1}})
    size = model.save(tmp_path / "m.parquet")
    assert size == (tmp_path / "m.parquet").stat().st_size
    back = Model.load(tmp_path / "m.parquet")
    assert back.weights() == model.weights() == learner.weights()
    assert back.intercept == learner.intercept
    assert (back.settings, back.metadata) == (model.settings, {"labels": {"0": -1}})
    assert back.loss == Logistic()


@given(seed=seeds)
def test_a_model_predicts_what_its_learner_predicts(seed):
    for learner in (
        trained(seed),
        trained(seed, normalize=True),
        trained(seed, normalize=True, intercept=False),
        trained(seed, update=Averaged()),
    ):
        batch = batch_of(stream(seed + 1, (-1.0, 1.0)))
        np.testing.assert_allclose(
            Model.of(learner).predict(batch), learner.predict(batch), 1e-12, 1e-12
        )


def test_pandas_reads_the_same_weights_heaviest_first(tmp_path):
    learner = trained()
    Model.of(learner).save(tmp_path / "m.parquet")
    frame = pd.read_parquet(tmp_path / "m.parquet")
    assert list(frame.columns) == ["namespace", "feature", "id", "weight", "scale"]
    assert dict(zip(frame.feature, frame.weight, strict=True)) == learner.weights()
    assert (frame.weight.abs().diff()[1:] <= 0).all()


@given(st.dictionaries(st.integers(0, 50), st.sampled_from([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0])))
def test_features_of_equal_weight_stand_in_the_order_of_their_keys(weights):
    key, weight = np.array(list(weights), np.uint64), np.array(list(weights.values()))
    order = heaviest_first(key, weight)
    assert key[order].tolist() == sorted(weights, key=lambda k: (-abs(weights[k]), k))


def test_namespaces_have_a_column_of_their_own(tmp_path):
    learner = Learner()
    learner.learn(Batch.from_arrays([0, 2], [5, 7], [1, 1], [1], names=["user\0age", "a^b"]))
    Model.of(learner).save(tmp_path / "m.parquet")
    frame = pd.read_parquet(tmp_path / "m.parquet")
    assert set(zip(frame.namespace, frame.feature, strict=True)) == {("user", "age"), ("", "a^b")}
    assert learner.weights().keys() == {"user^age", "a^b"}
    assert Model.load(tmp_path / "m.parquet").names == Model.of(learner).names


def test_keep_keeps_exactly_the_heaviest():
    learner = trained()
    model = Model.of(learner, keep=3)
    everything = sorted(learner.weights().items(), key=lambda item: -abs(item[1]))
    assert list(model.weights().items()) == everything[:3]


@over_ingredients()
@given(seed=seeds)
@few_examples(2)
def test_stopping_and_going_on_from_a_checkpoint_never_changes_a_bit(
    loss, shrinkage, update, seed, tmp_path_factory
):
    path = tmp_path_factory.mktemp("checkpoint") / "m.checkpoint"
    schedule = SCHEDULES[seed % len(SCHEDULES)]
    examples = stream(seed, loss.labels, 2000, 400)
    whole, parts = (Learner(loss.loss, shrinkage[0], update[0], schedule) for _ in range(2))
    whole.learn(batch_of(examples))
    for k, run in enumerate(cut(examples, seed)):
        if run:
            parts.learn(batch_of(run))
        save_checkpoint(parts, path, {"part": k})
        parts, metadata = load_checkpoint(path)
        assert metadata == {"part": k}
    assert parts.weights() == whole.weights()
    assert (parts.intercept, parts.n_steps) == (whole.intercept, whole.n_steps)
    assert len(parts.table.cells) == len(whole.table.cells)


def test_a_checkpoint_of_averages_goes_on_too(tmp_path):
    examples = stream(3, (-1.0, 1.0))
    whole, part = (Learner(shrinkage=Truncation(1e-2), update=Averaged()) for _ in range(2))
    whole.learn(batch_of(examples * 2))
    part.learn(batch_of(examples))
    save_checkpoint(part, tmp_path / "c")
    part, _ = load_checkpoint(tmp_path / "c")
    part.learn(batch_of(examples))
    assert part.weights() == whole.weights()
    assert part.intercept == whole.intercept


def refusal(path):
    """What is said against a model's file, if it is refused."""
    try:
        Model.load(path)
    except DataError as error:
        return str(error)
    return None


def test_every_cut_and_every_altered_byte_is_refused_by_name(tmp_path):
    path = tmp_path / "m.parquet"
    Model.of(trained(update=Plain())).save(path)
    whole = path.read_bytes()
    expected = Model.load(path)
    rng = np.random.default_rng(0)
    for n in rng.integers(0, len(whole), 60):
        path.write_bytes(whole[: int(n)])
        with pytest.raises(DataError, match=r"m\.parquet: "):
            Model.load(path)
    harmless = 0
    for k in range(0, len(whole), 7):
        altered = bytearray(whole)
        altered[k] ^= 0x10
        path.write_bytes(altered)
        refused = refusal(path)
        if refused is not None:
            assert refused.startswith(str(path))
        else:  # a byte that says nothing of the model, such as the writer's version
            harmless += 1
            same = Model.load(path)
            assert same.weights() == expected.weights()
            assert same.settings == expected.settings
    assert harmless < len(whole) / 7 / 2


def test_what_is_not_a_model_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        Model.load(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(DataError, match=r"text: not a model\. Commands take the model first"):
        Model.load(tmp_path / "text")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other")
    with pytest.raises(DataError, match="not a model that dwindle wrote"):
        Model.load(tmp_path / "other")
    save_checkpoint(trained(), tmp_path / "c")
    with pytest.raises(DataError, match="expected a model, got a checkpoint"):
        Model.load(tmp_path / "c")
    with pytest.raises(DataError, match="there is no folder"):
        Model.of(trained()).save(tmp_path / "nowhere" / "m")


@pytest.mark.parametrize("limit", [0, 2**31 - 1])
def test_names_of_any_size_come_back_and_others_read_them(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(storage, "MOST_SMALL_TEXT", limit)
    names = ["user\0age", "héllo", "", "x" * 1000]
    learner = Learner()
    learner.learn(Batch.from_arrays([0, 4], [5, 7, 8, 9], [1, 2, 3, 4], [1], names=names))
    path = tmp_path / "m.parquet"
    model = Model.of(learner)
    model.save(path)
    expected = "string" if limit else "large_string"
    assert [str(pq.read_schema(path).field(c).type) for c in ("feature", "id")] == [
        expected,
        "uint64",
    ]
    assert Model.load(path).weights() == model.weights()
    for frame in (pd.read_parquet(path), pl.read_parquet(path)):
        assert set(frame["feature"]) == {"age", "héllo", "", "x" * 1000}
    save_checkpoint(learner, path)
    assert load_checkpoint(path)[0].weights() == learner.weights()


@in_full
@pytest.mark.slow
def test_more_than_two_gib_of_names_are_written_and_read(tmp_path):
    n, size = 2_200, 2**20
    one = np.frombuffer(b"0123456789abcdef" * (size // 16), np.uint8)
    names = Text(np.arange(n + 1) * size, np.tile(one, n))
    nothing = Text(np.zeros(n + 1, np.int64), np.empty(0, np.uint8))
    columns = {"namespace": nothing, "feature": names, "id": np.arange(n)}
    storage.write(tmp_path / "m.parquet", "model", columns, {})
    del names, columns
    table, _ = storage.read(tmp_path / "m.parquet", "model")
    back = storage.texts(table["feature"])
    assert back.bound[-1] == n * size > 2**31
    assert all((row == one).all() for row in back.text.reshape(n, size))
    (tmp_path / "m.parquet").unlink()


def test_a_newer_format_is_named_before_its_digest_is_checked(tmp_path):
    path = tmp_path / "m.parquet"
    Model.of(trained()).save(path)
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"dwindle"]) | {
        "format": 4,
        "digest": "of another kind",
    }
    pq.write_table(table.replace_schema_metadata({b"dwindle": json.dumps(about)}), path)
    with pytest.raises(
        DataError, match=r"m\.parquet: written by a newer dwindle, in format 4; this one"
    ):
        Model.load(path)


@pytest.mark.parametrize("metadata", ["[]", '{"format": "one"}', "{}", "null", "{"])
def test_metadata_that_is_not_dwindles_is_refused(tmp_path, metadata):
    path = tmp_path / "m.parquet"
    Model.of(trained()).save(path)
    pq.write_table(pq.read_table(path).replace_schema_metadata({b"dwindle": metadata}), path)
    with pytest.raises(DataError, match=r"m\.parquet: "):
        Model.load(path)


@pytest.mark.parametrize("role", ["loss", "shrinkage", "update", "learning_rate"])
def test_settings_that_only_a_newer_dwindle_knows_are_refused_with_a_sentence(tmp_path, role):
    path = tmp_path / "m.parquet"
    model = Model.of(trained())
    [name] = model.settings[role]
    model.settings[role][name]["foo"] = 0.9
    model.save(path)
    expected = rf"m\.parquet: written by a newer dwindle: unknown setting 'foo' of {name}; upgrade$"
    for read in (load, Model.load):
        with pytest.raises(DataError, match=expected):
            read(path)


def test_a_model_of_a_class_that_is_not_imported_predicts_and_says_so_when_it_is_needed(tmp_path):
    model = Model.of(trained())
    model.settings["loss"] = {"NeverImported": {"width": 2.0}}
    model.save(tmp_path / "m.parquet")
    back = Model.load(tmp_path / "m.parquet")
    assert back.weights() == model.weights()
    with pytest.raises(DataError, match="class NeverImported is not known: import the module"):
        _ = back.loss


def test_a_learner_saved_and_loaded_goes_on_to_the_bit(tmp_path):
    learner = trained()
    size = learner.save(tmp_path / "c")
    assert size == (tmp_path / "c").stat().st_size
    back = Learner.load(tmp_path / "c")
    assert repr(back) == repr(learner)
    for each in (learner, back):
        each.learn(batch_of(stream(1, (-1.0, 1.0))))
    assert back.weights() == learner.weights()


@pytest.mark.slow
def test_a_learner_that_was_pickled_can_be_saved_where_nothing_else_is_imported(tmp_path):
    learner = trained()
    (tmp_path / "pickled").write_bytes(pickle.dumps(learner))
    code = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb')).save(sys.argv[2])"
    command = [sys.executable, "-c", code, tmp_path / "pickled", tmp_path / "c"]
    subprocess.run(command, check=True)
    assert Learner.load(tmp_path / "c").weights() == learner.weights()
    assert deepcopy(learner).weights() == learner.weights()


def test_a_failed_write_leaves_the_earlier_model_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "m.parquet"
    Model.of(trained()).save(path)
    before = path.read_bytes()

    def full_disk(_fd):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        Model.of(trained(seed=1)).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.parquet"]
