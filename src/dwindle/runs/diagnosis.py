"""What a model gets right and wrong on labelled data, in one pass and bounded memory.

The figures are those of `evaluate`. Sums are exact. What depends on the order of all scores (AUC,
average precision, the calibration error, the best F1, and the curves) is computed from counts of
scores in 65,536 bins of 1 / (1 + exp(-score)); residuals are of a random sample.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import SettingError
from dwindle.algorithm.losses import has_probabilities, is_classification, link
from dwindle.data.options import ReadOptions
from dwindle.model.classes import ClassModels
from dwindle.model.loading import opened
from dwindle.model.model import Model
from dwindle.model.path import Path
from dwindle.runs import metrics
from dwindle.runs.class_metrics import confused, mean_losses, of_confusion, with_best_constant
from dwindle.runs.evaluate import Scored, scored
from dwindle.runs.metrics import HALF, METRICS, Predicted
from dwindle.runs.mistakes import Mistake, Mistakes
from dwindle.runs.observer import Observer
from dwindle.runs.progress import LabelCounts

BINS = 2**16
SAMPLE = 20_000  # predictions of numbers that are kept for residuals
MEANS = ("loss", "log_loss", "brier_score", "accuracy", "positive_share", "mae")
ORDERED = ("auc", "average_precision", "calibration_error", "best_f1", "best_f1_threshold")
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Diagnosis:
    """What was found: the figures of `evaluate`, and what curves are drawn from."""

    figures: dict[str, Any]
    mistakes: list[Mistake]  # the worst first
    bins: Predicted | None = None  # of two classes: a weight for each bin and label
    sample: Predicted | None = None  # of numbers
    several: dict[str, Any] = field(default_factory=dict)  # classes and confusion


def diagnose(
    model: str | os.PathLike[str] | Model | ClassModels | Path,
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    threshold: float = HALF,
    mistakes: int = 10,
    skip_bad: bool = False,
    keep: int | None = None,
    observer: Observer | None = None,
) -> Diagnosis:
    """Measure a model on labelled data, and find and explain the worst mistakes."""
    trained = opened(model, keep)
    loss = trained.loss
    metrics.check_threshold(threshold, loss)
    if isinstance(trained, ClassModels) and threshold != HALF:
        raise SettingError("a threshold is for two classes: several have the likeliest")
    made: Callable[..., _Numbers | _TwoClasses | _SeveralClasses] = _Numbers
    if isinstance(trained, ClassModels):
        made = _SeveralClasses
    elif is_classification(loss):
        made = _TwoClasses
    found, worst = made(trained, threshold), Mistakes(trained, mistakes, threshold)
    skipped = examples = 0
    for some in scored(trained, paths, reading, observer or Observer()):
        skipped += some.parsed.n_bad(skip_bad=skip_bad)
        examples += int((some.weight > 0).sum())
        if (some.weight > 0).any():
            found.add(some)
            worst.add(some)
    figures = {"examples": examples, "loss_name": type(loss).__name__, **found.figures()}
    if weighed := trained.metadata.get("class_weight"):
        figures["class_weight"] = weighed
    figures |= {"kept": len(trained), "skipped": skipped}
    return Diagnosis(figures, worst.found(), **found.kept())


class _Sums:
    """Weighted means of a stream."""

    def __init__(self) -> None:
        self.weight = 0.0
        self._total: dict[str, float] = {}

    def add(self, means: dict[str, float], weight: float) -> None:
        """Add the means of a part that weighs so much."""
        self.weight += weight
        for name, value in means.items():
            self._total[name] = self._total.get(name, 0.0) + value * weight

    def __getitem__(self, name: str) -> float:
        return self._total[name] / self.weight

    def means(self) -> dict[str, float]:
        """Return all means."""
        return {name: self[name] for name in self._total}


class _Scores:
    """What two classes and numbers have in common: means, and the best constant."""

    def __init__(self, model: Model, threshold: float) -> None:
        self.loss, self.threshold = model.loss, threshold
        self.sums, self.labels = _Sums(), LabelCounts()

    def add(self, some: Scored) -> None:
        """Add examples that were predicted."""
        counts = some.weight > 0
        score, label, weight = some.score[counts], some.label[counts], some.weight[counts]
        self.labels.add(label, weight)
        part = Predicted(self.loss, score, label, weight.astype(np.float64), self.threshold)
        own = getattr(self.loss, "measures", None)
        means = {name: METRICS[name].of(part) for name in MEANS if METRICS[name].applies(self.loss)}
        means |= {} if own is None else own(score, label, part.weight)
        self.sums.add(means | self.also(part), float(part.weight.sum()))

    def also(self, part: Predicted) -> dict[str, float]:
        """Take what else is needed of a part; return further means."""
        raise NotImplementedError

    def best_constant(self) -> dict[str, float]:
        """Return the loss of the best constant."""
        return {"best_constant_loss": self.labels.best_constant(self.loss)[1]}


class _TwoClasses(_Scores):
    """Counts of scores in bins, and of what is told at the threshold."""

    def __init__(self, model: Model, threshold: float) -> None:
        super().__init__(model, threshold)
        self.count = np.zeros(2 * BINS)  # of negatives, then of positives

    def also(self, part: Predicted) -> dict[str, float]:
        """Count the scores in their bins."""
        chance = 1.0 / (1.0 + np.exp(-np.clip(part.score, -700.0, 700.0)))
        place = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
        np.add.at(self.count, place + BINS * part.positive, part.weight)
        return {
            "told": part.average(part.told),
            "right": part.average(part.told & part.positive),
        }

    def binned(self) -> Predicted:
        """Return the bins as predictions: a score for each, weighing what was counted in it."""
        used = np.flatnonzero(self.count)
        middle = (used % BINS + 0.5) / BINS
        label = np.where(used < BINS, -1.0, 1.0)
        score = np.log(middle) - np.log1p(-middle)
        return Predicted(self.loss, score, label, self.count[used], self.threshold)

    def figures(self) -> dict[str, Any]:
        """Return the figures, in the order of `evaluate`."""
        means, bins = self.sums.means(), self.binned()
        right, told, positive = means.pop("right"), means.pop("told"), means["positive_share"]
        found = means | {
            "precision": right / told if told else float("nan"),
            "recall": right / positive if positive else float("nan"),
            "f1": 2 * right / (told + positive) if told + positive else float("nan"),
            "majority_accuracy": max(positive, 1.0 - positive),
        }
        found |= {n: METRICS[n].of(bins) for n in ORDERED if METRICS[n].applies(self.loss)}
        others = {name: value for name, value in found.items() if name not in METRICS}
        ordered = {name: found[name] for name in METRICS if name in found} | others
        return self.best_constant() | {"threshold": self.threshold} | ordered

    def kept(self) -> dict[str, Any]:
        """Return what curves are drawn from."""
        return {"bins": self.binned()}


class _Numbers(_Scores):
    """Moments of labels and errors, and a random sample of predictions."""

    def __init__(self, model: Model, threshold: float) -> None:
        super().__init__(model, threshold)
        self.chance = np.random.default_rng(0)
        self.rows = np.empty((0, 3))  # score, label, weight
        self.seen = 0
        self.shift: float | None = None  # a label, about which the variance loses no digits

    def also(self, part: Predicted) -> dict[str, float]:
        """Keep each example with the same chance, and add up squares."""
        label = part.label.astype(np.float64)
        self._sample(np.column_stack([part.score, label, part.weight]))
        if not METRICS["rmse"].applies(self.loss):
            return {}
        self.shift = float(label[0]) if self.shift is None else self.shift
        away = label - self.shift
        error = part.mean - label
        squares = {"error2": error**2, "away": away, "away2": away**2}
        return {name: part.average(values) for name, values in squares.items()}

    def _sample(self, rows: Numbers) -> None:
        """Fill the sample; then a later example takes a random place, if that is within it."""
        free = SAMPLE - len(self.rows)
        self.rows = np.concatenate([self.rows, rows[:free]])
        number = self.seen + np.arange(len(rows))
        self.seen += len(rows)
        rows, number = rows[free:] if free > 0 else rows, number[free:] if free > 0 else number
        place = self.chance.integers(0, number + 1)
        within = place < SAMPLE
        self.rows[place[within]] = rows[within]

    def figures(self) -> dict[str, Any]:
        """Return the figures, in the order of `evaluate`."""
        means = self.sums.means()
        if "error2" in means:
            error2, away, away2 = (means.pop(name) for name in ("error2", "away", "away2"))
            spread = away2 - away**2
            mae = means.pop("mae")
            r2 = 1.0 - error2 / spread if spread > 0 else float("nan")
            means |= {"rmse": error2**0.5, "mae": mae, "r2": r2}
        return self.best_constant() | means

    def kept(self) -> dict[str, Any]:
        """Return the sample."""
        score, label, weight = self.rows.T
        return {"sample": Predicted(self.loss, score, label, weight)}


class _SeveralClasses:
    """Which classes are taken for which."""

    def __init__(self, model: ClassModels, _threshold: float) -> None:
        self.loss, self.classes = model.loss, model.classes
        self.sums = _Sums()
        self.confusion = np.zeros((len(self.classes), len(self.classes)))

    def add(self, some: Scored) -> None:
        """Add examples that were predicted."""
        counts = some.weight > 0
        score, label = some.score[counts], some.label[counts]
        weight = some.weight[counts].astype(np.float64)
        told, n = score.argmax(axis=1), len(self.classes)
        self.confusion += confused(told, label.astype(np.int64), weight, n)
        self.sums.add(mean_losses(self.loss, score, label, weight), float(weight.sum()))

    def figures(self) -> dict[str, Any]:
        """Return the figures, in the order of `evaluate`."""
        found = self.sums.means() | of_confusion(self.confusion, self.classes)
        return with_best_constant(self.loss, found)

    def kept(self) -> dict[str, Any]:
        """Return the classes and the confusion matrix."""
        return {"several": {"classes": self.classes, "confusion": self.confusion}}


def roc(bins: Predicted) -> tuple[Numbers, Numbers]:
    """Return the shares of negatives and of positives above each score, from none to all."""
    positive, everyone = bins.groups.above()
    negative = everyone - positive
    x, y = np.append(negative, 0.0)[::-1], np.append(positive, 0.0)[::-1]
    return x / (negative[0] or 1.0), y / (positive[0] or 1.0)


def precision_recall(bins: Predicted) -> tuple[Numbers, Numbers]:
    """Return recall and precision above each score, from the highest score to the lowest."""
    positive, everyone = bins.groups.above()
    return (positive / (positive[0] or 1.0))[::-1], (positive / everyone)[::-1]


def calibration(bins: Predicted, n: int = 15) -> tuple[Numbers, Numbers, Numbers]:
    """Return mean probability, share of positives and weight of n bins of about equal weight."""
    groups = bins.groups
    weight = groups.positive + groups.negative
    middle = (np.cumsum(weight) - weight / 2) / weight.sum()
    place = np.minimum((n * middle).astype(np.int64), n - 1)
    total = np.bincount(place, weight, n)
    expected = np.bincount(place, weight * np.asarray(link(bins.loss, groups.score)), n)
    positive = np.bincount(place, groups.positive, n)
    used = total > 0
    weights = total[used].astype(np.float64)
    return expected[used] / weights, positive[used] / weights, weights


def histogram(bins: Predicted, n: int = 40) -> tuple[Numbers, Numbers, Numbers]:
    """Return the edges of n bins of 1 / (1 + exp(-score)), and the negatives and positives in each.

    That is the probability, if the loss has one.
    """
    groups = bins.groups
    chance = 1.0 / (1.0 + np.exp(-groups.score))
    if has_probabilities(bins.loss):
        chance = np.asarray(link(bins.loss, groups.score))
    place = np.minimum((chance * n).astype(np.int64), n - 1)
    negative, positive = np.zeros(n), np.zeros(n)
    np.add.at(negative, place, groups.negative)
    np.add.at(positive, place, groups.positive)
    return np.linspace(0.0, 1.0, n + 1), negative, positive
