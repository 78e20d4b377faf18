"""A sparse linear model and its file: a Parquet table that other tools open as it is.

A model has a row for each feature kept, heaviest first: ``namespace``, ``feature``, ``id`` (its
key) and ``weight``. The intercept, the settings and the rest of the metadata are JSON. More columns
are what the learner knew of each feature: ``scale``, its unit (the root mean square of its values),
if not all are 1, and others.

With the learner's state, its other features follow with weight 0, and a column for each field of
its cells; so learning can go on from the file to the bit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base import remote
from dwindle._base.checks import reading_from
from dwindle._base.dispatch import from_recipe, json_number
from dwindle._base.errors import DataError, DivergedError
from dwindle._base.later import pa
from dwindle.engine.explain import Explanation, explained
from dwindle.engine.fixed_weights import FixedWeights
from dwindle.features.batch import Batch, Features
from dwindle.features.names import Text, shown
from dwindle.model.checks import check_models
from dwindle.model.columns import columns_of, fields_in
from dwindle.model.order import order_and_names
from dwindle.model.storage import read, write

if TYPE_CHECKING:
    from dwindle.engine.learner import Learner

KINDS = ("model", "classifier", "path")  # of files, which all have the columns of a model


@dataclass(frozen=True, eq=False)
class Model:
    """Features and their weights, heaviest first, with the settings they were learned with.

    ``metadata`` is whatever else the file should say: the mapping of labels, counts, data files.
    ``state`` is the learner's, as `Learner.state` gives it, if learning is to go on to the bit.
    Without, it goes on from what `Learner.statistics_of` and `moment` say beside the weights.
    """

    key: NDArray[np.uint64]
    weight: NDArray[np.float64]
    names: Text
    intercept: float
    settings: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] | None = field(default=None, repr=False)
    statistics: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    moment: dict[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, learner: Learner, metadata: Mapping[str, Any] | None = None, keep: int | None = None
    ) -> Model:
        """Make a model of a learner's live features; with ``keep``, of that many heaviest ones."""
        key, weight = learner.weight_of_keys()
        intercept = learner.intercept
        check_finite(weight, intercept)
        order, names = order_and_names(key, weight, learner.table.names, keep)
        key, weight = key[order], weight[order]
        return cls(
            *(key, weight, names, intercept),
            *(learner.settings(), metadata_of(learner, metadata)),
            statistics=learner.statistics_of(key),
            moment=learner.moment(),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_fixed"}

    def __len__(self) -> int:
        return len(self.key)

    def _repr_html_(self) -> str:
        from dwindle.model.display import html_of  # noqa: PLC0415  (notebooks alone need it)

        return html_of(self)

    @property
    def loss(self) -> Any:
        """The loss it was trained with."""
        return from_recipe(self.settings["loss"])

    def heaviest(self, n: int | None) -> Model:
        """Keep only the n heaviest features; None keeps all."""
        return self if n is None else self.rows(slice(n))

    def rows(self, at: Any, **changed: Any) -> Model:
        """Keep only these features, with other fields perhaps changed."""
        names = self.names[at] if isinstance(at, slice) else Text(*self.names.spelled(at))
        statistics = {name: each[at] for name, each in self.statistics.items()}
        rows = {"key": self.key[at], "weight": self.weight[at], "names": names}
        return replace(self, **rows | {"statistics": statistics} | changed)

    @property
    def has_state(self) -> bool:
        """Whether it has the learner's state, from which learning goes on to the bit."""
        return self.state is not None

    def learner(self, settings: Mapping[str, Any] | None = None) -> Learner:
        """Make a learner that goes on from this model, perhaps with other settings.

        With the state it goes on as the learner would have, to the bit unless the settings differ.
        Without, it begins with the weights, and with fresh statistics. It takes dicts as they are:
        `predict` and `explain` of the model read them by its columns.
        """
        from dwindle.model.learned import learner_from_model  # noqa: PLC0415  (to predict needs none)

        return learner_from_model(self, self.settings if settings is None else settings)

    def weights(self) -> dict[str, float]:
        """Return the weight of each feature by name, heaviest first."""
        return dict(zip(map(shown, self.names), self.weight.tolist(), strict=True))

    def predict(self, x: Features | Batch) -> NDArray[np.float64]:
        """Predict each example of a batch, or the one of a dict, before any link.

        If the model remembers its columns, a dict is a row of them.
        """
        return self._predicted(
            self._batch(x),
            constant=self.settings["intercept"],
            normalize=self.settings["normalize"],
        )

    def explain(self, x: Features | Batch) -> Explanation:
        """Return what each feature of one example adds to its prediction, the largest first.

        If the model remembers its columns, a dict is a row of them.
        """
        return explained(
            self._batch(x),
            self.predict,
            lambda batch: self._predicted(batch, constant=False, normalize=False),
            self.intercept,
            float(self.settings["intercept"]) if self.settings["normalize"] else None,
        )

    def _batch(self, x: Any) -> Batch:
        """Read an example that is a dict, by the columns that the model remembers, if any."""
        if isinstance(x, Batch):
            return x
        if not isinstance(x, Mapping):
            kind = type(x).__name__
            raise DataError(f"expected a Batch, or one example as a dict, got {kind}: see batch_of")
        reading = self.metadata.get("reading", {})
        if not reading.get("schema"):
            return Batch.from_dicts([x])
        from dwindle.data.frames import batch_of_row  # noqa: PLC0415  (a learner starts without)

        return batch_of_row(x, reading)

    def _predicted(self, batch: Batch, *, constant: bool, normalize: bool) -> NDArray[np.float64]:
        """Predict with or without the intercept."""
        return self._fixed.predict(batch, constant=constant, normalize=normalize)

    @cached_property
    def _fixed(self) -> FixedWeights:
        """The features in a hash table."""
        return FixedWeights(self.key, self.weight, self.intercept)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model to a file, replacing an earlier one once it is whole; return its size."""
        about = {"intercept": json_number(self.intercept), "settings": self.settings}
        columns, state = columns_of([self])
        return write(path, "model", columns, about | {"metadata": self.metadata} | state)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model from a file; raise a DataError that names the file if it cannot be used."""
        found = load_models(path)
        if len(found) > 1:
            raise DataError(
                f"{remote.shown(path)}: has a model for each of {len(found)} classes: open it with "
                "dwindle.load"
            )
        return found[0]


def check_finite(weight: NDArray[np.float64], intercept: Any) -> None:
    """Refuse weights of a learner that went astray."""
    if not (np.isfinite(weight).all() and np.isfinite(intercept).all()):
        raise DivergedError(
            "a weight is no longer finite: lower the learning rate or scale the features"
        )


def metadata_of(learner: Learner, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the caller's metadata, with the moments of labels that were scaled."""
    if not learner.label_scale.scaled:
        return dict(metadata or {})
    return dict(metadata or {}) | {"label_moments": learner.label_scale.moments.tolist()}


def save_models(path: str | os.PathLike[str], models: Sequence[Model]) -> int:
    """Write the models of several classes as one table, with a column ``class``; return its size.

    The first model's metadata names the classes.
    """
    return write(path, "classifier", *contents(models))


def contents(models: Sequence[Model]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns and the metadata of a file of models; one model has no column ``class``.

    Models of several classes stand one below the other, in ``rows`` of the table.
    """
    first = models[0]
    columns, state = columns_of(models)
    about: dict[str, Any] = {
        "intercept": [json_number(model.intercept) for model in models],
        "kept": [len(model) for model in models],
        "settings": first.settings,
        "metadata": first.metadata,
    }
    about |= state
    if len(models) > 1:
        classes = Text.of([str(each) for each in first.metadata["classes"]])
        class_of_row = np.repeat(np.arange(len(models)), about.get("rows", about["kept"]))
        columns = {"class": Text(*classes.spelled(class_of_row))} | columns
    return columns, about


def load_models(path: str | os.PathLike[str]) -> list[Model]:
    """Read a file's model, or the model of each class if it has several; of a path, the chosen."""
    return models_in(path, *read(path, *KINDS))


def models_in(
    path: str | os.PathLike[str], table: pa.Table, about: Mapping[str, Any]
) -> list[Model]:
    """Return the models of a file that was read."""
    with reading_from(path):
        found = [Model(*fields) for fields in fields_in(table, about)]
        check_models(found)
    return found
