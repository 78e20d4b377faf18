"""Vocabularies: the distinct features of a batch, each named and hashed once, and their products.

Tables and JSON lines are both read into these.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dwindle.data.formats.block import BadLine, Parsed
from dwindle.data.formats.interactions import MOST_PRODUCTS, Crowded, put_products
from dwindle.features.batch import Batch
from dwindle.features.names import FeatureNames, Spelled, Text, spelled, split
from dwindle.features.offsets import offsets
from dwindle.features.xxh64 import DEFAULT_SEED, key_of_name
from dwindle.jit.compile import kernel

Interactions = tuple[tuple[str, ...], ...]


class Vocabulary(NamedTuple):
    """The distinct features, or words, of a batch: name, key, and which group each is in."""

    name: Text
    key: NDArray[np.uint64]
    group: NDArray[np.int32]
    groups: Sequence[str]


class WordRows(NamedTuple):
    """Examples whose features are words: row i has those from ``start[i]`` to ``start[i + 1]``."""

    line: NDArray[np.int64]
    label: NDArray[np.float32]
    importance: NDArray[np.float32]
    start: NDArray[np.int64]
    word: NDArray[np.int32]
    x: NDArray[np.float32]

    def only(self, good: NDArray[np.bool_]) -> "WordRows":
        """Keep only the good rows."""
        size = np.diff(self.start)
        features = np.repeat(good, size)
        return WordRows(
            self.line[good],
            self.label[good],
            self.importance[good],
            offsets(size[good]),
            self.word[features],
            self.x[features],
        )

    def without_zeros(self) -> "WordRows":
        """Leave out the features whose value is 0."""
        kept = self.x != 0
        if kept.all():
            return self
        start = offsets(kept)[self.start]
        return self._replace(start=start, word=self.word[kept], x=self.x[kept])


class ColumnNames(FeatureNames):
    r"""The names of features of tables and JSON.

    Feature k is the word ``place[k]``, or, if that is -1 - row, the product of the features
    ``factor[row]`` (-1 for no third one), which is called ``group*group\0name*name``.
    """

    def __init__(
        self, words: Vocabulary, place: NDArray[np.int32], factor: NDArray[np.int32]
    ) -> None:
        self._words, self._place, self._factor = words, place, factor

    def __len__(self) -> int:
        return len(self._place)

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """Spell the names at these places; of products, one after another."""
        place = self._place[where].astype(np.int64)  # Arrow's may be too narrow for one more
        words = self._words.name
        if (place >= 0).all():
            return words.spelled(place)
        names = [words[p] if p >= 0 else self._product(-1 - p) for p in place.tolist()]
        return spelled(names, np.arange(len(names)))

    def _product(self, row: int) -> str:
        factors = [int(self._place[f]) for f in self._factor[row] if f >= 0]
        groups = [self._words.groups[self._words.group[word]] for word in factors]
        names = [split(self._words.name[word])[1] for word in factors]
        return "*".join(groups) + "\0" + "*".join(names)


NO_FACTORS = np.empty((0, 3), np.int32)


def finished(
    rows: WordRows,
    words: Vocabulary,
    source: str,
    faults: Mapping[int, str],
    interactions: Interactions,
    tags: Sequence[str] | None = None,
) -> Parsed:
    """Make a batch of rows, adding the products that ``interactions`` ask for.

    ``faults`` says what is wrong with which line. Rows with a product that is too large are left
    out, and so are their ``tags``.
    """
    faults = dict(faults)
    if not interactions or not len(rows.line):
        names = ColumnNames(words, rows.word, NO_FACTORS)
        batch = Batch(
            rows.start,
            words.key[rows.word],
            rows.x,
            rows.label,
            rows.importance,
            names=names,
        )
        return Parsed(batch, rows.line, listed_faults(source, faults), tags, source)
    crossed = sorted({group for groups in interactions for group in groups})
    crossings = np.full((len(interactions), 3), -1, np.int64)
    for c, groups in enumerate(interactions):
        crossings[c, : len(groups)] = [crossed.index(group) for group in groups]
    place_of = {group: j for j, group in enumerate(crossed)}
    group_of = np.array([place_of.get(group, -1) for group in words.groups], np.int32)
    group = group_of[words.group]
    n_products = _n_products(rows, group, crossings)
    crowded = n_products > MOST_PRODUCTS
    what = np.where(crowded, len(interactions), -1)
    total = n_products[~crowded].sum()
    if total > MOST_PRODUCTS and len(rows.line) > 1:
        raise Crowded(total)
    product = Products.room_for(rows, int(total))
    longest = int(np.diff(rows.start).max())
    member, bound = np.empty(longest, np.int64), np.zeros(len(crossed) + 1, np.int64)
    n, k = _cross(
        rows.start, rows.word, rows.x, words.key, group, crossings, member, bound, product, what
    )
    for i in np.flatnonzero(what >= 0):
        faults[int(rows.line[i])] = _too_much(interactions, int(what[i]))
    good = what < 0
    batch = Batch(
        product.start[: n + 1],
        product.key[:k],
        product.x[:k],
        rows.label[good],
        rows.importance[good],
        names=ColumnNames(words, product.place[:k], product.factor),
    )
    if tags is not None:
        tags = [tags[int(i)] for i in np.flatnonzero(good)]
    return Parsed(batch, rows.line[good], listed_faults(source, faults), tags, source)


def listed_faults(source: str, faults: Mapping[int, str]) -> list[BadLine]:
    """List what is wrong with which line, in their order."""
    return [BadLine(source, line, faults[line]) for line in sorted(faults)]


def _too_much(interactions: Interactions, what: int) -> str:
    if what == len(interactions):
        return (
            f"the interactions make more than {MOST_PRODUCTS} products of this row: "
            "leave one of them out, or split the row"
        )
    return (
        f"a product of the interaction {'*'.join(interactions[what])} is too large "
        "for single precision: scale its values down"
    )


# Products


class Products(NamedTuple):
    """Arrays for `_cross` to fill with rows and products; `ColumnNames` explains the last two."""

    start: NDArray[np.int64]
    key: NDArray[np.uint64]
    x: NDArray[np.float32]
    place: NDArray[np.int32]
    factor: NDArray[np.int32]

    @classmethod
    def room_for(cls, rows: WordRows, n_products: int) -> "Products":
        """Allocate space for the rows and so many products."""
        n = len(rows.x) + n_products
        return cls(
            np.zeros(len(rows.line) + 1, np.int64),
            np.empty(n, np.uint64),
            np.empty(n, np.float32),
            np.empty(n, np.int32),
            np.empty((n_products, 3), np.int32),
        )


def _n_products(
    rows: WordRows, group: NDArray[np.int32], crossings: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Count the products of each row: of r factors out of n features, n (n+1) ... (n+r-1) / r!."""
    row = np.repeat(np.arange(len(rows.line)), np.diff(rows.start))
    total = np.zeros(len(rows.line))
    for crossing in crossings:
        count = np.ones(len(rows.line))
        for j, r in Counter(crossing[crossing >= 0].tolist()).items():
            n = np.bincount(row[group[rows.word] == j], minlength=len(rows.line)).astype(np.float64)
            for factor in range(r):
                count *= (n + factor) / (factor + 1)
        total += np.rint(count)
    return total


