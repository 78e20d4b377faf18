"""Charts as inline SVG, with their numbers in a table below.

They need no script and no library: a page of ten charts weighs some tens of kilobytes, follows the
colours of light and dark by the stylesheet, and prints. The script adds a crosshair.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from dwindle._base.pages.html import Markup, join, tag
from dwindle._base.pages.numbers import compact, figure, log_ticks, ticks
from dwindle._base.pages.tables import table

WIDTH, HEIGHT = 460, 270
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 28, 42  # margins around the plot
ROOM = 0.06  # of the range, above and below the values


class Axis(NamedTuple):
    """What is measured along an axis, and the range that is shown if it is not that of the data."""

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None


class Series(NamedTuple):
    """Values over the x of a chart; nan is left out. A band reaches from ``y`` to ``upper``."""

    name: str
    y: Sequence[float]
    kind: str = "line"  # or dots, bars, band, or hidden: in the table only
    upper: Sequence[float] = ()


class Guide(NamedTuple):
    """A dashed line between two points, to compare with."""

    name: str
    start: tuple[float, float]
    end: tuple[float, float]


@dataclass(frozen=True)
class Chart:
    """Series over common x, drawn by `figure_of`.

    ``about`` says in a sentence what is seen. Bars stand on ``edges``, one more than there are x.
    ``marked`` is the place of a point with a note.
    """

    title: str
    about: str
    x_axis: Axis
    y_axis: Axis
    x: Sequence[float]
    series: Sequence[Series]
    guides: Sequence[Guide] = ()
    edges: Sequence[float] = ()
    marked: tuple[int, str] | None = None
    whole: frozenset[str] = field(default_factory=frozenset)  # series, or x, that are counts


class _Scale:
    """From values to places in the picture."""

    def __init__(
        self, axis: Axis, values: Sequence[float], begin: float, end: float, room: float = 0.0
    ) -> None:
        self.axis, self.begin, self.end = axis, begin, end
        self.log = axis.log and any(value > 0 for value in values)
        usable = [v for v in values if math.isfinite(v) and (v > 0 or not self.log)] or [0.0, 1.0]
        low, high = min(usable), max(usable)
        if low == high and axis.low is None:
            low, high = (low / 2, high * 2) if self.log else (low - 0.5, high + 0.5)
        spare = 0.0 if self.log else room * (high - low)
        self.low = axis.low if axis.low is not None else low - spare
        self.high = axis.high if axis.high is not None else high + spare
        if not self.high > self.low:
            self.high = self.low + 1.0

    def ticks(self) -> list[float]:
        return log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high)

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = (math.log(max(each, 1e-300)) for each in (low, high, value))
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        return round(self.begin + share * (self.end - self.begin), 1)


def figure_of(chart: Chart) -> Markup:
    """Draw a chart, with its heading, its legend and a table of its numbers."""
    drawn = [each for each in chart.series if each.kind != "hidden"]
    across = _Scale(chart.x_axis, [*chart.x, *chart.edges], LEFT, WIDTH - RIGHT)
    values = [v for each in drawn for v in (*each.y, *each.upper)]
    values += [point[1] for guide in chart.guides for point in (guide.start, guide.end)]
    values += [0.0] if any(each.kind == "bars" for each in drawn) else []
    up = _Scale(chart.y_axis, values, HEIGHT - BOTTOM, TOP, ROOM)
    at = " ".join(f"{across(x):g}" for x in chart.x)
    picture = tag(
        "svg",
        _axes(chart, across, up),
        *(_guide(each, across, up) for each in chart.guides),
        *(_drawn(chart, k, each, across, up) for k, each in enumerate(drawn, 1)),
        _mark(chart, drawn, across, up),
        tag("line", class_="cross", x1=0, x2=0, y1=TOP, y2=HEIGHT - BOTTOM),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{chart.title}. {chart.about}",
        tabindex=0,
        data_at=at,
    )
    return tag(
        "figure",
        tag("figcaption", tag("h3", chart.title), tag("p", chart.about)),
        _legend(drawn, chart.guides),
        tag("div", picture, tag("output", class_="tip", aria_hidden="true"), class_="plot"),
        tag("details", tag("summary", "The numbers"), _numbers(chart)),
        class_="chart",
    )


def _axes(chart: Chart, across: _Scale, up: _Scale) -> Markup:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [tag("text", chart.y_axis.label, x=4, y=15, class_="label")]
    for value in up.ticks():
        y = up(value)
        parts.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", compact(value), x=LEFT - 6, y=y + 4, text_anchor="end"))
    for value in across.ticks():
        x = across(value)
        parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis"))
        end = "end" if x > right - 8 else "middle"
        x = min(x, right) if end == "middle" else right + 6
        parts.append(tag("text", compact(value), x=x, y=bottom + 17, text_anchor=end))
    parts.append(tag("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, class_="axis"))
    label = {"x": right, "y": HEIGHT - 6, "text_anchor": "end", "class_": "label"}
    return join([*parts, tag("text", chart.x_axis.label, **label)])


def _guide(guide: Guide, across: _Scale, up: _Scale) -> Markup:
    (a, b), (c, d) = guide.start, guide.end
    return tag("line", x1=across(a), y1=up(b), x2=across(c), y2=up(d), class_="guide")


def _drawn(chart: Chart, number: int, series: Series, across: _Scale, up: _Scale) -> Markup:
    points = [
        (across(x), up(y)) for x, y in zip(chart.x, series.y, strict=True) if math.isfinite(y)
    ]
    cls = f"s{number}"
    match series.kind:
        case "bars":
            zero = up(0.0)
            width = [across(b) - across(a) for a, b in pairwise(chart.edges)]
            bars = "".join(
                f"M{across(a):g} {zero:g}V{up(y):g}h{max(w - 0.8, 0.4):.1f}V{zero:g}Z"
                for a, y, w in zip(chart.edges, series.y, width, strict=False)
                if y
            )
            return tag("path", d=bars, class_=f"{cls} bars")
        case "band":
            above = zip(chart.x, series.upper, strict=True)
            back = [(across(x), up(y)) for x, y in above if math.isfinite(y)][::-1]
            return tag("path", d=_path([*points, *back]) + "Z", class_=f"{cls} band")
        case "dots":
            return join(tag("circle", cx=x, cy=y, r=3.5, class_=f"{cls} dot") for x, y in points)
    line = tag("path", d=_path(points), class_=f"{cls} line")
    few = len(points) <= 40
    dots = (tag("circle", cx=x, cy=y, r=2.2, class_=f"{cls} dot") for x, y in points if few)
    return join([line, *dots])


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "".join(f"{'L' if k else 'M'}{x:g} {y:g}" for k, (x, y) in enumerate(points))


def _mark(chart: Chart, drawn: Sequence[Series], across: _Scale, up: _Scale) -> Markup | None:
    """Ring the marked point, and write its note beside it, where there is room."""
    if chart.marked is None:
        return None
    k, note = chart.marked
    y = next((each.y[k] for each in drawn if math.isfinite(each.y[k])), math.nan)
    if math.isnan(y):
        return None
    x, y = across(chart.x[k]), up(y)
    is_left = x > (LEFT + WIDTH - RIGHT) / 2
    is_below = y < (TOP + HEIGHT - BOTTOM) / 2
    beside = {"x": x - 9 if is_left else x + 9, "y": y + 19 if is_below else y - 10}
    anchor = "end" if is_left else "start"
    return join(
        [
            tag("circle", cx=x, cy=y, r=7, class_="ring"),
            tag("text", note, **beside, text_anchor=anchor, class_="note"),
        ]
    )


def _legend(drawn: Sequence[Series], guides: Sequence[Guide]) -> Markup | None:
    if len(drawn) + len(guides) < 2:
        return None
    keys = [
        tag("li", tag("i", class_=f"s{k} {each.kind}"), each.name)
        for k, each in enumerate(drawn, 1)
    ]
    keys += [tag("li", tag("i", class_="guide"), each.name) for each in guides]
    return tag("ul", *keys, class_="legend")


def _numbers(chart: Chart) -> Markup:
    """Make the table of a chart: a row for each x, a column for each series."""
    names, columns = [chart.x_axis.label], [list(chart.x)]
    for each in chart.series:
        names.append(each.name)
        columns.append(list(each.y))
        if each.kind == "band":
            names[-1] += ", from"
            names.append(f"{each.name}, to")
            columns.append(list(each.upper))
    rows = [
        [figure(int(v) if name in chart.whole else v) for name, v in zip(names, row, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    values = [list(row) for row in zip(*columns, strict=True)]
    return table(f"{chart.title}: the numbers", names, rows, values=values)
