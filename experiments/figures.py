"""The paper's figures, drawn from results.json.

Colours are Okabe and Ito's, which the colour-blind tell apart too; markers and dashes differ with
them. A picture is the same to the byte whenever it is drawn from the same results.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from experiments import words
from experiments.measures import (
    Line,
    Results,
    curves,
    empty,
    envelope,
    left,
    lines,
    models,
    ratio,
    raw,
    sets_with_curves,
    sparsified,
)
from experiments.paper_says import (
    AD_ROUNDED,
    RATIO,
    REMOVED_AD,
    REMOVED_AD_RANDOM,
    REMOVED_AT_LEAST,
    REMOVED_RCV1,
    SPAMBASE,
    UCI,
)
from experiments.variants import ALONE, COOLDOWN, HARD, SECTION5, SOFT, Variant

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"
)  # fmt: skip
GREY = "#777777"
STYLES = (
    (BLUE, "o", "-"),
    (VERMILION, "s", "--"),
    (GREEN, "^", "-."),
    (PURPLE, "D", ":"),
    (ORANGE, "v", (0, (5, 1))),
    (SKY, "P", (0, (3, 1, 1, 1))),
    (BLACK, "X", (0, (1, 1))),
)
ROOM = 105  # letters in a row of a legend
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
SHOWN = (  # in figures 1 and 2: colour, marker, whether it is filled
    (ALONE, BLUE, "o", True),
    (SECTION5, VERMILION, "s", True),
    (COOLDOWN, GREEN, "^", True),
    (SOFT, GREY, "D", False),
    (HARD, GREY, "v", False),
)
BESIDE = 0.16  # from one marker to the next
CURVES = ("figure-3", "figure-4", "figure-5", "figure-6", "figure-7-beyond")
LOWEST_RATIO = 0.9
PAPER_DOTS = {  # an AUC, and the features that reach it with each K
    ("figure-3", "spambase"): SPAMBASE,
    ("figure-4", "ad"): AD_ROUNDED,
}
PAPER_LEFT = {  # in %, with so many random features
    ("ad", 1000): 100 * (1 - REMOVED_AD_RANDOM),
    ("ad", 0): 100 * (1 - REMOVED_AD),
    ("rcv1", 0): 100 * (1 - REMOVED_RCV1),
}
RANDOMS = {1000: "with 1000 random features", 0: "as the data are"}


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
    sparse = ["figure-1", "figure-live", "figure-2"] if results["sparsified"] else []
    return sparse + [name for name in CURVES if len(lines(results, name)) > 1]


def _picture(results: Results, name: str) -> Figure:
    sparse = {"figure-1": _features_left, "figure-2": _auc_ratios, "figure-live": _live}
    return sparse[name](results) if name in sparse else _panels(results, name)


# Figures 1 and 2


def _there(results: Results, random: int) -> list[str]:
    return [name for name in (*UCI, "rcv1") if sparsified(results, name, random)]


def _by_set(results: Results) -> tuple[Figure, dict[int, Axes]]:
    """A panel with a place for each set, with random features and without."""
    figure = Figure(figsize=(10, 6.4))
    panels = figure.subplots(2, 1)
    found = {}
    for axes, random in zip(panels, RANDOMS, strict=True):
        there = _there(results, random)
        axes.set_xticks(range(len(there)), there)
        axes.set_xlim(-0.6, len(there) - 0.4)
        axes.tick_params(axis="x", length=0)
        axes.grid(axis="y", alpha=0.3)
        axes.set_title(RANDOMS[random], loc="left")
        for place in range(1, len(there)):
            axes.axvline(place - 0.5, color=BLACK, alpha=0.12, linewidth=0.8)
        found[random] = axes
    return figure, found


def _marks(
    axes: Axes, results: Results, random: int, measure: Any, limits: tuple[float, float]
) -> None:
    """A marker for each variant on each set, with whiskers over the seeds; arrows at the limits."""
    low, high = limits
    for at, (variant, colour, marker, filled) in enumerate(SHOWN):
        for place, name in enumerate(_there(results, random)):
            runs = sparsified(results, name, random, variant.family)
            value = measure(runs, variant.model)
            if value is None:
                continue
            x = place + BESIDE * (at - (len(SHOWN) - 1) / 2)
            face = colour if filled else "white"
            middle = min(max(value.median, low), high)
            axes.vlines(
                x, max(value.least, low), min(value.most, high), color=colour, linewidth=1.2
            )
            axes.plot(
                x, middle, marker, color=colour, markerfacecolor=face, markersize=6,
                label=variant.title if place == 0 else None, clip_on=False,
            )  # fmt: skip
            for beyond, end, tail in ((value.least < low, low, 12), (value.most > high, high, -12)):
                if beyond:
                    axes.annotate(
                        "", (x, end), (0, tail), textcoords="offset points",
                        arrowprops={"arrowstyle": "->", "color": colour},
                    )  # fmt: skip
            if empty(runs, variant.model):
                axes.annotate(
                    "empty", (x, middle), (0, 6), textcoords="offset points", fontsize=7,
                    ha="center", color=colour,
                )  # fmt: skip


def _features_left(results: Results) -> Figure:
    figure, panels = _by_set(results)
    for random, axes in panels.items():

        def percent(runs: Any, model: str) -> Any:
            value = left(runs, model)
            return value and type(value)(*(100 * each for each in value))

        axes.set_yscale("log")
        axes.set_ylim(0.05, 130)
        _marks(axes, results, random, percent, (0.05, 130))
        for place, name in enumerate(_there(results, random)):
            limit = 100 * (1 - REMOVED_AT_LEAST) if random else None
            paper = PAPER_LEFT.get((name, random), limit)
            if paper is not None:
                label = "the paper (the ten sets but ad: less than that)"
                axes.hlines(
                    paper, place - 0.45, place + 0.45, color=BLACK, linestyle="--", linewidth=1.3,
                    label=label if (place, random) == (0, 1000) else "_nolegend_",
                )  # fmt: skip
        axes.yaxis.set_major_locator(FixedLocator([0.1, 0.3, 1, 3, 10, 30, 100]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axes.set_ylabel("features left, %")
    _legend(figure, panels)
    return figure


def _auc_ratios(results: Results) -> Figure:
    figure, panels = _by_set(results)
    for random, axes in panels.items():
        _marks(axes, results, random, ratio, (LOWEST_RATIO, 1.1))
        axes.axhline(1, color=BLACK, linewidth=1)
        label = f"{RATIO}: the paper's are often above"
        axes.axhline(RATIO, color=BLACK, linestyle="--", linewidth=1.2, label=label)
        axes.set_ylim(LOWEST_RATIO, None)
        axes.set_ylabel("AUC, sparse / dense")
    _legend(figure, panels)
    return figure


def _legend(figure: Figure, panels: dict[int, Axes]) -> None:
    """Below the axes, each label once."""
    found: dict[Any, Any] = {}
    for axes in panels.values():
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=3, frameon=False)


# Features that live while it learns


def _live(results: Results) -> Figure:
    """A panel for each set: how many live over a run, and at its end."""
    there = _there(results, 1000)
    figure, panels = _grid_of(len(there))
    for axes, name in zip(panels, there, strict=False):
        for variant, colour, marker, _ in (*SHOWN[:3], SHOWN[3]):
            _alive(axes, models(sparsified(results, name, 1000, variant.family), variant.model),
                   variant, colour, marker)  # fmt: skip
        axes.set_title(name)
        axes.set_yscale("log")
        axes.set_ylim(0.08, 130)
        axes.yaxis.set_major_locator(FixedLocator([0.1, 1, 10, 100]))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        axes.set_xlim(0, 1.12)
        axes.xaxis.set_major_locator(FixedLocator([0, 0.5, 1]))
        axes.grid(alpha=0.3)
    figure.supxlabel("share of the run; the marker is the finished model", fontsize=9)
    figure.supylabel("live features, % of all", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _alive(
    axes: Axes, those: list[dict[str, Any]], variant: Variant, colour: str, marker: str
) -> None:
    """The median over the seeds, at as many moments as all have."""
    if not those:
        return
    n = min(len(one["live"]) for one in those)
    shares = np.array(
        [
            np.interp(np.linspace(0, 1, n), np.linspace(0, 1, len(one["live"])), one["live"])
            / one["features"]
            for one in those
        ]
    )
    at_end = np.median([(one["kept"] + 1) / one["features"] for one in those])
    dashes = "--" if variant in {SOFT, HARD} else "-"
    place = np.linspace(1 / n, 1, n)
    axes.plot(
        place, 100 * np.median(shares, axis=0), color=colour, linestyle=dashes, linewidth=1.4,
        marker=marker, markevery=[n - 1], markersize=0, label=variant.title,
    )  # fmt: skip
    axes.plot(1.06, 100 * at_end, marker, color=colour, markersize=5)


# Figures 3 to 7


def _grid_of(n: int) -> tuple[Figure, list[Axes]]:
    columns = min(4, n)
    rows = -(-n // columns)
    figure = Figure(figsize=(10, 0.9 + 2.4 * rows))
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in panels[n:]:
        axes.set_axis_off()
    return figure, panels


def _panels(results: Results, name: str) -> Figure:
    there = sets_with_curves(results)
    figure, panels = _grid_of(len(there))
    drawn = lines(results, name)
    for axes, each in zip(panels, there, strict=False):
        _panel(axes, name, each, {line: curves(results, each, line) for line in drawn})
        axes.set_title(each)
    figure.supxlabel("features kept", fontsize=9)
    figure.supylabel("1 - AUC on the test set: lower is better", fontsize=9)
    labels = [label(name, line) for line in drawn]
    handles = [handle for handle in panels[0].lines if handle.get_gid() == "line"]
    dots = [handle for axes in panels for handle in axes.lines if handle.get_gid() == "paper"]
    rows = 1 if sum(map(len, labels)) <= ROOM else 2
    columns = -(-(len(labels) + bool(dots)) // rows)
    more = ["the paper"] if dots else []
    figure.legend(
        [*handles, *dots[:1]], [*labels, *more], loc="outside upper center", ncols=columns,
        frameon=False,
    )  # fmt: skip
    return figure


def label(figure: str, line: Line) -> str:
    """What a line is called in a figure: what it has of its own there."""
    if figure in {"figure-3", "figure-4"}:
        late = ", section 5's order" if line.method.endswith("5") else ""
        return f"K = {line.truncate_every}{late}"
    if figure == "figure-5" and line.method == "truncation":
        return words.theta(line)
    return words.NAMES[line.method]


def _panel(axes: Axes, figure: str, name: str, by_line: dict[Line, dict[int, Any]]) -> None:
    everything = [points for by_seed in by_line.values() for points in by_seed.values()]
    most = max((point["kept"] for points in everything for point in points), default=1)
    places = np.unique(np.geomspace(1, max(most, 2), 40).round().astype(int))
    drawn = []
    for k, (by_seed, style) in enumerate(zip(by_line.values(), STYLES, strict=False)):
        if figure == "figure-6":
            found = raw(by_seed.values())
            x, y = (np.array(each) for each in zip(*found, strict=True)) if found else ([], [])
            band = None
        else:
            x, y, band = _enveloped(places, list(by_seed.values()))
        drawn.append((x, 1 - np.asarray(y), style, k, band if k == 0 else None))
    low, high = _limits(loss for _, loss, *_ in drawn)
    for x, loss, style, k, band in drawn:
        _curve(axes, np.asarray(x), loss, style, k, band, (low, high))
    for auc, numbers in [PAPER_DOTS[figure, name]] if (figure, name) in PAPER_DOTS else []:
        for k, n in enumerate(numbers.values()):
            axes.plot(
                n, 1 - auc, "*", color=STYLES[k][0], markeredgecolor=BLACK, markersize=11,
                gid="paper", zorder=5,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.9, 1.15 * max(most, 2))
    axes.set_ylim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([1, 10, 100, 1000]))
    axes.yaxis.set_major_locator(FixedLocator(_ticks(low, high)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axis.set_minor_locator(NullLocator())
    axes.grid(alpha=0.3)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two, three to six of them if there are."""
    for steps in ((1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tuple(range(10, 100, 5))):
        found = [step * 10.0**k for k in range(-5, 1) for step in steps]
        inside = sorted({float(f"{tick:.2g}") for tick in found if low <= tick <= high})
        if len(inside) >= 3:
            return inside[:: -(-len(inside) // 6)]
    return inside


def _limits(losses: Iterable[Any]) -> tuple[float, float]:
    """All there is, but for the highest tenth of 1 - AUC, and for less than a thousandth."""
    known = np.concatenate([np.asarray(each, float) for each in losses] or [np.array([0.5])])
    low = max(float(known.min(initial=0.5)), 0.0005) * 0.85
    return low, min(max(float(np.quantile(known, 0.9)) * 1.3, 3 * low), 0.7)


def _enveloped(places: np.ndarray, by_seed: Sequence[Any]) -> tuple[Any, Any, Any]:
    """The median of the envelopes where every seed reaches, and their range."""
    tops = np.array([envelope(points, places.tolist()) for points in by_seed])
    tops = tops.reshape(len(by_seed), len(places))
    reached = np.isfinite(tops).all(axis=0) if by_seed else np.zeros(len(places), bool)
    x, tops = places[reached], tops[:, reached]
    if not len(x):
        return x, np.array([]), None
    return x, np.median(tops, axis=0), np.stack([tops.min(axis=0), tops.max(axis=0)])


def _curve(
    axes: Axes,
    x: np.ndarray,
    loss: np.ndarray,
    style: tuple[Any, ...],
    shift: int,
    band: Any,
    limits: tuple[float, float],
) -> None:
    """Draw a line, the range of one of them, and an arrow where it is out of sight."""
    colour, marker, dashes = style
    low, high = limits
    every = max(len(x) // 4, 1)
    axes.plot(
        x, np.clip(loss, low, None), color=colour, linestyle=dashes, linewidth=1.5, marker=marker,
        markersize=4, markevery=(shift % every, every), gid="line",
    )  # fmt: skip
    if band is not None:
        axes.fill_between(
            x, np.clip(1 - band[1], low, None), 1 - band[0], color=colour, alpha=0.18, linewidth=0
        )
    beyond = np.flatnonzero(loss > high)
    if len(beyond):
        axes.plot(
            x[beyond[-1]], high, marker=6, color=colour, markersize=7, clip_on=False, zorder=6
        )
