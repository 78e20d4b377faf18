"""The weighted mean of models that were trained on parts of the data, on several machines say.

Part i counts by n_i, the total importance of the examples it was trained on. A feature that a part
did not keep has weight 0 there:

    w = (n_1 w_1 + n_2 w_2 + ...) / (n_1 + n_2 + ...).

The merged model has n_1 + n_2 + ..., so the order and grouping of merges do not matter:
merged([merged([a, b]), c]) is merged([a, b, c]), up to rounding, unless ``keep`` drops features on
the way.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import difference
from dwindle._base.errors import DataError
from dwindle._base.files import check_apart
from dwindle._base.remote import shown
from dwindle._base.text import counted
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.engine.lane_memory import Moment, joined
from dwindle.features.names import Text
from dwindle.model.model import Model, load_models, save_models
from dwindle.model.order import heaviest_first

# What all parts must have in common; the merged model has the same.
SETTINGS = ("loss", "intercept", "normalize")
METADATA = ("labels", "classes", "columns", "n_features")
TINY = 1e-36  # the least square of a unit


class Merged(NamedTuple):
    """The number of models merged, and the size of the result."""

    parts: int
    examples: int
    kept: int
    model_bytes: int
    classes: int = 0  # if there are several, what is kept are weights of all of them


def merge(
    paths: Sequence[str],
    model_path: str | os.PathLike[str],
    *,
    keep: int | None = None,
) -> Merged:
    """Merge the models of these files into one file; with ``keep``, only its heaviest features."""
    check_apart(model_path, paths)
    parts = [load_models(path) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        _check(Path(path).name, part[0], Path(paths[0]).name, parts[0][0])
        if len(part) != len(parts[0]):  # files without classes may differ only in this
            raise DataError(
                f"{shown(path)}: cannot be merged with {shown(paths[0])}: it has "
                f"{counted(len(part), 'model')}, not {len(parts[0])}"
            )
    each = [merged(models, keep) for models in zip(*parts, strict=True)]
    size = each[0].save(model_path) if len(each) == 1 else save_models(model_path, each)
    examples, classes = each[0].metadata["examples"], len(each) if len(each) > 1 else 0
    return Merged(len(parts), examples, sum(map(len, each)), size, classes)


def merged(models: Sequence[Model], keep: int | None = None) -> Model:
    """Return the weighted mean of models; with ``keep``, only that many of its heaviest features.

    >>> one = Model(np.array([1, 2], np.uint64), np.array([4.0, -2.0]), Text.of(["a", "b"]), 1.0,
    ...             {}, {"examples": 100})
    >>> other = Model(np.array([2], np.uint64), np.array([2.0]), Text.of(["b"]), 2.0,
    ...               {}, {"examples": 300})
    >>> both = merged([one, other])
    >>> both.weights(), both.intercept, both.metadata["examples"]
    ({'a': 1.0, 'b': 1.0}, 1.75, 400)
    """
    importance = np.array([_importance(model) for model in models])
    total = float(importance.sum())
    if total <= 0.0:
        raise DataError("all examples of these models have importance 0: there is no mean")
    share = importance / total
    key, first, which = np.unique(
        np.concatenate([model.key for model in models]), return_index=True, return_inverse=True
    )
    parts = [s * model.weight for s, model in zip(share, models, strict=True)]
    weight = np.zeros(len(key))
    np.add.at(weight, which, np.concatenate(parts))
    order = heaviest_first(key, weight)[:keep]
    order = order[weight[order] != 0.0]  # weights may have cancelled out
    statistics, moment = _statistics(models, share, which, len(key))
    return Model(
        key[order],
        weight[order],
        Text(*Text.concatenated([model.names for model in models]).spelled(first[order])),
        float(share @ [model.intercept for model in models]),
        models[0].settings,
        _metadata(models, importance),
        statistics={name: each[order] for name, each in statistics.items()},
        moment=moment,
    )


def _statistics(
    models: Sequence[Model], share: NDArray[np.float64], which: NDArray[np.int64], n: int
) -> tuple[dict[str, NDArray[Any]], dict[str, Any] | None]:
    """Return what is known of each feature, and the moment that it is known at.

    Its mean and unit are those of the parts' that have it, about zero unless all of them centre it.
    Sums of squares add up.
    """

    def of(name: str, default: float) -> NDArray[np.float64]:
        known = [model.statistics.get(name, np.full(len(model), default)) for model in models]
        return np.concatenate(known).astype(np.float64)

    def added(parts: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros(n)
        np.add.at(total, which, parts)
        return total

    unit, mean, root = of("scale", 1.0), of("mean", 0.0), of("root", 0.0)
    part = np.repeat(share, [*map(len, models)])
    weight = added(part)
    weight[weight == 0.0] = 1.0
    all_centre = added(mean == 0.0) == 0.0
    centre = np.where(all_centre, added(part * mean) / weight, 0.0)
    found: dict[str, NDArray[Any]] = {"mean": centre} if centre.any() else {}
    about_zero = np.hypot(unit, mean)
    if any("scale" in model.statistics for model in models):
        squares = added(part * about_zero**2) / weight - centre**2
        found["scale"] = np.sqrt(np.maximum(squares, TINY)).astype(np.float32)
    moments = [model.moment for model in models if model.moment is not None]
    if len(moments) < len(models):
        return found, None
    root *= np.where(all_centre[which], 1.0, about_zero / unit)
    found["root"] = np.sqrt(added(root**2)).astype(np.float32)
    return found, joined([Moment(**each) for each in moments])._asdict()


def _importance(model: Model) -> float:
    """Return the total importance of a model's examples, 1 each unless its metadata says more."""
    metadata = model.metadata
    if "examples" not in metadata:
        raise DataError("the model's metadata lacks its number of examples: it cannot be merged")
    return float(metadata.get("importance", metadata["examples"]))


