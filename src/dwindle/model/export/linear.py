"""A model as the sum that it is: terms of one feature or a product of up to three.

    score of a class = intercept + sum over terms of weight * product of its features' values

A model keeps the name of a product; its factors are found again by their keys.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.losses import (
    BinaryClippedSquared,
    ClippedSquared,
    Logistic,
    Poisson,
    has_probabilities,
    link,
)
from dwindle.data.labels import Labels
from dwindle.data.schema import Kind, Schema
from dwindle.features.keys import LARGEST, key_of
from dwindle.features.names import split
from dwindle.model.classes import ClassModels, class_log_probabilities
from dwindle.model.model import Model

IDENTITY, LOGISTIC, EXP, CLIP = "identity", "logistic", "exp", "clip"
LARGEST_EXPONENT = 300.0  # of the link exp: see `Poisson.link`


class Feature(NamedTuple):
    """A feature by its name; "" is the default namespace."""

    namespace: str
    name: str

    @property
    def shown(self) -> str:
        """Its name as people read it: ``feature``, or ``namespace^feature``."""
        return f"{self.namespace}^{self.name}" if self.namespace else self.name


class Linear(NamedTuple):
    """The terms of a model. A term is the places of its one to three factors in ``features``."""

    features: list[Feature]
    terms: list[tuple[int, ...]]
    weight: NDArray[np.float64]  # a row for each term, a column for each class
    intercept: NDArray[np.float64]  # of each class
    link: str
    classes: list[Any] | None  # of several, None if there is one score
    labels: list[Any]  # the negative and the positive of two classes, if known
    schema: Schema | None  # of the table that it was trained on
    loss: Any

    def of_degree(self, n: int) -> Iterator[tuple[tuple[int, ...], NDArray[np.float64]]]:
        """Yield the terms of n factors, and their weights."""
        for term, weight in zip(self.terms, self.weight, strict=True):
            if len(term) == n:
                yield term, weight

    @property
    def degree(self) -> int:
        """The number of factors of its largest product, at least 1."""
        return max(map(len, self.terms), default=1)

    def names(self) -> list[str]:
        """Return the names of its features; refuse two that people would read as the same."""
        found = [feature.shown for feature in self.features]
        if len(set(found)) < len(found):
            twice = next(name for name in found if found.count(name) > 1)
            raise DataError(
                f"two features are both spelled {twice!r}, with another namespace: "
                "export to json, where namespaces stand apart"
            )
        return found

    def predicted(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn scores into probabilities, or into means."""
        if self.classes is not None:
            if not has_probabilities(self.loss):
                return scores
            return np.asarray(np.exp(class_log_probabilities(self.loss, scores)))
        return np.asarray(link(self.loss, scores))


def linear_of(model: Model | ClassModels) -> Linear:
    """Find the terms of a model; refuse one whose prediction is not such a sum."""
    if model.settings["normalize"]:
        raise SettingError(
            "a model trained with --normalize divides by the number of all features of an example, "
            "also of those that it does not keep: it cannot be exported"
        )
    if isinstance(model, ClassModels) and isinstance(model.loss, BinaryClippedSquared):
        raise SettingError(
            "a model of several classes learned with the clipped squared loss cannot be exported"
        )
    models = model.members if isinstance(model, ClassModels) else [model]
    reading = model.metadata.get("reading", {})
    schema = Schema.from_json(reading["schema"]) if reading.get("schema") else None
    group = _grouping(schema)
    place: dict[Feature, int] = {}
    row: dict[tuple[int, ...], int] = {}
    entries: list[tuple[int, int, float]] = []
    for k, each in enumerate(models):
        for key, name, weight in zip(
            each.key.tolist(), each.names, each.weight.tolist(), strict=True
        ):
            factors = factors_of(name, key)
            _check_order(factors, group)
            term = tuple(place.setdefault(factor, len(place)) for factor in factors)
            entries.append((row.setdefault(term, len(row)), k, weight))
    table = np.zeros((len(row), len(models)))
    for i, k, weight in entries:
        table[i, k] = weight
    constant = float(model.settings["intercept"])
    several = isinstance(model, ClassModels)
    return Linear(
        list(place),
        list(row),
        table,
        np.array([each.intercept * constant for each in models]),
        _link_of(model.loss),
        list(model.classes) if isinstance(model, ClassModels) else None,
        [] if several else Labels.in_metadata(model.metadata).classes,
        schema,
        model.loss,
    )


