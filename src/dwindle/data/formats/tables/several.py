"""Columns that give a row several features, or none: texts, lists, dates and objects."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dwindle.features.offsets import offsets
from dwindle.jit.compile import kernel


class Several(NamedTuple):
    """The features of a column: row i has those from ``start[i]`` to ``start[i + 1]``."""

    names: pa.Array  # of the distinct features, with their namespace
    key: NDArray[np.uint64]
    start: NDArray[np.int64]
    word: NDArray[np.int32]  # which of the distinct ones a feature is
    x: NDArray[np.float32]

    def without_zeros(self) -> "Several":
        """Leave out the features whose value is 0."""
        kept = self.x != 0
        start = offsets(kept)[self.start]
        return self._replace(start=start, word=self.word[kept], x=self.x[kept])


def once_each(
    start: NDArray[np.int64], word: NDArray[np.int32], n_words: int, *, counts: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Keep each word of a row once, where it first occurs; its value is 1, or how often it does.

    >>> start, word = np.array([0, 3, 5]), np.array([1, 0, 1, 1, 1], np.int32)
    >>> [each.tolist() for each in once_each(start, word, 2, counts=True)]
    [[0, 2, 3], [1, 0, 1], [2.0, 1.0, 2.0]]
    """
    start, word, x = start.copy(), word.copy(), np.empty(len(word), np.float32)
    n = _once_each(start, word, np.full(n_words, -1, np.int64), x, counts)
    return start, word[:n], x[:n]


@kernel
def _once_each(start: Any, word: Any, place: Any, x: Any, counts: bool) -> int:
    """Do as `once_each` says, in place; ``place[w]`` is where word w stood last."""
    n, begin = 0, 0
    for i in range(len(start) - 1):
        row = n
        for k in range(begin, start[i + 1]):
            w = word[k]
            if place[w] < row:
                place[w] = n
                word[n], x[n] = w, 1.0
                n += 1
            elif counts:
                x[place[w]] += 1.0
        begin = start[i + 1]
        start[i + 1] = n
    return n


def merged(
    word: NDArray[np.int32], x: NDArray[np.float32], several: Mapping[int, Several]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the features of all rows in the order of the columns, without those of value 0.

    Row i has at most the feature ``word[i, c]`` of column c, whose value is ``x[i, c]``, except of
    columns in ``several``. Returns where each row starts, and its features and values.
    """
    present = x != 0
    if not several:
        return offsets(np.count_nonzero(present, axis=1)), word[present], x[present]
    present[:, list(several)] = False
    size = present.astype(np.int64)
    for c, column in several.items():
        size[:, c] = np.diff(column.start)
    place = offsets(size.ravel())
    first = place[:-1].reshape(x.shape)
    words, values = np.empty(place[-1], np.int32), np.empty(place[-1], np.float32)
    words[first[present]], values[first[present]] = word[present], x[present]
    for c, column in several.items():
        shift = np.repeat(first[:, c] - column.start[:-1], size[:, c])
        where = shift + np.arange(len(column.word))
        words[where], values[where] = column.word, column.x
    return place[:: x.shape[1]].copy(), words, values
