"""How good predictions are: accuracy, AUC, log loss, RMSE, and the loss itself."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dwindle.algorithm.losses import has_probabilities, is_classification, link
from dwindle.engine import kernels

SMALLEST = 1e-15  # probability, whose logarithm is still finite


def auc(prediction: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Compute the exact area under the ROC curve: how often a positive outranks a negative.

    Ties count half. An example of weight 2 counts as two.

    >>> auc([0.1, 0.4, 0.35, 0.8], [-1, -1, 1, 1])
    0.75
    """
    _, rank = np.unique(np.asarray(prediction), return_inverse=True)
    positive = np.asarray(label) > 0
    each = np.asarray(1.0 if weight is None else weight, np.float64)
    above, below = (np.bincount(rank, each * those) for those in (positive, ~positive))
    pairs = above.sum() * below.sum()
    outranked = above * (np.cumsum(below) - below / 2)
    return float(outranked.sum() / pairs) if pairs else float("nan")


def accuracy(prediction: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Compute the share of labels -1 and 1 whose sign the prediction has; 0 counts as -1.

    >>> accuracy([0.5, -2.0, 0.0, 3.0], [1, -1, 1, -1])
    0.5
    """
    right = (np.asarray(prediction) > 0) == (np.asarray(label) > 0)
    each = None if weight is None else np.asarray(weight, np.float64)
    return float(np.average(right, weights=each))


def mean_loss(
    loss: Any, prediction: NDArray[np.float64], label: NDArray[Any], weight: NDArray[Any]
) -> float:
    """Compute the mean of phi(p, y), by weight."""
    return float(np.average(kernels.values.of(loss)(loss, prediction, label), weights=weight))


def evaluate(
    loss: Any, prediction: NDArray[np.float64], label: NDArray[Any], weight: NDArray[np.float64]
) -> dict[str, float]:
    """Measure predictions by their loss and by what else fits it; an example of weight 2 is two.

    Two classes have an accuracy and an AUC, and a log loss if there are probabilities. Other
    labels have an RMSE. A loss may have measures of its own instead, as a quantile's coverage.
    """
    found = {"loss": mean_loss(loss, prediction, label, weight)}
    if is_classification(loss):
        found["accuracy"] = accuracy(prediction, label, weight)
        found["auc"] = auc(prediction, label, weight)
    if has_probabilities(loss):
        positive = link(loss, prediction)
        chance = np.maximum(np.where(label > 0, positive, 1.0 - positive), SMALLEST)
        found["log_loss"] = float(np.average(-np.log(chance), weights=weight))
    own = getattr(loss, "measures", None)
    if own is not None:
        found |= own(prediction, label, weight)
    elif not is_classification(loss):
        error = link(loss, prediction) - label
        found["rmse"] = float(np.sqrt(np.average(error**2, weights=weight)))
    return found
