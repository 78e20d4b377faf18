"""The paper's own system: clipped squared loss of two classes, section 5's order, and the preset."""

import json

import numpy as np
import pytest

import dwindle as package
from dwindle import (
    BinaryClippedSquared,
    ClippedSquared,
    Learner,
    PaperClassifier,
    Plain,
    Schedule,
    TrainSettings,
    TruncatedGradientClassifier,
    TruncatedGradientRegressor,
    Truncation,
)
from dwindle.model.loading import load_model
from dwindle.runs.evaluate import evaluate
from dwindle.runs.predict import predict
from dwindle.runs.settings import PAPER
from dwindle.runs.train import train
from helpers.commands import dwindle

RNG = np.random.default_rng(20)
X = (RNG.random((600, 12)) < 0.4) * RNG.normal(size=(600, 12)).round(3)
Y = X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + 0.2 * RNG.normal(size=600) > 0.1

ROWS = [{f"x{j}": float(v) for j, v in enumerate(x) if v} for x in X]


def write(path, labels):
    lines = (
        f"{y:g} | " + " ".join(f"x{j}:{v:g}" for j, v in enumerate(x) if v)
        for x, y in zip(X, labels, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def trained(tmp_path, labels, name="m", **settings):
    how = {"gravity": 1e-3, "passes": 3, **PAPER, **settings}
    summary = train([write(tmp_path / f"{name}.vw", labels)], tmp_path / name, TrainSettings(**how))
    return load_model(tmp_path / name), summary


def test_labels_of_any_two_classes_are_the_loss_s_0_and_1(tmp_path):
    models = [
        trained(tmp_path, np.where(Y, high, low), f"m{low}")[0]
        for low, high in ((0, 1), (-1, 1), (1, 2))
    ]
    assert {type(each.loss) for each in models} == {BinaryClippedSquared}
    assert models[0].weights() == models[1].weights() == models[2].weights()
    learner = Learner(
        ClippedSquared(), Truncation(1e-3), Plain(), Schedule(0.3, pass_decay=0.5), normalize=True
    )
    batch = package.Batch.from_dicts(ROWS, Y.astype(float))
    for k in range(3):
        if k:
            learner.next_pass()
        learner.learn(batch)
    assert models[0].weights() == learner.weights()  # as of the numbers 0 and 1, to the bit


def test_two_classes_are_told_apart_at_a_half_and_have_accuracy_auc_and_probabilities(tmp_path):
    _, summary = trained(tmp_path, Y)
    assert summary.auc > 0.8
    assert summary.labels == {"0": -1.0, "1": 1.0}
    found = evaluate(tmp_path / "m", [str(tmp_path / "m.vw")])
    score, chance, label = (
        np.concatenate([p.prediction for p in predict(tmp_path / "m", [str(tmp_path / "m.vw")], kind=kind)])
        for kind in ("score", "probability", "label")
    )  # fmt: skip
    assert score.min() < 0
    assert score.max() > 1
    assert np.array_equal(chance, np.clip(score, 0, 1))
    assert np.array_equal(label, score > 0.5)
    assert found["accuracy"] == np.mean((score > 0.5) == Y) > 0.85
    pairs = np.sign(score[Y][:, None] - score[~Y])
    assert found["auc"] == pytest.approx(np.mean(pairs / 2 + 0.5), abs=1e-12)
    assert found["brier_score"] == pytest.approx(np.mean((chance - Y) ** 2))
    assert np.isfinite(found["log_loss"])


def test_shares_between_0_and_1_stay_numbers_and_their_predictions_are_clipped(tmp_path):
    shares = 1 / (1 + np.exp(-3 * X[:, 0]))
    model, _ = trained(tmp_path, shares.round(4), passes=10)
    assert type(model.loss) is ClippedSquared
    found = evaluate(model, [str(tmp_path / "m.vw")])
    [raw] = predict(model, [str(tmp_path / "m.vw")])
    p = np.clip(raw.prediction, 0, 1)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((p - shares.round(4)) ** 2)), rel=1e-5)
    regressor = TruncatedGradientRegressor(**PAPER).fit(X, shares)
    assert regressor.predict(X).min() >= 0
    assert regressor.predict(X).max() <= 1


def test_the_classifier_is_the_command_line_to_the_bit(tmp_path):
    data = write(tmp_path / "a.vw", Y)
    given = "--gravity 1e-3 --passes 3 --order after --initial-t 5 --power-t 0.1"
    dwindle("train", data, "--paper", *given.split(), "--model", tmp_path / "m")
    model = load_model(tmp_path / "m")
    estimator = PaperClassifier(
        gravity=1e-3, passes=3, order="after", initial_t=5, power_t=0.1, shuffle=False
    ).fit(X, Y, feature_names=[f"x{j}" for j in range(12)])
    assert model.weights() == estimator.weights()
    assert model.settings["normalize"]
    assert model.settings["shrinkage"] == {
        "LateTruncation": {"gravity": 1e-3, "threshold": "inf", "truncate_every": 1}
    }
    scores = model.predict(package.Batch.from_dicts(ROWS))
    assert np.array_equal(estimator.decision_function(X), scores - 0.5)
    assert np.array_equal(estimator.predict(X), scores > 0.5)
    assert np.array_equal(estimator.predict_proba(X)[:, 1], np.clip(scores, 0, 1))
    assert np.isfinite(estimator.predict_log_proba(X)).all()
    loaded = package.load(tmp_path / "m")
    assert np.array_equal(loaded.predict(package.Batch.from_dicts(ROWS)), scores > 0.5)
    assert (loaded.loss, loaded.order, loaded.update) == ("clipped-squared", "after", "auto")


