"""Models trained on parts of the data, made one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Learner, Squared, TruncatedGradientClassifier, Truncation, load
from dwindle._base.errors import DataError
from dwindle.features.names import Text
from dwindle.model.merge import merge, merged
from dwindle.model.model import Model, save_models
from dwindle.runs.evaluate import evaluate
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers import commands, planted_data

EXAMPLES = planted_data.rows(3000)


def dwindle(*words):
    return commands.dwindle(*words, check=False, text=True)


@pytest.fixture
def shards(tmp_path):
    """Files of models of three parts of some planted data, and of other data to measure on."""
    paths = []
    for k in range(3):
        data = tmp_path / f"part{k}.svm"
        data.write_text(planted_data.svmlight(EXAMPLES[800 * k : 800 * (k + 1)]))
        train([str(data)], tmp_path / f"part{k}.parquet", TrainSettings(shrinkage=Truncation(1e-4)))
        paths.append(str(tmp_path / f"part{k}.parquet"))
    test = tmp_path / "test.svm"
    test.write_text(planted_data.svmlight(EXAMPLES[2400:]))
    return paths, str(test)


def model_of(weights, *, intercept=0.0, **metadata):
    """A model with these weights of features called by numbers."""
    key = np.array(list(weights), np.uint64)
    weight = np.array(list(weights.values()), float)
    names = Text.of([f"x{k}" for k in weights])
    return Model(key, weight, names, intercept, Learner().settings(), metadata)


models = st.builds(
    lambda weights, intercept, examples, importance: model_of(
        weights, intercept=intercept, examples=examples, importance=importance
    ),
    st.dictionaries(st.integers(0, 20), st.floats(-9, 9), max_size=9),
    st.floats(-9, 9),
    st.integers(1, 1000),
    st.floats(0.25, 1000),
)


@given(st.lists(models, min_size=1, max_size=5))
def test_a_weight_is_the_mean_by_importance_and_what_was_not_kept_counts_as_zero(parts):
    found = merged(parts)
    total = sum(part.metadata["importance"] for part in parts)

    def mean(values):
        each = zip(parts, values, strict=True)
        return sum(part.metadata["importance"] * v for part, v in each) / total

    weights = [dict(zip(part.key.tolist(), part.weight, strict=True)) for part in parts]
    expected = {
        k: mean([w.get(k, 0.0) for w in weights]) for k in sorted({k for w in weights for k in w})
    }
    got = dict(zip(found.key.tolist(), found.weight, strict=True))
    for k, w in expected.items():
        assert got.get(k, 0.0) == pytest.approx(w, abs=1e-12)
    assert found.intercept == pytest.approx(mean([part.intercept for part in parts]), abs=1e-12)
    assert list(found.names) == [f"x{k}" for k in found.key]
    assert (np.diff(np.abs(found.weight)) <= 0).all()
    assert (found.weight != 0).all()
    assert found.metadata["examples"] == sum(part.metadata["examples"] for part in parts)


@given(st.lists(models, min_size=3, max_size=5), st.randoms())
def test_order_and_groups_do_not_matter(parts, rng):
    whole = merged(parts)
    mixed = rng.sample(parts, len(parts))
    first = rng.randrange(1, len(parts))
    grouped = merged([merged(mixed[:first]), merged(mixed[first:])])
    a, b = (dict(zip(m.key.tolist(), m.weight, strict=True)) for m in (whole, grouped))
    for k in a.keys() | b.keys():
        assert a.get(k, 0.0) == pytest.approx(b.get(k, 0.0), abs=1e-12)
    assert grouped.intercept == pytest.approx(whole.intercept, abs=1e-12)
    for fact in ("examples", "parts"):
        assert grouped.metadata[fact] == whole.metadata[fact]
    assert grouped.metadata["importance"] == pytest.approx(whole.metadata["importance"])


def test_a_model_merged_with_itself_is_itself(shards):
    [path, *_], _ = shards
    model = Model.load(path)
    again = merged([model, model])
    assert np.array_equal(again.key, model.key)
    assert np.array_equal(again.weight, model.weight)
    assert again.names == model.names
    assert again.intercept == model.intercept


def test_the_model_of_all_parts_predicts_as_well_as_one_that_saw_them_all(shards, tmp_path):
    paths, test = shards
    done = merge(paths, tmp_path / "all.parquet")
    assert (done.parts, done.examples) == (3, 2400)
    whole = tmp_path / "whole.svm"
    whole.write_text(planted_data.svmlight(EXAMPLES[:2400]))
    train([str(whole)], tmp_path / "whole.parquet", TrainSettings(shrinkage=Truncation(1e-4)))
    auc = {
        name: evaluate(tmp_path / f"{name}.parquet", [test])["auc"]
        for name in ("all", "whole", "part0", "part1", "part2")
    }
    assert auc["all"] > max(auc["part0"], auc["part1"], auc["part2"]) - 0.005
    assert auc["all"] > auc["whole"] - 0.01


def test_the_command_keeps_the_heaviest_and_says_what_it_did(shards, tmp_path):
    paths, test = shards
    done = dwindle("merge", *paths, "--model", tmp_path / "five.parquet", "--keep", 5)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("3 models of 2,400 examples: 5 features kept, written in ")
    five = Model.load(tmp_path / "five.parquet")
    assert sorted(five.names) == ["0", "1", "2", "3", "4"]  # those that tell
    said = dwindle("merge", *paths, "-m", tmp_path / "all.parquet", "--json")
    assert json.loads(said.stdout)["kept"] == len(Model.load(tmp_path / "all.parquet"))
    shown = dwindle("inspect", tmp_path / "five.parquet").stdout
    assert "examples      2,400" in shown
    assert "parts         3" in shown
    predicted = dwindle("predict", tmp_path / "five.parquet", test)
    assert len(predicted.stdout.split()) == 600


def test_importance_is_remembered_where_examples_do_not_count_alike(tmp_path):
    data = tmp_path / "data.vw"
    data.write_text("1 2.5 |f a\n-1 0.5 |f b\n")
    train([str(data)], tmp_path / "model.parquet", TrainSettings())
    assert Model.load(tmp_path / "model.parquet").metadata["importance"] == 3.0


def test_units_of_features_are_merged_too():
    one = replace(
        model_of({1: 1.0, 2: 1.0}, examples=100), statistics={"scale": np.array([3, 1], np.float32)}
    )
    other = replace(
        model_of({2: 1.0, 3: 1.0}, examples=300), statistics={"scale": np.array([2, 5], np.float32)}
    )
    both = merged([one, other])
    found = dict(zip(both.key.tolist(), both.statistics["scale"].tolist(), strict=True))
    assert found == pytest.approx({1: 3.0, 2: (1 / 4 + 4 * 3 / 4) ** 0.5, 3: 5.0})
    assert merged([model_of({1: 1.0}, examples=1)]).statistics == {}


def test_weights_that_cancel_are_not_kept():
    found = merged([model_of({1: 2.0, 2: 1.0}, examples=5), model_of({1: -2.0}, examples=5)])
    assert found.weights() == {"x2": 0.5}


def test_models_of_several_classes_are_merged_class_by_class(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 5))
    y = np.array(["low", "middle", "high"])[np.digitize(x[:, 0], [-0.5, 0.5])]
    parts = []
    for k in range(3):
        rows = slice(300 * k, 300 * (k + 1))
        model = TruncatedGradientClassifier(gravity=1e-4).fit(x[rows], y[rows])
        parts.append(tmp_path / f"{k}.parquet")
        model.save(parts[-1])
    merge([str(path) for path in parts], tmp_path / "all.parquet")
    each = [load(path) for path in parts]
    together = load(tmp_path / "all.parquet")
    mean = np.mean([model.decision_function(x) for model in each], axis=0)
    assert np.allclose(together.decision_function(x), mean)
    assert set(together.predict(x)) == {"low", "middle", "high"}


def saved(path, model):
    model.save(path)
    return str(path)


def test_models_that_predict_different_things_are_refused_and_nothing_is_written(shards, tmp_path):
    [path, *_], _ = shards
    learner = Learner(Squared())
    learner.learn_one({"a": 1.0}, 3.0)
    numbers = saved(tmp_path / "numbers.parquet", Model.of(learner, {"examples": 1}))
    out = tmp_path / "out.parquet"
    done = dwindle("merge", path, numbers, "-m", out)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert (
        "numbers.parquet: cannot be merged with part0.parquet: its loss is squared, not logistic"
        in done.stderr
    )
    unsaid = saved(tmp_path / "unsaid.parquet", Model.of(learner))
    with pytest.raises(
        DataError, match=r"unsaid.parquet: its metadata lacks the number of examples"
    ):
        merge([unsaid, unsaid], out)
    with pytest.raises(DataError, match="lacks its number of examples: it cannot be merged"):
        merged([Model.of(learner)])
    with pytest.raises(DataError, match="have importance 0: there is no mean"):
        merged([model_of({1: 1.0}, examples=0)])
    assert not out.exists()


def test_classes_must_be_the_same(tmp_path):
    first = [model_of({k: 1.0}, examples=3, classes=[0, 1, 2]) for k in range(3)]
    other = [model_of({k: 1.0}, examples=3, classes=[0, 1, 5]) for k in range(3)]
    for name, each in (("a", first), ("b", other)):
        save_models(tmp_path / name, each)
    with pytest.raises(DataError, match=r"b: cannot be merged with a: its classes is \[0, 1, 5\]"):
        merge([str(tmp_path / "a"), str(tmp_path / "b")], tmp_path / "out")


def test_a_part_is_not_written_over(shards):
    paths, _ = shards
    done = dwindle("merge", *paths, "-m", paths[1])
    assert done.returncode == 1
    assert "is read here and would be written over" in done.stderr
    assert len(Model.load(paths[1])) > 0
