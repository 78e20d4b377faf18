"""How good predictions of several classes are: overall, class by class, and which are confused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.losses import SMALLEST, has_probabilities
from dwindle.engine import kernels
from dwindle.engine.one_vs_rest import against_rest
from dwindle.model.classes import class_log_probabilities
from dwindle.runs.progress import LabelCounts

Numbers = NDArray[np.float64]
OF_CLASSES = ("loss", "log_loss", "accuracy")  # those of `metrics.METRICS` that several have


def rest_loss(loss: Any, scores: Numbers, label: NDArray[np.float32], weight: Numbers) -> float:
    """Compute the mean loss of each class against the rest, added up over the classes."""
    values = kernels.values.of(loss)
    return sum(
        float(
            np.average(
                values(loss, np.ascontiguousarray(each), against_rest(label, k)), weights=weight
            )
        )
        for k, each in enumerate(scores.T)
    )


def best_constant_loss(loss: Any, share: Sequence[float]) -> float:
    """Compute the least such loss of constants, given the share of examples of each class."""
    counts = (LabelCounts({1.0: own, -1.0: 1.0 - own}) for own in share)
    return sum(each.best_constant(loss)[1] for each in counts)


def evaluate_classes(
    loss: Any,
    scores: Numbers,
    label: NDArray[np.float32],
    weight: Numbers,
    classes: Sequence[Any],
) -> dict[str, Any]:
    """Measure scores that have a column for each class; labels are numbers of classes.

    The confusion matrix has a row for each class that is true and a column for each that is
    predicted. Precision is the share of a class's predictions that are right, recall the share of
    its examples that are found, F1 their harmonic mean; one that is not defined is 0. Support is
    the weight of its examples, and the macro F1 the mean over the classes that have any.
    """
    n = len(classes)
    confusion = confused(scores.argmax(axis=1), label.astype(np.int64), weight, n)
    return mean_losses(loss, scores, label, weight) | of_confusion(confusion, classes)


def mean_losses(
    loss: Any, scores: Numbers, label: NDArray[np.float32], weight: Numbers
) -> dict[str, float]:
    """Compute the loss, and the log loss if there are probabilities."""
    found = {"loss": rest_loss(loss, scores, label, weight)}
    if has_probabilities(loss):
        own = class_log_probabilities(loss, scores)[np.arange(len(label)), label.astype(np.int64)]
        found["log_loss"] = -float(np.average(np.maximum(own, np.log(SMALLEST)), weights=weight))
    return found


def of_confusion(confusion: Numbers, classes: Sequence[Any]) -> dict[str, Any]:
    """Compute what `evaluate_classes` measures from how often each class was told to be each."""
    right, told, true = np.diag(confusion), confusion.sum(axis=0), confusion.sum(axis=1)
    precision, recall, f1 = _share(right, told), _share(right, true), _share(2 * right, told + true)
    by_class = zip(classes, *(each.tolist() for each in (precision, recall, f1, true)), strict=True)
    return {
        "accuracy": float(right.sum() / true.sum()),
        "majority_accuracy": float(true.max() / true.sum()),
        "macro_f1": float(f1[true > 0].mean()),
        "classes": [
            dict(zip(("class", "precision", "recall", "f1", "support"), each, strict=True))
            for each in by_class
        ],
        "confusion": confusion.tolist(),
    }


def confused(told: NDArray[np.int64], true: NDArray[np.int64], weight: Numbers, n: int) -> Numbers:
    """Count by weight how often each class (row) was told to be each class (column).

    >>> confused(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3), 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    found: Numbers = np.bincount(n * true + told, weight, n * n).astype(np.float64)
    return found.reshape(n, n)


def with_best_constant(loss: Any, measured: dict[str, Any]) -> dict[str, Any]:
    """Put the best constant's loss before what `evaluate_classes` measured."""
    support = np.array([each["support"] for each in measured["classes"]])
    return {"best_constant_loss": best_constant_loss(loss, support / support.sum())} | measured


def _share(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
