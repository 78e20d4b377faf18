"""Examples that are not learned from: how good the model is after each pass, and when to stop."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, errors_at
from dwindle.algorithm.losses import is_classification
from dwindle.data.cache import CachedExamples
from dwindle.data.formats.block import BadLine, Parsed
from dwindle.data.labels import Labels
from dwindle.engine.learner import Learner
from dwindle.runs.progress import Progress


class Pass(NamedTuple):
    """How good the model was after a pass, and whether it never was better before."""

    number: int
    holdout_loss: float
    holdout_auc: float
    best: bool


@dataclass
class Best:
    """The pass after which the holdout loss was smallest, and how many came since."""

    number: int = 0
    loss: float = math.nan
    auc: float = math.nan
    since: int = 0

    def after(self, number: int, loss: float, auc: float) -> Pass:
        """A pass was made; it is better only if its loss is smaller."""
        best = self.number == 0 or loss < self.loss
        if best:
            self.number, self.loss, self.auc, self.since = number, loss, auc, 0
        else:
            self.since += 1
        return Pass(number, loss, auc, best)


def parted(parsed: Iterator[Parsed], every: int) -> Iterator[tuple[Parsed, Parsed]]:
    """Of each batch, the examples to learn from, and those that are held out.

    They are the examples ``truncate_every``, 2 ``truncate_every``, ... of the data, counted from 1.
    """
    n = 0
    for item in parsed:
        held = np.arange(n + 1, n + 1 + item.batch.n_examples) % every == 0
        n += len(held)
        yield _only(item, ~held), _only(item, held)._replace(bad=[])


def _only(item: Parsed, chosen: NDArray[np.bool_]) -> Parsed:
    batch, line = item.batch.only(chosen), item.line[chosen]
    return item._replace(batch=batch, line=line, tags=None)


class Holdout:
    """The examples held out, to measure on as often as wanted; messages call them ``name``."""

    def __init__(self, examples: CachedExamples, name: str) -> None:
        self.examples = examples
        self.name = name

    def read(self) -> list[BadLine]:
        """Parse them all, now; returns the lines that are no examples."""
        bad: list[BadLine] = []
        labelled = False
        for parsed in self.examples.parsed():
            bad += parsed.bad
            importance = parsed.batch.importance
            labelled |= bool(parsed.batch.n_examples if importance is None else importance.any())
        if not labelled and not bad:
            raise self.empty()
        return bad

    def measure(self, learner: Learner, labels: Labels) -> tuple[float, float]:
        """The mean loss, by importance, and for two classes the AUC, else nan.

        Labels mean what they mean in training.
        """
        labels = Labels(labels.sign)  # nothing is learned here, not even a label
        progress = Progress(learner.loss, ranks=is_classification(learner.loss))
        for parsed in self.examples.again():
            batch = parsed.batch._replace(label=labels.mapped(parsed, learner.loss))
            with errors_at(parsed.place):
                label, importance = learner.lessons(batch)
            progress.add(batch, learner.predict(batch), label, importance)
        if progress.weight == 0:
            raise self.empty()
        loss = progress.mean_loss
        return math.inf if math.isnan(loss) else loss, progress.auc

    def empty(self) -> DataError:
        """What is wrong if there is nothing to measure on."""
        return DataError(f"holdout ({self.name}): no labelled examples to measure the model on")
