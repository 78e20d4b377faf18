"""Predictions of a learner, perhaps while another thread learns."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.algorithm.losses import boundary, has_probabilities, is_classification, link
from dwindle.algorithm.shrinkage import NoShrinkage
from dwindle.algorithm.updates import Plain
from dwindle.data.formats.block import spelled_label
from dwindle.data.labels import Labels
from dwindle.engine.explain import Explanation
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.batch import Batch
from dwindle.model.classes import ClassModels, class_log_probabilities
from dwindle.model.model import Model

PAUSE = 2e-5  # seconds that the writer leaves to readers who wait
Scores = NDArray[np.float64]
Members = Sequence[Learner]
Found = TypeVar("Found")


class Gate:
    """A lock for short turns of one writer and many readers; a reader who waits goes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = threading.Lock()
        self._waiting = 0

    def read(self, look: Callable[..., Found], *args: Any) -> Found:
        """Look at what does not change meanwhile."""
        if not self._lock.acquire(blocking=False):
            with self._count:
                self._waiting += 1
            self._lock.acquire()
            with self._count:
                self._waiting -= 1
        try:
            return look(*args)
        finally:
            self._lock.release()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Change it, after the readers who wait already."""
        while self._waiting:
            time.sleep(PAUSE)
        with self._lock:
            yield


def members_of(learner: Learner | OneVsRest) -> Members:
    """Return a learner as a list of one, or the learner of each class."""
    return [learner] if isinstance(learner, Learner) else learner.members


def scores_of(learner: Learner | OneVsRest, batch: Batch) -> Scores:
    """Predict each example, before any link; of several classes, a column for each.

    Of several gravities learned at once it is the one that predicts best so far, as while learning.
    """
    found = [_of_one(each, batch) for each in members_of(learner)]
    return found[0] if isinstance(learner, Learner) else np.column_stack(found)


def _of_one(learner: Learner, batch: Batch) -> Scores:
    if isinstance(learner, LaneLearner):
        return np.ascontiguousarray(learner.predict_lanes(batch)[:, learner.best_so_far])
    return learner.predict(batch)


def scores_of_dicts(learner: Learner | OneVsRest, examples: Sequence[dict[str, Any]]) -> Scores:
    """Predict dicts of names and values, as `scores_of` does, without making a batch of them."""
    found = [np.array([*map(each.predict_one, examples)]) for each in members_of(learner)]
    return found[0] if isinstance(learner, Learner) else np.column_stack(found)


def fixed_learner(model: Model | ClassModels) -> Learner | OneVsRest:
    """Make a learner that predicts as a model does, to the bit, dicts too; it is not to learn."""
    if isinstance(model, ClassModels):
        return OneVsRest([_fixed(each) for each in model.members])
    return _fixed(model)


def _fixed(model: Model) -> Learner:
    how = {name: model.settings[name] for name in ("intercept", "normalize")}
    plain = Learner(model.loss, NoShrinkage(), Plain(), **how)
    bare = replace(model, state=None, statistics={}, moment=None)
    return bare.learner(plain.settings())


class Answers:
    """Scores as the columns of an answer: score, probability and label of each example."""

    def __init__(self, loss: Any, labels: Labels) -> None:
        self.loss, self.labels, self.n_labels = loss, labels, len(labels.target)
        self.classes = labels.classes if labels.are_several else None
        self._has_probabilities = has_probabilities(loss)
        self._boundary = boundary(loss)
        spelt = {sign: _plain(label) for label, sign in labels.target.items()}
        self._pair = spelt.get(-1.0, -1), spelt.get(1.0, 1)
        self._label = self._labelling()

    def _labelling(self) -> Callable[[Scores], list[Any]] | None:
        if not is_classification(self.loss):
            return None
        if self.classes is not None:
            classes = self.classes
            return lambda p: [classes[k] for k in p.argmax(axis=1).tolist()]
        pair, least = self._pair, self._boundary
        return lambda p: [pair[k] for k in (p > least).tolist()]

    def row(self, score: float) -> dict[str, Any]:
        """Return what `columns` has for one example of two classes or of numbers."""
        found: dict[str, Any] = {"score": score}
        if self._has_probabilities:
            found["probability"] = link(self.loss, score)
        if self._label is not None:
            found["label"] = self._pair[score > self._boundary]
        return found

    def columns(self, scores: Scores) -> dict[str, Any]:
        """Return the columns, as arrays and lists fit for JSON."""
        found: dict[str, Any] = {"score": scores}
        if self._has_probabilities:
            if self.classes is None:
                found["probability"] = np.asarray(link(self.loss, scores))
            else:
                found["probability"] = np.exp(class_log_probabilities(self.loss, scores))
        if self._label is not None:
            found["label"] = self._label(scores)
        if self.classes is not None:
            found["classes"] = [spelled_label(each) for each in self.classes]
        return found


def _plain(label: float | str) -> float | str:
    """Return a label as JSON writes it: a whole number without its point."""
    return int(label) if not isinstance(label, str) and label == int(label) else label


def _explained(learner: Learner, batch: Batch) -> Explanation:
    if isinstance(learner, LaneLearner):
        return learner.explain(batch, learner.best_so_far)
    return learner.explain(batch)


def explained(learner: Learner | OneVsRest, labels: Labels, batch: Batch) -> Mapping[str, Any]:
    """Say what each feature of one example adds to its score; of several classes, to each."""
    if batch.n_examples != 1:
        raise DataError(f"one example is explained at a time, got {batch.n_examples}")
    parts = [_explained(each, batch)._asdict() for each in members_of(learner)]
    if isinstance(learner, Learner):
        return parts[0]
    return {"classes": dict(zip(map(spelled_label, labels.classes), parts, strict=True))}
