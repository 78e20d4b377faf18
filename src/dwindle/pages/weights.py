"""Weights: a table to search and sort, and how they are spread over the namespaces."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dwindle._base.text import counted
from dwindle.pages.html import Markup, join, stranger, tag
from dwindle.pages.numbers import figure, signed
from dwindle.pages.tables import bar, table, tools

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


def weights_table(weights: Iterable[Weight], total: int, *, id_: str = "weights-table") -> Markup:
    """Return the heaviest weights with search and sort; ``total`` says how many there are."""
    rows = list(weights)
    if not rows:
        return tag("p", "No feature has a weight.")
    several = any(each.class_ is not None for each in rows)
    spaced = any(each.namespace for each in rows)
    heaviest = max(abs(each.weight) for each in rows) or 1.0
    names = [*(["class"] if several else []), *(["namespace"] if spaced else [])]
    names += ["feature", "weight", ""]
    cells, values = [], []
    for each in rows:
        before = [each.class_ or ""] if several else []
        before += [each.namespace or DEFAULT] if spaced else []
        drawn = bar(abs(each.weight) / heaviest, negative=each.weight < 0)
        cells.append([*map(stranger, [*before, each.feature]), signed(each.weight), drawn])
        values.append([*[None] * (len(before) + 1), each.weight, None])
    left = total - len(rows)
    caption = f"{counted(len(rows), 'weight')}, heaviest first"
    caption += f"; {left:,} lighter ones are left out" if left > 0 else ""
    picks: list[str] = []
    if several or spaced:
        picks = [*dict.fromkeys(r.class_ or "" if several else r.namespace for r in rows)]
    choices = [(pick if several else pick or DEFAULT, pick or DEFAULT) for pick in picks[:MENU]]
    return join(
        [
            tools(id_, "Search features", choices),
            table(caption, names, cells, values=values, sortable=True, id_=id_),
        ]
    )


def namespaces_table(shares: Sequence[Share]) -> Markup | None:
    """Return how many features and how much weight each namespace has; None if there is one."""
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
    values = [[None, each.features, each.size, None] for each in shares]
    names = ["namespace", "features", "sum of |weight|", "share"]
    caption = f"{counted(len(shares), 'namespace')}, the heaviest first"
    return table(caption, names, cells, values=values, sortable=True)
