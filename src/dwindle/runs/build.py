"""Learners from settings, and settings from learners."""

from dataclasses import replace
from typing import Any

from dwindle._base.errors import SettingError
from dwindle.algorithm.adaptive import Adaptive, Centred
from dwindle.algorithm.dual_averaging import FTRL, RDA, CentredFTRL, CentredRDA
from dwindle.algorithm.losses import for_classes, is_classification, takes_any_unit
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.settings import (
    AUTO,
    THEORY,
    Ingredients,
    LearnerSettings,
    default_of,
    settings_of,
)
from dwindle.algorithm.sigmas import Sigmas
from dwindle.algorithm.updates import default_learning_rate
from dwindle.engine.kinds import learner_of
from dwindle.engine.lane_scores import Choice
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.runs.settings import RunSettings

# What several classes need where nothing is said: an example is of one class, so most slopes are
# small, and a step must not be. docs/several-classes.md measures these.
SEVERAL = {"learning_rate": 2.0, "beta": 0.05}
# The same for dual averaging with several gravities at once. They are lower than for two classes,
# and the loss chooses among them: what AUC ignores moves examples to another class.
SEVERAL_IN_LANES = {"beta": 0.01, "sigmas": (0.0, *(2.0**k for k in (-9, -8, -7, -6, -4, -2, 0)))}
CENTRED: dict[type, Any] = {FTRL: CentredFTRL, RDA: CentredRDA}  # of updates in lanes
LAST_PASS = 1 / 16  # of the learning rate is left in the last of many passes


def make_learner(settings: LearnerSettings, decided: Any = None) -> Learner:
    """Make a learner that knows nothing yet.

    The loss is the one ``decided`` where the settings leave it to the labels: which it is, or
    which form of it.
    """
    settings.check()
    if settings.learning_rate == THEORY:
        raise SettingError(
            "learning_rate 'theory' needs to know all the data first: train and fit do"
        )
    loss = settings.ingredients().loss
    if loss is None or type(for_classes(loss)) is type(decided):
        loss = decided
    settings = _decided(settings, loss)
    _, shrinkage, update, schedule = settings.ingredients()
    standardizes = settings.standardize and takes_any_unit(loss)
    others: dict[str, Any] = {
        "intercept": settings.intercept,
        "normalize": settings.normalize,
        "max_live": settings.max_live,
        "scale_labels": standardizes,
    }
    if isinstance(shrinkage, Sigmas):
        if type(update) in CENTRED and _centres(settings):
            update = CENTRED[type(update)](*update)
            if settings.learning_rate is None:
                schedule = schedule._replace(learning_rate=default_learning_rate(update))
        choice = choice_of(settings)
        return LaneLearner(loss, shrinkage, update, schedule, **others, choice=choice)
    adds_up = not getattr(shrinkage, "counts_moments", False)
    if standardizes and type(update) is Adaptive and adds_up:
        update = Centred(*update)
    return Learner(loss, shrinkage, update, schedule, **others)


def _centres(settings: LearnerSettings) -> bool:
    """Whether lanes are to centre features that every example has."""
    return settings.standardize and settings.intercept and not settings.normalize


def _decided(settings: LearnerSettings, loss: Any) -> LearnerSettings:
    """Return the settings with FTRL as the update in lanes, if it is not named, for numbers."""
    for_numbers = settings.gravities is not None and not is_classification(loss)
    is_auto = isinstance(settings.update, str) and settings.update == AUTO
    if for_numbers and is_auto and type(settings.ingredients().update) in CENTRED:
        return replace(settings, update="ftrl")
    return settings


def in_lanes(learner: Learner | OneVsRest) -> bool:
    """Whether several gravities are learned at once."""
    members = [learner] if isinstance(learner, Learner) else learner.members
    return isinstance(members[0], LaneLearner)


def choosing(learner: Learner | OneVsRest, choice: Choice) -> Learner | OneVsRest:
    """Let a learner of several gravities choose by another rule; return it."""
    for each in [learner] if isinstance(learner, Learner) else learner.members:
        if isinstance(each, LaneLearner):
            choice.check(each.loss)
            each.choice = choice
    return learner