def _metadata(models: Sequence[Model], importance: NDArray[np.float64]) -> dict[str, Any]:
    metadata = {name: models[0].metadata[name] for name in METADATA if name in models[0].metadata}
    if "reading" in models[0].metadata:
        metadata["reading"] = kept_reading(_reading(models))
    metadata["examples"] = sum(model.metadata["examples"] for model in models)
    total = float(importance.sum())
    if total != metadata["examples"]:
        metadata["importance"] = total
    if all("label_moments" in model.metadata for model in models):
        metadata["label_moments"] = _joined_moments(
            np.array([model.metadata["label_moments"] for model in models])
        )
    metadata["parts"] = sum(model.metadata.get("parts", 1) for model in models)
    if all("loss" in model.metadata for model in models):
        loss = [model.metadata["loss"] for model in models]
        metadata["loss"] = float(importance @ loss) / total
    return metadata


def _reading(models: Sequence[Model]) -> ReadOptions:
    """Return how the data of all models was read, with the columns of all; or refuse them."""
    first, *rest = (as_before(m.metadata["reading"], ReadOptions()) for m in models)
    for each in rest:
        other = each
        if other.schema is not None and first.schema is not None:
            schema = first.schema.united(other.schema)
            first, other = (replace(o, schema=schema, columns={}) for o in (first, other))
        if other != first:
            here, there = kept_reading(other), kept_reading(first)
            name = next(name for name in here if here[name] != there[name])
            raise DataError(f"its {name.replace('_', ' ')} is {here[name]}, not {there[name]}")
    return first


def _joined_moments(moments: NDArray[np.float64]) -> list[float]:
    """Return the number, mean and squares of all labels from those of each part."""
    n, mean, squares = moments.T
    total = n.sum()
    middle = float(n @ mean) / total
    return [float(total), middle, float((squares + n * (mean - middle) ** 2).sum())]


def _check(name: str, model: Model, first_name: str, first: Model) -> None:
    """Refuse a model that predicts something else than the first, or from other features."""
    for where, names in (("settings", SETTINGS), ("metadata", METADATA)):
        here, there = getattr(model, where), getattr(first, where)
        for what in names:
            if here.get(what) != there.get(what):
                which, own, other = difference(what, here.get(what), there.get(what))
                raise DataError(
                    f"{name}: cannot be merged with {first_name}: its {which.replace('_', ' ')} is "
                    f"{own}, not {other}"
                )
    if ("reading" in model.metadata) != ("reading" in first.metadata):
        raise DataError(
            f"{name}: cannot be merged with {first_name}: only one says how data is read"
        )
    if "reading" in first.metadata:
        try:
            _reading([first, model])
        except DataError as error:
            raise DataError(f"{name}: cannot be merged with {first_name}: {error}") from None
    if "examples" not in model.metadata:
        raise DataError(f"{name}: its metadata lacks the number of examples: it cannot be merged")
