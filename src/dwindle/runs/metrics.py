"""How good predictions are."""

import numpy as np
from numpy.typing import ArrayLike


def auc(prediction: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None) -> float:
    """The area under the ROC curve, exact: how often a positive outranks a negative, ties half.

    An example of weight 2 counts as two.

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
    """The share of labels -1 and 1 whose sign the prediction has; 0 counts as -1.

    >>> accuracy([0.5, -2.0, 0.0, 3.0], [1, -1, 1, -1])
    0.5
    """
    right = (np.asarray(prediction) > 0) == (np.asarray(label) > 0)
    each = None if weight is None else np.asarray(weight, np.float64)
    return float(np.average(right, weights=each))
