"""Tables that can be sorted and searched, lists of settings, and tiles of figures."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from dwindle._base.pages.html import Markup, join, tag


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    values: Sequence[Sequence[Any]] = (),
    sortable: bool = False,
) -> Markup:
    """Return a table with a caption for who cannot see where it stands.

    ``values`` are the numbers behind the cells, whole to the last digit, by which a column is
    sorted; "" where a cell is text, by which it is sorted then, and None where it is a picture.
    """
    shown = list(rows)
    numeric = [_kind(values[0][k]) if values else False for k in range(len(headings))]
    heads = [
        tag(
            "th",
            _sorter(name) if sortable and n is not None else name,
            scope="col",
            class_="n" if n else None,
        )
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


def _kind(value: Any) -> bool | None:
    """Tell whether a column has numbers; None if it has pictures."""
    return None if value is None else _is_number(value)


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


def searched(table: Markup, placeholder: str, choices: Sequence[str] = ()) -> Markup:
    """Return a table below a field that searches its rows and a menu of its first column."""
    menu = None
    if len(choices) > 1:
        options = [tag("option", each, value=f"={each}") for each in choices]
        menu = tag("select", tag("option", "all", value=""), *options, aria_label="Show only")
    field = tag("input", type="search", placeholder=placeholder, aria_label=placeholder)
    count = tag("output", class_="count", aria_live="polite")
    return tag("div", tag("div", field, menu, count, class_="tools"), table, class_="searched")


def pairs(items: Iterable[tuple[str, Any]], class_: str | None = None) -> Markup:
    """Return names and their values, as a list of definitions; numbers, or ``wide`` text."""
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value))
            for name, value in items
            if value is not None
        ),
        class_=class_,
    )


def exactly(value: float, shown: str) -> Markup:
    """Return a number as it is shown, with all its digits for who reads the page by program."""
    return tag("data", shown, value=_exact(value))


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
