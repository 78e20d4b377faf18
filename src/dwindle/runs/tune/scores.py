"""What a search measures of its settings, and what it finds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from dwindle.runs.metrics import METRICS
from dwindle.runs.tune.grid import Setting


class Score(NamedTuple):
    """How good a setting is on examples that were not learned from, over all folds."""

    setting: Setting
    metrics: dict[str, float]  # those that apply to the loss and are defined for these examples
    kept: float  # features, the mean over folds
    spread: float  # the standard error over folds of the metric that was asked for

    def metric(self, name: str) -> float:
        """Return a metric; nan if there is none."""
        return self.metrics.get(name, math.nan)

    @property
    def accuracy(self) -> float:
        """The accuracy; nan if labels are not of two classes."""
        return self.metric("accuracy")

    @property
    def auc(self) -> float:
        """The AUC; nan if labels are not of two classes."""
        return self.metric("auc")

    @property
    def loss(self) -> float:
        """The mean loss; infinite if a run diverged."""
        return self.metric("loss")


class Found(NamedTuple):
    """The result of a search."""

    metric: str
    dense: Score  # the best without shrinkage
    chosen: Score
    bound: float | None  # what the chosen one's metric had to reach; with ``keep``, nothing
    scores: list[Score]
    doubts: Sequence[str] = ()  # where the best may lie beyond what was tried
    classes: int = 0  # if there are more than two, what is kept are weights of all of them

    def frontier(self) -> list[Score]:
        """List the scores that no other beats in features kept and metric, the sparsest first."""
        measured = (each for each in self.scores if not math.isnan(each.kept))
        best = -math.inf
        found = []
        for score in sorted(measured, key=lambda each: (each.kept, -good(each, self.metric))):
            if good(score, self.metric) > best:
                best = good(score, self.metric)
                found.append(score)
        return found


def good(score: Score, metric: str) -> float:
    """Return the metric, negated if less is better; -inf if there is none."""
    value = METRICS[metric].better * score.metric(metric)
    return -math.inf if math.isnan(value) else value