@kernel
def _cross(
    start: Any,
    word: Any,
    x: Any,
    key: Any,
    group: Any,
    crossings: Any,
    member: Any,
    bound: Any,
    product: Any,
    what: Any,
) -> tuple[int, int]:
    """Put the rows and their products into ``product``, except rows whose ``what`` is not -1.

    ``what`` of a row becomes the first interaction with a product that is too large. Returns how
    many rows and features there are.
    """
    n, k, row = 0, 0, 0
    for i in range(len(what)):
        if what[i] >= 0:
            continue
        own, row_before = k, row
        n_members = 0
        for j in range(len(bound) - 1):
            for f in range(start[i], start[i + 1]):
                if group[word[f]] == j:
                    member[n_members] = own + f - start[i]
                    n_members += 1
            bound[j + 1] = n_members
        for f in range(start[i], start[i + 1]):
            product.key[k] = key[word[f]]
            product.x[k] = x[f]
            product.place[k] = word[f]
            k += 1
        k, row, what[i] = put_products(
            *(crossings, member, bound, product.key, product.x, product.place, product.factor),
            *(k, row),
        )
        if what[i] >= 0:
            k, row = own, row_before
        else:
            n += 1
            product.start[n] = k
    return n, k


@kernel
def _keys(text: int, begin: Any, end: Any, seed: Any, key: Any) -> None:
    """Hash the names from ``begin[w]`` to ``end[w]`` into ``key[w]``."""
    for w in range(len(key)):
        key[w] = key_of_name(text, begin[w], end[w], seed[w], -1)


def keys_in(
    text: int, begin: NDArray[np.int64], end: NDArray[np.int64], seed: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Hash the names from ``begin[w]`` to ``end[w]`` of the text at an address."""
    key = np.empty(len(begin), np.uint64)
    begin.flags.writeable = end.flags.writeable = False  # to Numba a writable one is another type
    _keys(text, begin, end, seed, key)
    return key


def keys_of(
    names: pa.LargeStringArray, seed: NDArray[np.uint64] | None = None
) -> NDArray[np.uint64]:
    """Hash names as `features.keys.key_of` does; a seed stands for a namespace."""
    if not len(names):
        return np.empty(0, np.uint64)
    seed = np.full(len(names), DEFAULT_SEED) if seed is None else seed
    _, offsets, text = names.buffers()
    offset = np.frombuffer(offsets, np.int64)[names.offset :][: len(names) + 1]
    return keys_in(text.address if text else 0, offset[:-1], offset[1:], seed)
