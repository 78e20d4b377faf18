"""The worst mistakes of a stream, each with its explanation."""

import heapq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.losses import is_classification, link
from dwindle.data.formats.block import spelled_label
from dwindle.data.labels import Labels
from dwindle.engine import kernels
from dwindle.engine.one_vs_rest import against_rest
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.runs.evaluate import Scored
from dwindle.runs.explain import Explained, explain_example
from dwindle.runs.metrics import HALF, is_positive


class Mistake(NamedTuple):
    """An example whose class was told wrongly, or a number that was missed."""

    loss: float
    label: str  # the true one, as it is written
    told: str  # the class, or the number, that was predicted
    explained: Explained


class Mistakes:
    """The n examples with the greatest loss, of those whose class was told wrongly.

    They are explained when they are met, so that no data is kept.
    """

    def __init__(self, model: Model | ClassModels, n: int, threshold: float = HALF) -> None:
        self.model, self.n, self.threshold = model, n, threshold
        self._values = kernels.values.of(model.loss)
        self._heap: list[tuple[float, int, Mistake]] = []  # the least loss first
        self._met = 0
        target = Labels.in_metadata(model.metadata).target
        self._spelled = {sign: spelled_label(label) for label, sign in target.items()}

    def add(self, some: Scored) -> None:
        """Meet examples that were predicted."""
        if not self.n:
            return
        loss, wrong = self._judged(some)
        floor = self._heap[0][0] if len(self._heap) == self.n else 0.0
        there = np.flatnonzero(wrong & (some.weight > 0) & (loss > floor))
        # A stable sort: of equal ones the first is taken, whatever the batches.
        for i in there[np.argsort(-loss[there], kind="stable")][: self.n].tolist():
            self._met += 1
            entry = float(loss[i]), -self._met
            if len(self._heap) < self.n:
                heapq.heappush(self._heap, (*entry, self._mistake(some, i, entry[0])))
            elif entry[0] > self._heap[0][0]:
                heapq.heapreplace(self._heap, (*entry, self._mistake(some, i, entry[0])))

    def found(self) -> list[Mistake]:
        """Return the mistakes, the worst first."""
        return [mistake for *_, mistake in sorted(self._heap, reverse=True)]

    def _judged(self, some: Scored) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the loss of each example, and which are mistakes."""
        loss = self.model.loss
        if isinstance(self.model, ClassModels):
            columns = (np.ascontiguousarray(each) for each in some.score.T)
            each = [
                self._values(loss, score, against_rest(some.label, k))
                for k, score in enumerate(columns)
            ]
            return np.sum(each, axis=0), some.score.argmax(axis=1) != some.label
        values = self._values(loss, some.score, some.label)
        if not is_classification(loss):
            return values, np.ones(len(values), np.bool_)
        return values, is_positive(loss, some.score, self.threshold) != (some.label > 0)

    def _mistake(self, some: Scored, i: int, loss: float) -> Mistake:
        parsed, score = some.parsed, some.score[i : i + 1]
        found = explain_example(self.model, parsed.batch.rows(i, i + 1), score)
        tag = "" if parsed.tags is None else parsed.tags[i]
        explained = found._replace(place=parsed.place(i), id=tag)
        label = parsed.label(i)
        true = f"{label:.7g}" if isinstance(label, float) else str(label)  # of single precision
        return Mistake(loss, true, self._told(score, found), explained)

    def _told(self, score: Any, found: Explained) -> str:
        loss = self.model.loss
        if isinstance(self.model, ClassModels):
            return spelled_label(found.label)
        if is_classification(loss):
            sign = 1.0 if is_positive(loss, score, self.threshold)[0] else -1.0
            return self._spelled.get(sign, f"{sign:g}")
        return f"{float(np.asarray(link(loss, score))[0]):.6g}"
