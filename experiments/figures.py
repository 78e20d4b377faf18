"""The paper's figures, drawn from results.json.

Colours are Okabe and Ito's, which the colour-blind tell apart too; markers and dashes differ with
them. A picture is the same to the byte whenever it is drawn from the same results.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from experiments import words
from experiments.findings import rcv1_runs
from experiments.measures import (
    Line,
    Results,
    Spread,
    curves,
    envelope,
    left,
    lines,
    ratio,
    sets_with_curves,
    sparsified,
)
from experiments.paper_says import RATIO, UCI

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
)  # fmt: skip
STYLES = (
    (BLUE, "o", "-"),
    (VERMILION, "s", "--"),
    (GREEN, "^", "-."),
    (PURPLE, "D", ":"),
    (ORANGE, "v", (0, (5, 1))),
    (SKY, "P", (0, (3, 1, 1, 1))),
    (BLACK, "X", (0, (1, 1))),
)
ROOM = 100  # letters in a row of a legend
LOOK: dict[Any, Any] = {
    "svg.hashsalt": "dwindle",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.constrained_layout.use": True,
}
BARS = ((0, -0.2, "as it is", BLUE, "o"), (1000, 0.2, "with 1000 random features", ORANGE, "s"))
MORE = 0.013  # of accuracy on ad
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # under a number
CURVES = ("figure-3", "figure-4", "figure-5", "figure-6", "figure-7-beyond")


def draw(results: Results, folder: Path) -> list[Path]:
    """Write each figure that there are data for, as PNG and as SVG. Returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with mpl.rc_context(LOOK):
        for name in names(results):
            figure = _picture(results, name)
            for suffix, metadata in ((".png", {}), (".svg", {"Date": None})):
                files.append(folder / f"{name}{suffix}")
                figure.savefig(files[-1], dpi=150, metadata=metadata)
    return files


def names(results: Results) -> list[str]:
    """The figures that there are data for; one line alone compares nothing."""
    bars = ["figure-1", "figure-2"] if results["sparsified"] or results["rcv1"] else []
    return bars + [name for name in CURVES if len(lines(results, name)) > 1]


def _picture(results: Results, name: str) -> Figure:
    if name == "figure-1":
        return _features_left(results)
    if name == "figure-2":
        return _auc_ratios(results)
    return _panels(results, name)


# Figures 1 and 2


def _runs(results: Results, name: str, random: int) -> list[Any]:
    if name == "rcv1":
        return [] if random else rcv1_runs(results)
    return sparsified(results, name, random)


def _by_set(
    results: Results, measure: Callable[[list[Any]], Spread | None]
) -> tuple[Figure, Axes, dict[tuple[str, int], Spread], list[str]]:
    """A figure with a place for each set that the measure is known of."""
    known = {
        (name, random): value
        for name in (*UCI, "rcv1")
        for random, *_ in BARS
        if (value := measure(_runs(results, name, random)))
    }
    there = list(dict.fromkeys(name for name, _ in known))
    figure = Figure(figsize=(10, 4.2))
    axes = figure.add_subplot()
    axes.set_xticks(range(len(there)), there)
    axes.set_xlim(-0.6, len(there) - 0.4)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y", alpha=0.3)
    return figure, axes, known, there


def _whiskers(value: Spread) -> list[list[float]]:
    """From the least to the most."""
    return [[value.median - value.least], [value.most - value.median]]


def _features_left(results: Results) -> Figure:
    figure, axes, known, there = _by_set(results, left)
    for random, offset, label, colour, _ in BARS:
        for place, name in enumerate(there):
            if (value := known.get((name, random))) is None:
                continue
            value = Spread(*(100 * each for each in value))
            x = place if name == "rcv1" else place + offset
            axes.bar(x, value.median, 0.38, color=colour, label=label)
            axes.errorbar(x, value.median, _whiskers(value), color=BLACK, capsize=2, linewidth=0.9)
            axes.annotate(
                f"{value.median:.1f}", (x, value.most), (0, 3), textcoords="offset points",
                ha="center", fontsize=8, bbox=PAPER, zorder=4,
            )  # fmt: skip
            more = left(sparsified(results, name, random, MORE))
            if more:
                axes.plot(
                    x, 100 * more.median, "D", color="white", markeredgecolor=BLACK, markersize=6,
                    label=f"{name}, if {100 * MORE} % of accuracy may be lost", zorder=5,
                )  # fmt: skip
    axes.axhline(
        10,
        color=BLACK,
        linestyle=":",
        linewidth=1,
        label="10 %: the paper's with random features are below, but for ad",
    )
    axes.set_ylim(0, None)
    axes.set_ylabel("features left, %")
    _legend(figure, axes)
    return figure


