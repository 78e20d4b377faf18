"""Text in every shape that numbers, names and lines come in, generated from a seed."""

from collections.abc import Callable
from itertools import count
from string import ascii_lowercase
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.data import TRUTH, Labels, drawn_labels, power_law, write_lines

SPELLED = 2**14  # different values in a file
LEAST = 1e-4  # of a value: Vowpal Wabbit drops a feature whose value is 0
AT_ONCE = 400_000  # features drawn at once


class Shape(NamedTuple):
    """What is varied: how values and names are spelled, and how many there are."""

    values: str = "%.4f"
    names: str = "integers"
    space: str = "f"  # the namespace, if there is one
    spaces: int = 1  # with 12, each line has 12 namespaces of one feature
    drawn: int = 80  # features a line; of equal ones one stays
    vocabulary: int = 40_000
    once: bool = False  # each line has a feature that no other has


VALUES: dict[str, Callable[[float], str]] = {
    "%.4f": lambda v: f":{abs(v):.4f}",
    "%.6g": lambda v: f":{abs(v):.6g}",
    "%.7e": lambda v: f":{abs(v):.7e}",
    "repr": lambda v: f":{abs(v)!r}",
    "negative": lambda v: f":{v:.4f}",
    "integer": lambda v: f":{1 + int(9 * abs(v))}",
    "none": lambda v: "",  # noqa: ARG005  (they share a signature)
}
MIXED = "mixed"
SHORTEST = {"words": 4, "names above 16 bytes": 17, "names above 32 bytes": 33}
SUFFIX = 4  # letters that make a name different from all others


class Writer:
    """Writes lines of a shape, whose labels follow a linear model with few weights."""

    def __init__(self, shape: Shape) -> None:
        rng = np.random.default_rng(TRUTH)
        d = shape.vocabulary
        self._shape = shape
        self._truth = np.where(rng.random(d) < max(0.05, 2 / d), 3 * rng.normal(size=d), 0.0)
        self._column = rng.permutation(d // shape.spaces)  # not sorted by frequency
        self._name = pa.array(_names(shape, rng))
        self._suffix, self._value = _spelled(shape.values, rng)

    def write(self, file: IO[bytes], megabytes: float, seed: int = 0) -> Labels:
        """Write at least so many megabytes."""
        rng = np.random.default_rng(seed)
        rows = max(1, AT_ONCE // self._shape.drawn)
        labels = []
        written = 0
        for first in count(0, rows):
            j = self._features(rng, rows)
            is_new = np.diff(j, axis=1, prepend=-1) != 0
            v = rng.integers(0, SPELLED, j.shape)
            margin = np.where(is_new, self._truth[j] * self._value[v], 0).sum(axis=1)
            margin /= max(1.0, float(np.std(margin)) / 3)
            labels.append(drawn_labels(rng, margin))
            columns = *self._heads(first, rows), self._tokens(j, v, is_new)
            written += write_lines(file, labels[-1], *columns)
            if written >= megabytes * 10**6:
                return np.concatenate(labels)
        raise AssertionError

    def _features(self, rng: np.random.Generator, rows: int) -> NDArray[Any]:
        """Return the features of each row, in order; of equal ones only the first counts."""
        shape, part = self._shape, len(self._column)
        rank = power_law(rng, part, (rows, shape.drawn))
        if shape.spaces > 1:
            return self._column[rank] + part * np.arange(shape.spaces)
        return np.sort(self._column[rank], axis=1)

    def _heads(self, first: int, rows: int) -> list[pa.Array]:
        """Return what stands before the features: each namespace of several is part of a name."""
        if self._shape.spaces > 1:
            return []
        head = f"|{self._shape.space}"
        if self._shape.once:
            return [pa.array([f"{head} once{first + i}" for i in range(rows)])]
        return [pa.array([head]).take(pa.array(np.zeros(rows, np.int32)))]

    def _tokens(self, j: NDArray[Any], v: NDArray[Any], is_new: NDArray[np.bool_]) -> pa.Array:
        bound = np.concatenate([[0], is_new.sum(axis=1).cumsum()]).astype(np.int32)
        name, suffix = self._name.take(pa.array(j[is_new])), self._suffix.take(pa.array(v[is_new]))
        tokens = pc.binary_join_element_wise(name, suffix, "")
        return pc.binary_join(pa.ListArray.from_arrays(pa.array(bound), tokens), " ")


def _spelled(values: str, rng: np.random.Generator) -> tuple[pa.Array, NDArray[np.float64]]:
    """Return values as they stand after a name, and what they mean."""
    number = rng.normal(scale=0.3, size=SPELLED).clip(-1, 1)
    number[abs(number) < LEAST] = LEAST
    ways = [*VALUES.values()] if values == MIXED else [VALUES[values]]
    text = [ways[k % len(ways)](v) for k, v in enumerate(number.tolist())]
    return pa.array(text), np.array([float(each[1:] or 1) for each in text])


def _names(shape: Shape, rng: np.random.Generator) -> list[str]:
    """Return the vocabulary; with several namespaces, each name begins with its own."""
    d = shape.vocabulary
    if shape.names == "integers":
        names = [str(j + 1) for j in range(d)]
    else:
        assert d <= len(ascii_lowercase) ** SUFFIX
        before = SHORTEST[shape.names] - SUFFIX + rng.integers(0, 8, d)
        letters = rng.integers(0, len(ascii_lowercase), (d, int(before.max())))
        text = (letters + ord("a")).astype(np.uint8)
        names = [bytes(text[j, : before[j]]).decode() + _in_letters(j) for j in range(d)]
    if shape.spaces == 1:
        return names
    part = d // shape.spaces
    return [f"|{ascii_lowercase[min(j // part, 25)]} {name}" for j, name in enumerate(names)]


def _in_letters(j: int) -> str:
    """Return a number in letters."""
    base = len(ascii_lowercase)
    return "".join(ascii_lowercase[j // base**k % base] for k in range(SUFFIX))
