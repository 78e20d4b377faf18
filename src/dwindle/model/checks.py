"""Checks of models that a file says, before any of them is used."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dwindle._base.checks import flag, mapping, number, numbers, real, whole
from dwindle._base.errors import DataError
from dwindle.engine.lane_scores import Choice
from dwindle.engine.state_checks import check_keys, check_moments, checked_clock

if TYPE_CHECKING:
    from dwindle.model.model import Model

N_STATE = 6  # numbers of the clock of the noise


def check_models(models: "Sequence[Model]") -> None:
    """Refuse models that predict nonsense, or that no learner could go on from."""
    if not models:
        raise DataError("it has no model")
    for model in models:
        check_keys(model.key)
        number(model.intercept, "the intercept")
        if model.weight.dtype.kind != "f" or not np.isfinite(model.weight).all():
            raise DataError("weight: expected finite numbers")
        for name, column in model.statistics.items():
            if column.dtype.kind != "f" or not np.isfinite(column).all():
                raise DataError(f"{name}: expected finite numbers")
        if model.moment is not None:
            _check_moment(model.moment)
        if model.state is not None:
            mapping(model.state, "state")
    first = models[0]
    _check_settings(first.settings)
    _check_metadata(first.metadata, len(models))


def _check_settings(settings: Mapping[str, Any]) -> None:
    for name in ("intercept", "normalize"):
        flag(settings[name], name)
    for name in ("loss", "shrinkage", "update", "learning_rate"):
        mapping(settings[name], name)
    if len(settings["loss"]) != 1:
        raise DataError(f"loss is {settings['loss']}: expected one")
    if "choice" in settings:
        Choice(**settings["choice"])


def _check_metadata(metadata: Mapping[str, Any], n_models: int) -> None:
    for name in ("examples", "passes"):
        if name in metadata:
            whole(metadata[name], name)
    if "importance" in metadata:
        number(metadata["importance"], "importance", 0.0)
    if "label_moments" in metadata:
        check_moments(metadata["label_moments"], 3)
    mapping(metadata.get("reading", {}), "reading")
    for label, sign in mapping(metadata.get("labels", {}), "labels").items():
        if "classes" not in metadata:  # else they are text, or many
            float(label)
        real(sign, "the sign of a label")
    classes = metadata.get("classes")
    if classes is not None and not (
        isinstance(classes, list)
        and all(isinstance(each, str | int | float) for each in classes)
        and len(set(classes)) == len(classes)
    ):
        raise DataError("classes: expected a list of labels, each once")
    if n_models > 1 and (classes is None or len(classes) != n_models):
        raise DataError(f"it has {n_models} models, for other classes: {classes}")


def _check_moment(moment: Any) -> None:
    from dwindle.engine.lane_memory import Moment  # noqa: PLC0415  (of learners in lanes)

    when = Moment(**mapping(moment, "moment"))
    whole(when.lane, "the lane of the moment")
    for name in ("gravity", "root", "clock"):
        number(getattr(when, name), f"{name} of the moment", 0.0)
    flag(when.by_noise, "by_noise")
    checked_clock(when.steps)
    numbers(when.state, "state of the moment", N_STATE)
