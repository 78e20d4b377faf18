"""How good predictions are: one table of metrics, for evaluation, searches and estimators.

An example of weight 2 counts as two in every metric. The module imports no compiler, so that the
command line can list the metrics at no cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dwindle._base.errors import SettingError
from dwindle.algorithm.losses import (
    SMALLEST,
    boundary,
    has_probabilities,
    is_classification,
    link,
    log_probabilities,
)

HALF = 0.5  # the probability from which on a positive is told, if nothing else is said
BINS = 15  # of equal weight, for the calibration error
MORE, LESS, NEITHER = 1, -1, 0  # which is better
Numbers = NDArray[np.float64]


class Groups(NamedTuple):
    """Examples of the same prediction taken together, the lowest prediction first."""

    score: Numbers
    positive: Numbers  # the weight of the positive examples of each group
    negative: Numbers

    def above(self) -> tuple[Numbers, Numbers]:
        """Return for each group the weight of positives, and of all, that are predicted so high."""
        positive = np.cumsum(self.positive[::-1])[::-1]
        return positive, positive + np.cumsum(self.negative[::-1])[::-1]


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions beside their labels and weights: all that a metric is computed from.

    ``score`` is before any link. With two classes, labels are -1 and +1, and what has a
    probability above ``threshold`` is told to be positive.
    """

    loss: Any
    score: Numbers
    label: NDArray[Any]
    weight: Numbers
    threshold: float = HALF

    @cached_property
    def positive(self) -> NDArray[np.bool_]:
        """Which examples are positive."""
        return self.label > 0

    @cached_property
    def mean(self) -> Numbers:
        """The probability of the positive class, or the expected value."""
        return np.asarray(link(self.loss, self.score))

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """Which examples are told to be positive."""
        return is_positive(self.loss, self.score, self.threshold)

    @cached_property
    def groups(self) -> Groups:
        """The examples by their score, which is the order of their probability too."""
        score, rank = np.unique(self.score, return_inverse=True)
        both = self.weight * np.stack([self.positive, ~self.positive])
        positive, negative = (np.bincount(rank, each).astype(np.float64) for each in both)
        return Groups(score, positive, negative)

    @cached_property
    def best_f1(self) -> tuple[float, float]:
        """The largest F1, and a threshold that gives it: between two probabilities that occur."""
        positive, everyone = self.groups.above()
        if not positive[0]:
            return float("nan"), float("nan")
        f1 = 2 * positive / (everyone + positive[0])
        k = int(np.argmax(f1))
        chance = np.asarray(link(self.loss, self.groups.score[max(k - 1, 0) : k + 1]))
        return float(f1[k]), float(chance.mean()) if k else 0.0

    def total(self, those: NDArray[np.bool_]) -> float:
        """Add up the weight of some examples."""
        return float(self.weight[those].sum())

    def average(self, values: Any) -> float:
        """Average values by weight."""
        return float(np.average(values, weights=self.weight))


def is_positive(loss: Any, score: Numbers, threshold: float) -> NDArray[np.bool_]:
    """Tell which probabilities are above the threshold; by default, which of two is likelier."""
    if threshold == HALF:
        return score > boundary(loss)
    return np.asarray(link(loss, score)) > threshold


def _loss(found: Predicted) -> float:
    from dwindle.engine import kernels  # noqa: PLC0415  (compiled code, only if it is measured)

    values = kernels.values.of(found.loss)(found.loss, found.score, found.label)
    return found.average(values)


def _log_loss(found: Predicted) -> float:
    negative, positive = log_probabilities(found.loss, found.score)
    chosen = np.where(found.positive, positive, negative)
    if not hasattr(found.loss, "log_probabilities"):  # else they are finite by themselves
        chosen = np.maximum(chosen, np.log(SMALLEST))
    return -found.average(chosen)


