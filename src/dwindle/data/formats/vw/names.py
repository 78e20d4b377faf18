"""Names and tags in VW text, kept as places in the block and spelled only when asked for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.text import COLON, DOT, EQUALS, MINUS, PLUS, SPACE, STAR, TAB, ZERO
from dwindle.data.text.scan import end_of_name
from dwindle.features.names import FeatureNames, Spelled, cut
from dwindle.jit.compile import helper, kernel
from dwindle.jit.intrinsics import byte, put, put_word, word

GUESS, LONG = 32, 4096  # bytes of a name, and of a long one
NUMERIC = frozenset(b"0123456789+-.")  # how a value that is a number begins


class VWNames(FeatureNames):
    r"""The names of features in VW text: ``feature``, or ``namespace\0feature``.

    ``place[k]`` is where feature k is in the data, or -1 - row for the product of the features
    ``factor[row]`` (-1 for no third one). Features from ``first[s]`` on belong to the namespace
    whose '|' is at ``bar[s]``. The data must not change as long as the names are used.
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        place: NDArray[np.int64],
        first: NDArray[np.int64],
        bar: NDArray[np.int64],
        factor: NDArray[np.int64],
    ) -> None:
        self._data = data
        self._place = place
        self._first = first
        self._bar = bar
        self._factor = factor

    def __len__(self) -> int:
        return len(self._place)

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """Spell the names at these places."""
        data, bound = self._data, np.zeros(len(where) + 1, np.int64)
        places = self._place, self._first, self._bar, self._factor, where
        room, n = GUESS * len(where) + LONG, -1
        while n < len(where):
            text = np.empty(room, np.uint8)
            n = _spell(data.ctypes.data, len(data), *places, bound, text.ctypes.data, room)
            room *= 2
        return bound, text[: bound[-1]]


# The kernel. Its helpers write at an address: passing an array would count references to it.


@helper
def _copied(text: int, begin: int, end: int, limit: int, out: int, to: int, room: int) -> int:
    """Copy a range of the text, which goes up to ``limit``, to ``to``; return where it ends there.

    Without room for it, nothing is written, but the end is still returned.
    """
    stop = to + end - begin
    if stop + 8 > room:
        return stop
    while begin < end and begin + 8 <= limit:  # a word at a time, the last one perhaps past the end
        put_word(out + to, word(text + begin))
        begin, to = begin + 8, to + 8
    to -= max(begin - end, 0)
    while begin < end:
        put(out + to, byte(text + begin))
        begin, to = begin + 1, to + 1
    return stop


@helper
def _one(c: int, out: int, to: int, room: int) -> int:
    """Write a byte at ``to``; return where it ends."""
    if to < room:
        put(out + to, c)
    return to + 1


@helper
def _count(n: int, out: int, to: int, room: int) -> int:
    """Write a number at ``to``; return where it ends."""
    power = 1
    while n // power >= 10:
        power *= 10
    while power > 0:
        to = _one(ZERO + n // power % 10, out, to, room)
        power //= 10
    return to


@helper
def _unnamed(text: int, begin: int, end: int) -> int:
    """Count the features without a name that begin in a range."""
    n = 0
    for i in range(begin, end):
        n += byte(text + i) == COLON and byte(text + i - 1) in (SPACE, TAB)
    return n


@helper
def _feature(text: int, end: int, place: int, n_unnamed: int, out: int, to: int, room: int) -> int:
    """Write the name of the feature at ``place``; return where it ends.

    A feature without a name is called by the number of such features before it in its namespace.
    """
    if byte(text + place) == COLON:
        return _count(n_unnamed, out, to, room)
    stop = end_of_name(text, place, end)
    to = _copied(text, place, stop, end, out, to, room)
    if stop < end and byte(text + stop) == COLON:
        value = byte(text + stop + 1)
        if not (value in (PLUS, MINUS, DOT) or ZERO <= value <= ZERO + 9):
            to = _one(EQUALS, out, to, room)
            to = _copied(text, stop + 1, end_of_name(text, stop + 1, end), end, out, to, room)
    return to


@helper
def _section(first: Any, k: int, near: int) -> int:
    """Find the namespace of feature k: the last one whose first feature is not after it.

    Mostly it is the namespace ``near``, or one of the next.
    """
    s = near if first[near] <= k else len(first)
    while s < min(near + 16, len(first)):
        if s + 1 == len(first) or k < first[s + 1]:
            return s
        s += 1
    low, high = 0, len(first)
    while low < high:
        middle = (low + high) // 2
        if first[middle] <= k:
            low = middle + 1
        else:
            high = middle
    return low - 1


@kernel
def _spell(
    text: int,
    end: int,
    place: Any,
    first: Any,
    bar: Any,
    factor: Any,
    where: Any,
    bound: Any,
    out: int,
    room: int,
) -> int:
    """Write names at address ``out``, name w from ``bound[w]`` to ``bound[w + 1]``.

    The names of a product's namespaces, then those of its features, are joined by '*'. Stops when
    there is no more room; returns how many names are written.
    """
    to, s = 0, 0
    counted_from, counted_to, n_unnamed = -1, 0, 0  # unnamed features between a '|' and a place
    for w in range(len(where)):
        bound[w] = to
        k = where[w]
        row = -1 - place[k]
        n_factors = 1 if row < 0 else 3 if factor[row, 2] >= 0 else 2
        named = to
        for f in range(n_factors):
            s = _section(first, k if row < 0 else factor[row, f], s)
            to = _one(STAR, out, to, room) if f > 0 else to
            begin = bar[s] + 1
            to = _copied(text, begin, end_of_name(text, begin, end), end, out, to, room)
        to = _one(0, out, to, room) if to > named else to
        for f in range(n_factors):
            own = k if row < 0 else factor[row, f]
            to = _one(STAR, out, to, room) if f > 0 else to
            if byte(text + place[own]) == COLON:
                s = _section(first, own, s)
                begin = bar[s] + 1
                if begin != counted_from or place[own] < counted_to:
                    counted_from, counted_to, n_unnamed = begin, begin, 0
                n_unnamed += _unnamed(text, counted_to, place[own])
                counted_to = place[own]
            to = _feature(text, end, place[own], n_unnamed, out, to, room)
        if to + 8 > room:  # then a piece may be missing: see `_copied`
            return w
    bound[len(where)] = to
    return len(where)


class VWTags(FeatureNames):
    """The tag of each example, "" for none: the bytes from ``begin[i]`` to ``end[i]``."""

    def __init__(
        self, data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> None:
        self._data = data
        self._begin = begin
        self._end = end

    def __len__(self) -> int:
        return len(self._begin)

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """Copy the tags of these examples."""
        return cut(self._data, self._begin[where], self._end[where] - self._begin[where])
