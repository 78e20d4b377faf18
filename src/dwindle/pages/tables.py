"""Tables that can be sorted and searched, lists of settings, and tiles of figures."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from dwindle.pages.html import Markup, join, tag


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    values: Sequence[Sequence[Any]] = (),
    sortable: bool = False,
    id_: str | None = None,
) -> Markup:
    """Return a table with a caption for who cannot see where it stands.

    ``values`` are the numbers behind the cells, None where a cell is no number; they are what a
    column is sorted by, whole to the last digit.
    """
    shown = list(rows)
    numeric = [_is_number(values[0][k]) if values else False for k in range(len(headings))]
    heads = [
        tag("th", _sorter(name) if sortable else name, scope="col", class_="n" if n else None)
        for name, n in zip(headings, numeric, strict=True)
    ]
    body = [_row(row, values[i] if values else ()) for i, row in enumerate(shown)]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", *heads)),
            tag("tbody", *body),
            id=id_,
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def _row(cells: Sequence[Any], values: Sequence[Any]) -> Markup:
    return tag(
        "tr",
        *(
            tag("td", cell, class_="n", data_v=_exact(values[k]))
            if values and _is_number(values[k])
            else tag("td", cell)
            for k, cell in enumerate(cells)
        ),
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _exact(value: float) -> str:
    return "" if math.isnan(value) else repr(value)


def _sorter(name: str) -> Markup:
    return tag("button", name, type="button", class_="sort")


def bar(share: float, *, negative: bool = False) -> Markup:
    """Return a bar of this share of a cell's width, from 0 to 1."""
    style = f"--w:{min(max(share, 0.0), 1.0):.3f}"
    return tag("i", class_="bar neg" if negative else "bar", style=style)


def tools(target: str, placeholder: str, choices: Sequence[tuple[str, str]] = ()) -> Markup:
    """Return a field that searches the rows of a table, and a menu of the first column's values."""
    menu = None
    if len(choices) > 1:
        options = [tag("option", shown, value=value) for value, shown in choices]
        menu = tag(
            "select",
            tag("option", "all", value="*"),
            *options,
            data_pick=target,
            aria_label="Show only",
        )
    field = tag(
        "input", type="search", placeholder=placeholder, aria_label=placeholder, data_search=target
    )
    count = tag("output", class_="count", data_count=target, aria_live="polite")
    return tag("div", field, menu, count, class_="tools")


def pairs(items: Iterable[tuple[str, Any]]) -> Markup:
    """Return names and their values, as a list of definitions."""
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value))
            for name, value in items
            if value is not None
        ),
    )


def tiles(items: Iterable[tuple[str, Any, Any]]) -> Markup:
    """Return large figures: a name, the figure, and a few words below it."""
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, class_="big"), tag("dd", below))
            for name, value, below in items
        ),
        class_="tiles",
    )


def section(title: str, *parts: Any, id_: str, about: str | None = None) -> Markup:
    """Return a part of a page, under its heading."""
    said = None if about is None else tag("p", about, class_="about")
    return tag("section", tag("h2", title, id=id_), said, *parts, aria_labelledby=id_)


def charts(figures: Iterable[Markup]) -> Markup | None:
    """Return figures side by side, as many as there is room for."""
    found = join(figures)
    return tag("div", found, class_="charts") if found else None
