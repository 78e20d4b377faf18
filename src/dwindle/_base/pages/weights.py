"""Weights: a table to search and sort, and how they are spread over the namespaces."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dwindle._base.pages.html import Markup, stranger, tag
from dwindle._base.pages.numbers import figure, signed
from dwindle._base.pages.tables import bar, searched, table
from dwindle._base.text import counted

DEFAULT = "(default)"  # the namespace without a name
MENU = 200  # namespaces that a menu may have


class Weight(NamedTuple):
    """A feature and its weight; of several classes, in which."""

    namespace: str
    feature: str
    weight: float
    class_: str | None = None


class Share(NamedTuple):
    """What a namespace has of a model."""

    namespace: str
    features: int
    size: float  # the sum of absolute weights


def weights_table(weights: Iterable[Weight], total: int, group: str = "namespace") -> Markup:
    """Return the heaviest weights with search and sort; ``total`` says how many there are."""
    rows = list(weights)
    if not rows:
        return tag("p", "No feature has a weight.")
    several = any(each.class_ is not None for each in rows)
    spaced = any(each.namespace for each in rows)
    heaviest = max(abs(each.weight) for each in rows) or 1.0
    names = [*(["class"] if several else []), *([group] if spaced else [])]
    names += ["feature", "weight", ""]
    plain = [
        [
            *([each.class_ or ""] if several else []),
            *([each.namespace or DEFAULT] if spaced else []),
            each.feature,
        ]
        for each in rows
    ]
    bars = [bar(abs(each.weight) / heaviest, negative=each.weight < 0) for each in rows]
    cells = [
        [*map(stranger, names), signed(each.weight), drawn]
        for names, each, drawn in zip(plain, rows, bars, strict=True)
    ]
    values = [[*[""] * len(plain[0]), each.weight, None] for each in rows]
    left = total - len(rows)
    caption = f"{counted(len(rows), 'weight')}, heaviest first"
    caption += f"; {left:,} lighter ones are left out" if left > 0 else ""
    first = [row[0] for row in plain] if several or spaced else []
    made = table(caption, names, cells, values=values, sortable=True)
    return searched(made, "Search features", [*dict.fromkeys(first)][:MENU])


def namespaces_table(shares: Sequence[Share], group: str = "namespace") -> Markup | None:
    """Return how many features and how much weight each namespace has; None if there is one.

    ``group`` is what they are called: columns, if the data is a table.
    """
    if len(shares) < 2:
        return None
    whole = sum(each.size for each in shares) or 1.0
    cells = [
        [
            stranger(each.namespace or DEFAULT),
            f"{each.features:,}",
            figure(each.size),
            bar(each.size / whole),
        ]
        for each in shares
    ]
    values = [["", each.features, each.size, None] for each in shares]
    names = [group, "features", "sum of |weight|", "share"]
    caption = f"{counted(len(shares), group)}, the heaviest first"
    return table(caption, names, cells, values=values, sortable=True)
