"""Predictions of a model file for data, in order."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, SettingError
from dwindle._base.threads import prefetch
from dwindle.algorithm.losses import has_probabilities, is_classification, link
from dwindle.data.formats.block import Parsed, spelled_label
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, as_before, kinds_for
from dwindle.data.sources import Position, size, sources
from dwindle.data.stream import read
from dwindle.features.names import shown
from dwindle.model.classes import ClassModels, class_log_probabilities
from dwindle.model.loading import opened
from dwindle.model.model import Model
from dwindle.model.path import Path
from dwindle.runs.metrics import HALF, check_threshold, is_positive
from dwindle.runs.observer import Observer

UNASKED = " (--allow-unknown goes on all the same)"
LOOKED_AT = 20_000  # features, to find one that the model knows
EXPECTED = 10  # features that a model should know before it is said that it knows none
PARSERS = 2  # threads, also on two cores: to predict is little work next to parsing
Scores = NDArray[Any]  # numbers; labels may be text


class Predictions(NamedTuple):
    """The predictions for a run of examples."""

    prediction: Scores  # a column for each class, if several are scored
    tags: Sequence[str] | None
    skipped: int
    classes: Sequence[str] | None = None  # names of the columns


def predict(
    model: str | os.PathLike[str] | Model | ClassModels | Path,
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    kind: str | None = None,
    threshold: float = HALF,
    skip_bad: bool = False,
    keep: int | None = None,
    observer: Observer | None = None,
) -> Iterator[Predictions]:
    """Predict the examples of the data with a model file, in order, a batch at a time.

    ``kind`` is "score", before any link; "probability" of the positive class; or "label". Of
    several classes it is the label unless something else is asked for: then there is a column for
    each class. With two classes, the label is the positive one if its probability is above
    ``threshold``. Of a path it is the chosen lane that predicts or, with ``keep``, the best one of
    at most so many features.
    """
    trained = opened(model, keep)
    classes = None
    if isinstance(trained, ClassModels):
        kind = kind or "label"
        classes = None if kind == "label" else [*map(spelled_label, trained.classes)]
    convert = conversion(trained, kind or "score", threshold)
    how = to_predict(trained, reading)

    def made() -> Iterator[Predictions]:
        for parsed, prediction in predicted(trained, paths, how, observer or Observer()):
            skipped = parsed.n_bad(skip_bad=skip_bad)
            yield Predictions(convert(prediction), parsed.tags, skipped, classes)

    return made()  # so that a model that cannot be read is refused at once


def predicted(
    model: Model | ClassModels, paths: Sequence[str], reading: ReadOptions, observer: Observer
) -> Iterator[tuple[Parsed, Scores]]:
    """Yield what is read with its predictions, made on a thread of their own."""
    files = sources(paths)
    examples, total = 0, size(files)
    observer.position(Position(examples, 0, total))
    kinds = kinds_for(reading, observer.note)
    everything = read(files, reading, kinds)
    for parsed, prediction in prefetch((p, model.predict(p.batch)) for p in everything):
        if not examples and not reading.allow_unknown:
            foreign = reading.schema is None and kinds.schema() is not None
            expected = 0 if foreign else EXPECTED
            check_known(model, parsed, expected, ask=reading.allow_unknown is not None)
        yield parsed, prediction
        examples += parsed.batch.n_examples
        observer.position(Position(examples, parsed.end, total))


def check_known(
    model: Model | ClassModels, parsed: Parsed, expected: int = EXPECTED, *, ask: bool = False
) -> None:
    """Refuse data none of whose features the model knows, though it should know so many.

    Of the features that it saw in training, a model keeps some: so many are expected of the
    distinct ones here; of a table, if the model learned from none, whatever there is. With ``ask``
    the user is told how to go on.
    """
    seen, known = model.metadata.get("seen"), model.key
    some = np.sort(parsed.batch.key[:LOOKED_AT])  # np.unique would import much else of NumPy
    distinct = np.count_nonzero(some[1:] != some[:-1]) + bool(len(some))
    if not seen or parsed.batch.n_examples < 2 or distinct * len(known) < expected * seen:
        return
    if distinct and len(known) and not _any_in(known, some):
        names = parsed.batch.names
        first = f"feature {parsed.batch.key[0]}" if names is None else repr(shown(names[0]))
        raise DataError(
            f"{parsed.source}: the model knows none of the first {distinct:,} features, as "
            f"{first}: is it the right file?{UNASKED if ask else ''}"
        )


def _any_in(known: NDArray[np.uint64], some: NDArray[Any]) -> bool:
    """Whether any key is among some, in order; a few at once, for the first are often there."""
    parts = (known[k : k + LOOKED_AT] for k in range(0, len(known), LOOKED_AT))
    return any((some.take(some.searchsorted(part), mode="clip") == part).any() for part in parts)


def as_trained(model: Model | ClassModels, reading: ReadOptions | None) -> ReadOptions:
    """Read features as they were read for training; a model made in Python does not say how."""
    how = reading or ReadOptions()
    how = replace(how, threads=how.threads or PARSERS)
    return as_before(model.metadata["reading"], how) if "reading" in model.metadata else how


def to_predict(model: Model | ClassModels, reading: ReadOptions | None) -> ReadOptions:
    """Read as for training, but without labels, and lines of a slow pipe as they come."""
    return replace(as_trained(model, reading), labelled=False, live=True)


def conversion(
    model: Model | ClassModels, kind: str, threshold: float = HALF
) -> Callable[[Scores], Scores]:
    """Return what turns scores into the kind of prediction that is asked for."""
    if kind not in {"score", "probability", "label"}:
        raise SettingError(f"kind must be score, probability or label, got {kind!r}")
    if kind == "score":
        return lambda p: p
    name = type(model.loss).__name__
    if kind == "probability":
        if not has_probabilities(model.loss):
            raise DataError(
                f"probabilities need a loss of two classes with a link, as Logistic; not {name}"
            )
        if isinstance(model, ClassModels):
            return lambda p: np.exp(class_log_probabilities(model.loss, p))
        return lambda p: np.asarray(link(model.loss, p))
    if not is_classification(model.loss):
        raise DataError(f"labels need a model of classes, not one trained with {name}")
    check_threshold(threshold, None if isinstance(model, ClassModels) else model.loss)
    if isinstance(model, ClassModels):
        classes = np.array(model.classes)
        return lambda p: classes[p.argmax(axis=1)]
    spelt = {sign: label for label, sign in Labels.in_metadata(model.metadata).target.items()}
    labels = spelt.get(1.0, 1.0), spelt.get(-1.0, -1.0)
    return lambda p: np.where(is_positive(model.loss, p, threshold), *labels)
