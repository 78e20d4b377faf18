"""How good predictions are."""

import numpy as np
from numpy.typing import ArrayLike


def auc(prediction: ArrayLike, label: ArrayLike) -> float:
    """The area under the ROC curve, exact: how often a positive outranks a negative, ties half.

    >>> auc([0.1, 0.4, 0.35, 0.8], [-1, -1, 1, 1])
    0.75
    """
    positive = np.asarray(label) > 0
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    if n_positive == 0 or n_negative == 0:
        return float("nan")
    _, place, count = np.unique(np.asarray(prediction), return_inverse=True, return_counts=True)
    n_up_to = np.cumsum(count)
    rank = (n_up_to - (count - 1) / 2)[place]  # the mean rank of those that are equal
    above = rank[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * n_negative))


def accuracy(prediction: ArrayLike, label: ArrayLike) -> float:
    """The share of labels -1 and 1 whose sign the prediction has; 0 counts as -1.

    >>> accuracy([0.5, -2.0, 0.0, 3.0], [1, -1, 1, -1])
    0.5
    """
    return float(np.mean((np.asarray(prediction) > 0) == (np.asarray(label) > 0)))
