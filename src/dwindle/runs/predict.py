"""From a model and data to predictions, and how good they are."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, errors_at
from dwindle._base.threads import prefetch
from dwindle.algorithm.losses import (
    Logistic,
    Poisson,
    Quantile,
    has_probabilities,
    is_classification,
)
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, as_before
from dwindle.data.sources import Position, size, sources
from dwindle.data.stream import read
from dwindle.engine import kernels
from dwindle.engine.validation import check_labels
from dwindle.model.model import Model
from dwindle.runs.metrics import accuracy, auc
from dwindle.runs.progress import LabelCounts

PARSERS = 2  # threads, also on two cores: to predict is little work next to parsing


class Predictions(NamedTuple):
    """Of a run of examples."""

    prediction: NDArray[np.float64]
    tags: Sequence[str] | None
    skipped: int


def predict(
    model: str | os.PathLike[str],
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    kind: str = "score",
    skip_bad: bool = False,
    on_batch: Callable[[Position], None] = lambda _: None,
) -> Iterator[Predictions]:
    """The predictions of a model's file for the data, in order.

    ``kind`` is "score", before any link; "probability" of the positive class; or "label".
    """
    trained = Model.load(model)
    link = _link(trained, kind)
    unlabelled = replace(_as_trained(trained, reading), labelled=False)

    def made() -> Iterator[Predictions]:
        for parsed, prediction in _predicted(trained, paths, unlabelled, on_batch):
            skipped = parsed.n_bad(skip_bad=skip_bad)
            yield Predictions(link(prediction), parsed.tags, skipped)

    return made()  # so that a model that cannot be read is refused at once


def evaluate(
    model: str | os.PathLike[str],
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    skip_bad: bool = False,
    on_batch: Callable[[Position], None] = lambda _: None,
) -> dict[str, Any]:
    """How good a model is on labelled data: its loss, and what else fits that loss.

    Two classes have an accuracy and an AUC, a quantile has a coverage: the share of labels at or
    below the prediction, which should be tau. Else there is an RMSE. An example of importance 2
    counts as two.
    """
    trained = Model.load(model)
    loss = trained.loss
    labels = Labels({float(k): v for k, v in trained.metadata.get("labels", {}).items()})
    scores: list[NDArray[Any]] = []
    truths: list[NDArray[Any]] = []
    weights: list[NDArray[Any]] = []
    skipped = 0
    for parsed, score in _predicted(trained, paths, _as_trained(trained, reading), on_batch):
        skipped += parsed.n_bad(skip_bad=skip_bad)
        label = labels.mapped(parsed, loss)
        if label is None:
            raise DataError(f"{parsed.source}: there are no labels to compare with")
        batch = parsed.batch
        weight = batch.importances()
        with errors_at(parsed.place):
            check_labels(loss, label, weight)
        scores.append(score)
        truths.append(label)
        weights.append(weight)
    known = [weight > 0 for weight in weights]
    if not any(map(np.any, known)):
        raise DataError(f"{' '.join(paths)}: no labelled examples to evaluate on")
    p, y, h = (
        np.concatenate([part[those] for part, those in zip(parts, known, strict=True)])
        for parts in (scores, truths, weights)
    )
    counts = LabelCounts()
    counts.add(y, h)
    h = h.astype(np.float64)
    value = kernels.values.of(loss)(loss, p, y)
    found: dict[str, Any] = {
        "examples": len(p),
        "loss_name": type(loss).__name__,
        "loss": float(np.average(value, weights=h)),
        "best_constant_loss": counts.best_constant(loss)[1],
    }
    if is_classification(loss):
        found |= {"accuracy": accuracy(p, y, h), "auc": auc(p, y, h)}
        if isinstance(loss, Logistic):
            found["log_loss"] = found["loss"]
    elif isinstance(loss, Quantile):
        found["coverage"] = float(np.average(y <= p, weights=h))
    else:
        mean = (
            np.exp(np.minimum(p, 300.0)) if isinstance(loss, Poisson) else p
        )  # finite, squared too
        found["rmse"] = float(np.sqrt(np.average((mean - y) ** 2, weights=h)))
    return found | {"kept": len(trained), "skipped": skipped}


def _predicted(
    model: Model, paths: Sequence[str], reading: ReadOptions, on_batch: Callable[[Position], None]
) -> Iterator[tuple[Parsed, NDArray[np.float64]]]:
    """What is read and its predictions, made on a thread of their own.

    ``on_batch`` is told the place at the beginning and after each batch.
    """
    files = sources(paths)
    examples, total = 0, size(files)
    on_batch(Position(examples, 0, total))
    for parsed, prediction in prefetch((p, model.predict(p.batch)) for p in read(files, reading)):
        yield parsed, prediction
        examples += parsed.batch.n_examples
        on_batch(Position(examples, parsed.end, total))


def _as_trained(model: Model, reading: ReadOptions | None) -> ReadOptions:
    """Features are made as they were for training; a model from Python says nothing of that."""
    how = reading or ReadOptions()
    how = replace(how, threads=how.threads or PARSERS)
    return as_before(model.metadata["reading"], how) if "reading" in model.metadata else how


def _link(model: Model, kind: str) -> Any:
    if kind == "score":
        return lambda p: p
    name = type(model.loss).__name__
    if kind == "probability":
        if not has_probabilities(model.loss):
            raise DataError(f"probabilities need a model trained with logistic loss, not {name}")
        return lambda p: 0.5 * (1.0 + np.tanh(0.5 * p))
    if not is_classification(model.loss):
        raise DataError(f"labels need a model of two classes, not one trained with {name}")
    spelt = {sign: float(label) for label, sign in model.metadata.get("labels", {}).items()}
    return lambda p: np.where(p > 0, spelt.get(1.0, 1.0), spelt.get(-1.0, -1.0))
