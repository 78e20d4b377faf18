"""Estimators for River: in its pipelines, metrics and evaluations.

Needs the package ``river``: ``pip install "dwindle[river]"``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from river import base

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.losses import (
    Logistic,
    Squared,
    boundary,
    for_classes,
    has_probabilities,
    is_classification,
    link,
)
from dwindle.algorithm.settings import LearnerSettings
from dwindle.model.display import html_of_learner
from dwindle.runs.build import make_learner

SIGNS = {False: -1, True: 1}  # 0 and 1 are keys of it too


@dataclass(kw_only=True, eq=False, repr=False)
class TruncatedGradient(base.Estimator, LearnerSettings):
    """The base of the classifier and the regressor: a learner with the settings of `train`.

    ``learner`` tells more: its weights, how many there are, why a prediction is what it is.
    """

    _default: ClassVar[Any]  # loss

    def __post_init__(self) -> None:
        loss, classifies = self.ingredients().loss, is_classification(self._default)
        if loss is not None and classifies:
            loss = for_classes(loss)
        self.learner = make_learner(self, self._default if loss is None else loss)
        if is_classification(self.learner.loss) != classifies:
            raise SettingError(f"{self.loss!r} is not a loss of a {type(self).__name__}")

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}{html_of_learner(self.learner)}"

    def _do(self, work: Callable[..., float], x: Mapping[Any, Any], *args: float) -> float:
        """Learn or predict; if the names are not strings, which River's need not be, by strings."""
        try:
            return work(x, *args)
        except DataError:
            if all(isinstance(name, str) for name in x):
                raise
            return work({str(name): value for name, value in x.items()}, *args)


@dataclass(kw_only=True, eq=False, repr=False)
class TruncatedGradientClassifier(TruncatedGradient, base.Classifier):
    """A classifier of two classes, with labels False and True, or 0 and 1.

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | TruncatedGradientClassifier(gravity=1e-3)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    ROCAUC: 95.50%
    """

    _default = Logistic()

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example; ``w`` is its importance."""
        if y not in SIGNS:
            raise DataError(
                f"a label must be False or True, or 0 or 1, got {y!r} "
                "(for more classes, see river.multiclass)"
            )
        self._do(self.learner.learn_one, x, SIGNS[y], w)

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> bool:
        """Predict the more likely label."""
        return self._do(self.learner.predict_one, x) > boundary(self.learner.loss)

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """Predict the probability of each label."""
        if not has_probabilities(self.learner.loss):
            raise NotImplementedError("probabilities need a loss with a link, as logistic")
        chance = link(self.learner.loss, self._do(self.learner.predict_one, x))
        return {False: 1.0 - chance, True: chance}


@dataclass(kw_only=True, eq=False, repr=False)
class TruncatedGradientRegressor(TruncatedGradient, base.Regressor):
    """A regressor; with the loss "poisson", of counts.

    >>> from river import datasets, evaluate, metrics
    >>> model = TruncatedGradientRegressor(gravity=1e-3)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 0.335158
    """

    _default = Squared()

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn from one example; ``w`` is its importance."""
        self._do(self.learner.learn_one, x, y, w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """Predict the mean, where the loss has a link."""
        p: float = link(self.learner.loss, self._do(self.learner.predict_one, x))
        return p
