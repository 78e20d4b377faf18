"""The names of features, which travel beside parts: only those told for the first time."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.files import Place
from dwindle.distributed.places import names_file
from dwindle.distributed.telling import Start, Told
from dwindle.engine.learner import Learner
from dwindle.features.names import Text
from dwindle.model import storage
from dwindle.model.columns import name_columns, names_in

NAMES = "names"
AT_ONCE = 16  # files that are read at once


def save_names(path: Place, members: list[Learner], starts: list[Start], told: list[Told]) -> None:
    """Write the names of features that are told for the first time."""
    keys, names = [], []
    for member, start, each in zip(members, starts, told, strict=True):
        new = each.mark[~_among(each.mark, start.cells["key"])] - np.uint64(1)
        keys.append(new)
        names.append(member.table.names.of(new))
    columns = name_columns(Text.concatenated(names)) | {"id": np.concatenate(keys)}
    counts = {"keys": [len(each) for each in keys]}
    storage.write(path, NAMES, columns, {"settings": {}, "metadata": counts})


def enter_names(run: str, p: int, n: int, members: list[Learner]) -> None:
    """Tell learners the names that shards told, each once."""

    def load(k: int) -> tuple[Any, dict[str, Any]]:
        return storage.read(names_file(run, p, k), NAMES)

    known = [np.empty(0, np.uint64) for _ in members]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for table, about in pool.map(load, range(n)):
            key, names = storage.numbers(table["id"]), names_in(table)
            bounds = np.cumsum([0, *about["metadata"]["keys"]])
            for m, member in enumerate(members):
                own = np.arange(bounds[m], bounds[m + 1])
                new = own[~_among(key[own], known[m])]
                known[m] = np.concatenate([known[m], key[new]])
                member.table.names.enter(key, names, new)


def _among(key: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which keys are among others; none is twice on either side."""
    # By sorting: by a table, which NumPy may prefer, 2.0 fails where keys are above 2^63.
    return np.isin(key, others, assume_unique=True, kind="sort")