def _auc(found: Predicted) -> float:
    groups = found.groups
    pairs = groups.positive.sum() * groups.negative.sum()
    outranked = groups.positive * (np.cumsum(groups.negative) - groups.negative / 2)
    return _share(outranked.sum(), pairs)


def _average_precision(found: Predicted) -> float:
    """Average the precision at each group of positives, as it is found going down the scores."""
    positive, everyone = found.groups.above()
    precision = positive / np.maximum(everyone, np.finfo(float).tiny)
    return _share((precision * found.groups.positive).sum(), found.groups.positive.sum())


def _precision(found: Predicted) -> float:
    return _share(found.total(found.told & found.positive), found.total(found.told))


def _recall(found: Predicted) -> float:
    return _share(found.total(found.told & found.positive), found.total(found.positive))


def _f1(found: Predicted) -> float:
    right = found.total(found.told & found.positive)
    return _share(2 * right, found.total(found.told) + found.total(found.positive))


def _calibration_error(found: Predicted) -> float:
    """Average |share of positives - mean probability| over bins of equal weight, by weight.

    Examples of the same score are in one bin.
    """
    groups = found.groups
    weight = groups.positive + groups.negative
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    place = np.minimum((BINS * middle).astype(np.int64), BINS - 1)
    expected = weight * np.asarray(link(found.loss, groups.score))
    return float(np.abs(np.bincount(place, groups.positive - expected)).sum() / weight.sum())


def _r2(found: Predicted) -> float:
    label = found.label.astype(np.float64)
    spread = found.average((label - found.average(label)) ** 2)
    return 1.0 - found.average((found.mean - found.label) ** 2) / spread if spread else float("nan")


def _majority(found: Predicted) -> float:
    share = found.average(found.positive)
    return max(share, 1.0 - share)


