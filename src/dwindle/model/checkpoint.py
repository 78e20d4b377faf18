"""Files of a learner's whole state, from which learning goes on to the bit.

A checkpoint has the columns of a model's file, and one for each other field of the learner's cells.
"""

import copyreg
import os
from collections.abc import Mapping
from typing import Any

from dwindle.engine.learner import Learner
from dwindle.model.model import name_columns, names_in
from dwindle.model.storage import numbers, read, write


def save_checkpoint(
    learner: Learner, path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None
) -> int:
    """Write a learner and ``metadata`` of the caller to a file; return its size."""
    state = learner.state()
    cells, names = state.pop("cells"), state.pop("names")  # all else is fit for JSON
    about = state | {"metadata": dict(metadata or {})}
    return write(path, "checkpoint", name_columns(names) | cells, about)


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[Learner, dict[str, Any]]:
    """Read a learner, as it was when the checkpoint was written, and the caller's metadata."""
    table, about = read(path, "checkpoint")
    columns = [name for name in table.column_names if name not in {"namespace", "feature"}]
    cells = {name: numbers(table[name]) for name in columns}
    return Learner.from_state(about | {"cells": cells, "names": names_in(table)}), about["metadata"]


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
    return load_checkpoint(path)[0]


def _unfinished() -> Learner:
    return Learner.__new__(Learner)


# The engine knows nothing of files, so a learner gets these two methods here. `dwindle.Learner` is
# taken from this module, and a pickled learner refers to it, so that both always have them.
Learner.save = _save
Learner.load = staticmethod(_load)
copyreg.pickle(Learner, lambda learner: (_unfinished, (), learner.__getstate__()))
