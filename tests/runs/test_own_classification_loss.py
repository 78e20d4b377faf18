"""A user's own loss of two classes gets their labels, accuracy, AUC and probabilities."""

import importlib
import pickle
import sys

import numpy as np
import pytest

import dwindle
from dwindle import TrainSettings, TruncatedGradientClassifier

OWN = '''
import math
from typing import NamedTuple

import numpy as np


class Probit(NamedTuple):
    """phi(p, y) = -ln Phi(p y), with Phi the normal distribution."""

    @property
    def is_classification(self):
        return True

    def link(self, scores):
        return 0.5 * (1.0 + np.tanh(0.8 * np.asarray(scores)))  # near enough to Phi

    def value(self, p, y):
        return -math.log(max(0.5 * math.erfc(-p * y / math.sqrt(2.0)), 1e-300))

    def slope(self, p, y):
        m = min(max(p * y, -30.0), 30.0)
        density = math.exp(-0.5 * m * m) / math.sqrt(2.0 * math.pi)
        return -y * density / max(0.5 * math.erfc(-m / math.sqrt(2.0)), 1e-300)
'''


@pytest.fixture
def probit(tmp_path, monkeypatch):
    (tmp_path / "probit_loss.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("probit_loss").Probit
    del sys.modules["probit_loss"]


def test_it_trains_predicts_and_is_evaluated_like_the_built_in_ones(probit, tmp_path):
    data, model = tmp_path / "a.vw", tmp_path / "m"
    data.write_text("".join(f"{i % 2} | w{i % 2 if i % 9 else 1} common\n" for i in range(900)))
    summary = dwindle.train([str(data)], model, TrainSettings(loss=probit()))
    assert summary.loss_name == "Probit"
    assert summary.labels == {"0": -1.0, "1": 1.0}
    assert summary.auc > 0.8
    found = dwindle.evaluate(model, [str(data)])
    assert found["accuracy"] > 0.85
    assert found["auc"] > 0.85
    assert 0.0 < found["log_loss"] < found["best_constant_loss"]
    [chances] = dwindle.predict(model, [str(data)], kind="probability")
    assert ((chances.prediction >= 0) & (chances.prediction <= 1)).all()
    [labels] = dwindle.predict(model, [str(data)], kind="label")
    assert set(labels.prediction.tolist()) == {0.0, 1.0}


def test_the_classifier_takes_it_for_two_classes_and_for_several(probit):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 4))
    for y in (x[:, 0] > 0, np.argmax(x[:, :3], axis=1)):
        model = TruncatedGradientClassifier(loss=probit(), passes=3).fit(x, y)
        assert model.score(x, y) > 0.9
        chances = model.predict_proba(x)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), chances, atol=1e-12)
        assert (model.classes_[chances.argmax(axis=1)] == model.predict(x)).all()
        assert (pickle.loads(pickle.dumps(model)).predict(x) == model.predict(x)).all()
    linked = probit().link(model.decision_function(x))
    np.testing.assert_allclose(chances, linked / linked.sum(axis=1, keepdims=True))


def test_labels_other_than_its_two_classes_are_refused_though_it_says_nothing_of_them(probit):
    with pytest.raises(dwindle.DataError, match=r"a label must be -1 or 1, got 0$"):
        dwindle.Learner(probit()).learn_one({"a": 1}, 0)
