"""AUC against weights shipped, and against features live, drawn from frontier.json."""

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from experiments.figures import BLACK, BLUE, GREEN, GREY, LOOK, ORANGE, PURPLE, SKY, VERMILION
from experiments.frontier.measures import BUDGETED, Results, frontier, models, standard_error, ways
from experiments.frontier.ways import NAMES

STYLES: dict[str, tuple[str, str, Any]] = {
    "plain-rest": (SKY, "h", "-"),
    "tg-rest": (BLUE, "o", "-"),
    "ftrl": (BLACK, "s", "-"),
    "rda": (GREEN, "D", "-"),
    "auto": (PURPLE, "*", "none"),
    "vw-ftrl": (ORANGE, "X", "--"),
    "vw-l1": (ORANGE, "x", ":"),
    "vw-l1-sgd": (ORANGE, "+", "-."),
    "sgd": (GREY, "d", "--"),
    "plain": (SKY, "H", ":"),
    "tg": (BLUE, ".", ":"),
    "plain-budget": (SKY, "p", "-"),
    "tg-budget": (BLUE, "P", "-"),
    "ftrl-budget": (VERMILION, "^", "-"),
    "rda-budget": (GREEN, "v", "-"),
}
WHOLE = ("ftrl", "rda", "vw-ftrl", "sgd")  # they hold whatever they have seen
AXES = {"weights": "weights in the model", "live": "features held in memory, at the most"}
SHOWN = {
    "weights": (
        "plain-rest",
        "tg-rest",
        "ftrl",
        "rda",
        "vw-ftrl",
        "vw-l1",
        "vw-l1-sgd",
        "sgd",
        "auto",
    ),
    "live": ("plain", "tg", *BUDGETED, *WHOLE, "auto"),
}
NEAREST, DEEPEST = 0.0002, 0.1  # behind the best AUC: nearer is drawn at the top
COLUMNS = 3
MOST_TICKS = 6


def draw(results: Results, folder: Path) -> list[Path]:
    """Write both figures. Returns the files."""
    files = []
    with mpl.rc_context(LOOK):
        for what in AXES:
            files.append(folder / f"frontier-{what}.svg")
            _picture(results, what).savefig(files[-1], metadata={"Date": None})
    return files


def _picture(results: Results, what: str) -> Figure:
    """A panel for each problem; of memory, for each where that may be short."""
    names = [
        problem["name"]
        for problem in results["problems"]
        if what == "weights" or problem["peak"] is not None
    ]
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    free = rows * columns - len(names)
    figure = Figure(figsize=(10, 3.4 * rows + (0.4 if free else 1.6)))
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes, name in zip(panels.flat, names, strict=False):
        _panel(axes, results, name, what)
    figure.supxlabel(AXES[what], fontsize=9)
    figure.supylabel("AUC behind the best of all models", fontsize=9)
    found: dict[str, Artist] = {}
    for axes in panels.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(str(label), handle)
    handles, labels = list(found.values()), [label.replace("`", "") for label in found]
    for axes in panels.flat[len(names) :]:
        axes.set_axis_off()
    if free:
        panels.flat[len(names)].legend(handles, labels, loc="center", frameon=False)
    else:
        figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _panel(axes: Axes, results: Results, name: str, what: str) -> None:
    """Lines of all methods: how far behind, on a log axis, best at the top."""
    known = {way: models(results, name, way) for way in ways(results, name)}
    best = max(model.auc for each in known.values() for model in each)
    lines = {way: frontier(known[way], what) for way in SHOWN[what] if known.get(way)}
    for way, line in lines.items():
        colour, marker, dashes = STYLES[way]
        size = 12 if way == "auto" else 4
        below = [n for n, auc in line if best - auc > DEEPEST]
        shown = [(n, max(best - auc, NEAREST)) for n, auc in line if best - auc <= DEEPEST]
        if below:  # an arrow at the bottom, to which the line goes on
            axes.plot(below[-1], DEEPEST, marker=7, color=colour, markersize=7, clip_on=False)
            shown.insert(0, (below[-1], DEEPEST))
        axes.plot(
            *zip(*shown, strict=True), color=colour, linestyle=dashes, linewidth=1.2,
            marker=marker, markersize=size, markevery=slice(bool(below), None), label=NAMES[way],
            zorder=3 if way == "auto" else 2, clip_on=False,
        )  # fmt: skip
    axes.axhspan(NEAREST, standard_error(results, name), color="0.92", zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(DEEPEST, NEAREST)
    ends = [n for line in lines.values() for n, _ in (line[0], line[-1])]
    axes.set_xlim(min(ends) / 1.15, max(ends) * 1.15)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(min(ends), max(ends))))
    axes.xaxis.set_major_formatter(FuncFormatter(_short))
    axes.yaxis.set_major_locator(FixedLocator(_ticks(NEAREST, DEEPEST, 9)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.3)
    axes.set_title(f"{name} (best {best:.4f})")


def _ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """Round numbers in between, no more than that: 1, 2, 5, then 1, 3, then powers of ten."""
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        found = [digit * 10.0**ten for ten in tens for digit in digits]
        found = [tick for tick in found if low <= tick * 1.001 and tick <= high * 1.001]
        if len(found) <= most:
            break
    return found


def _short(n: float, _: object) -> str:
    """Such as 300, 10k, 3M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if n >= size:
            return f"{n / size:g}{letter}"
    return f"{n:g}"
