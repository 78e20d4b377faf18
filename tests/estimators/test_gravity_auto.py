"""Estimators that find their own gravity, in one pass."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dwindle
from dwindle import (
    DataError,
    Path,
    SettingError,
    TruncatedGradientClassifier,
    TruncatedGradientRegressor,
)
from helpers.commands import dwindle as command

rng = np.random.default_rng(0)
X = rng.normal(size=(900, 60))
SCORE = X[:, :4] @ [2.0, -2.0, 1.5, -1.5]
CLASSES = np.where(SCORE + rng.logistic(size=900) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.3 * rng.normal(size=(900, 3)), axis=1)]
NUMBERS = 100 + 10 * SCORE + rng.normal(size=900)
BOTH = [(TruncatedGradientClassifier, CLASSES), (TruncatedGradientRegressor, NUMBERS)]
TRAIN, TEST = slice(0, 600), slice(600, 900)


@pytest.fixture(scope="module")
def model():
    return TruncatedGradientClassifier(gravity="auto").fit(X[TRAIN], CLASSES[TRAIN])


def test_noise_is_removed_and_what_tells_something_stays(model):
    dense = TruncatedGradientClassifier().fit(X[TRAIN], CLASSES[TRAIN])
    assert {0, 1, 2, 3} <= {*model.coef_.indices.tolist()}
    assert model.n_kept_ == model.coef_.nnz < 15
    assert dense.n_kept_ == 60
    assert model.score(X[TEST], CLASSES[TEST]) >= dense.score(X[TEST], CLASSES[TEST])
    assert model.predict_proba(X[TEST]).sum(axis=1) == pytest.approx(1.0)
    assert {*model.explain(X[:1]).contributions} == {str(j) for j in model.coef_.indices}


def test_the_frontier_shows_all_gravities_and_marks_the_one_that_predicts(model):
    frontier = model.frontier_
    assert len(frontier) == 8
    [chosen] = [lane for lane in frontier if lane.chosen]
    assert chosen.kept == model.n_kept_
    assert max(lane.kept for lane in frontier) == 60
    assert all(0.5 < lane.auc <= 1.0 for lane in frontier)


def test_the_path_has_every_model(model):
    path = model.path_
    assert isinstance(path, Path)
    assert path.weights() == model.weights()
    few = path.model(keep=2)
    assert len(few) <= 2
    assert {*few.weights()} <= {"0", "1", "2", "3"}


def test_keep_may_change_without_learning_anew(model):
    again = pickle.loads(pickle.dumps(model)).set_params(keep=2)
    assert again.n_kept_ == 2
    assert again.weights() == model.path_.model(keep=2).weights()
    wide = again.set_params(keep=None, tolerance=1.0)
    assert wide.n_kept_ == min(lane.kept for lane in model.frontier_)
    assert wide.set_params(tolerance=None).weights() == model.weights()


def test_a_path_is_saved_and_any_model_of_it_loaded(model, tmp_path):
    model.path_.save(tmp_path / "p")
    whole, few = dwindle.load(tmp_path / "p"), dwindle.load(tmp_path / "p", keep=2)
    assert (whole.decision_function(X) == model.decision_function(X)).all()
    assert whole.frontier_ == model.frontier_
    assert whole.classes_.tolist() == ["no", "yes"]
    assert few.n_kept_ == 2
    assert few.path_.model(keep=5).weights() == model.path_.model(keep=5).weights()
    model.save(tmp_path / "m")
    plain = dwindle.load(tmp_path / "m")
    assert (plain.decision_function(X) == model.decision_function(X)).all()
    with pytest.raises(AttributeError, match="the model file has one gravity only"):
        _ = plain.path_
    with pytest.raises(DataError, match="has no lanes that keep could choose from"):
        dwindle.load(tmp_path / "m", keep=2)


def test_the_command_line_reads_the_path_of_an_estimator(model, tmp_path):
    model.path_.save(tmp_path / "p")
    said = command("inspect", "p", "--keep", 3, cwd=tmp_path, text=True).stdout
    assert said.count(" chosen") == 1


def test_a_dense_model_has_no_frontier():
    dense = TruncatedGradientClassifier().fit(X, CLASSES)
    with pytest.raises(AttributeError, match="one gravity was learned: gravity='auto' learns"):
        _ = dense.frontier_
    assert not hasattr(dense, "path_")


@pytest.mark.parametrize(("kind", "y"), BOTH)
def test_partial_fit_in_any_batching_gives_the_same_bits(kind, y):
    models = []
    for size in (900, 7):
        model = kind(gravity="auto")
        for a in range(0, 900, size):
            more = {"classes": np.unique(y)} if kind is TruncatedGradientClassifier else {}
            model.partial_fit(X[a : a + size], y[a : a + size], **more)
        models.append(model)
    assert (models[0].predict(X) == models[1].predict(X)).all()
    assert (models[0].coef_ != models[1].coef_).nnz == 0
    assert models[0].t_ == 900


@pytest.mark.parametrize("state", [True, False])
@pytest.mark.parametrize(("kind", "y"), [*BOTH, (TruncatedGradientClassifier, THREE)])
@pytest.mark.filterwarnings("ignore:the model was saved without its state")
def test_what_was_saved_goes_on(kind, y, state, tmp_path):
    model = kind(gravity="auto").fit(X[TRAIN], y[TRAIN])
    model.save(tmp_path / "m", state=state)
    again = dwindle.load(tmp_path / "m")
    before = again.predict(X[TEST])
    for each in (model, again):
        each.partial_fit(X[TEST], y[TEST])
    if state:
        assert (again.predict(X) == model.predict(X)).all()
    else:
        assert again.score(X, y) > 0.9 * model.score(X, y)
        assert (again.predict(X[TEST]) == before).mean() < 1


@pytest.mark.parametrize(("kind", "y"), [*BOTH, (TruncatedGradientClassifier, THREE)])
def test_it_is_cloned_pickled_and_shown_as_any_estimator(kind, y):
    model = kind(gravity="auto").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    assert str(again.frontier_) == str(model.frontier_)
    assert repr(clone(model)) == f"{kind.__name__}(gravity='auto')"
    assert model.get_params()["gravity"] == "auto"


def test_each_of_several_classes_has_gravities_of_its_own():
    model = TruncatedGradientClassifier(gravity="auto").fit(X[TRAIN], THREE[TRAIN])
    assert {*model.frontier_} == {"a", "b", "c"}
    assert model.score(X[TEST], THREE[TEST]) > 0.7
    assert model.coef_.shape == (3, 60)
    assert model.coef_.nnz < 120
    assert {*model.weights()} == {"a", "b", "c"}


def test_a_regressor_finds_its_gravity_by_the_loss():
    model = TruncatedGradientRegressor(gravity="auto", passes=3).fit(X[TRAIN], NUMBERS[TRAIN])
    assert model.score(X[TEST], NUMBERS[TEST]) > 0.95
    assert model.n_kept_ < 20
    assert all(np.isnan(lane.auc) for lane in model.frontier_)


def test_sigmas_are_gravities_by_name():
    several = TruncatedGradientClassifier(sigmas=(0.0, 0.1, 1.0)).fit(X, CLASSES)
    assert [lane.gravity for lane in several.frontier_] == [0.0, 0.1, 1.0]
    one = TruncatedGradientClassifier(sigmas=1.0).fit(X, CLASSES)
    assert [lane.gravity for lane in one.frontier_] == [1.0]
    assert one.n_kept_ < 60
    with pytest.raises(SettingError, match="sigmas stands for gravity: give one of them"):
        TruncatedGradientClassifier(sigmas=1.0, gravity=0.1).fit(X, CLASSES)


def test_columns_keep_their_names(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :10], columns=[f"c{j}" for j in range(10)])
    model = TruncatedGradientClassifier(gravity="auto").fit(frame, CLASSES)
    assert {"c0", "c1"} <= {*model.weights()} <= {*frame.columns}
    assert {*model.path_.model(keep=2).weights()} <= {*frame.columns}
    model.path_.save(tmp_path / "p")
    again = dwindle.load(tmp_path / "p")
    assert (again.decision_function(frame) == model.decision_function(frame)).all()


def test_it_goes_into_pipelines_and_searches():
    pipeline = make_pipeline(StandardScaler(), TruncatedGradientClassifier(gravity="auto"))
    assert cross_val_score(pipeline, X, CLASSES, cv=2).mean() > 0.8
    search = GridSearchCV(
        TruncatedGradientClassifier(), {"gravity": [0.0, "auto"]}, cv=2, error_score="raise"
    )
    assert search.fit(X, CLASSES).best_params_ == {"gravity": "auto"}


def test_a_word_that_is_no_gravity_is_refused():
    with pytest.raises(SettingError, match="gravity must be a number or auto, got 'none'"):
        TruncatedGradientClassifier(gravity="none").fit(X, CLASSES)
