"""Learners from settings, and settings from learners."""

from dataclasses import replace
from typing import Any

from dwindle.algorithm.settings import Ingredients, LearnerSettings, default_of, settings_of
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest


def make_learner(settings: LearnerSettings, default_loss: Any = None) -> Learner:
    """Make a learner that knows nothing yet; the loss is the default if the settings leave it."""
    settings.check()
    loss, shrinkage, update, schedule = settings.ingredients()
    return Learner(
        default_loss if loss is None else loss,
        shrinkage,
        update,
        schedule,
        intercept=settings.intercept,
        normalize=settings.normalize,
        max_live=settings.max_live,
    )


def make_learners(settings: LearnerSettings, loss: Any, classes: int) -> Learner | OneVsRest:
    """Make a learner, or one for each of more than two classes, which share ``max_live``."""
    if classes <= 2:
        return make_learner(settings, loss)
    if settings.max_live is not None:
        settings = replace(settings, max_live=settings.max_live // classes)
    return OneVsRest([make_learner(settings, loss) for _ in range(classes)])


def settings_of_learner(learner: Learner | OneVsRest) -> dict[str, Any]:
    """Name the settings that make such a learner, those that are not the default."""
    one = learner if isinstance(learner, Learner) else learner.members[0]
    found = settings_of(Ingredients(one.loss, one.shrinkage, one.update, one.schedule))
    others = {
        "intercept": one.has_intercept,
        "normalize": one.normalize,
        "max_live": learner.max_live,
    }
    return found | {k: v for k, v in others.items() if v != default_of(LearnerSettings, k)}
