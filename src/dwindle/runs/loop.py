"""The one loop over passes: learn from every item, end the pass, stop when it no longer helps."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.metrics import beside_loss

Item = TypeVar("Item")


class Pass(NamedTuple):
    """How good the model was on the holdout after a pass, and whether it never was better."""

    number: int
    holdout_loss: float
    holdout_auc: float  # of two classes
    holdout_accuracy: float  # of several
    best: bool

    def __str__(self) -> str:
        figure = beside_loss(self.holdout_auc, self.holdout_accuracy)
        best = ", best so far" if self.best else ""
        return f"pass {self.number}: holdout loss {self.holdout_loss:.4f}{figure}{best}"


@dataclass
class Best:
    """The pass after which the holdout loss was smallest, and how many came since."""

    number: int = 0
    loss: float = math.nan
    auc: float = math.nan
    since: int = 0
    constant_loss: float = math.nan  # of the best constant there
    accuracy: float = math.nan

    def after(
        self,
        number: int,
        loss: float,
        auc: float = math.nan,
        accuracy: float = math.nan,
        constant_loss: float = math.nan,
    ) -> Pass:
        """Record a pass; it is better only if its loss is smaller."""
        best = self.number == 0 or loss < self.loss
        if best:
            self.number, self.loss, self.auc, self.since = number, loss, auc, 0
            self.accuracy, self.constant_loss = accuracy, constant_loss
        else:
            self.since += 1
        return Pass(number, loss, auc, accuracy, best)


def passes(
    data: Callable[[bool], Iterable[Item]],
    learn: Callable[[Item], object],
    end_pass: Callable[[], object],
    n: int,
    *,
    done: int = 0,
    best: Best | None = None,
    patience: int = 1,
) -> Iterator[int]:
    """Go over the data up to n times; yield the number of each pass when it has ended.

    ``data`` gives the items of a pass and is told whether more passes may follow. ``done`` passes
    were made before. With ``best``, which the caller keeps up to date between passes, the loop
    stops when the holdout loss has not improved for ``patience`` passes in a row.
    """
    number = done
    while number < n and (best is None or best.since < patience):
        number += 1
        for item in data(number < n):
            learn(item)
        end_pass()
        yield number


def fit(learner: Learner, batches: Sequence[Batch], n: int = 1, cooldown: int = 0) -> Learner:
    """Learn from all batches, n times in order, then cool down; returns the learner."""
    for _ in passes(lambda _more: batches, learner.learn, learner.next_pass, n):
        pass
    learner.cooldown(cooldown)
    return learner
