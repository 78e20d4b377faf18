"""Files of a learner's whole state, from which learning goes on to the bit.

A checkpoint has the columns of a model's file, and one for each other field of the learner's cells.
"""

from __future__ import annotations

import copyreg
import os
from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from dwindle._base.checks import mapping, reading_from, whole
from dwindle._base.errors import DataError
from dwindle._base.later import pa
from dwindle._base.remote import shown
from dwindle.engine.kinds import learner_from
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.names import Text
from dwindle.model.columns import name_columns, names_in
from dwindle.model.storage import numbers, read, write

Contents = tuple[dict[str, Any], dict[str, Any]]


def save_checkpoint(
    learner: Learner | OneVsRest,
    path: str | os.PathLike[str],
    metadata: Mapping[str, Any] | None = None,
) -> int:
    """Write a learner and ``metadata`` of the caller to a file; return its size."""
    return write_checkpoint(path, checkpoint_contents(learner, metadata))


def write_checkpoint(path: str | os.PathLike[str], contents: Contents) -> int:
    """Write what `checkpoint_contents` copied, while the learner perhaps learns on."""
    return write(path, "checkpoint", *contents)


def checkpoint_contents(
    learner: Learner | OneVsRest, metadata: Mapping[str, Any] | None = None
) -> Contents:
    """Copy a learner as the columns and the metadata of its file.

    The cells of several classes stand one class after the other: ``alive`` says how many each has.
    """
    members = [learner] if isinstance(learner, Learner) else learner.members
    states = [each.state() for each in members]
    cells = [state.pop("cells") for state in states]
    names = Text.concatenated([state.pop("names") for state in states])  # all else is fit for JSON
    columns = {name: np.concatenate([each[name] for each in cells]) for name in cells[0]}
    several = {"classes": states, "alive": [len(each["id"]) for each in cells]}
    about = (
        states[0] if isinstance(learner, Learner) else {"settings": states[0]["settings"]} | several
    )
    about = about | {"metadata": dict(metadata or {})}
    return name_columns(names) | columns, about


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[Learner | OneVsRest, dict[str, Any]]:
    """Read a learner, as it was when the checkpoint was written, and the caller's metadata."""
    table, about = read(path, "checkpoint")
    with reading_from(path):
        return _learner_in(table, about), mapping(about["metadata"], "metadata")


def _learner_in(table: pa.Table, about: dict[str, Any]) -> Learner | OneVsRest:
    """Return the learner of a file that was read."""
    columns = [name for name in table.column_names if name not in {"namespace", "feature"}]
    cells, names = {name: numbers(table[name]) for name in columns}, names_in(table)
    if "classes" not in about:
        return learner_from(about | {"cells": cells, "names": names})
    alive = [whole(each, "alive", 0, table.num_rows) for each in about["alive"]]
    if sum(alive) != table.num_rows or len(alive) < 2:
        raise DataError(f"alive is {alive}: expected {table.num_rows} features of several classes")
    bounds = pairwise([0, *accumulate(alive)])
    members = [
        learner_from(
            state
            | {"cells": {name: each[a:b] for name, each in cells.items()}, "names": names[a:b]}
        )
        for (a, b), state in zip(bounds, about["classes"], strict=True)
    ]
    if any(each.settings() != members[0].settings() for each in members):
        raise DataError("classes: expected the same settings for all")
    return OneVsRest(members)


def _save(learner: Learner, path: str | os.PathLike[str]) -> int:
    """Write the learner to a file, from which `load` goes on to the bit; return its size.

    >>> from tempfile import TemporaryDirectory
    >>> learner = Learner()
    >>> _ = learner.learn_one({"price": 3.5}, 1)
    >>> with TemporaryDirectory() as folder:
    ...     _ = learner.save(f"{folder}/ads.checkpoint")
    ...     Learner.load(f"{folder}/ads.checkpoint").weights() == learner.weights()
    True
    """
    return save_checkpoint(learner, path)


def _load(path: str | os.PathLike[str]) -> Learner:
    """Read the learner that `save` wrote to a file."""
    learner, _ = load_checkpoint(path)
    if not isinstance(learner, Learner):
        raise DataError(f"{shown(path)}: is a checkpoint of several classes, not of one learner")
    return learner


def _unfinished(kind: type[Learner] = Learner) -> Learner:
    return kind.__new__(kind)


# The engine knows nothing of files, so a learner gets these two methods here. `dwindle.Learner` and
# `LaneLearner` are taken from this module, and a pickled one refers to it, so that all have them.
def _repr_html(self: Learner) -> str:
    from dwindle.model.display import html_of_learner  # noqa: PLC0415  (notebooks alone need it)

    return html_of_learner(self)


Learner._repr_html_ = _repr_html
Learner.save = _save
Learner.load = staticmethod(_load)
for _kind in (Learner, LaneLearner):
    copyreg.pickle(_kind, lambda each: (_unfinished, (type(each),), each.__getstate__()))