def _share(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else float("nan")


def _always(_loss: Any) -> bool:
    return True


def _is_of_numbers(loss: Any) -> bool:
    """Whether labels are numbers whose mean is predicted: else a loss has measures of its own."""
    return not is_classification(loss) and not hasattr(loss, "measures")


# What a loss needs to have, for messages.
_NEEDS: dict[Callable[[Any], bool], str] = {
    is_classification: "labels of two classes",
    has_probabilities: "labels of two classes and probabilities",
    _is_of_numbers: "labels that are numbers",
}


class Metric(NamedTuple):
    """A figure of predictions, for the losses it applies to."""

    title: str
    better: int  # MORE, LESS, or NEITHER if it only helps to read the others
    applies: Callable[[Any], bool]  # to a loss
    of: Callable[[Predicted], float]


# In the order in which they are shown. Those that apply to probabilities need no threshold.
METRICS = {
    "loss": Metric("loss", LESS, _always, _loss),
    "log_loss": Metric("log loss", LESS, has_probabilities, _log_loss),
    "auc": Metric("AUC", MORE, is_classification, _auc),
    "average_precision": Metric("average precision", MORE, is_classification, _average_precision),
    "brier_score": Metric(
        "Brier score",
        LESS,
        has_probabilities,
        lambda found: found.average((found.mean - found.positive) ** 2),
    ),
    "calibration_error": Metric("calibration error", LESS, has_probabilities, _calibration_error),
    "accuracy": Metric(
        "accuracy",
        MORE,
        is_classification,
        lambda found: found.average(found.told == found.positive),
    ),
    "precision": Metric("precision", MORE, is_classification, _precision),
    "recall": Metric("recall", MORE, is_classification, _recall),
    "f1": Metric("F1", MORE, is_classification, _f1),
    "best_f1": Metric("best F1", MORE, has_probabilities, lambda found: found.best_f1[0]),
    "best_f1_threshold": Metric(
        "its threshold", NEITHER, has_probabilities, lambda found: found.best_f1[1]
    ),
    "positive_share": Metric(
        "share of positives",
        NEITHER,
        is_classification,
        lambda found: found.average(found.positive),
    ),
    "majority_accuracy": Metric(
        "accuracy of the commoner class", NEITHER, is_classification, _majority
    ),
    "rmse": Metric(
        "RMSE",
        LESS,
        _is_of_numbers,
        lambda found: float(np.sqrt(found.average((found.mean - found.label) ** 2))),
    ),
    "mae": Metric(
        "MAE", LESS, _is_of_numbers, lambda found: found.average(np.abs(found.mean - found.label))
    ),
    "r2": Metric("r2", MORE, _is_of_numbers, _r2),
}


def evaluate(
    loss: Any,
    prediction: Numbers,
    label: NDArray[Any],
    weight: Numbers,
    threshold: float = HALF,
) -> dict[str, float]:
    """Compute every metric that applies to the loss, and the loss's own measures."""
    found = Predicted(loss, prediction, label, weight, threshold)
    own = getattr(loss, "measures", None)
    return {name: metric.of(found) for name, metric in METRICS.items() if metric.applies(loss)} | (
        {} if own is None else own(prediction, label, weight)
    )


def beside_loss(auc: float | None, accuracy: float | None) -> str:
    """Write the figure that stands beside a loss: two classes have an AUC, several an accuracy.

    >>> beside_loss(0.75, None), beside_loss(float("nan"), 0.5), beside_loss(None, None)
    (', AUC 0.7500', ', accuracy 0.5000', '')
    """
    for name, value in (("AUC", auc), ("accuracy", accuracy)):
        if value is not None and value == value:  # noqa: PLR0124  (not NaN)
            return f", {name} {value:.4f}"
    return ""


def goals() -> tuple[str, ...]:
    """List the metrics that a search can optimise."""
    return tuple(name for name, metric in METRICS.items() if metric.better != NEITHER)


def check_metric(name: str, loss: Any) -> None:
    """Refuse a metric that does not exist, or that a model with this loss does not have."""
    if name not in goals():
        raise SettingError(f"metric must be one of {', '.join(goals())}, got {name!r}")
    applies = METRICS[name].applies
    if not applies(loss):
        raise SettingError(f"metric {name} needs {_NEEDS[applies]}, not {type(loss).__name__}")


def check_threshold(threshold: float, loss: Any) -> None:
    """Refuse a threshold that is no probability, or for a loss that has none."""
    if not 0.0 <= threshold <= 1.0:
        raise SettingError(f"threshold must be a probability, from 0 to 1, got {threshold}")
    if threshold != HALF and not has_probabilities(loss):
        name = "several classes" if loss is None else type(loss).__name__
        raise SettingError(
            f"a threshold needs a model of two classes with probabilities, as Logistic; not {name}"
        )


def auc(prediction: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Compute the exact area under the ROC curve: how often a positive outranks a negative.

    Ties count half. An example of weight 2 counts as two.

    >>> auc([0.1, 0.4, 0.35, 0.8], [-1, -1, 1, 1])
    0.75
    """
    return _auc(_predicted(prediction, label, weight))


def average_precision(
    prediction: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None
) -> float:
    """Compute the area under the precision-recall curve as a sum of steps, as scikit-learn does.

    >>> average_precision([0.1, 0.4, 0.35, 0.8], [-1, -1, 1, 1])
    0.8333333333333333
    """
    return _average_precision(_predicted(prediction, label, weight))


def accuracy(prediction: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Compute the share of labels -1 and 1 whose sign the prediction has; 0 counts as -1.

    >>> accuracy([0.5, -2.0, 0.0, 3.0], [1, -1, 1, -1])
    0.5
    """
    found = _predicted(prediction, label, weight)
    return found.average(found.told == found.positive)


def _predicted(prediction: ArrayLike, label: ArrayLike, weight: ArrayLike | None) -> Predicted:
    score = np.asarray(prediction, np.float64)
    each = np.ones(len(score)) if weight is None else np.asarray(weight, np.float64)
    return Predicted(None, score, np.asarray(label), each)