def _link_of(loss: Any) -> str:
    if isinstance(loss, Logistic):
        return LOGISTIC
    if isinstance(loss, Poisson):
        return EXP
    if isinstance(loss, ClippedSquared | BinaryClippedSquared):
        return CLIP
    if hasattr(loss, "link"):
        raise SettingError(f"the link of {loss} is Python code, which is not exported")
    return IDENTITY


@lru_cache(maxsize=2**16)
def _key(feature: Feature) -> int:
    return key_of(feature.name, feature.namespace)


def product_key(keys: list[int]) -> int:
    """Return the key of a product, as `features.xxh64.mix` makes it."""
    mixed = keys[0]
    for key in keys[1:]:
        mixed = min(xxhash.xxh64_intdigest(key.to_bytes(8, "little"), mixed), LARGEST)
    return mixed


def factors_of(name: str, key: int) -> tuple[Feature, ...]:
    """Find the one feature, or the two or three, whose product has this name and key.

    >>> factors_of("price", key_of("price"))
    (Feature(namespace='', name='price'),)
    """
    namespace, own = split(name)
    if key_of(own, namespace) == key:
        return (Feature(namespace, own),)
    for n in (2, 3):
        # Of tables, the columns stand where namespaces do, and most features have none.
        groups = list(cuts(namespace, n)) if namespace else [("",) * n]
        for names, spaces in product(cuts(own, n), groups):
            for chosen in product(*({each, ""} for each in spaces)):
                factors = tuple(map(Feature, chosen, names))
                if product_key([_key(factor) for factor in factors]) == key:
                    return factors
    shown = name.replace("\0", "^")
    raise DataError(f"feature {shown!r} has another key than its name: the name was not UTF-8")


def cuts(text: str, n: int) -> Iterator[tuple[str, ...]]:
    """Yield the ways to cut a text at ``*`` into n parts.

    >>> list(cuts("a*b*c", 2))
    [('a', 'b*c'), ('a*b', 'c')]
    """
    stars = [i for i, c in enumerate(text) if c == "*"]
    for chosen in combinations(stars, n - 1):
        yield tuple(text[a + 1 : b] for a, b in pairwise((-1, *chosen, len(text))))


def _grouping(schema: Schema | None) -> Callable[[Feature], str]:
    """Return what tells the namespace or column of a feature."""
    if schema is None:
        return lambda feature: feature.namespace
    kinds = {column.name: column.kind for column in schema}
    return lambda feature: column_of(feature, kinds)[0]


def column_of(feature: Feature, kinds: dict[str, Kind]) -> tuple[str, str | None]:
    """Return the column of a feature, and the cell that it stands for; None if that is a number.

    >>> column_of(Feature("", "a=b=c"), {"a=b": Kind.CATEGORY})
    ('a=b', 'c')
    """
    if feature.namespace in kinds:
        return feature.namespace, feature.name
    if kinds.get(feature.name) is Kind.NUMBER:
        return feature.name, None
    for i, c in enumerate(feature.name):
        if c == "=" and kinds.get(feature.name[:i]) is Kind.CATEGORY:
            return feature.name[:i], feature.name[i + 1 :]
    for name, kind in kinds.items():
        if kind in {Kind.TEXT, Kind.DATE} and feature.name.startswith(name):
            return name, feature.name
    return feature.shown, feature.name


def _check_order(factors: tuple[Feature, ...], group: Callable[[Feature], str]) -> None:
    """Refuse a product whose factors may come in either order, which makes two features of it."""
    for a, b in combinations(factors, 2):
        if a != b and group(a) == group(b):
            raise SettingError(
                f"the product of {a.shown!r} and {b.shown!r}, of one namespace or column, depends "
                "on the order in which an example names them: it cannot be exported"
            )


def by_column(linear: Linear, target: str) -> list[tuple[str, str | None]]:
    """Return, for each feature, the column of a table that it comes from, and its cell or None.

    Only numbers and categories are made in other programs: the rest is refused by name.
    """
    instead = "export to json, js, c, sql-join or onnx-features, which take features by name"
    if linear.schema is None:
        raise SettingError(
            f"{target} reads the columns of a table, and the model was not trained on one: "
            f"{instead}"
        )
    kinds = {column.name: column.kind for column in linear.schema}
    found = [column_of(feature, kinds) for feature in linear.features]
    for (column, _), feature in zip(found, linear.features, strict=True):
        kind = kinds.get(column)
        if kind not in {Kind.NUMBER, Kind.CATEGORY}:
            raise SettingError(
                f"{target}: the feature {feature.shown!r} is part of a {kind or 'column'}: only "
                f"numbers and categories are read there; {instead}"
            )
    return found
