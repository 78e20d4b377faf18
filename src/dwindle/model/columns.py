"""The columns of a model file: the rows of one model, or of several, one below the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import whole
from dwindle._base.errors import DataError
from dwindle._base.later import pa
from dwindle.features.names import JoinedNames, Text
from dwindle.model.storage import numbers, texts

if TYPE_CHECKING:
    from dwindle.model.model import Model

STATISTICS = ("scale", "root", "mean")  # columns of what is known of features beside weights
CELL = "cell_"  # begins the names of the columns of a learner's cells


def columns_of(models: Sequence[Model]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of models, one below the other, and what is to be said of their states."""
    known = _statistics(models)
    said: dict[str, Any] = {}
    if any(model.moment is not None for model in models):
        said["moments"] = [model.moment for model in models]
    if any(model.state is None for model in models):
        columns: dict[str, Any] = dict(
            name_columns(Text.concatenated([model.names for model in models]))
        )
        columns["id"] = _below([model.key for model in models])
        columns["weight"] = _below([model.weight for model in models])
        columns |= {name: _below(each) for name, each in known.items()}
        return columns, said
    parts: list[dict[str, NDArray[Any]]] = []
    names, states = [], []
    for k, model in enumerate(models):
        rest = dict(model.state or {})
        cells = rest.pop("cells")
        order = _kept_first(cells["id"], model.key)
        names.append(Text(*rest.pop("names").spelled(order)))
        own = {"weight": model.weight} | {name: each[k] for name, each in known.items()}
        padded = {name: np.zeros(len(order), each.dtype) for name, each in own.items()}
        for name, each in own.items():
            padded[name][: len(model)] = each
        fields = {f"{CELL}{name}": cell[order] for name, cell in cells.items() if name != "id"}
        parts.append({"id": cells["id"][order]} | padded | fields)
        states.append({name: value for name, value in rest.items() if name != "settings"})
    joined_parts = {name: _below([part[name] for part in parts]) for name in parts[0]}
    said |= {"kept": [len(model) for model in models], "rows": [len(part["id"]) for part in parts]}
    return name_columns(Text.concatenated(names)) | joined_parts, said | {"state": states}


def _below(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put columns one below the other; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _statistics(models: Sequence[Model]) -> dict[str, list[NDArray[Any]]]:
    """Return the statistics of each model, those that some of them have."""
    kinds = {name: each.dtype for model in models for name, each in model.statistics.items()}
    usual = {name: np.ones if name == "scale" else np.zeros for name in kinds}
    return {
        name: [m.statistics.get(name, usual[name](len(m), kind)) for m in models]
        for name, kind in kinds.items()
    }


def _kept_first(cells: NDArray[np.uint64], kept: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order of cells that has first those of the features kept, in their order."""
    by_key = np.argsort(cells)
    first = by_key[np.searchsorted(cells, kept, sorter=by_key)]
    others = np.ones(len(cells), np.bool_)
    others[first] = False
    return np.concatenate([first, np.flatnonzero(others)])


def fields_in(table: pa.Table, about: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the fields of each model of a file that was read, in the order of `Model`."""
    key, weight, names = numbers(table["id"]), numbers(table["weight"]), names_in(table)
    made_with = about["settings"], _counted_once(about["metadata"])
    intercepts = [about["intercept"]] if about["kind"] == "model" else about["intercept"]
    kept = about.get("kept", [len(key)])
    rows = about.get("rows", kept)
    if sum(whole(n, "rows") for n in rows) != len(key) or len(kept) != len(rows):
        raise DataError(f"rows is {rows}: expected {len(key)} in all")
    for n, most in zip(kept, rows, strict=True):
        whole(n, "kept", 0, most)
    states = about.get("state", [None] * len(kept))
    fields = [name for name in table.column_names if name.startswith(CELL)]
    moments = about.get("moments", [None] * len(kept))
    known = {name: numbers(table[name]) for name in STATISTICS if name in table.column_names}
    cells = {name.removeprefix(CELL): numbers(table[name]) for name in fields} | {"id": key}
    for begin, n, n_rows, intercept, rest, moment in zip(
        accumulate([0, *rows[:-1]]), kept, rows, intercepts, states, moments, strict=True
    ):
        at, all_rows = slice(begin, begin + n), slice(begin, begin + n_rows)
        state = None
        if rest is not None:
            its_cells = {name: cell[all_rows] for name, cell in cells.items()}
            state = rest | {"cells": its_cells, "names": names[all_rows]}
        features = key[at], weight[at], names[at], float(intercept)
        statistics = {name: each[at] for name, each in known.items()}
        yield *features, *made_with, state, statistics, moment


def _counted_once(metadata: dict[str, Any]) -> dict[str, Any]:
    """Translate the counts of earlier versions, which counted an example in every pass."""
    if "pass" not in metadata:
        return metadata
    passes = max(int(metadata["pass"]), 1)
    found = {name: value for name, value in metadata.items() if name != "pass"}
    found |= {"examples": metadata["examples"] // passes, "passes": passes}
    if "importance" in metadata:
        found["importance"] = metadata["importance"] / passes
    return found


def name_columns(names: Text) -> dict[str, Text]:
    """Split names into the columns of a file."""
    namespaces, features = names.split()
    return {"namespace": namespaces, "feature": features}


def names_in(table: pa.Table) -> Text:
    """Join the columns that `name_columns` made."""
    return JoinedNames(texts(table["namespace"]), texts(table["feature"]))
