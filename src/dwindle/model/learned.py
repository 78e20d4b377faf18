"""Models of learners, and learners that go on from models; to predict needs none of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.shrinkage import LATE
from dwindle.engine.cardinality import DistinctCounter
from dwindle.engine.kinds import learner_from, learner_of
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.engine.table import n_cells_for
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model


def model_of(
    learner: Learner | OneVsRest,
    metadata: Mapping[str, Any] | None = None,
    keep: int | None = None,
    states: Sequence[dict[str, Any]] | None = None,
) -> Model | ClassModels:
    """Make a model of what was learned; with ``keep``, of the heaviest features of each class.

    ``states`` are what `states_of` gave, if the model is to have them.
    """
    members = [learner] if isinstance(learner, Learner) else learner.members
    models = [Model.of(each, metadata, keep) for each in members]
    if states is not None:
        models = [replace(m, state=state) for m, state in zip(models, states, strict=True)]
    return models[0] if isinstance(learner, Learner) else ClassModels(models)


def states_of(learner: Learner | OneVsRest) -> list[dict[str, Any]]:
    """Return the state of a learner, or that of the learner of each class."""
    members = [learner] if isinstance(learner, Learner) else learner.members
    return [each.state() for each in members]


def learner_from_model(model: Model, settings: Mapping[str, Any]) -> Learner:
    """Make a learner that goes on from a model with these settings; see `Model.learner`."""
    if settings["loss"] != model.settings["loss"]:
        raise SettingError(
            f"the model was trained with {model.loss}, and another loss cannot go on from it"
        )
    if model.state is None or _differ(settings, model.settings):
        return _with_these_weights(model, settings)
    learner = learner_from(model.state | {"settings": model.settings})
    learner.begin_passes()
    if settings != model.settings:
        if not isinstance(learner, LaneLearner):
            learner.table.settle(learner.clock.now, learner.clock.size)
        learner = learner_from(learner.state() | {"settings": settings})
    return learner


def _with_these_weights(model: Model, settings: Mapping[str, Any]) -> Learner:
    """Make a learner that knows these weights and nothing else."""
    fresh, n = learner_of(settings), len(model)
    scale = fresh.label_scale
    if scale.scaled:
        if "label_moments" not in model.metadata:
            raise SettingError(
                "the model learned its labels as they are: go on without standardize"
            )
        scale.moments[:] = model.metadata["label_moments"]
    unit = scale.unit or 1.0  # 0 if all labels were the same, when there are no weights
    is_as_then = settings.get("scale_labels") == model.settings.get("scale_labels")
    state = fresh.begun(
        *(model.key, model.weight / unit, (model.intercept - scale.mean) / unit),
        *(model.statistics, model.moment if is_as_then else None),
    )
    seen = DistinctCounter()
    seen.observe(model.key)
    state |= {"names": model.names, "n_cells": n_cells_for(n), "peak": n, "seen": seen.packed()}
    learner = learner_from(state)
    if not isinstance(learner, LaneLearner) and not _agrees(model, learner):
        raise DataError(
            f"with {learner.update} a weight follows from sums that this model lacks: "
            "train the earlier one with --save-state"
        )
    return learner


def _agrees(model: Model, learner: Learner) -> bool:
    """Whether a learner has these weights."""
    key, weight = learner.weight_of_keys()
    kept, own = weight[np.argsort(key)], model.weight[np.argsort(model.key)]
    return len(kept) == len(own) and np.allclose(kept, own, rtol=1e-6, atol=0.0)


def _differ(settings: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether learners of these settings remember other things."""

    def remembered(each: Mapping[str, Any]) -> tuple[bool, set[str], Any, Any]:
        in_lanes = each["shrinkage"] if "choice" in each else None
        late = set(each["shrinkage"]) & {cls.__name__ for cls in LATE.values()}  # by time stamps
        return each.get("scale_labels", False), set(each["update"]), in_lanes, late

    return remembered(settings) != remembered(others)
