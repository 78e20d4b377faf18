"""Paths: the models of several gravities in one file."""

import pickle

import numpy as np
import pandas as pd
import pytest

from dwindle import Batch, DataError, LaneLearner, Learner, Model, Path, SettingError, Squared
from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import FTRL
from dwindle.algorithm.sigmas import Sigmas
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.model.classes import ClassModels
from dwindle.model.learned import states_of
from dwindle.model.loading import load_model
from dwindle.model.storage import read, write
from helpers.planted_data import CLASSES, NUMBERS, batch_of

BATCH = batch_of(CLASSES)


def trained(**how):
    learner = LaneLearner(**how)
    learner.learn(BATCH)
    return learner


def trained_on_classes():
    learners = OneVsRest([LaneLearner() for _ in range(3)])
    label = np.arange(BATCH.n_examples) % 3
    strongest = np.where(BATCH.label > 0, 0, 1 + label % 2)
    learners.learn(BATCH._replace(label=strongest.astype(np.float32)))
    return learners


@pytest.fixture(scope="module")
def learner():
    return trained()


@pytest.fixture
def path(learner, tmp_path):
    """As it comes back from a file."""
    Path.of(learner, {"examples": 600}).save(tmp_path / "p.parquet")
    return Path.load(tmp_path / "p.parquet")


def test_each_lane_is_the_model_that_the_learner_has_there(learner, path):
    assert path.frontier() == learner.frontier()
    for k in range(learner.n_lanes):
        key, weight = learner.weight_of_keys(k)
        model = path.model(lane=k)
        assert dict(zip(model.key, model.weight, strict=True)) == dict(
            zip(key, weight, strict=True)
        )
        assert np.allclose(model.predict(BATCH), learner.predict_lanes(BATCH)[:, k], atol=1e-5)
        assert len(model) == path.frontier()[k].kept
        assert (np.diff(np.abs(model.weight)) <= 0).all()


def test_it_acts_as_the_model_of_the_chosen_lane(learner, path):
    chosen = Model.of(learner)
    assert path.frontier()[path.chosen].chosen
    assert path.weights() == chosen.weights()
    assert (path.predict(BATCH) == chosen.predict(BATCH)).all()
    assert path.explain({"0": 1.0}) == chosen.explain({"0": 1.0})
    assert (len(path), path.intercept, path.loss) == (len(chosen), chosen.intercept, chosen.loss)
    assert path.metadata == {"examples": 600}


def test_keep_picks_the_best_lane_of_at_most_so_many_features(path):
    frontier = path.frontier()
    for keep in range(1, 41):
        fits = [lane for lane in frontier if lane.kept <= keep]
        if fits:
            best = frontier.index(max(fits, key=lambda lane: lane.judged))
            assert path.model(keep=keep).weights() == path.model(lane=best).weights()
        assert len(path.model(keep=keep)) <= keep


def test_if_all_lanes_have_more_the_heaviest_of_the_sparsest_are_left(path):
    frontier = path.frontier()
    sparsest = path.model(lane=min(range(len(frontier)), key=lambda k: frontier[k].kept))
    two = path.model(keep=2)
    assert len(sparsest) > 2
    assert list(two.weights().items()) == list(sparsest.weights().items())[:2]
    assert two.intercept == sparsest.intercept


def test_of_losses_the_least_is_the_best():
    learner = LaneLearner(Squared(), scale_labels=True)
    learner.learn(batch_of(NUMBERS))
    path = Path.of(learner)
    fits = [lane for lane in path.frontier() if lane.kept <= 20]
    best = path.frontier().index(min(fits, key=lambda lane: lane.judged))
    assert path.model(keep=20).weights() == path.model(lane=best).weights()
    one = batch_of(NUMBERS[:50])
    assert np.allclose(path.predict(one), learner.predict(one), rtol=1e-5)


def test_every_reader_of_models_reads_the_chosen_lane(learner, path, tmp_path):
    file = tmp_path / "p.parquet"
    assert Model.load(file).weights() == Model.of(learner).weights()
    assert load_model(file).weights() == path.weights()
    assert load_model(file, keep=10).weights() == path.model(keep=10).weights()


def test_pandas_reads_a_column_for_each_lane(path, tmp_path):
    frame = pd.read_parquet(tmp_path / "p.parquet")
    lanes = [f"lane{k}" for k in range(8)]
    known = ["root", "scale"]
    assert frame.columns.tolist() == ["namespace", "feature", "id", "weight", *known, *lanes]
    assert (frame["weight"] == frame[f"lane{path.chosen}"]).all()
    assert [int((frame[name] != 0).sum()) for name in lanes] == [f.kept for f in path.frontier()]


