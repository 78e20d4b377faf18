"""Learning goes on from what a model remembers of the lane that it is."""

import numpy as np
import pytest

from dwindle import Batch, Model, Squared
from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import FTRL, RDA, CentredFTRL, CentredRDA
from dwindle.algorithm.sigmas import Sigmas
from dwindle.algorithm.updates import Plain
from dwindle.engine.lanes import LaneLearner
from dwindle.model.merge import merged

N = 400
rng = np.random.default_rng(0)
VALUES = rng.normal(size=(N, 8)) * 10.0 ** np.arange(-4, 4) + 5.0 * 10.0 ** np.arange(-4, 4)
SCORES = ((VALUES / 10.0 ** np.arange(-4, 4)) - 5.0) @ [2, -2, 1, 0, 0, 0, 0, 0]
CLASSES = Batch.from_arrays(
    np.arange(0, 8 * N + 1, 8), np.tile(np.arange(8), N), VALUES.ravel(), np.sign(SCORES)
)
NUMBERS = CLASSES._replace(label=(100.0 + 3.0 * SCORES).astype(np.float32))
REGRESSION = {"loss": Squared(), "scale_labels": True}


@pytest.mark.parametrize(
    ("batch", "how"),
    [
        (CLASSES, {"update": RDA()}),
        (CLASSES, {"update": FTRL()}),
        (CLASSES, {"update": Adaptive(), "shrinkage": Sigmas()}),
        (CLASSES, {"update": FTRL(), "shrinkage": Sigmas((0.5,))}),
        (NUMBERS, {"update": CentredFTRL(), **REGRESSION}),
        (NUMBERS, {"update": CentredRDA(), **REGRESSION}),
    ],
    ids=str,
)
def test_a_model_without_its_state_goes_on_where_it_was(batch, how):
    first, rest = batch.rows(0, 300), batch.rows(300, N)
    learner = LaneLearner(**how)
    learner.learn(first)
    again = Model.of(learner).learner()
    assert (again.lane, again.n_steps, len(again)) == (learner.lane, 300, len(learner))
    size = np.abs(learner.predict(rest)).max()
    assert np.allclose(again.predict(rest), learner.predict(rest), atol=1e-5 * size)
    there, here, anew = (each.learn(rest) for each in (learner, again, LaneLearner(**how)))
    error = [np.square(rest.label - p).mean() for p in (there, here, anew)]
    if batch is CLASSES:
        error = [np.logaddexp(0, -rest.label * p).mean() for p in (there, here, anew)]
    assert (
        error[1] < 1.2 * error[0] + 1e-4 * error[2]
    )  # of what is left to learn, if that is little
    assert error[1] < error[2]


@pytest.mark.parametrize("update", [RDA(), FTRL(), CentredRDA()], ids=str)
def test_all_gravities_go_on_from_the_weights_of_the_model(update):
    learner = LaneLearner(update=update, shrinkage=Sigmas())
    learner.learn(CLASSES)
    again = Model.of(learner).learner()
    expected, size = learner.predict(CLASSES), np.abs(learner.predict(CLASSES)).max()
    for lane in again.predict_lanes(CLASSES).T:
        assert np.allclose(lane, expected, atol=1e-5 * size)


def test_the_paper_s_update_goes_on_from_its_weights():
    how = {"update": Plain(), "shrinkage": Sigmas(), "learning_rate": 1e-8}
    learner = LaneLearner(**how)
    learner.learn(CLASSES)
    again = Model.of(learner).learner()
    assert again.weights() == pytest.approx(learner.weights())
    assert again.n_steps == 0


def test_a_merged_model_goes_on_too():
    parts = []
    for a, b in ((0, 150), (150, 300)):
        learner = LaneLearner()
        learner.learn(CLASSES.rows(a, b))
        parts.append(Model.of(learner, {"examples": b - a}))
    both = merged(parts)
    again = both.learner()
    assert again.n_steps == 300
    assert again.weights() == pytest.approx(both.weights(), rel=1e-3)
    rest = CLASSES.rows(300, N)
    anew = LaneLearner()
    loss = [np.logaddexp(0, -rest.label * each.learn(rest)).mean() for each in (again, anew)]
    assert loss[0] < loss[1]