def test_the_preset_is_defaults_that_any_option_overrides(tmp_path):
    data = write(tmp_path / "a.vw", Y)
    dwindle("train", data, "--paper", "--loss", "logistic", "-l", "0.1", "--model", tmp_path / "m")
    model = load_model(tmp_path / "m")
    assert type(model.loss).__name__ == "Logistic"
    assert model.settings["update"] == {"Plain": {}}
    assert model.settings["learning_rate"]["Schedule"]["pass_decay"] == PAPER["pass_decay"]
    assert TruncatedGradientClassifier(**PAPER).get_params() == PaperClassifier().get_params()


def test_three_classes_are_learned_one_against_the_rest():
    y = np.where(Y, 2, np.where(X[:, 3] > 0, 1, 0))
    model = PaperClassifier(passes=5).fit(X, y)
    assert model.score(X, y) > 0.7
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_stopped_run_goes_on_to_the_same_model(tmp_path):
    data = write(tmp_path / "a.vw", Y)
    how = [
        "--paper",
        "--gravity",
        "1e-3",
        "-K",
        "3",
        "--order",
        "after",
        "--save-state",
        "--pass-decay",
        "1",
    ]
    dwindle("train", data, *how, "--passes", 2, "--model", tmp_path / "whole")
    dwindle("train", data, *how, "--passes", 1, "--model", tmp_path / "half")
    dwindle("train", data, "--start-from", tmp_path / "half", "--model", tmp_path / "twice")
    half, twice, whole = (load_model(tmp_path / name) for name in ("half", "twice", "whole"))
    assert twice.weights() == whole.weights() != half.weights()
    assert twice.settings == whole.settings


def test_tuning_scores_the_loss_by_accuracy_and_tries_rates_for_normalised_predictions(tmp_path):
    data = write(tmp_path / "a.vw", Y)
    done = dwindle("tune", data, "--paper", "--order", "after", "--metric", "accuracy", "--folds", 3,
                   "--passes", 1, "--gravity", "0,0.001,0.01", "--no-picture", "--json", "--jobs", 1,
                   "--model", tmp_path / "m", text=True)  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    [chosen] = [line["chosen"] for line in lines if "chosen" in line]
    assert chosen["accuracy"] > 0.8
    length = np.mean([(1 + (x**2).sum()) / (1 + np.count_nonzero(x)) for x in X])
    tried = {line["learning_rate"] for line in lines if "learning_rate" in line}
    assert min(tried) <= float(f"{1 / length:.2g}") <= max(tried)
    model = load_model(tmp_path / "m")
    assert type(model.loss) is BinaryClippedSquared
    assert "LateTruncation" in model.settings["shrinkage"]
    assert model.settings["normalize"]


def test_what_the_order_does_not_go_with_is_refused_by_name(tmp_path):
    data = write(tmp_path / "a.vw", Y)
    for given, message in (
        (
            "--shrinkage subgradient -g 0.1",
            "order is a setting of shrinkage truncation or rounding",
        ),
        ("--sigmas 0.25", "sigmas pulls before the prediction: leave out order"),
        ("--update adaptive -g 0.1", "order 'after' is section 5's, whose update is Plain"),
        ("--max-live 100 -g 0.1", "max_live needs Truncation"),
    ):
        done = dwindle("train", data, "--order", "after", *given.split(), "--model", tmp_path / "m",
                       check=False, text=True)  # fmt: skip
        assert done.returncode == 2
        assert message in done.stderr


def test_a_regressor_refuses_what_is_no_number_of_the_loss():
    with pytest.raises(package.DataError, match="between 0 and 1"):
        TruncatedGradientRegressor(loss="clipped-squared").fit(X, 5 * X[:, 0])


def test_the_server_answers_by_the_same_boundary(tmp_path):
    pytest.importorskip("starlette")
    from dwindle.data.labels import Labels  # noqa: PLC0415  (with what the server needs)
    from dwindle.serving.scoring import Answers  # noqa: PLC0415  (an extra)

    model, _ = trained(tmp_path, Y)
    answers = Answers(model.loss, Labels.in_metadata(model.metadata))
    scores = np.array([-0.25, 0.25, 0.75, 1.5])
    found = answers.columns(scores)
    assert found["label"] == [0, 0, 1, 1]
    assert found["probability"].tolist() == [0.0, 0.25, 0.75, 1.0]
    assert [answers.row(each)["label"] for each in scores.tolist()] == found["label"]


def test_time_stamps_of_one_stream_are_refused_on_many_machines(tmp_path):
    data = write(tmp_path / "a.vw", Y)
    done = dwindle("train", data, "--paper", "--order", "after", "--on", "local:2", "--model",
                   tmp_path / "m", check=False, text=True)  # fmt: skip
    assert done.returncode == 2
    assert "--order after has time stamps of one stream" in done.stderr
