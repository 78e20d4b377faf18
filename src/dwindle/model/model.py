"""What is left after learning, and its file: a Parquet table that other tools open as it is.

A model has a row for each feature kept, heaviest first: ``namespace``, ``feature``, ``id`` (its
key) and ``weight``. What made it, the intercept among it, stands in the metadata as JSON. A
checkpoint is the same file with the cells as they stand, so that learning can go on to the bit.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dwindle._base.dispatch import from_recipe, json_number
from dwindle._base.errors import DivergedError
from dwindle.algorithm.shrinkage import NoShrinkage
from dwindle.algorithm.updates import Plain
from dwindle.engine import kernels
from dwindle.engine.explain import Explanation, explained
from dwindle.engine.learner import Learner
from dwindle.engine.table import empty_cells, n_cells_for
from dwindle.features.batch import Batch, Features
from dwindle.features.names import Text, shown
from dwindle.model.parquet import numbers, read, texts, write


@dataclass(frozen=True)
class Model:
    """The features kept, by weight, with the settings that a learner was made of.

    ``metadata`` is whatever else the file should say: the mapping of labels, counts, data files.
    """

    key: NDArray[np.uint64]
    weight: NDArray[np.float64]
    names: Text
    intercept: float
    settings: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, learner: Learner, metadata: Mapping[str, Any] | None = None, keep: int | None = None
    ) -> "Model":
        """The model a learner has come to; with ``keep``, the so many heaviest of its features."""
        key, weight = learner.table.weights()
        if not (np.isfinite(weight).all() and np.isfinite(learner.intercept)):
            raise DivergedError(
                "a weight is no longer finite: lower the rate or scale the features"
            )
        order = heaviest_first(key, weight)[:keep]
        names = learner.table.names.of(key[order])
        settings = learner.settings()
        return cls(
            key[order], weight[order], names, learner.intercept, settings, dict(metadata or {})
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_table"}

    def __len__(self) -> int:
        return len(self.key)

    @property
    def loss(self) -> Any:
        """The loss it was trained with."""
        return from_recipe(self.settings["loss"])

    def heaviest(self, n: int | None) -> "Model":
        """The same with its n heaviest features; None is all."""
        return replace(self, key=self.key[:n], weight=self.weight[:n], names=self.names[:n])

    def weights(self) -> dict[str, float]:
        """The weight of each feature by name, heaviest first."""
        return dict(zip(map(shown, self.names), self.weight.tolist(), strict=True))

    def predict(self, batch: Batch) -> NDArray[np.float64]:
        """The prediction for each example, before any link."""
        return self._predicted(
            batch, constant=self.settings["intercept"], normalize=self.settings["normalize"]
        )

    def explain(self, x: Features | Batch) -> Explanation:
        """What each feature of one example adds to its prediction, the largest first."""
        return explained(
            x,
            self.predict,
            lambda batch: self._predicted(batch, constant=False, normalize=False),
            self.intercept,
            float(self.settings["intercept"]) if self.settings["normalize"] else None,
        )

    def _predicted(self, batch: Batch, *, constant: bool, normalize: bool) -> NDArray[np.float64]:
        """With or without the intercept."""
        prediction = np.empty(batch.n_examples)
        base = np.zeros(batch.n_examples, np.float32) if batch.base is None else batch.base
        kernels.predict.of(NoShrinkage(), Plain())(
            batch.start,
            batch.key,
            batch.x,
            base,
            0.0,
            0.0,
            0,
            self._cells,
            self._bias,
            float(constant),
            bool(normalize),
            NoShrinkage(),
            Plain(),
            prediction,
        )
        return prediction

    @property
    def _bias(self) -> Any:
        bias = empty_cells(Plain(), 1)
        bias["weight"] = self.intercept
        return bias

    @property
    def _cells(self) -> Any:
        """The features as a table to look them up in; made once."""
        found = self.__dict__.get("_table")
        if found is None:
            rows = empty_cells(Plain(), len(self))
            rows["key"], rows["weight"] = self.key + np.uint64(1), self.weight
            # Roomy: unlike a learner's, it does not have the commonest features nearest home.
            found = empty_cells(Plain(), n_cells_for(2 * len(self)))
            kernels.move.of(Plain())(rows, found)
            self.__dict__["_table"] = found
        return found

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model; an earlier file stays whole until this one is. Returns its size."""
        columns = _name_columns(self.names) | {"id": self.key, "weight": self.weight}
        about = {"intercept": json_number(self.intercept), "settings": self.settings}
        return write(path, "model", columns, about | {"metadata": self.metadata})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Model":
        """Read a model, or refuse the file by name."""
        table, about = read(path, "model")
        return cls(
            _column(table, "id"),
            _column(table, "weight"),
            _names(table),
            float(about["intercept"]),
            about["settings"],
            about["metadata"],
        )


