"""Learners of both kinds, of one gravity or of several, from their settings or their state."""

from collections.abc import Mapping
from typing import Any

from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner


def learner_of(settings: Mapping[str, Any]) -> Learner:
    """Make a new learner of the settings of another one, of either kind."""
    return _kind(settings).from_settings(settings)


def learner_from(state: Mapping[str, Any]) -> Learner:
    """Make the learner that a `state` described, of either kind."""
    return _kind(state["settings"]).from_state(state)


def _kind(settings: Mapping[str, Any]) -> type[Learner]:
    return LaneLearner if "choice" in settings else Learner
