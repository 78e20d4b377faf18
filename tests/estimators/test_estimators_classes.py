"""Classes, files and names in estimators: as on the command line, and in the words of a vectorizer."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import dwindle as dw
from dwindle.model.loading import load_model
from helpers.commands import dwindle

TEXTS = ["free money now", "meeting at noon", "win free prize", "lunch meeting", "money prize"] * 20
KINDS = ["spam", "work", "spam", "food", "spam"] * 20


@pytest.fixture
def mails(tmp_path):
    words = [text.split() for text in TEXTS]
    lines = ["kind,first,last", *(f"{k},{w[0]},{w[-1]}" for k, w in zip(KINDS, words, strict=True))]
    (tmp_path / "mails.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "mails.csv"


READING = dw.ReadOptions(label_column="kind")


def test_classes_of_a_file_need_not_be_named(mails):
    model = dw.TruncatedGradientClassifier(passes=3).fit_file(mails, reading=READING)
    assert model.classes_.tolist() == ["food", "spam", "work"]
    named = dw.TruncatedGradientClassifier(passes=3)
    named.fit_file(mails, classes=["work", "spam", "food"], reading=READING)
    assert named.weights() == model.weights()


def test_what_was_learned_from_a_file_is_predicted_from_one(mails):
    model = dw.TruncatedGradientClassifier(passes=3).fit_file(mails, reading=READING)
    assert model.predict_file(mails).tolist() == KINDS
    assert model.score_file(mails) == 1.0
    chance = model.predict_proba_file(mails)
    assert chance.shape == (100, 3)
    assert model.classes_[chance.argmax(axis=1)].tolist() == KINDS


def test_two_classes_and_numbers_are_predicted_from_files_too(tmp_path):
    x = np.random.default_rng(0).normal(size=(200, 2))
    y = x @ [1.0, -2.0]
    rows = [
        f"{c:d},{t!r},{a!r},{b!r}"
        for c, t, (a, b) in zip((y > 0).tolist(), y.tolist(), x.tolist(), strict=True)
    ]
    (tmp_path / "a.csv").write_text("sign,y,a,b\n" + "\n".join(rows))
    sign = dw.ReadOptions(label_column="sign", columns={"y": "drop"})
    two = dw.TruncatedGradientClassifier(passes=5).fit_file(tmp_path / "a.csv", reading=sign)
    assert two.predict_file(tmp_path / "a.csv").dtype == two.classes_.dtype
    assert two.score_file(tmp_path / "a.csv") == pytest.approx(two.score(x_of(x), y > 0))
    assert two.predict_proba_file(tmp_path / "a.csv").shape == (200, 2)
    number = dw.ReadOptions(label_column="y", columns={"sign": "drop"})
    line = dw.TruncatedGradientRegressor(passes=5).fit_file(tmp_path / "a.csv", reading=number)
    np.testing.assert_allclose(line.predict_file(tmp_path / "a.csv"), line.predict(x_of(x)))
    assert line.score_file(tmp_path / "a.csv") == pytest.approx(line.score(x_of(x), y), abs=1e-6)


def x_of(x):
    import pandas as pd  # noqa: PLC0415  (only here)

    return pd.DataFrame(x, columns=["a", "b"])


def test_a_file_of_several_classes_that_save_wrote_is_read_by_every_command(mails, tmp_path):
    dw.TruncatedGradientClassifier(passes=3).fit_file(mails, reading=READING).save(tmp_path / "m")
    said = dwindle("predict", tmp_path / "m", mails, text=True).stdout.split()
    assert said == KINDS
    found = json.loads(dwindle("evaluate", tmp_path / "m", mails, "--json", text=True).stdout)
    assert found["accuracy"] == 1.0
    assert "class spam" in dwindle("inspect", tmp_path / "m", text=True).stdout


@pytest.mark.parametrize("gravity", [0.0, "auto"])
def test_the_command_line_and_the_estimator_write_the_same_classes(mails, tmp_path, gravity):
    model = dw.TruncatedGradientClassifier(passes=2, gravity=gravity)
    model.fit_file(mails, reading=READING).save(tmp_path / "a")
    how = ("--label-column", "kind", "--passes", 2, "--gravity", gravity)
    dwindle("train", mails, *how, "-m", tmp_path / "b")
    ours, theirs = load_model(tmp_path / "a"), load_model(tmp_path / "b")
    assert ours.weights() == theirs.weights()
    assert ours.classes == theirs.classes


def test_balanced_classes_of_a_file_weigh_the_same(mails, tmp_path):
    model = dw.TruncatedGradientClassifier(class_weight="balanced").fit_file(mails, reading=READING)
    how = ("--label-column", "kind", "--class-weight", "balanced", "--dense")
    dwindle("train", mails, *how, "-m", tmp_path / "m")
    assert model.weights() == load_model(tmp_path / "m").weights()


def test_weights_and_explanations_speak_the_words_of_a_vectorizer(tmp_path):
    vectorizer = CountVectorizer()
    x, names = vectorizer.fit_transform(TEXTS), None
    names = vectorizer.get_feature_names_out()
    plain = dw.TruncatedGradientClassifier().fit(x, KINDS)
    named = dw.TruncatedGradientClassifier().fit(x, KINDS, feature_names=names)
    assert (named.coef_ != plain.coef_).nnz == 0
    assert {names[int(key)]: w for key, w in plain.weights()["spam"].items()} == (
        named.weights()["spam"]
    )
    assert set(named.explain(x[0])["spam"].contributions) <= {"free", "money", "now"}
    named.save(tmp_path / "m")
    assert "prize" in dwindle("inspect", tmp_path / "m", text=True).stdout
    loaded = dw.load(tmp_path / "m")
    np.testing.assert_allclose(loaded.decision_function(x), named.decision_function(x))
    assert loaded.weights() == named.weights()


def test_the_last_step_of_a_pipeline_can_be_given_names_afterwards():
    pipeline = make_pipeline(CountVectorizer(), dw.TruncatedGradientClassifier())
    pipeline.fit(TEXTS, KINDS)
    pipeline[-1].name_features(pipeline[:-1].get_feature_names_out())
    assert "lunch" in pipeline[-1].weights()["food"]
    assert pipeline.predict(TEXTS).tolist() == KINDS


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_names_must_be_one_for_each_column(names):
    with pytest.raises(ValueError, match="expected 2 different feature names"):
        dw.TruncatedGradientClassifier().fit(np.eye(2), [0, 1], feature_names=names)
