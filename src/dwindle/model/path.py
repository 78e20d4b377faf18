"""A path: the models of several gravities that were learned together, and their file.

The file is that of the chosen lane's model, with a row for each feature that some lane keeps, and
more columns: ``lane0``, ``lane1`` and so on are the weights in each lane, from the least gravity to
the strongest. The JSON says of each lane what `Path.frontier` says, and its intercept.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import reading_from
from dwindle._base.dispatch import json_number
from dwindle._base.errors import DataError, SettingError
from dwindle._base.later import pa
from dwindle._base.remote import shown
from dwindle.engine.explain import Explanation
from dwindle.engine.lane_scores import Lane, best_within
from dwindle.features.batch import Batch, Features
from dwindle.model.classes import ClassModels
from dwindle.model.model import (
    KINDS,
    Model,
    check_finite,
    contents,
    metadata_of,
    models_in,
)
from dwindle.model.order import heaviest_first, order_and_names
from dwindle.model.storage import numbers, read, write

if TYPE_CHECKING:
    from dwindle.engine.learner import Learner
    from dwindle.engine.one_vs_rest import OneVsRest

LANE = "lane"  # begins the names of the columns of weights


@dataclass(frozen=True, eq=False)
class Lanes:
    """The lanes of one learner.

    ``base`` has all features, with the weights of the chosen lane, which may be 0; ``weight`` has a
    row for each of them and a column for each lane. Lanes were ``judged_by`` their AUC or loss.
    """

    base: Model
    weight: NDArray[np.float64]
    intercept: NDArray[np.float64]
    frontier: list[Lane]
    judged_by: str

    @classmethod
    def of(cls, learner: Learner, metadata: Mapping[str, Any] | None) -> Lanes:
        """Take the lanes of a learner."""
        from dwindle.engine.lanes import LaneLearner  # noqa: PLC0415  (to predict needs none)

        if not isinstance(learner, LaneLearner):
            raise SettingError("a path needs several gravities: gravity auto, or several sigmas")
        key, weight = learner.weights_of_lanes()
        intercept = learner.intercepts
        check_finite(weight, intercept)
        live = weight.any(axis=1)
        key, weight = key[live], weight[live]
        order, names = order_and_names(key, weight[:, learner.lane], learner.table.names)
        key, weight = key[order], weight[order]
        base = Model(
            *(key, weight[:, learner.lane], names),
            float(intercept[learner.lane]),
            learner.settings(),
            metadata_of(learner, metadata),
            statistics=learner.statistics_of(key),
            moment=learner.moment(),
        )
        judged_by = learner.judge.metric(learner.choice)
        return cls(base, weight, intercept, learner.frontier(), judged_by)

    @property
    def chosen(self) -> int:
        """The lane that was chosen."""
        return next(k for k, lane in enumerate(self.frontier) if lane.chosen)

    def within(self, keep: int) -> int:
        """Return the best lane with at most so many features; the sparsest, if all have more."""
        kept = np.array([lane.kept for lane in self.frontier])
        judged = np.array([lane.judged for lane in self.frontier])
        return best_within(keep, kept, judged if self.judged_by == "auc" else -judged)

    def model(self, lane: int) -> Model:
        """Return the model of a lane, heaviest feature first."""
        if not 0 <= lane < len(self.frontier):
            raise SettingError(f"lane must be from 0 to {len(self.frontier) - 1}, got {lane}")
        base, weight = self.base, self.weight[:, lane]
        live = np.flatnonzero(weight)
        order = live[heaviest_first(base.key[live], weight[live])]
        gravity = self.frontier[lane].gravity
        return base.rows(
            order,
            weight=weight[order],
            intercept=float(self.intercept[lane]),
            metadata=base.metadata | self._told(lane),
            moment=(base.moment or {}) | {"lane": lane, "gravity": gravity},
        )

    def _told(self, lane: int) -> dict[str, Any]:
        """Return what metadata, if it says which lane was chosen, has to say of another."""
        told, its = self.base.metadata.get("frontier"), self.frontier[lane]
        if told is None:
            return {}
        frontier = [each | {"chosen": k == lane} for k, each in enumerate(told)]
        return {"sigmas": its.gravity, "evidence": its.evidence, "frontier": frontier}

    def said(self) -> dict[str, Any]:
        """Return what is not in the table, fit for JSON."""
        columns = zip(*self.frontier, strict=True)
        named = dict(
            zip(Lane._fields, ([*map(json_number, each)] for each in columns), strict=True)
        )
        intercepts = [*map(json_number, self.intercept)]
        return named | {"intercept": intercepts, "judged_by": self.judged_by}

    @classmethod
    def read(cls, base: Model, weight: NDArray[Any], said: Mapping[str, Any]) -> Lanes:
        """Make the lanes of what a file says; raise a DataError if it contradicts itself."""
        columns = [said[name] for name in Lane._fields]
        kinds = float, float, int, float, float, float, bool
        lanes = [
            Lane(*(kind(value) for kind, value in zip(kinds, row, strict=True)))
            for row in zip(*columns, strict=True)
        ]
        intercept = np.array([*map(float, said["intercept"])])
        if not len(lanes) == len(intercept) == weight.shape[1]:
            raise DataError("its lanes are not its columns")
        if sum(lane.chosen for lane in lanes) != 1:
            raise DataError("not one lane is chosen")
        return cls(base, weight.astype(np.float64), intercept, lanes, str(said["judged_by"]))


@dataclass(frozen=True, eq=False)
class Path:
    """The models of several gravities that were learned together, from the densest to the sparsest.

    It predicts, explains and has the weights of the lane that was chosen; `model` picks another. Of
    several classes each has lanes of its own.

    >>> from dwindle.engine.lanes import LaneLearner
    >>> learner = LaneLearner()
    >>> for _ in range(100):
    ...     for noise in ({}, {"noise": 1}):
    ...         _ = learner.learn_one({"tells": 1} | noise, 1)
    ...         _ = learner.learn_one({"often": 1} | noise, -1)
    >>> path = Path.of(learner)
    >>> len(path.frontier())
    8
    >>> sorted(path.model(keep=2).weights())
    ['often', 'tells']
    """

    members: list[Lanes]

    @classmethod
    def of(
        cls,
        learner: Learner | OneVsRest,
        metadata: Mapping[str, Any] | None = None,
        states: Sequence[dict[str, Any]] | None = None,
    ) -> Path:
        """Make a path of what a learner of several gravities learned.

        ``states`` are what `states_of` gave, if learning is to go on from it to the bit.
        """
        from dwindle.engine.learner import Learner  # noqa: PLC0415  (to predict needs none)

        learners = [learner] if isinstance(learner, Learner) else learner.members
        members = [Lanes.of(each, metadata) for each in learners]
        if states is not None:
            members = [
                replace(each, base=replace(each.base, state=state))
                for each, state in zip(members, states, strict=True)
            ]
        return cls(members)

    def with_models(self, models: Sequence[Model]) -> Path:
        """Return the same path with other names, say, of its features."""
        pairs = zip(self.members, models, strict=True)
        return Path([replace(each, base=base) for each, base in pairs])

    def __len__(self) -> int:
        """Count the features that the chosen lane keeps."""
        return len(self._model)

    def _repr_html_(self) -> str:
        from dwindle.model.display import html_of  # noqa: PLC0415  (notebooks alone need it)

        return html_of(self)

    @property
    def chosen(self) -> Any:
        """The number of the lane that was chosen; of several classes, that of each."""
        return self._by_class([each.chosen for each in self.members])

    @property
    def loss(self) -> Any:
        """The loss that all were trained with."""
        return self.members[0].base.loss

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that all were trained with."""
        return self.members[0].base.settings

    @property
    def metadata(self) -> dict[str, Any]:
        """What the file says beside the weights."""
        return self.members[0].base.metadata

    @property
    def intercept(self) -> Any:
        """The intercept of the chosen lane; of several classes, that of each."""
        return self._model.intercept

    def frontier(self) -> Any:
        """List the lanes from the least gravity to the strongest; of several classes, by class.

        A `Lane` has its gravity, the features it kept, and its loss and AUC before learning.
        """
        return self._by_class([list(each.frontier) for each in self.members])

    def model(self, *, keep: int | None = None, lane: int | None = None) -> Model | ClassModels:
        """Return the model of the chosen lane, of this lane, or the best that fits in ``keep``.

        That is the best lane with at most so many features; if all have more, the heaviest of the
        sparsest. Of several classes, each has its own.
        """
        if keep is not None and lane is not None:
            raise SettingError("keep and lane exclude each other: give one of them")
        if keep is not None and keep < 0:
            raise SettingError(f"keep must be a whole number, 0 or more, got {keep}")
        found = []
        for each in self.members:
            k = each.chosen if lane is None else lane
            k = k if keep is None else each.within(keep)
            found.append(each.model(k).heaviest(keep))
        return found[0] if len(found) == 1 else ClassModels(found)

    def weights(self) -> dict[Any, Any]:
        """Return the weights of the chosen lane by name, heaviest first; by class, if several."""
        return self._model.weights()

    def predict(self, x: Features | Batch) -> NDArray[np.float64]:
        """Predict by the chosen lane, as its model does."""
        return self._model.predict(x)

    def explain(self, x: Features | Batch) -> Explanation | dict[Any, Explanation]:
        """Explain a prediction of the chosen lane, as its model does."""
        return self._model.explain(x)

    def learner(self, settings: Mapping[str, Any] | None = None) -> Learner | OneVsRest:
        """Make a learner that goes on from the chosen lane, as from its model."""
        return self._model.learner(settings)

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write all lanes to a file, replacing an earlier one once whole; return its size."""
        columns, about = contents([each.base for each in self.members])
        rows = about.get("rows", about["kept"])  # a state may have more features
        chosen = [each.frontier[each.chosen].kept for each in self.members]
        about |= {"rows": rows, "kept": chosen, "lanes": [each.said() for each in self.members]}
        lanes = np.concatenate(
            [
                np.pad(each.weight, ((0, n - len(each.weight)), (0, 0)))
                for each, n in zip(self.members, rows, strict=True)
            ]
        )
        columns |= {f"{LANE}{k}": lanes[:, k].copy() for k in range(lanes.shape[1])}
        return write(path, "path", columns, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Path:
        """Read a path from a file; raise a DataError that names the file if it cannot be used."""
        table, about = read(path, *KINDS)
        if about["kind"] != "path":
            raise DataError(
                f"{shown(path)}: holds a model, not a path: dwindle train --path writes one"
            )
        return path_in(path, table, about)

    @cached_property
    def _model(self) -> Model | ClassModels:
        return self.model()

    def _by_class(self, found: list[Any]) -> Any:
        if len(found) == 1:
            return found[0]
        return dict(zip(self.metadata["classes"], found, strict=True))


def path_in(path: str | os.PathLike[str], table: pa.Table, about: Mapping[str, Any]) -> Path:
    """Return the path of a file that was read."""
    with reading_from(path):
        rows = about["rows"]
        models = models_in(path, table, {**about, "kept": rows})
        columns = (f"{LANE}{k}" for k in range(len(about["lanes"][0]["gravity"])))
        weight = np.column_stack([numbers(table[name]) for name in columns])
        check_finite(weight, 0.0)
        members = [
            Lanes.read(model, weight[a:b], said)
            for (a, b), model, said in zip(
                pairwise(accumulate([0, *rows])), models, about["lanes"], strict=True
            )
        ]
        return Path(members)
