"""The settings of a run that goes on from an earlier one: from its checkpoint, or its model."""

import os
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from dwindle._base.errors import SettingError
from dwindle._base.remote import shown
from dwindle.algorithm.losses import for_classes
from dwindle.algorithm.settings import LearnerSettings, default_of, options_of
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.data.sources import Sources
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.runs.build import settings_of_learner, settings_of_model
from dwindle.runs.settings import TrainSettings, complete

# Settings that must be as they were when a run is resumed.
RESUMED = (
    *("passes", "cooldown", "holdout", "patience", "class_weight", "shuffle", "seed", "probes"),
)
REMEMBERED = ("keep", "skip_bad", "save_state", "path")  # settings that may be others then
KINDS = ("categorical", "numeric", "text", "date", "drop")  # options that say what columns are
# Settings that do nothing without another, and what to say then.
NEEDED = {
    "patience": ("holdout", "say --holdout 10, for every tenth example, or --holdout FILE"),
    "seed": ("shuffle", "say --shuffle 100000, for windows of so many examples"),
}
OWN = ("label_column", "weight_column")  # of the reading: another file may call them otherwise
# The options that say what features are, and the field of `ReadOptions` that they set.
FEATURES = {name: name for name in ("interactions", "ngrams", "counts")} | dict.fromkeys(
    (*KINDS, "columns"), "columns"
)


def check_needed(settings: TrainSettings, given: Collection[str]) -> None:
    """Refuse settings that were given though they do nothing without another."""
    for name, (other, advice) in NEEDED.items():
        if name in given and getattr(settings, other) is None:
            raise SettingError(f"--{name} does nothing without --{other}: {advice}")


def completed(
    settings: TrainSettings,
    learner: Learner | OneVsRest,
    metadata: Mapping[str, Any],
    given: Collection[str],
) -> TrainSettings:
    """Take from a checkpoint the settings that were not given."""
    run = {name: metadata[name] for name in (*RESUMED, *REMEMBERED) if name in metadata}
    settings = complete(settings, settings_of_learner(learner) | run, given)
    if {*metadata["reading"], *KINDS} & set(given):
        return settings
    return replace(settings, reading=as_before(metadata["reading"], settings.reading))


def fixed(
    settings: TrainSettings, data: Sources, labels: Labels, start_from: str | None
) -> dict[str, Any]:
    """Gather what must be as it was when a run is resumed, beside the learner's settings."""
    run = {name: getattr(settings, name) for name in RESUMED}
    if isinstance(run["class_weight"], Mapping):
        run["class_weight"] = labels.weight  # by their text, as in a file
    return {
        "data": list(data.given),
        "start_from": start_from,
        "reading": kept_reading(settings.reading),
    } | run


def continued(
    settings: TrainSettings,
    path: str | os.PathLike[str],
    model: Model | ClassModels,
    given: Collection[str] | None,
) -> TrainSettings:
    """Take from a model the settings that were not given, and how its data was read.

    If ``given`` is None, those that are not the default were.
    """
    if given is None:
        given = {*_changed(settings, options_of(LearnerSettings)), *_changed_reading(settings)}
    settings = complete(settings, settings_of_model(model), given)
    loss = settings.ingredients().loss
    if repr(model.loss) not in {repr(loss), repr(for_classes(loss))}:
        raise SettingError(
            f"{shown(path)}: was trained with {model.loss}, and another loss cannot go on from it"
        )
    return replace(settings, reading=_reading(settings.reading, path, model, given))


def _reading(
    reading: ReadOptions,
    path: str | os.PathLike[str],
    model: Model | ClassModels,
    given: Collection[str],
) -> ReadOptions:
    if "reading" not in model.metadata:  # a model made in Python does not say how
        return reading
    before = as_before(model.metadata["reading"], reading)
    for name, is_set in FEATURES.items():
        if name in given and getattr(reading, is_set) != getattr(before, is_set):
            raise SettingError(
                f"{shown(path)}: its features are read as they were before: leave out --{name}"
            )
    return replace(before, **{name: getattr(reading, name) for name in OWN if name in given})


def _changed(settings: Any, names: Collection[str]) -> set[str]:
    return {name for name in names if getattr(settings, name) != default_of(settings, name)}


def _changed_reading(settings: TrainSettings) -> set[str]:
    usual = ReadOptions()
    names = (each.name for each in fields(usual))
    return {each for each in names if getattr(settings.reading, each) != getattr(usual, each)}
