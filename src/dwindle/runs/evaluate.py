"""How good a model file is on labelled data."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, SettingError, errors_at
from dwindle.algorithm.losses import is_classification
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions
from dwindle.engine.validation import check_labels
from dwindle.model.classes import ClassModels
from dwindle.model.loading import opened
from dwindle.model.model import Model
from dwindle.model.path import Path
from dwindle.runs import metrics
from dwindle.runs.class_metrics import evaluate_classes, with_best_constant
from dwindle.runs.observer import Observer
from dwindle.runs.predict import as_trained, predicted
from dwindle.runs.progress import LabelCounts


def evaluate(
    model: str | os.PathLike[str] | Model | ClassModels | Path,
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    threshold: float = metrics.HALF,
    skip_bad: bool = False,
    keep: int | None = None,
    observer: Observer | None = None,
) -> dict[str, Any]:
    """Measure a model file on labelled data: its loss, and what else fits that loss.

    `metrics.METRICS` lists the figures. With two classes, examples whose probability is above
    ``threshold`` are told to be positive; `class_metrics` has the figures of several. Examples
    without a label are left out. Of a path it is the chosen lane that is measured or, with
    ``keep``, the best one of at most so many features.
    """
    trained = opened(model, keep)
    loss, several = trained.loss, isinstance(trained, ClassModels)
    metrics.check_threshold(threshold, loss)
    if several and threshold != metrics.HALF:
        raise SettingError("a threshold is for two classes: several have the likeliest")
    parts = []
    skipped = 0
    for parsed, score, label, weight in scored(trained, paths, reading, observer or Observer()):
        skipped += parsed.n_bad(skip_bad=skip_bad)
        counts = weight > 0
        parts.append((score[counts], label[counts], weight[counts]))
    p, y, h = (np.concatenate(each) for each in zip(*parts, strict=True))
    weights = h.astype(np.float64)
    return {
        "examples": len(p),
        "loss_name": type(loss).__name__,
        **(
            with_best_constant(loss, evaluate_classes(loss, p, y, weights, trained.classes))
            if isinstance(trained, ClassModels)
            else _figures(loss, p, y, weights, threshold)
        ),
        **({"class_weight": weighed} if (weighed := trained.metadata.get("class_weight")) else {}),
        "kept": len(trained),
        "skipped": skipped,
    }


class Scored(NamedTuple):
    """Examples as they were read, their scores, and labels and weights as the loss needs them."""

    parsed: Parsed
    score: NDArray[np.float64]
    label: NDArray[np.float32]
    weight: NDArray[np.float32]


def scored(
    model: Model | ClassModels,
    paths: Sequence[str],
    reading: ReadOptions | None,
    observer: Observer,
) -> Iterator[Scored]:
    """Yield labelled examples with their scores; refuse data without any."""
    labels, any_counts = Labels.in_metadata(model.metadata), False
    for parsed, score in predicted(model, paths, as_trained(model, reading), observer):
        label = labels.mapped(parsed, model.loss)
        if label is None:
            raise DataError(f"{parsed.source}: there are no labels to compare with")
        weight = parsed.batch.importances()
        with errors_at(parsed.place):
            if not isinstance(model, ClassModels):
                check_labels(model.loss, label, weight)
        any_counts = any_counts or bool((weight > 0).any())
        yield Scored(parsed, score, label, weight)
    if not any_counts:
        raise DataError(f"{' '.join(paths)}: no labelled examples to evaluate on")


def _figures(
    loss: Any,
    prediction: NDArray[np.float64],
    label: NDArray[np.float32],
    weight: NDArray[np.float64],
    threshold: float,
) -> dict[str, Any]:
    """Return the figures of two classes, or of numbers."""
    seen = LabelCounts()
    seen.add(label, weight.astype(np.float32))
    return {
        "best_constant_loss": seen.best_constant(loss)[1],
        **({"threshold": threshold} if is_classification(loss) else {}),
        **metrics.evaluate(loss, prediction, label, weight, threshold),
    }
