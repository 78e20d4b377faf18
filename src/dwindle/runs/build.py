"""Learners from settings, and settings from learners."""

from typing import Any

from dwindle.algorithm.settings import Ingredients, LearnerSettings, default_of, settings_of
from dwindle.engine.learner import Learner


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


def settings_of_learner(learner: Learner) -> dict[str, Any]:
    """Name the settings that make such a learner, those that are not the default."""
    found = settings_of(
        Ingredients(learner.loss, learner.shrinkage, learner.update, learner.schedule)
    )
    others = {
        "intercept": learner.has_intercept,
        "normalize": learner.normalize,
        "max_live": learner.max_live,
    }
    return found | {k: v for k, v in others.items() if v != default_of(LearnerSettings, k)}
