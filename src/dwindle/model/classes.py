"""Models of several classes: one of each class, in one file."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.losses import log_probabilities
from dwindle.engine.explain import Explanation
from dwindle.features.batch import Batch, Features
from dwindle.model.model import Model, save_models

if TYPE_CHECKING:
    from dwindle.engine.one_vs_rest import OneVsRest


@dataclass(frozen=True, eq=False)
class ClassModels:
    """A model for each class, whose metadata names the classes in their order."""

    members: list[Model]

    def __len__(self) -> int:
        """Count the weights of all classes."""
        return sum(map(len, self.members))

    def _repr_html_(self) -> str:
        from dwindle.model.display import html_of  # noqa: PLC0415  (notebooks alone need it)

        return html_of(self)

    @property
    def classes(self) -> list[Any]:
        """The classes, as labels spell them."""
        found: list[Any] = self.members[0].metadata["classes"]
        return found

    @property
    def key(self) -> NDArray[np.uint64]:
        """The keys of features that have a weight in some class."""
        return np.unique(np.concatenate([model.key for model in self.members]))

    @property
    def loss(self) -> Any:
        """The loss that each class was trained with."""
        return self.members[0].loss

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that each class was trained with."""
        return self.members[0].settings

    @property
    def metadata(self) -> dict[str, Any]:
        """What the file says beside the weights."""
        return self.members[0].metadata

    @property
    def has_state(self) -> bool:
        """Whether all have the learner's state, from which learning goes on to the bit."""
        return all(model.has_state for model in self.members)

    @property
    def intercept(self) -> dict[Any, float]:
        """The intercept of each class."""
        return dict(zip(self.classes, (model.intercept for model in self.members), strict=True))

    def heaviest(self, n: int | None) -> "ClassModels":
        """Keep only the n heaviest features of each class; None keeps all."""
        return ClassModels([model.heaviest(n) for model in self.members])

    def weights(self) -> dict[Any, dict[str, float]]:
        """Return, for each class, the weight of each feature by name, heaviest first."""
        return dict(zip(self.classes, (model.weights() for model in self.members), strict=True))

    def predict(self, x: Features | Batch) -> NDArray[np.float64]:
        """Predict each example, before any link; returns a column for each class."""
        return np.column_stack([model.predict(x) for model in self.members])

    def explain(self, x: Features | Batch) -> dict[Any, Explanation]:
        """Return, for each class, what each feature of one example adds to its prediction."""
        return dict(zip(self.classes, (model.explain(x) for model in self.members), strict=True))

    def learner(self, settings: Mapping[str, Any] | None = None) -> "OneVsRest":
        """Make learners that go on from these models, perhaps with other settings."""
        from dwindle.engine.one_vs_rest import OneVsRest  # noqa: PLC0415  (to predict needs none)

        return OneVsRest([model.learner(settings) for model in self.members])

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the models to one file, replacing an earlier one once whole; return its size."""
        return save_models(path, self.members)


def class_log_probabilities(loss: Any, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute ln P(class) from the scores of each against the rest, scaled to sum to 1."""
    _, own = log_probabilities(loss, scores)
    return own - np.logaddexp.reduce(own, axis=1, keepdims=True)