def heaviest_first(key: NDArray[np.uint64], weight: NDArray[np.float64]) -> NDArray[np.int64]:
    """The order of features by weight, then by key: not by where a table happens to keep them."""
    size = np.abs(weight)
    order = np.argsort(-size)  # in half the time of one that keeps those of equal weight in order
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = size[order[1:]] == size[order[:-1]]
    tied[:-1] |= tied[1:]
    some = order[tied]
    order[tied] = some[np.lexsort((key[some], -size[some]))]
    return order


def save_models(path: str | os.PathLike[str], models: Sequence[Model]) -> int:
    """Write the models of several classes as one table; a column says whose each row is.

    The classes are those that their metadata name.
    """
    first = models[0]
    whose = np.repeat(np.arange(len(models)), [len(model) for model in models])
    said = Text.of([str(each) for each in first.metadata["classes"]])
    names = Text.of([name for model in models for name in model.names])
    columns: dict[str, Any] = {"class": Text(*said.spelled(whose))} | _name_columns(names)
    for name in ("key", "weight"):
        column = np.concatenate([getattr(model, name) for model in models])
        columns["id" if name == "key" else name] = column
    about = {
        "intercept": [json_number(model.intercept) for model in models],
        "kept": [len(model) for model in models],
        "settings": first.settings,
        "metadata": first.metadata,
    }
    return write(path, "classifier", columns, about)


def load_models(path: str | os.PathLike[str]) -> list[Model]:
    """The model of a file, or, if there are several classes, that of each."""
    table, about = read(path, "model", "classifier")
    several = about["kind"] == "classifier"
    key, weight, names = _column(table, "id"), _column(table, "weight"), _names(table)
    bound = np.cumsum([0, *(about["kept"] if several else [len(key)])]).tolist()
    intercepts = about["intercept"] if several else [about["intercept"]]
    about_all = about["settings"], about["metadata"]
    return [
        Model(key[a:b], weight[a:b], names[a:b], float(intercept), *about_all)
        for (a, b), intercept in zip(pairwise(bound), intercepts, strict=True)
    ]


def save_checkpoint(
    learner: Learner, path: str | os.PathLike[str], metadata: Mapping[str, Any] | None = None
) -> int:
    """Write all of a learner's state; `load_checkpoint` goes on from it to the bit."""
    state = learner.state()
    columns = _name_columns(state.pop("names")) | state.pop("cells")
    return write(path, "checkpoint", columns, state | {"metadata": dict(metadata or {})})


def load_checkpoint(path: str | os.PathLike[str]) -> tuple[Learner, dict[str, Any]]:
    """The learner as it was when the checkpoint was written, and the metadata written with it."""
    table, about = read(path, "checkpoint")
    fields = [name for name in table.column_names if name not in {"namespace", "feature"}]
    cells = {name: _column(table, name) for name in fields}
    return Learner.from_state(about | {"cells": cells, "names": _names(table)}), about["metadata"]


def _name_columns(names: Text) -> dict[str, Text]:
    namespaces, features = names.split()
    return {"namespace": namespaces, "feature": features}


def _names(table: pa.Table) -> Text:
    return Text.joined(texts(table["namespace"]), texts(table["feature"]))


def _column(table: pa.Table, name: str) -> NDArray[Any]:
    return numbers(table[name])
