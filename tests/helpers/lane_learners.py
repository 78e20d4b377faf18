"""Learners of several gravities, and what the reference makes of the same settings."""

import functools
from typing import Any, NamedTuple

import dwindle
import reference_lanes
from dwindle.algorithm.dual_averaging import CentredRDA
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.sigmas import AUTOMATIC, Gravities, Sigmas
from dwindle.engine.lanes import LaneLearner
from helpers.effort import FULL
from helpers.ingredients import LOSSES, rates_of

LOGISTIC, SQUARED = LOSSES[1], LOSSES[0]
BETA = 0.2
RATE = 0.5


class LaneUpdate(NamedTuple):
    """An update, and the reference's by its threshold."""

    update: Any
    reference: Any
    has_threshold: bool


UPDATES = [
    LaneUpdate(dwindle.FTRL(BETA), functools.partial(reference_lanes.LaneFTRL, BETA), False),
    LaneUpdate(dwindle.RDA(BETA), functools.partial(reference_lanes.LaneRDA, BETA), False),
    LaneUpdate(dwindle.Adaptive(BETA), functools.partial(reference_lanes.LaneAdaptive, BETA), True),
    LaneUpdate(dwindle.Plain(), functools.partial(reference_lanes.LanePlain, BETA), True),
]
CENTRED = LaneUpdate(
    CentredRDA(BETA), functools.partial(reference_lanes.LaneCentredRDA, BETA), False
)
# Each loss with some update, and each update with some loss; in `make test-all` all of them.
CASES = (
    [(loss, update) for loss in LOSSES for update in UPDATES]
    if FULL
    else [(loss, UPDATES[i]) for loss, i in zip(LOSSES, (3, 0, 1, 1, 3, 0, 1, 2), strict=True)]
)

SIGMAS = Sigmas()
GRAVITIES = Gravities((0.0, 0.01, 0.05, 0.2, 1.0))


def called(each):
    """The name of an update or of a loss."""
    return str(each.loss) if hasattr(each, "loss") else type(each.update).__name__


def lane_learner(update=UPDATES[0], loss=LOGISTIC, shrinkage=SIGMAS, rate=RATE, **settings):
    return LaneLearner(loss.loss, shrinkage, update.update, rate, **settings)


def expected_of(learner, loss, update, examples, passes=1, folds=()):
    """What the reference makes of a learner's settings and these examples."""
    shrinkage = learner.shrinkage
    schedule: Schedule = learner.schedule
    learned = max(sum(importance > 0 for _, _, importance in examples), 1)
    n = passes * len(examples)
    return list(
        reference_lanes.lanes(
            examples * passes,
            rates_of(schedule, n, [i // learned for i in range(n)]),
            shrinkage.values,
            loss.slope,
            update.reference(theta=shrinkage.threshold),
            evidence=shrinkage.evidences,
            by_noise=shrinkage.by_noise,
            every=shrinkage.truncate_every,
            intercept=learner.has_intercept,
            normalize=learner.normalize,
            folds=folds,
        )
    )


def weights_by_lane(learner):
    """The weights of all lanes by name."""
    found = {}
    for lane in range(learner.n_lanes):
        key, weight = learner.weight_of_keys(lane)
        for name, w in zip(key.tolist(), weight.tolist(), strict=True):
            found.setdefault(str(name), [0.0] * learner.n_lanes)[lane] = w
    return found


def shrinkages(has_threshold):
    """Both clocks, with K and with evidence or, where there is one, a threshold: five of them."""
    gravities = [GRAVITIES, GRAVITIES._replace(truncate_every=3)]
    if has_threshold:
        limited = Sigmas(threshold=0.2, truncate_every=2)
        return [
            SIGMAS,
            Sigmas(truncate_every=3),
            limited,
            gravities[0],
            gravities[1]._replace(threshold=0.2),
        ]
    return [SIGMAS, AUTOMATIC, AUTOMATIC._replace(truncate_every=2), *gravities]


def final(learner):
    """All that a learner learned, to the bit."""
    frontier = [str(lane) for lane in learner.frontier()]
    batch = dwindle.Batch.from_dicts([{}])
    return (
        *(weights_by_lane(learner), learner.predict_lanes(batch).tolist(), learner.n_steps),
        *(frontier, learner.best_so_far, learner.lane, learner.table.used),
    )
