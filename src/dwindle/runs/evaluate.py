"""How good a model file is on labelled data."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from dwindle._base.errors import DataError, errors_at
from dwindle.algorithm.losses import is_classification
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions
from dwindle.engine.validation import check_labels
from dwindle.model.model import Model
from dwindle.runs import metrics
from dwindle.runs.observer import Observer
from dwindle.runs.predict import as_trained, predicted
from dwindle.runs.progress import LabelCounts


def evaluate(
    model: str | os.PathLike[str],
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    threshold: float = metrics.HALF,
    skip_bad: bool = False,
    observer: Observer | None = None,
) -> dict[str, Any]:
    """Measure a model file on labelled data: its loss, and what else fits that loss.

    `metrics.METRICS` lists the figures. With two classes, examples whose probability is above
    ``threshold`` are told to be positive. Examples without a label are left out.
    """
    trained = Model.load(model)
    loss = trained.loss
    metrics.check_threshold(threshold, loss)
    labels = Labels.in_metadata(trained.metadata)
    parts = []
    skipped = 0
    how = as_trained(trained, reading)
    for parsed, score in predicted(trained, paths, how, observer or Observer()):
        skipped += parsed.n_bad(skip_bad=skip_bad)
        label = labels.mapped(parsed, loss)
        if label is None:
            raise DataError(f"{parsed.source}: there are no labels to compare with")
        weight = parsed.batch.importances()
        with errors_at(parsed.place):
            check_labels(loss, label, weight)
        counts = weight > 0
        parts.append((score[counts], label[counts], weight[counts]))
    if not any(len(weight) for _, _, weight in parts):
        raise DataError(f"{' '.join(paths)}: no labelled examples to evaluate on")
    p, y, h = (np.concatenate(each) for each in zip(*parts, strict=True))
    seen = LabelCounts()
    seen.add(y, h)
    return {
        "examples": len(p),
        "loss_name": type(loss).__name__,
        "best_constant_loss": seen.best_constant(loss)[1],
        **({"threshold": threshold} if is_classification(loss) else {}),
        **metrics.evaluate(loss, p, y, h.astype(np.float64), threshold),
        "kept": len(trained),
        "skipped": skipped,
    }
