"""Estimators go on learning: after they were loaded, and with ``warm_start``."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_digits

import dwindle
from dwindle import TruncatedGradientClassifier, TruncatedGradientRegressor
from helpers.commands import dwindle as command
from helpers.training_text import lines

X, Y = load_digits(return_X_y=True)
TWO = (Y > 4).astype(int)
WITHOUT = "the model was saved without its state: learning goes on from its weights"


def same(one, other):
    """Whether two estimators have the same weights, to the bit."""
    return one.weights() == other.weights() and np.array_equal(one.intercept_, other.intercept_)


@pytest.mark.parametrize("y", [TWO, Y], ids=["two", "ten"])
@pytest.mark.parametrize("how", [{}, {"update": "ftrl", "gravity": 0.1}, {"keep": 20}], ids=str)
def test_what_was_saved_with_its_state_goes_on_exactly(tmp_path, y, how):
    model = TruncatedGradientClassifier(**{"gravity": 1e-3} | how, passes=2).fit(X[:900], y[:900])
    model.save(tmp_path / "m", state=True)
    loaded = dwindle.load(tmp_path / "m").set_params(keep=how.get("keep"))
    assert same(loaded, model)
    for estimator in (model, loaded):
        estimator.partial_fit(X[900:], y[900:])
    assert same(loaded, model)
    assert loaded.t_ == model.t_ == 2 * 900 + len(X) - 900


def test_what_was_saved_without_goes_on_from_its_weights(tmp_path):
    TruncatedGradientClassifier(gravity=1e-3).fit(X[:900], TWO[:900]).save(tmp_path / "m")
    loaded = dwindle.load(tmp_path / "m")
    before = loaded.score(X[900:], TWO[900:])
    assert before > 0.75
    with pytest.warns(UserWarning, match=WITHOUT):
        loaded.partial_fit(X[900:910], TWO[900:910])
    assert loaded.score(X[910:], TWO[910:]) > before - 0.1
    assert loaded.t_ == 910
    loaded.partial_fit(X[910:], TWO[910:]).save(tmp_path / "m")
    assert dwindle.Model.load(tmp_path / "m").metadata["examples"] == len(X)


def test_columns_with_names_go_on_by_their_names(tmp_path):
    frame = pd.DataFrame(X, columns=[f"pixel{i}" for i in range(64)])
    frame["kind"] = np.where(TWO, "a", "b")
    model = TruncatedGradientClassifier().fit(frame[:900], TWO[:900])
    model.save(tmp_path / "m", state=True)
    loaded = dwindle.load(tmp_path / "m")
    for estimator in (model, loaded):
        estimator.partial_fit(frame[900:], TWO[900:])
    assert same(loaded, model)
    named = TruncatedGradientClassifier().fit(X[:900], TWO[:900], feature_names=list(frame)[:64])
    named.save(tmp_path / "n", state=True)
    loaded = dwindle.load(tmp_path / "n").partial_fit(X[900:], TWO[900:])
    assert same(loaded, named.partial_fit(X[900:], TWO[900:]))


def test_a_model_of_the_command_line_goes_on_from_files(tmp_path):
    for name, text in (("a", lines(400)), ("b", lines(300, seed=1))):
        (tmp_path / f"{name}.vw").write_text(text)
    command("train", "a.vw", "-m", "m", "-g", "1e-4", "--save-state", "-q", cwd=tmp_path)
    command("train", "b.vw", "-m", "n", "--start-from", "m", "-q", cwd=tmp_path)
    loaded = dwindle.load(tmp_path / "m").partial_fit_file(tmp_path / "b.vw")
    assert same(loaded, dwindle.load(tmp_path / "n"))


def test_a_warm_start_goes_on_and_a_cold_one_begins_anew():
    cold = TruncatedGradientClassifier(shuffle=False).fit(X, Y)
    first = cold.weights()
    assert cold.fit(X, Y).weights() == first
    warm = TruncatedGradientClassifier(shuffle=False, warm_start=True).fit(X, Y)
    assert warm.weights() == first
    by_hand = TruncatedGradientClassifier(shuffle=False).fit(X, Y).partial_fit(X, Y)
    assert same(warm.fit(X, Y), by_hand)
    assert warm.t_ == by_hand.t_ == 2 * len(X)


def test_a_warm_start_that_fails_leaves_what_was_learned():
    warm = TruncatedGradientRegressor(warm_start=True).fit(*load_diabetes(return_X_y=True))
    weights = warm.weights()
    x, y = load_diabetes(return_X_y=True)
    with pytest.raises(ValueError, match="features"):
        warm.fit(x[:, :3], y)
    y[40] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        warm.fit(x, y)
    assert warm.weights() == weights
    classes = TruncatedGradientClassifier(warm_start=True).fit(X, TWO)
    with pytest.raises(ValueError, match="is not among the classes"):
        classes.fit(X, Y)


def test_a_warm_start_goes_on_from_files(tmp_path):
    (tmp_path / "a.vw").write_text(lines(300))
    (tmp_path / "b.vw").write_text(lines(300, seed=1))
    warm = TruncatedGradientClassifier(warm_start=True).fit_file(tmp_path / "a.vw")
    both = TruncatedGradientClassifier().fit_file(tmp_path / "a.vw", tmp_path / "b.vw")
    assert same(warm.fit_file(tmp_path / "b.vw"), both)
