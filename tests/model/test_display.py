"""Models and learners show themselves in notebooks."""

import pytest

from dwindle import DataError, LaneLearner, Learner, Model, Path
from dwindle.model.classes import ClassModels
from dwindle.model.describe import checked_curve
from helpers.html import HOSTILE, read

CURVE = {
    "examples": [16, 32], "loss": [0.5, None], "since_last": [0.5, 0.4], "auc": [0.7, 0.8],
    "alive": [1, 2], "seen": [3, 4], "pass": [1, 1],
}  # fmt: skip


def taught(learner):
    for i in range(64):
        learner.learn_one({HOSTILE: 1.0, f"city=c{i % 3}": 1}, 1 if i % 3 else -1)
    return learner


def test_a_learner_shows_its_weights_and_counts():
    learner = taught(Learner())
    page = read(learner._repr_html_())
    weights = {name: weight for name, weight, _ in page.table("4 weights")}
    assert weights == learner.weights()
    assert page.tags.count("script") == 1
    assert f"~{learner.n_seen}" in page.text
    assert {row[0]: row[1] for row in page.table("2 columns")} == {HOSTILE: 1, "city": 3}


def test_a_learner_of_several_gravities_and_its_path_show_them_with_the_chosen_one():
    learner = taught(LaneLearner())
    path = Path.of(learner)
    for shown in (learner, path):
        page = read(shown._repr_html_())
        rows = page.table("Size against score")
        assert [row[0] for row in rows] == sorted(lane.kept for lane in path.frontier())
        assert f"chosen: {len(path)}" in page.text


def test_a_learner_that_has_learned_nothing_shows_that():
    assert "No feature has a weight" in Learner()._repr_html_()
    LaneLearner()._repr_html_()


def test_models_of_several_classes_show_the_weights_of_each():
    said = {"classes": ["a", HOSTILE, "c"]}
    models = ClassModels([Model.of(taught(Learner()), said) for _ in range(3)])
    rows = read(models._repr_html_()).table("12 weights")
    assert {row[0] for row in rows} == {*said["classes"]}


def test_a_model_shows_its_learning_curve():
    model = Model.of(taught(Learner()), {"learning_curve": CURVE, "examples": 32, "loss": 0.5})
    rows = read(model._repr_html_()).table("Progressive AUC")
    assert rows == [[16.0, 0.7], [32.0, 0.8]]


@pytest.mark.parametrize(
    "nonsense",
    [
        3,
        {"examples": [1]},
        CURVE | {"alive": [1]},
        CURVE | {"alive": "ab"},
        CURVE | {"loss": ["<b>", 1.0]},
        CURVE | {"seen": [-1, 2]},
        CURVE | {"else": [1, 2]},
    ],
)
def test_a_learning_curve_that_is_none_is_refused(nonsense):
    assert checked_curve(CURVE) == CURVE
    with pytest.raises(DataError, match="learning_curve"):
        checked_curve(nonsense)
