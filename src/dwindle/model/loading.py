"""Opening a model file of any kind: a model, those of several classes, or a path."""

import os

from dwindle._base.errors import DataError
from dwindle.model.classes import ClassModels
from dwindle.model.model import KINDS, Model, models_in
from dwindle.model.path import Path, path_in
from dwindle.model.storage import read

Models = Model | ClassModels


def load_saved(path: str | os.PathLike[str]) -> Models | Path:
    """Read what a file holds."""
    table, about = read(path, *KINDS)
    if about["kind"] == "path":
        return path_in(path, table, about)
    found = models_in(path, table, about)
    return found[0] if len(found) == 1 else ClassModels(found)


def load_model(path: str | os.PathLike[str], keep: int | None = None) -> Models:
    """Read a model, or those of several classes, from a file.

    Of a path it is the chosen lane or, with ``keep``, the best one of at most so many features.
    """
    return picked(load_saved(path), keep, path)


def opened(model: str | os.PathLike[str] | Models | Path, keep: int | None = None) -> Models:
    """Return the model itself, or the one in this file; of a path, as `load_model` does."""
    if isinstance(model, Model | ClassModels | Path):
        return picked(model, keep, "the model")
    return load_model(model, keep)


def picked(found: Models | Path, keep: int | None, name: str | os.PathLike[str]) -> Models:
    """Return the model, of a path that of a lane; refuse ``keep`` where there are no lanes."""
    if isinstance(found, Path):
        return found.model(keep=keep)
    if keep is not None:
        raise DataError(
            f"{name}: has no lanes that keep could choose from: dwindle train --path writes them"
        )
    return found
