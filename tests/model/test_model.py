"""The model's file and the checkpoint's: whole, readable by others, and refused when damaged."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Averaged, Batch, DataError, Learner, Logistic, Plain, Truncation, load
from dwindle.model.model import Model, heaviest_first, load_checkpoint, save_checkpoint
from helpers.effort import few_examples
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
    assert list(frame.columns) == ["namespace", "feature", "id", "weight"]
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
    with pytest.raises(DataError, match="not a model, or damaged"):
        Model.load(tmp_path / "text")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other")
    with pytest.raises(DataError, match="not a model that dwindle wrote"):
        Model.load(tmp_path / "other")
    save_checkpoint(trained(), tmp_path / "c")
    with pytest.raises(DataError, match="expected a model, got a checkpoint"):
        Model.load(tmp_path / "c")
    with pytest.raises(DataError, match="there is no folder"):
        Model.of(trained()).save(tmp_path / "nowhere" / "m")


def test_settings_that_only_another_dwindle_knows_are_refused_with_a_sentence(tmp_path):
    model = Model.of(trained())
    model.settings["update"]["Adaptive"]["momentum"] = 0.9
    model.save(tmp_path / "m.parquet")
    with pytest.raises(DataError, match="another dwindle, whose Adaptive has a momentum"):
        load(tmp_path / "m.parquet")


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
