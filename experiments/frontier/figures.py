"""AUC against weights shipped, and against features live, drawn from frontier.json."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from experiments.figures import BLACK, BLUE, GREEN, LOOK, ORANGE, PURPLE, SKY, VERMILION
from experiments.frontier.measures import Results, frontier, models
from experiments.frontier.ways import NAMES

STYLES: dict[str, tuple[str, str, Any]] = {
    "tg-rest": (BLUE, "o", "-"),
    "tg-budget": (SKY, "P", "-"),
    "plain-rest": (BLUE, ".", ":"),
    "ftrl": (BLACK, "s", "--"),
    "ftrl-budget": (VERMILION, "^", "-"),
    "rda": (GREEN, "D", "--"),
    "rda-budget": (GREEN, "v", "-"),
    "vw-ftrl": (ORANGE, "X", "--"),
    "vw-l1": (ORANGE, "x", ":"),
    "sgd": (PURPLE, "*", ":"),
}
AXES = {"weights": "weights shipped", "live": "features live at the peak"}
DEPTH = 0.02  # of AUC below the best that is shown
COLUMNS = 3


def draw(results: Results, folder: Path) -> list[Path]:
    """Write both figures. Returns the files."""
    files = []
    with mpl.rc_context(LOOK):
        for what in AXES:
            files.append(folder / f"frontier-{what}.svg")
            _picture(results, what).savefig(files[-1], metadata={"Date": None})
    return files


def _picture(results: Results, what: str) -> Figure:
    """A panel for each problem."""
    names = [problem["name"] for problem in results["problems"]]
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(10, 1.1 + 3 * rows))
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes, name in zip(panels.flat, names, strict=False):
        _panel(axes, results, name, what)
    for axes in panels.flat[len(names) :]:
        axes.set_axis_off()
    figure.supxlabel(AXES[what], fontsize=9)
    figure.supylabel("AUC on the test part", fontsize=9)
    found: dict[str, Artist] = {}
    for axes in panels.flat:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(str(label), handle)
    figure.legend(
        list(found.values()), list(found), loc="outside upper center", ncols=4, frameon=False
    )
    return figure


def _panel(axes: Axes, results: Results, name: str, what: str) -> None:
    lines = {way: frontier(models(results, name, way), what) for way in STYLES}
    best = max(auc for line in lines.values() for _, auc in line)
    for way, (colour, marker, dashes) in STYLES.items():
        line = [(n, auc) for n, auc in lines[way] if auc > best - DEPTH]
        if line:
            axes.plot(
                *zip(*line, strict=True), color=colour, linestyle=dashes, linewidth=1.3,
                marker=marker, markersize=4.5, label=NAMES[way],
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(best - DEPTH, best + 0.05 * DEPTH)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.grid(alpha=0.3)
    axes.set_title(name)
