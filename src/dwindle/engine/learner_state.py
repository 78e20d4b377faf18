"""A learner as plain data: its settings, and all that learning changed in it."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import flag
from dwindle._base.dispatch import from_recipe, json_number, recipe
from dwindle.algorithm.clock import Clock
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import NoShrinkage
from dwindle.algorithm.units import KNOWN, MOST, inverted
from dwindle.engine.budget import Eviction
from dwindle.engine.cardinality import DistinctCounter
from dwindle.engine.label_scale import LabelScale
from dwindle.engine.lane_scores import Choice
from dwindle.engine.state_checks import (
    check_counts,
    check_keys,
    check_moments,
    checked_clock,
    checked_column,
    checked_size,
)
from dwindle.engine.table import SMALLEST, Table, capacity, empty_cells

_INGREDIENTS = "loss", "shrinkage", "update"


class PlainData:
    """A learner as the data it is made of: its settings, and a state from which another goes on."""

    loss: Any
    shrinkage: Any
    update: Any
    schedule: Schedule
    has_intercept: bool
    normalize: bool
    max_live: int | None
    label_scale: LabelScale
    clock: Clock
    table: Table
    bias: NDArray[Any]

    def statistics_of(self, key: NDArray[np.uint64]) -> dict[str, NDArray[Any]]:
        """Return what is known of features beside their weights: their units, if not all are 1.

        Of averaged gradients, the root of their squares too.
        """
        return statistics_of(self.table, key)

    def moment(self) -> dict[str, Any] | None:
        """Return what goes on beside weights and statistics, if anything does, fit for JSON."""
        return None

    def begun(
        self,
        key: NDArray[np.uint64],
        weight: NDArray[np.float64],
        intercept: float,
        statistics: Mapping[str, NDArray[Any]],
        moment: Mapping[str, Any] | None,  # noqa: ARG002  (a learner of lanes has some)
    ) -> dict[str, Any]:
        """Return the state of this learner, which is new, if it had these weights.

        The update may have no state that would: then its weights are others.
        """
        pulled = self.shrinkage, self.clock.size
        return with_weights(self.state(), key, weight, intercept, statistics, self.update, *pulled)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make a new learner like this one."""
        return {
            "loss": self.loss,
            "shrinkage": self.shrinkage,
            "update": self.update,
            "learning_rate": self.schedule,
            "intercept": self.has_intercept,
            "normalize": self.normalize,
            "max_live": self.max_live,
            "scale_labels": self.label_scale.scaled,
        }

    def settings(self) -> dict[str, Any]:
        """Describe in JSON all that `from_settings` needs to make a new learner like this one."""
        return described(self.arguments())

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Make a new learner of the settings of another one.

        >>> from dwindle import Learner
        >>> Learner.from_settings(Learner(max_live=10).settings()).max_live
        10
        """
        return cls(**arguments_in(settings))

    def state(self) -> dict[str, Any]:
        """Return all that `from_state` needs to make a learner that goes on as this one does.

        Nothing is lost: that learner learns the same weights to the bit. `state_of`
        says what is in it.
        """
        parts = self.table, self.bias, self.clock, self.label_scale
        return {"settings": self.settings()} | state_of(*parts)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the learner that `state` described."""
        learner = cls.from_settings(state["settings"])
        restore(state, learner.table, learner.bias, learner.clock, learner.label_scale)
        return learner

    def __getstate__(self) -> dict[str, Any]:
        # With the ingredients themselves: to unpickle a user's own imports the module of its class.
        return self.state() | {"arguments": self.arguments()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["arguments"])  # type: ignore[misc]  # as unpickling does
        restore(state, self.table, self.bias, self.clock, self.label_scale)


