"""The learner where River's estimators are: in its pipelines, metrics and evaluations.

Needs the package ``river``: ``pip install "dwindle[river]"``.
"""

from collections.abc import Callable, Mapping
from typing import Any

from river import base

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.by_name import loss_called, schedule_of, shrinkage_called, update_called
from dwindle.algorithm.losses import (
    Logistic,
    Squared,
    has_probabilities,
    is_classification,
    link,
)
from dwindle.engine.learner import Learner

SIGNS = {False: -1, True: 1}  # 0 and 1 are keys of it too


class TruncatedGradient(base.Estimator):
    """What the classifier and the regressor share: a learner, made of the command line's options.

    ``learner`` tells more: its weights, how many there are, why a prediction is what it is.
    """

    _default: Any  # loss
    _of_classes: bool

    def __init__(
        self,
        loss: Any = "auto",
        shrinkage: Any = "truncation",
        gravity: float = 0.0,
        truncate_every: int = 1,
        threshold: float | None = None,
        update: Any = "adaptive",
        average: bool = False,
        learning_rate: float | None = None,
        power_t: float = 0.0,
    ) -> None:
        self.loss = loss
        self.shrinkage = shrinkage
        self.gravity = gravity
        self.truncate_every = truncate_every
        self.threshold = threshold
        self.update = update
        self.average = average
        self.learning_rate = learning_rate
        self.power_t = power_t
        chosen = self._default if loss == "auto" else loss_called(loss)
        if is_classification(chosen) != self._of_classes:
            raise SettingError(f"{loss!r} is not a loss of a {type(self).__name__}")
        rule = update_called(update, average=average)
        self.learner = Learner(
            chosen,
            shrinkage_called(shrinkage, gravity, truncate_every, threshold),
            rule,
            schedule_of(rule, learning_rate, power_t, 1.0),
        )

    def _do(self, work: Callable[..., float], x: Mapping[Any, Any], *args: float) -> float:
        """Learn or predict; if the names are not strings, which River's need not be, by strings."""
        try:
            return work(x, *args)
        except DataError:
            if all(isinstance(name, str) for name in x):
                raise
            return work({str(name): value for name, value in x.items()}, *args)


class TruncatedGradientClassifier(TruncatedGradient, base.Classifier):
    """Two classes, by their labels False and True, or 0 and 1.

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | TruncatedGradientClassifier(gravity=1e-3)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    ROCAUC: 95.40%
    """

    _default = Logistic()
    _of_classes = True

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one example; ``w`` is its importance."""
        if y not in SIGNS:
            raise DataError(
                f"a label must be False or True, or 0 or 1, got {y!r} "
                "(for more classes, see river.multiclass)"
            )
        self._do(self.learner.learn_one, x, SIGNS[y], w)

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> bool:
        """The label that is more likely."""
        return self._do(self.learner.predict_one, x) > 0

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """The probability of each label."""
        if not has_probabilities(self.learner.loss):
            raise NotImplementedError("probabilities need the logistic loss")
        chance = link(self.learner.loss, self._do(self.learner.predict_one, x))
        return {False: 1.0 - chance, True: chance}


class TruncatedGradientRegressor(TruncatedGradient, base.Regressor):
    """Numbers; with the loss "poisson", counts.

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = TruncatedGradientRegressor(update="plain", learning_rate=0.01, gravity=1e-3)
    >>> model = preprocessing.StandardScaler() | model
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 1.313599
    """

    _default = Squared()
    _of_classes = False

    def learn_one(self, x: Mapping[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn from one example; ``w`` is its importance."""
        self._do(self.learner.learn_one, x, y, w)

    def predict_one(self, x: Mapping[Any, Any]) -> float:
        """The prediction, which for counts is their mean."""
        p: float = link(self.learner.loss, self._do(self.learner.predict_one, x))
        return p
