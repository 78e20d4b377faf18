"""Model files and checkpoints of every format ever written are read: tests/helpers/write_golden.py."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from dwindle import Learner, Logistic, load
from dwindle.cli import main
from dwindle.model.merge import merge
from dwindle.model.model import Model, load_models
from dwindle.model.storage import FORMAT
from helpers.write_golden import (
    GOLDEN,
    LEARNERS,
    batches,
    learn_first_half,
    learn_the_rest,
    weights,
)

FORMATS = [f"format-{n}" for n in range(1, FORMAT + 1)]
OLD_WORDS = {"rate", "power", "t0", "every", "scaled", "facts", "rest", "Unshrunk", "Ftrl", "Rda"}


def has_its_units(folder, name):
    """Whether a learner in this format measures features as the same one does today."""
    return folder == f"format-{FORMAT}" or "inverse" not in LEARNERS[name]().bias.dtype.names


def close_to(model, other):
    """Weights to the bit, unless they come of an exp, which is the C library's."""
    assert list(model.names) == list(other.names)
    found, expected = (np.append(each.weight, each.intercept) for each in (model, other))
    if isinstance(model.loss, Logistic):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
    else:
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("folder", FORMATS)
def test_there_is_a_golden_file_of_everything_in_each_format(folder):
    expected = {f"{name}.{kind}" for name in LEARNERS for kind in ("checkpoint", "parquet")}
    expected |= {"three-classes.parquet", "train.parquet"}
    files = list((GOLDEN / folder).iterdir())
    assert {path.name for path in files} == expected
    for path in files:
        about = json.loads(pq.read_schema(path).metadata[b"dwindle"])
        assert f"format-{about['format']}" == folder


def cases():
    """Each learner in each format; the units of some were others before format 3."""
    return [(folder, name) for folder in FORMATS for name in LEARNERS]


@pytest.mark.parametrize(("folder", "name"), [(f, n) for f, n in cases() if has_its_units(f, n)])
def test_a_checkpoint_of_an_earlier_version_goes_on_to_the_model_of_that_version(folder, name):
    learner, fresh = Learner.load(GOLDEN / folder / f"{name}.checkpoint"), LEARNERS[name]()
    assert repr(learner) == repr(fresh)
    learn_first_half(fresh)
    close_to(Model.of(learner), Model.of(fresh))
    learn_the_rest(learner)
    expected = Model.load(GOLDEN / folder / f"{name}.parquet")
    close_to(Model.of(learner), expected)
    assert expected.settings == learner.settings()
    assert expected.metadata == {"examples": learner.n_steps}


@pytest.mark.parametrize(
    ("folder", "name"), [(f, n) for f, n in cases() if not has_its_units(f, n)]
)
def test_a_checkpoint_of_other_units_has_the_weights_of_that_version_and_goes_on(folder, name):
    learner = Learner.load(GOLDEN / folder / f"{name}.checkpoint")
    known = json.loads((GOLDEN / "checkpoints-of-format-2.json").read_text("utf-8"))[name]
    intercept = known.pop("(intercept)")
    # A cell's clock, and FTRL's weights then, are in single precision.
    assert learner.weights() == pytest.approx(known, rel=1e-6)
    assert learner.intercept == pytest.approx(intercept, rel=1e-6)
    model, earlier = Model.of(learner), Model.load(GOLDEN / folder / f"{name}.parquet")
    learn_the_rest(learner)
    [batch] = batches()
    ours, before, theirs = (each.predict(batch) for each in (learner, model, earlier))
    assert np.corrcoef(ours, theirs)[0, 1] > np.corrcoef(before, theirs)[0, 1] + 0.2


@pytest.mark.parametrize("folder", FORMATS)
def test_a_trained_model_of_an_earlier_version_predicts_is_merged_and_inspected(folder, tmp_path):
    path = GOLDEN / folder / "train.parquet"
    model = Model.load(path)
    told = [line.split(maxsplit=3) for line in weights(model).splitlines()]
    known = "weights.txt" if folder == f"format-{FORMAT}" else "weights-of-format-2.txt"
    known = (GOLDEN / "vw" / known).read_text().splitlines()
    known = [line.split(maxsplit=3) for line in known]
    assert [row[2:] for row in told] == [row[2:] for row in known]
    assert [float(row[1]) for row in told] == pytest.approx([float(row[1]) for row in known], 1e-12)
    assert not OLD_WORDS & model.metadata.keys()
    command = ["evaluate", str(path), str(GOLDEN / "vw" / "data.vw"), "--json"]
    assert json.loads(CliRunner().invoke(main, command).stdout)["auc"] > 0.7
    merged = merge([str(path), str(path)], tmp_path / "both")
    assert merged.kept == len(model)
    assert load(path).get_params()["gravity"] == 2e-3


@pytest.mark.parametrize("folder", FORMATS)
def test_a_classifier_of_an_earlier_version_predicts(folder):
    path = GOLDEN / folder / "three-classes.parquet"
    models, classifier = load_models(path), load(path)
    assert [str(each) for each in classifier.classes_] == ["a", "b", "c"]
    x = np.random.default_rng(0).normal(size=(20, 6))
    scores = np.zeros((20, 3))
    for k, model in enumerate(models):
        scores[:, k] = model.intercept + x[:, model.key.astype(int)] @ model.weight
    np.testing.assert_allclose(classifier.decision_function(x), scores, rtol=1e-5, atol=1e-5)
    assert classifier.get_params()["gravity"] == 1e-3