def described(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the arguments of a `Learner` in JSON."""
    recipes = {name: recipe(arguments[name]) for name in (*_INGREDIENTS, "learning_rate")}
    settings = {**arguments, **recipes}
    if "choice" in settings:
        settings["choice"] = settings["choice"]._asdict()
    if not settings["scale_labels"]:
        del settings["scale_labels"]  # as in files older than this setting
    return settings


def arguments_in(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that `described` described."""
    schedule = settings["learning_rate"]["Schedule"]
    choice = {"choice": Choice(**settings["choice"])} if "choice" in settings else {}
    return choice | {
        **{name: from_recipe(settings[name]) for name in _INGREDIENTS},
        "learning_rate": Schedule(**{name: float(value) for name, value in schedule.items()}),
        "intercept": flag(settings["intercept"], "intercept"),
        "normalize": flag(settings["normalize"], "normalize"),
        "max_live": settings.get("max_live"),
        "scale_labels": flag(settings.get("scale_labels", False), "scale_labels"),
    }


def state_of(
    table: Table, bias: NDArray[Any], clock: Clock, label_scale: LabelScale
) -> dict[str, Any]:
    """Return all that `restore` needs to bring a new learner to the same state, to the bit.

    ``cells`` has an array for each field of the cells of live features, ``id`` being the key,
    and ``names`` has their names in the same order. The rest is fit for JSON: ``intercept`` is
    the intercept's cell, ``seen`` the packed counter of distinct features.
    """
    full = table.cells[table.cells["key"] != 0]
    key = full["key"] - np.uint64(1)
    names = table.names.of(key)
    shortens = {"shortens_names": True} if table.names.shortens else {}
    return shortens | {
        "intercept": {name: json_number(field[0]) for name, field in fields_of(bias).items()},
        "clock": clock.state,
        "label_moments": label_scale.moments.tolist(),
        "n_cells": len(table.cells),
        "peak": table.peak,
        "last_cut": list(table.last_eviction),
        "seen": table.seen.packed(),
        "cells": {"id": key} | fields_of(full),
        "names": names,
    }


def restore(
    state: Mapping[str, Any],
    table: Table,
    bias: NDArray[Any],
    clock: Clock,
    label_scale: LabelScale,
) -> None:
    """Bring the parts of a new learner to the state of another of the same settings."""
    key, moments = state["cells"]["id"], state.get("label_moments", ())
    time = checked_clock(state["clock"])
    check_moments(moments, len(label_scale.moments))
    check_keys(key)
    n_cells = checked_size(state["n_cells"], SMALLEST)
    check_counts(state, min(capacity(n_cells), table.max_live), len(key))
    rows = empty_cells(table.update, len(key))
    rows["key"] = key + np.uint64(1)
    cells, intercept = _of_today(rows, state["cells"]), _of_today(rows, state["intercept"])
    for name, field in fields_of(rows).items():
        field[:] = checked_column(cells[name], field, name)
    table.fill(rows, n_cells)
    table.peak, table.seen = state["peak"], DistinctCounter.unpacked(state["seen"])
    table.last_eviction = Eviction(*state.get("last_cut", ()))
    table.names.enter(key, state["names"], np.arange(len(key)))
    table.names.shortens = flag(state.get("shortens_names", False), "shortens_names")
    for name, field in fields_of(bias).items():
        field[:] = checked_column([float(intercept[name])], field, f"{name} of the intercept")
    clock.set(**time)
    label_scale.moments[:] = moments


def fields_of(cells: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return views of all fields but the key; of a field that is a row, one for each number."""
    kinds = cells.dtype.names or ()
    names = ["weight", *(name for name in kinds if name not in {"key", "weight"})]
    found: dict[str, NDArray[Any]] = {}
    for name in filter(kinds.__contains__, names):
        lanes = cells[name].T if cells[name].ndim > 1 else None
        if lanes is None:
            found[name] = cells[name]
        else:
            found |= {f"{name}{k}": lane for k, lane in enumerate(lanes)}
    return found


def _of_today(rows: NDArray[Any], fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Translate the fields of cells that an earlier version wrote.

    They had squares of gradients, not the root of these. Units were the largest value of a feature,
    or none with averaged gradients, which is 1. The features keep them: they stand still.
    """
    names = rows.dtype.names or ()
    if "norm" in names and "energy" in fields:
        fields = {**fields, "norm": np.sqrt(np.asarray(fields["energy"], np.float64))}
    if "inverse" not in names or "inverse" in fields:
        return fields
    known = {name: np.asarray(value, np.float64) for name, value in fields.items() if name != "id"}
    scale = known.pop("scale", np.ones_like(known["weight"]))
    translated = {"inverse": inverted(scale), "seen": np.full_like(scale, MOST)}
    if "z" in known:
        translated |= {"root": np.sqrt(known.pop("energy")), "v": known["weight"]}
    if "total" in known:
        translated["noted"] = known["seen"]
    return known | translated


def statistics_of(table: Table, key: NDArray[np.uint64]) -> dict[str, NDArray[Any]]:
    """Return what a table knows of features beside their weights: see `Learner.statistics_of`."""
    fields = table.cells.dtype.names or ()
    if "inverse" not in fields:
        return {}
    has_root = "root" in fields
    if not has_root and np.count_nonzero(table.cells["inverse"] == 1.0) == table.used:
        return {}
    at = table.places(key)
    inverse = table.cells["inverse"][at]
    found = {"root": table.cells["root"][at].astype(np.float32)} if has_root else {}
    ones = (inverse == 1.0).all() or not inverse.any()
    return found if ones else found | {"scale": inverted(inverse)}


def with_weights(
    state: Mapping[str, Any],
    key: NDArray[np.uint64],
    weight: NDArray[np.float64],
    intercept: float,
    statistics: Mapping[str, NDArray[Any]],
    update: Any,
    shrinkage: Any,
    size: float,
) -> dict[str, Any]:
    """Return the state of a new learner as it would be with these weights."""
    cells = {name: np.zeros(len(key), each.dtype) for name, each in state["cells"].items()}
    cells |= {"id": key, "weight": weight}
    if "inverse" in cells and "scale" in statistics:
        unit = np.hypot(statistics["scale"], statistics.get("mean", np.float32(0)))
        cells["inverse"] = inverted(unit)
        cells["seen"] = np.where(unit > 0.0, KNOWN, 0)
    bias = {"weight": intercept}
    if hasattr(update, "fields_of"):
        root = statistics.get("root", np.zeros(len(key)))
        cells |= update.fields_of(weight, cells["inverse"], root, shrinkage, size)
        bias |= update.fields_of(intercept, 1.0, 0.0, NoShrinkage(), 0.0)
    return {**state, "cells": cells, "intercept": state["intercept"] | bias}