def _auc_ratios(results: Results) -> Figure:
    figure, axes, known, there = _by_set(results, ratio)
    for random, offset, label, colour, marker in BARS:
        for place, name in enumerate(there):
            if (value := known.get((name, random))) is None:
                continue
            x = place if name == "rcv1" else place + offset
            axes.errorbar(
                x, value.median, _whiskers(value), color=colour, fmt=marker, markersize=7,
                capsize=4, linewidth=1.5, label=label,
            )  # fmt: skip
    axes.axhline(1, color=BLACK, linewidth=1, label="1: nothing is lost")
    axes.axhline(
        RATIO,
        color=BLACK,
        linestyle=":",
        linewidth=1,
        label=f"{RATIO}: the paper's are often above",
    )
    axes.set_ylabel("AUC with gravity / AUC without")
    _legend(figure, axes)
    return figure


def _legend(figure: Figure, axes: Axes) -> None:
    """Below the axes, each label once."""
    handles, labels = axes.get_legend_handles_labels()
    first = [label for _, _, label, *_ in BARS if label in labels]
    found = dict(zip(labels, handles, strict=True))
    each = {label: found[label] for label in dict.fromkeys([*first, *labels])}
    figure.legend(each.values(), each.keys(), loc="outside lower center", ncols=2, frameon=False)


# Figures 3 to 7


def _panels(results: Results, name: str) -> Figure:
    there = sets_with_curves(results)
    columns = min(4, len(there))
    rows = -(-len(there) // columns)
    figure = Figure(figsize=(10, 0.9 + 2.5 * rows))
    panels = figure.subplots(rows, columns, squeeze=False)
    drawn = lines(results, name)
    for axes, each in zip(panels.flat, there, strict=False):
        _panel(axes, {line: curves(results, each, line) for line in drawn})
        axes.set_title(each)
    for axes in panels.flat[len(there) :]:
        axes.set_axis_off()
    figure.supxlabel("features kept", fontsize=9)
    figure.supylabel("AUC on the test set", fontsize=9)
    handles = panels.flat[0].lines
    labels = [label(name, line) for line in drawn]
    rows = 1 if sum(map(len, labels)) <= ROOM else 2
    columns = -(-len(labels) // rows)
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)
    return figure


def label(figure: str, line: Line) -> str:
    """What a line is called in a figure: what it has of its own there."""
    if figure in {"figure-3", "figure-4"}:
        return f"K = {line.truncate_every}"
    if figure == "figure-5" and line.method == "truncation":
        return words.theta(line)
    return words.NAMES[line.method]


def _panel(axes: Axes, by_line: dict[Line, dict[int, Any]]) -> None:
    everything = [points for by_seed in by_line.values() for points in by_seed.values()]
    most = max((point["kept"] for points in everything for point in points), default=1)
    places = np.unique(np.geomspace(1, max(most, 2), 40).round().astype(int))
    shown = []
    for k, (by_seed, style) in enumerate(zip(by_line.values(), STYLES, strict=False)):
        shown += _curve(axes, places, list(by_seed.values()), style, k)
    _dots(axes, by_line)
    axes.set_xscale("log")
    axes.set_xlim(0.9, 1.15 * max(most, 2))
    axes.xaxis.set_major_locator(FixedLocator([1, 10, 100, 1000]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(MaxNLocator(5))
    if shown:
        highest = max(point["auc"] for points in everything for point in points)
        axes.set_ylim(*_limits(shown, highest))
    axes.grid(alpha=0.3)


def _dots(axes: Axes, by_line: dict[Line, dict[int, Any]]) -> None:
    """Draw each model of each seed: beyond the best one of a line they show that it overfits.

    They are pixels in an SVG too, which has thousands of them.
    """
    axes.set_rasterization_zorder(0)
    for by_seed, (colour, *_) in zip(by_line.values(), STYLES, strict=False):
        points = [point for each in by_seed.values() for point in each]
        axes.scatter(
            [max(point["kept"], 1) for point in points],
            [point["auc"] for point in points],
            s=5, color=colour, alpha=0.35, linewidth=0, zorder=-1,
        )  # fmt: skip


def _limits(shown: Sequence[float], highest: float) -> tuple[float, float]:
    """The axis shows where curves part: of what is shown, the lowest twentieth is cut off."""
    low = float(np.quantile(shown, 0.05))
    room = max(0.05 * (highest - low), 0.002)
    return low - room, highest + room


def _curve(
    axes: Axes, places: np.ndarray, by_seed: Sequence[Any], style: tuple[Any, ...], shift: int
) -> list[float]:
    """Draw the median of the envelopes, and a band from the least to the most."""
    colour, marker, dashes = style
    tops = np.array([envelope(points, places.tolist()) for points in by_seed])
    tops = tops.reshape(len(by_seed), len(places))
    reached = np.isfinite(tops).all(axis=0)  # by every seed
    x, tops = places[reached], tops[:, reached]
    middle = np.median(tops, axis=0) if by_seed else np.array([])
    axes.plot(
        x, middle, color=colour, linestyle=dashes, linewidth=1.5, marker=marker, markersize=4,
        markevery=(2 * shift, 11),
    )  # fmt: skip
    if len(by_seed) > 1:
        axes.fill_between(
            x, tops.min(axis=0), tops.max(axis=0), color=colour, alpha=0.15, linewidth=0
        )
    return [float(each) for each in middle]
