"""A chart has the numbers it was given, in its picture and in its table."""

import math
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle._base.pages.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Chart,
    Guide,
    Series,
    figure_of,
)
from dwindle._base.pages.numbers import log_ticks, ticks

numbers = st.floats(-1e12, 1e12, allow_nan=False) | st.just(math.nan)


def picture(chart):
    """The chart's SVG, as XML: it is well formed."""
    return ET.fromstring(re.search(r"<svg.*</svg>", str(figure_of(chart)), re.DOTALL)[0])  # noqa: S314  (ours)


def cells(chart):
    return [float(v) if v else math.nan for v in re.findall(r'data-v="(.*?)"', figure_of(chart))]


def test_points_stand_where_their_values_say():
    chart = Chart("t", "a", Axis("x", low=0, high=10), Axis("y", low=0, high=1),
                  [0, 5, 10], [Series("s", [0, 1, 0.5], "dots")])  # fmt: skip
    dots = [(float(c.get("cx")), float(c.get("cy"))) for c in picture(chart).iter("circle")]
    middle = (LEFT + WIDTH - RIGHT) / 2
    half = (TOP + HEIGHT - BOTTOM) / 2
    assert dots == [(LEFT, HEIGHT - BOTTOM), (middle, TOP), (WIDTH - RIGHT, half)]


def test_a_log_axis_has_equal_steps_for_equal_factors():
    chart = Chart("t", "a", Axis("x", log=True), Axis("y"), [1, 10, 100], [Series("s", [1, 2, 3])])
    at = [float(x) for x in picture(chart).get("data-at").split()]
    assert at[1] - at[0] == pytest.approx(at[2] - at[1], abs=0.2)


@given(st.data())
def test_any_numbers_are_drawn_within_the_picture_and_told_exactly(data):
    n = data.draw(st.integers(0, 5))
    x = sorted(data.draw(st.lists(st.floats(0, 1e9), min_size=n, max_size=n)))
    y, z = (data.draw(st.lists(numbers, min_size=n, max_size=n)) for _ in "yz")
    kind = data.draw(st.sampled_from(["line", "dots", "band", "bars"]))
    edges = [*x, 2e9] if kind == "bars" else ()
    series = [Series("s", y, kind, z if kind == "band" else ())]
    axes = Axis("x", log=data.draw(st.booleans())), Axis("y", log=data.draw(st.booleans()))
    chart = Chart("t", "a", *axes, x, series, [Guide("g", (0, 0), (1, 1))], edges)
    for dot in picture(chart).iter("circle"):
        assert 0 <= float(dot.get("cx")) <= WIDTH
        assert 0 <= float(dot.get("cy")) <= HEIGHT
    told = [v for row in zip(x, y, *([z] if kind == "band" else []), strict=True) for v in row]
    assert [repr(v) for v in cells(chart)] == [repr(float(v)) for v in told]


def test_a_value_that_is_missing_is_not_drawn_and_the_marked_point_is_ringed():
    y = [1, math.nan, 3]
    chart = Chart("t", "a", Axis("x"), Axis("y"), [1, 2, 3], [Series("s", y)], marked=(2, "chosen"))
    drawn = picture(chart)
    assert len([c for c in drawn.iter("circle") if "dot" in c.get("class")]) == 2
    assert [t.text for t in drawn.iter("text") if t.get("class") == "note"] == ["chosen"]


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_ticks_are_few_and_within_the_range(low, span):
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 7
    slack = 1e-6 * span + 4 * math.ulp(abs(low) + span)  # sums round
    assert all(low - slack <= each <= low + span + slack for each in found[1:-1])


@given(st.floats(1e-9, 1e9), st.floats(1.0001, 1e12))
def test_log_ticks_are_few_and_within_the_range(low, factor):
    found = log_ticks(low, low * factor)
    assert 1 <= len(found) <= 8
    assert all(low * 0.999999 <= each <= low * factor * 1.000001 for each in found)
