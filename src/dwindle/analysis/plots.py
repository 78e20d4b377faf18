"""Plots of weights and of models against their size; they need ``pip install "dwindle[plot]"``.

The colours are Okabe and Ito's, which colour-blind readers can tell apart.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogFormatter

from dwindle._base.errors import DataError
from dwindle._base.text import counted
from dwindle.algorithm.shrinkage import Truncation
from dwindle.engine.lane_scores import Lane
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.model.model import Model
from dwindle.runs.metrics import METRICS, evaluate
from dwindle.runs.tune.scores import Found, Score

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
LONGEST = 32  # characters of a name
GRAVITIES = tuple(10.0 ** (k / 2) for k in range(-12, -3))


class Point(NamedTuple):
    """Features kept and score at one gravity."""

    gravity: float
    kept: int
    score: float


def path(
    train: Batch, test: Batch, gravities: Iterable[float] = GRAVITIES, **settings: Any
) -> list[Point]:
    """Train a learner for each gravity; return the features kept and the score on ``test``.

    The score is the AUC for classification, else the mean loss. ``settings`` are passed to
    `Learner`.
    """
    points = []
    for gravity in gravities:
        learner = Learner(shrinkage=Truncation(gravity), **settings)
        learner.learn(train)
        label, weight = learner.checked_labels(test)
        found = evaluate(learner.loss, learner.predict(test), label, weight.astype(np.float64))
        points.append(Point(gravity, len(learner), found.get("auc", found["loss"])))
    return points


def plot_path(
    points: Sequence[tuple[float, int, float]], score: str = "AUC", axes: Any = None
) -> tuple[Axes, Axes]:
    """Draw the score, and below it the features kept, against gravity.

    ``points`` are those of `path`, or any (gravity, kept, score); ``score`` is the label of the
    upper axis. ``axes`` are the two axes to draw on; they are returned.
    """
    if not points:
        raise DataError("there is nothing to draw: the path has no points")
    gravity, kept, scores = zip(*sorted(points), strict=True)
    if axes is None:
        _, axes = plt.subplots(2, 1, sharex=True, figsize=(6.4, 5.2), layout="constrained")
    above, below = axes
    above.plot(gravity, scores, color=BLUE, marker="o")
    above.set_ylabel(score)
    below.plot(gravity, kept, color=ORANGE, marker="s")
    below.set_ylabel("features kept")
    below.set_xlabel("gravity")
    below.set_yscale(**_scale(kept))
    below.yaxis.set_major_formatter(LogFormatter())  # 200 and not 2 x 10^2
    below.yaxis.set_minor_formatter(LogFormatter())
    for each in axes:
        each.set_xscale(**_scale(gravity))
        if min(gravity) == 0:  # a symmetric scale would extend as far to the left as to the right
            each.set_xlim(-0.2 * min((g for g in gravity if g > 0), default=1.0), 1.5 * gravity[-1])
        each.grid(alpha=0.3)
    return above, below


def plot_weights(model: Learner | Model, top: int = 20, axes: Any = None) -> Axes:
    """Draw the ``top`` heaviest weights as bars, heaviest first; return the axes."""
    weights = sorted(model.weights().items(), key=lambda item: -abs(item[1]))
    if not weights:
        raise DataError("there is nothing to draw: the model has kept no feature")
    names, shown = zip(*weights[:top], strict=True)
    if axes is None:
        height = 1.2 + 0.24 * len(names)
        _, axes = plt.subplots(figsize=(6.4, height), layout="constrained")
    drawn: Axes = axes
    place = np.arange(len(names))
    drawn.barh(place, shown, color=[BLUE if w > 0 else ORANGE for w in shown])
    drawn.set_yticks(place, [_short(name) for name in names])
    for label in drawn.get_yticklabels():
        label.set_parse_math(False)  # a name with two dollar signs is not a formula
    drawn.invert_yaxis()
    drawn.axvline(0, color="black", linewidth=0.8)
    drawn.grid(axis="x", alpha=0.3)
    drawn.set_axisbelow(True)
    drawn.set_xlabel("weight")
    others = len(weights) - len(names)
    drawn.set_ylabel(f"feature ({others:,} more)" if others else "feature")
    return drawn


def plot_frontier(found: Found, axes: Any = None) -> tuple[Axes, ...]:
    """Draw the metric of each setting of a search against the features it keeps.

    The line is the frontier, the settings that no other beats in both. The dashed line is the
    bound: settings beyond it are worse than the best without gravity by more than the tolerance.
    Classification has a second plot, of the AUC (of the accuracy if the metric is the AUC).
    ``axes`` are the axes to draw on; they are returned.
    """
    other = "accuracy" if found.metric == "auc" else "auc"
    has_other = not np.isnan(found.dense.metric(other))
    names = [found.metric, *([other] if has_other else [])]
    figure = None
    if axes is None:
        size = (6.4, 1.4 + 2.4 * len(names))
        figure, axes = plt.subplots(len(names), 1, sharex=True, figsize=size, layout="constrained")
    drawn: tuple[Axes, ...] = tuple(np.atleast_1d(axes))
    measured = [score for score in found.scores if not np.isnan(score.kept)]
    frontier = found.frontier()
    for each, name in zip(drawn, names, strict=True):
        _draw_frontier(each, name, found, measured, frontier)
    # Fewer than one feature is a mean over folds: there the scale is linear, down to 0.
    least, most = (limit(score.kept for score in measured) for limit in (min, max))
    scale: dict[str, Any] = {"linthresh": 1.0} if least < 1 else {}
    for each in drawn:
        each.set_xscale("symlog" if scale else "log", **scale)
        each.set_xlim(-0.2 if scale else least / 1.5, max(1.5 * most, 1.2))
        each.xaxis.set_major_formatter("{x:,.0f}")
    if found.bound is not None:
        drawn[0].axhline(found.bound, color="black", linewidth=0.8, linestyle="--", label="bound")
    drawn[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    drawn[-1].set_xlabel("features kept")
    if figure is not None:  # lay out twice: the first time, the ticks are not yet known
        figure.draw_without_rendering()
    return drawn


def plot_lanes(lanes: Sequence[Lane], score: str = "AUC", axes: Any = None) -> tuple[Axes, ...]:
    """Draw what decided between gravities learned at once against the features that each keeps.

    ``lanes`` are those of `LaneLearner.frontier`, or of a summary; the chosen one is marked.
    ``score`` is the label of that axis. ``axes`` are the axes to draw on; they are returned.
    """
    if not lanes:
        raise DataError("there is nothing to draw: there are no gravities to compare")
    if axes is None:
        _, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    drawn: Axes = axes
    lanes = sorted(lanes, key=lambda lane: -lane.kept)
    kept = [lane.kept for lane in lanes]
    chosen = next(lane for lane in lanes if lane.chosen)
    judged = [lane.judged for lane in lanes]
    drawn.plot(kept, judged, color=BLUE, marker="o", markersize=4, label="gravity; evidence")
    told = f"chosen: {counted(chosen.kept, 'feature')}, {chosen.judged:.4g}"
    drawn.plot(chosen.kept, chosen.judged, "*", color=ORANGE, markersize=14, label=told)
    for lane in lanes:
        name = f"{lane.gravity:.2g}" + (f"; {lane.evidence:.2g}" if lane.evidence else "")
        place = (lane.kept, lane.judged), (0, 8)
        drawn.annotate(name, *place, textcoords="offset points", ha="center", size=8)
    drawn.set_xscale(**_scale(kept))
    drawn.xaxis.set_major_formatter("{x:,.0f}")
    drawn.set_xlabel("features kept")
    drawn.set_ylabel(score)
    drawn.margins(y=0.12)
    drawn.grid(alpha=0.3)
    drawn.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return (drawn,)


def _draw_frontier(
    axes: Axes, name: str, found: Found, measured: Sequence[Score], frontier: Sequence[Score]
) -> None:
    def place(scores: Sequence[Score]) -> tuple[list[float], list[float]]:
        return [score.kept for score in scores], [score.metric(name) for score in scores]

    axes.plot(*place(measured), ".", color="grey", alpha=0.3, label="a setting")
    axes.plot(*place(frontier), color=BLUE, marker="o", markersize=3, label="frontier")
    axes.plot(*place([found.dense]), "s", color=GREEN, markersize=8, label="best without gravity")
    axes.plot(*place([found.chosen]), "*", color=ORANGE, markersize=14, label="chosen")
    kept, value = found.chosen.kept, found.chosen.metric(name)
    narrow = 30 * kept > max(score.kept for score in measured)  # no room to its right
    axes.annotate(
        f"{counted(kept, 'feature')}, {value:.4g}",
        (kept, value),
        (0 if narrow else 10, (-28 if narrow else -14) * METRICS[name].better),
        textcoords="offset points",
        ha="center" if narrow else "left",
        va="top" if METRICS[name].better > 0 else "bottom",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1},
    )
    axes.set_ylabel(METRICS[name].title)
    axes.grid(alpha=0.3)


def _scale(numbers: Sequence[float]) -> dict[str, Any]:
    """Return a logarithmic scale, with a place for 0 if it occurs."""
    if min(numbers) > 0:
        return {"value": "log"}
    return {"value": "symlog", "linthresh": min((n for n in numbers if n > 0), default=1.0)}


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
