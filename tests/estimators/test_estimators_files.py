"""Estimators learn from files and write models, to the bit as the command line does."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import dwindle
from dwindle import DataError, TruncatedGradientClassifier, TruncatedGradientRegressor
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from helpers import commands
from helpers.matrices import data, in_order, numbers, same


def svmlight(tmp_path, n=1500, classes=2):
    x, y = data(n, 200, classes=classes)
    dump_svmlight_file(
        x, y if classes > 2 else 2 * y - 1, str(tmp_path / "data.svm"), zero_based=False
    )
    return tmp_path / "data.svm"


def train(*args):
    commands.dwindle("train", *args, "-q")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--dense"], {}),
        ([], {"gravity": "auto"}),
        (["--keep", "5"], {"gravity": "auto", "keep": 5}),
        (["--passes", "3"], {"gravity": "auto", "passes": 3}),
        (["--sigmas", "0,0.5", "--update", "adaptive", "--cooldown", "200"], {"sigmas": (0.0, 0.5), "update": "adaptive", "cooldown": 200}),
        (["--gravity", "1e-3"], {"gravity": 1e-3}),
        (["--passes", "3", "--pass-decay", "0.5", "-K", "10", "-g", "1e-3"], {"passes": 3, "pass_decay": 0.5, "truncate_every": 10, "gravity": 1e-3}),
        (["--update", "plain", "--learning-rate", "0.1", "--power-t", "0.5", "-g", "0.01"], {"update": "plain", "learning_rate": 0.1, "power_t": 0.5, "gravity": 0.01}),
        (["--loss", "hinge", "--shrinkage", "rounding", "--threshold", "0.01"], {"loss": "hinge", "shrinkage": "rounding", "threshold": 0.01}),
        (["-g", "1e-3", "--keep", "20"], {"gravity": 1e-3, "keep": 20}),
        (["-g", "1e-3", "--passes", "3", "--cooldown", "400"], {"gravity": 1e-3, "passes": 3, "cooldown": 400}),
        (["-g", "1e-3", "--passes", "8", "--holdout", "5", "--patience", "2", "--cooldown", "200"], {"gravity": 1e-3, "passes": 8, "early_stopping": True, "holdout": 5, "patience": 2, "cooldown": 200}),
        (["-g", "1e-3", "--passes", "8", "--holdout", "5", "--patience", "1"], {"gravity": 1e-3, "passes": 8, "early_stopping": True, "holdout": 5, "patience": 1}),
    ],
    ids=str,
)  # fmt: skip
def test_the_command_line_and_the_estimator_give_the_same_bits(tmp_path, options, settings):
    file = svmlight(tmp_path)
    train(file, *options, "-m", tmp_path / "m")
    expected = Model.load(tmp_path / "m")
    x, y = load_svmlight_file(str(file), zero_based=True)
    from_file = TruncatedGradientClassifier(**settings).fit_file(file)
    from_matrix = TruncatedGradientClassifier(**settings, shuffle=False).fit(x, y)
    for model in (from_file, from_matrix):
        model.save(tmp_path / "ours")
        ours = Model.load(tmp_path / "ours")
        assert np.array_equal(ours.key, expected.key)
        assert ours.weight.tobytes() == expected.weight.tobytes()
        assert ours.intercept == expected.intercept
        assert ours.settings == expected.settings
        assert ours.names == expected.names
        for fact in ("labels", "examples", "seen", "peak_live"):
            assert ours.metadata[fact] == expected.metadata[fact]
        assert np.array_equal(
            model.decision_function(x), dwindle.load(tmp_path / "m").decision_function(x)
        )


def test_numbers_in_a_file_are_learned_as_by_the_command_line(tmp_path):
    x, y = numbers()
    dump_svmlight_file(x, y, str(tmp_path / "data.svm"))
    train(tmp_path / "data.svm", "-g", "1e-3", "-m", tmp_path / "m")
    model = TruncatedGradientRegressor(gravity=1e-3).fit_file(tmp_path / "data.svm")
    assert model.weights() == Model.load(tmp_path / "m").weights()
    loaded = dwindle.load(tmp_path / "m")
    assert isinstance(loaded, TruncatedGradientRegressor)
    np.testing.assert_allclose(loaded.predict(x), model.predict(x), 1e-12)


def test_a_file_in_parts_is_the_file(tmp_path):
    file = svmlight(tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    whole = TruncatedGradientClassifier(gravity=1e-3).fit_file(file)
    parts = TruncatedGradientClassifier(gravity=1e-3)
    for k in range(3):
        (tmp_path / f"{k}.svm").write_text("".join(lines[500 * k : 500 * k + 500]))
        parts.partial_fit_file(tmp_path / f"{k}.svm", classes=[-1, 1])
    several = TruncatedGradientClassifier(gravity=1e-3).fit_file(
        *(tmp_path / f"{k}.svm" for k in range(3))
    )
    assert whole.weights() == parts.weights() == several.weights()
    assert whole.classes_.tolist() == parts.classes_.tolist() == [-1, 1]


def test_many_classes_of_a_file_are_those_of_the_matrix(tmp_path):
    file = svmlight(tmp_path, classes=3)
    x, y = load_svmlight_file(str(file), zero_based=True)
    own = {0: 2.0, 1: 0.5}
    from_file = TruncatedGradientClassifier(gravity=1e-3, class_weight=own).fit_file(
        file, classes=[0, 1, 2]
    )
    from_matrix = in_order(class_weight=own).fit(x, y)
    assert from_file.weights() == from_matrix.weights()
    with pytest.raises(
        DataError, match=r"data.svm:\d+: expected a label of two classes \(0 and 1\), got 2"
    ):
        TruncatedGradientClassifier().fit_file(file, classes=[0, 1])
    assert TruncatedGradientClassifier().fit_file(file).classes_.tolist() == [0, 1, 2]


def test_a_bad_line_is_told_with_its_place_or_left_out(tmp_path):
    file = svmlight(tmp_path)
    file.write_text(file.read_text() + "1 oops\n")
    with pytest.raises(DataError, match=r"data.svm:1501: expected"):
        TruncatedGradientClassifier().fit_file(file)
    assert TruncatedGradientClassifier().fit_file(file, skip_bad=True).t_ == 1500


def test_what_was_learned_from_names_predicts_data_frames_by_name(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.normal(size=(300, 3)).astype(np.float32), columns=["price", "age", "noise"]
    )
    label = (frame["price"] > frame["age"]).astype(int)
    frame.assign(label=label).to_csv(tmp_path / "data.csv", index=False)
    model = TruncatedGradientClassifier(passes=5).fit_file(
        tmp_path / "data.csv", reading=ReadOptions(format="csv")
    )
    assert model.weights().keys() == {"price", "age", "noise"}
    assert model.score(frame[["noise", "age", "price"]], label) > 0.9
    with pytest.raises(AttributeError, match="have names of their own"):
        _ = model.coef_
    with pytest.raises(
        ValueError, match="the model's features have names, which the columns of X have not"
    ):
        model.predict(frame.to_numpy())
    in_memory = TruncatedGradientClassifier(passes=5, shuffle=False).fit(frame, label)
    assert in_memory.weights() == pytest.approx(model.weights(), rel=1e-6)


# Saved and loaded.


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", [{}, {"keep": 10}, {"loss": "hinge"}], ids=str)
def test_a_saved_model_predicts_the_same_when_loaded(tmp_path, classes, settings):
    x, y = data(classes=classes)
    model = TruncatedGradientClassifier(gravity=1e-3, **settings).fit(x, y)
    assert model.save(tmp_path / "m") == (tmp_path / "m").stat().st_size
    loaded = dwindle.load(tmp_path / "m")
    for ask in ("decision_function", "predict") + (
        ("predict_proba",) if "loss" not in settings else ()
    ):
        assert np.array_equal(getattr(loaded, ask)(x), getattr(model, ask)(x))
    assert same(loaded.coef_, model.coef_)
    assert loaded.weights() == model.weights()
    assert loaded.n_kept_ == model.n_kept_
    assert loaded.t_ == model.t_ == 400
    assert loaded.gravity == 1e-3
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    assert pickle.loads(pickle.dumps(loaded)).predict(x).tolist() == model.predict(x).tolist()


def test_a_saved_model_is_one_for_the_command_line(tmp_path):
    file = svmlight(tmp_path)
    x, y = load_svmlight_file(str(file), zero_based=True)
    model = TruncatedGradientClassifier(gravity=1e-3).fit(x, y)
    model.save(tmp_path / "m")
    done = commands.dwindle("predict", tmp_path / "m", file, "--label", text=True)
    assert [float(label) for label in done.stdout.split()] == model.predict(x).tolist()


def test_a_saved_classifier_is_a_table_with_a_column_for_the_class(tmp_path):
    x, y = data(classes=3)
    model = TruncatedGradientClassifier(gravity=1e-3).fit(x, np.array(["a", "b", "c"])[y])
    model.save(tmp_path / "m.parquet")
    table = pd.read_parquet(tmp_path / "m.parquet")
    assert table.columns.tolist() == ["class", "namespace", "feature", "id", "weight", "scale"]
    for name in "abc":
        rows = table[table["class"] == name]
        assert dict(zip(rows["feature"], rows["weight"], strict=True)) == model.weights()[name]
    with pytest.raises(
        DataError, match=r"a model for each of 3 classes: open it with dwindle\.load"
    ):
        Model.load(tmp_path / "m.parquet")