def choice_of(settings: LearnerSettings, classes: int = 0) -> Choice:
    """Return the rule by which one of several gravities is chosen, for so many classes."""
    if not isinstance(settings, RunSettings):
        return Choice()
    usual = _usual_of_several(settings).get("choose_by", AUTO) if classes > 2 else AUTO
    by = usual if settings.choose_by == AUTO else settings.choose_by
    return Choice(by, settings.tolerance, settings.keep)


def make_learners(settings: LearnerSettings, loss: Any, classes: int) -> Learner | OneVsRest:
    """Make a learner, or one for each of more than two classes, which share ``max_live``."""
    if classes <= 2:
        return make_learner(settings, loss)
    changed: dict[str, Any] = {}
    if settings.max_live is not None:
        if settings.max_live < classes:
            raise SettingError(
                f"max_live is shared by the classes: expected {classes} or more, got "
                f"{settings.max_live}"
            )
        changed["max_live"] = settings.max_live // classes
    usual = _usual_of_several(settings)
    changed |= {name: v for name, v in usual.items() if getattr(settings, name) in (None, AUTO)}
    settings = replace(settings, **changed)
    return OneVsRest([make_learner(settings, loss) for _ in range(classes)])


def _usual_of_several(settings: LearnerSettings) -> dict[str, Any]:
    """Return the defaults of several classes that are others than those of two."""
    if not isinstance(settings.update, str) or isinstance(settings.learning_rate, Schedule):
        return {}
    update = type(settings.ingredients().update)
    if update is RDA and settings.gravities is not None:
        chosen = {"choose_by": "loss"} if isinstance(settings, RunSettings) else {}
        return SEVERAL_IN_LANES | chosen
    decay = {"pass_decay": _pass_decay(getattr(settings, "passes", 1))}
    return SEVERAL | decay if update is Adaptive else {}


def _pass_decay(passes: int) -> float:
    """Halve the learning rate after each pass or, if there are many, let it fall more slowly."""
    slowly: float = LAST_PASS ** (1 / max(passes - 1, 1))
    return max(0.5, slowly)


def settings_of_model(model: Model | ClassModels) -> dict[str, Any]:
    """Name the settings that a model was learned with, those that are not the default."""
    one = learner_of(model.settings)
    return settings_of_learner(
        one if isinstance(model, Model) else OneVsRest([one] * len(model.members))
    )


def _standardizable(learner: Learner) -> bool:
    """Whether the setting ``standardize`` makes a difference to such a learner."""
    could_centre = isinstance(learner, LaneLearner) and type(learner.update) in CENTRED
    centred = could_centre and learner.has_intercept and not learner.normalize
    return takes_any_unit(learner.loss) or centred


def settings_of_learner(learner: Learner | OneVsRest) -> dict[str, Any]:
    """Name the settings that make such a learner, those that are not the default."""
    one = learner if isinstance(learner, Learner) else learner.members[0]
    update, scaled = one.update, one.label_scale.scaled
    if scaled and type(update) is Centred:
        update = Adaptive(*update)
    usual = next((plain for plain, cls in CENTRED.items() if type(update) is cls), None)
    found = settings_of(
        Ingredients(one.loss, one.shrinkage, (usual or type(update))(*update), one.schedule)
    )
    if usual is not None and one.schedule.learning_rate == default_learning_rate(update):
        found.pop("learning_rate", None)
    if isinstance(learner, OneVsRest):  # whose defaults are others
        found |= {name: getattr(one.schedule, name) for name in ("learning_rate", "pass_decay")}
        found |= {"beta": one.update.beta} if hasattr(one.update, "beta") else {}
    others: dict[str, Any] = {
        "intercept": one.has_intercept,
        "normalize": one.normalize,
        "standardize": scaled or usual is not None or not _standardizable(one),
        "max_live": learner.max_live,
    }
    if isinstance(one, LaneLearner):
        others |= {"choose_by": one.choice.metric, "tolerance": one.choice.tolerance}
    return found | {k: v for k, v in others.items() if v != default_of(RunSettings, k)}