def test_several_classes_have_lanes_each(tmp_path):
    learners = trained_on_classes()
    Path.of(learners, {"classes": ["a", "b", "c"]}).save(tmp_path / "p")
    path = Path.load(tmp_path / "p")
    assert path.frontier() == {
        name: each.frontier() for name, each in zip("abc", learners.members, strict=True)
    }
    assert path.chosen == {
        name: each.lane for name, each in zip("abc", learners.members, strict=True)
    }
    assert np.allclose(path.predict(BATCH), learners.predict(BATCH), atol=1e-5)
    few = path.model(keep=5)
    assert isinstance(few, ClassModels)
    assert max(map(len, few.members)) <= 5
    assert load_model(tmp_path / "p").weights() == path.weights()
    assert pd.read_parquet(tmp_path / "p")["class"].unique().tolist() == ["a", "b", "c"]


def test_with_its_state_learning_goes_on_to_the_bit(tmp_path):
    first, rest = BATCH.rows(0, 300), BATCH.rows(300, 600)
    learner = LaneLearner()
    learner.learn(first)
    Path.of(learner, states=states_of(learner)).save(tmp_path / "p")
    again = Path.load(tmp_path / "p").learner()
    learner.learn(rest)
    again.learn(rest)
    assert again.weights() == learner.weights()
    assert again.frontier() == learner.frontier()


def test_a_learner_of_lanes_is_saved_and_pickled_as_any_other(learner, tmp_path):
    learner.save(tmp_path / "c")
    for again in (Learner.load(tmp_path / "c"), pickle.loads(pickle.dumps(learner))):
        assert isinstance(again, LaneLearner)
        assert again.frontier() == learner.frontier()
        assert again.weights() == learner.weights()


def test_a_path_survives_a_pickle(path):
    path.predict(BATCH)
    again = pickle.loads(pickle.dumps(path))
    assert again.frontier() == path.frontier()
    assert (again.predict(BATCH) == path.predict(BATCH)).all()


def test_what_cannot_be_picked_is_refused_by_name(path):
    with pytest.raises(SettingError, match="lane must be from 0 to 7, got 8"):
        path.model(lane=8)
    with pytest.raises(SettingError, match="keep must be a whole number, 0 or more, got -1"):
        path.model(keep=-1)
    with pytest.raises(SettingError, match="keep and lane exclude each other"):
        path.model(keep=1, lane=1)
    with pytest.raises(SettingError, match="a path needs several gravities"):
        Path.of(Learner())


def test_a_file_of_one_model_is_no_path_and_has_nothing_to_pick_from(learner, tmp_path):
    Model.of(learner).save(tmp_path / "m.parquet")
    with pytest.raises(DataError, match=r"m\.parquet: holds a model, not a path"):
        Path.load(tmp_path / "m.parquet")
    with pytest.raises(DataError, match=r"m\.parquet: has no lanes that keep could choose from"):
        load_model(tmp_path / "m.parquet", keep=3)


def opened(file):
    """The error, or the frontier."""
    try:
        return None, Path.load(file).frontier()
    except DataError as error:
        return str(error), None


def test_every_cut_and_every_altered_byte_is_refused_by_name(path, tmp_path):
    file = tmp_path / "p.parquet"
    whole, expected = file.read_bytes(), path.frontier()
    for k in range(0, len(whole), 41):
        for damaged in (whole[:k], whole[:k] + bytes([whole[k] ^ 0x10]) + whole[k + 1 :]):
            file.write_bytes(damaged)
            refused, found = opened(file)
            if refused is not None:
                assert refused.startswith(f"{file}: ")
            else:  # a byte that says nothing of the path, such as the writer's version
                assert found == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"gravity": [0.0]},
        {"intercept": [1.0]},
        {"chosen": [False] * 8},
        {"kept": ["many"] * 8},
        {"judged": None},
    ],
)
def test_a_file_whose_lanes_contradict_its_columns_is_refused_by_name(path, tmp_path, wrong):
    file = tmp_path / "p.parquet"
    table, about = read(file, "path")
    about["lanes"][0] |= wrong
    columns = {name: table[name].to_numpy() for name in table.column_names[2:]}
    columns |= dict.fromkeys(("namespace", "feature"), path.members[0].base.names)
    write(file, "path", columns, about)
    with pytest.raises(DataError, match=r"p\.parquet: "):
        Path.load(file)


@pytest.mark.parametrize("update", [FTRL(), Adaptive()])
def test_any_number_of_lanes_comes_back(tmp_path, update):
    learner = trained(shrinkage=Sigmas((0.0, 0.1, 0.5)), update=update)
    Path.of(learner).save(tmp_path / "p")
    assert Path.load(tmp_path / "p").frontier() == learner.frontier()


def test_a_path_that_learned_nothing_is_empty(tmp_path):
    Path.of(LaneLearner()).save(tmp_path / "p")
    path = Path.load(tmp_path / "p")
    assert (len(path), path.weights()) == (0, {})
    assert path.predict(Batch.from_dicts([{"a": 1}])).tolist() == [0.0]
