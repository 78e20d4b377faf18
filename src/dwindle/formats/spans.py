"""Names and tags as places in a block, read only when asked for."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dwindle._jit import helper
from dwindle.formats.scan import (
    BAR,
    COLON,
    DOT,
    EQUALS,
    MINUS,
    NEWLINE,
    PLUS,
    RETURN,
    SPACE,
    STAR,
    TAB,
    ZERO,
    byte,
    put,
    text_kernel,
)
from dwindle.names import decoded, text_of

NUMERIC = frozenset(b"0123456789+-.")  # how a value that is a number begins


class Lazy(Sequence[str]):
    """A sequence that makes its items when asked for them."""

    def _at(self, k: int) -> str:
        raise NotImplementedError

    @overload
    def __getitem__(self, k: int) -> str: ...
    @overload
    def __getitem__(self, k: slice) -> list[str]: ...
    def __getitem__(self, k: int | slice) -> str | list[str]:
        places = range(len(self))[k]
        return [self._at(i) for i in places] if isinstance(places, range) else self._at(places)


class Spans(Lazy):
    r"""The names of features that stand in VW text: ``feature``, or ``namespace\0feature``.

    ``place[k]`` is where feature k stands in the data, or -1 - row for the product whose factors
    are the features ``factor[row]`` (-1 for no third one). Features from ``first[s]`` on belong to
    the namespace whose '|' stands at ``bar[s]``. The data must not change while names are wanted.
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

    def spelled(self, where: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The names at these places: name w is from ``bound[w]`` to ``bound[w + 1]`` of a text."""
        data, bound = self._data, np.zeros(len(where) + 1, np.int64)
        places = self._place, self._first, self._bar, self._factor, where
        _spell(data.ctypes.data, len(data), *places, bound, 0)
        text = np.empty(bound[-1], np.uint8)
        _spell(data.ctypes.data, len(data), *places, bound, text.ctypes.data)
        return bound, text

    def _at(self, k: int) -> str:
        return decoded(*self.spelled(np.array([k])))[0]


# The kernel: what it would write to address 0 is only measured.


@helper
def _one(c: int, out: int, to: int) -> int:
    """A byte stands at ``to``; returns where it ends."""
    if out != 0:
        put(out + to, c)
    return to + 1


@helper
def _count(n: int, out: int, to: int) -> int:
    """A number stands at ``to``; returns where it ends."""
    power = 1
    while n // power >= 10:
        power *= 10
    while power > 0:
        to = _one(ZERO + n // power % 10, out, to)
        power //= 10
    return to


@helper
def _namespace(text: int, end: int, bar: int, out: int, to: int) -> int:
    """The name of the namespace whose '|' stands at ``bar``."""
    i = bar + 1
    while i < end and byte(text + i) not in (SPACE, TAB, RETURN, NEWLINE, COLON, BAR):
        to = _one(byte(text + i), out, to)
        i += 1
    return to


@helper
def _unnamed(text: int, begin: int, end: int) -> int:
    """How many features without a name begin in a range."""
    n = 0
    for i in range(begin, end):
        n += byte(text + i) == COLON and byte(text + i - 1) in (SPACE, TAB)
    return n


@helper
def _feature(text: int, end: int, place: int, n_unnamed: int, out: int, to: int) -> int:
    """The name of the feature that stands at ``place``.

    One without a name is called by how many such there were before it in its namespace.
    """
    if byte(text + place) == COLON:
        return _count(n_unnamed, out, to)
    i = place
    while i < end and byte(text + i) not in (SPACE, TAB, RETURN, NEWLINE):
        c = byte(text + i)
        if c == COLON:
            value = byte(text + i + 1)
            if value in (PLUS, MINUS, DOT) or ZERO <= value <= ZERO + 9:
                break
            c = EQUALS
        to = _one(c, out, to)
        i += 1
    return to


@helper
def _section(first: Any, k: int) -> int:
    """Which namespace feature k is in: the last whose first feature is not after it."""
    low, high = 0, len(first)
    while low < high:
        middle = (low + high) // 2
        if first[middle] <= k:
            low = middle + 1
        else:
            high = middle
    return low - 1


@text_kernel
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
) -> None:
    """Name w stands from ``bound[w]`` to ``bound[w + 1]`` of what is at address ``out``.

    The names of a product's namespaces, then those of its features, are joined by '*'.
    """
    to = 0
    counted_from, counted_to, n_unnamed = -1, 0, 0  # unnamed features between a '|' and a place
    for w in range(len(where)):
        bound[w] = to
        k = where[w]
        row = -1 - place[k]
        n_factors = 1 if row < 0 else 3 if factor[row, 2] >= 0 else 2
        named = to
        for f in range(n_factors):
            own = k if row < 0 else factor[row, f]
            to = _one(STAR, out, to) if f > 0 else to
            to = _namespace(text, end, bar[_section(first, own)], out, to)
        to = _one(0, out, to) if to > named else to
        for f in range(n_factors):
            own = k if row < 0 else factor[row, f]
            to = _one(STAR, out, to) if f > 0 else to
            if byte(text + place[own]) == COLON:
                begin = bar[_section(first, own)] + 1
                if begin != counted_from or place[own] < counted_to:
                    counted_from, counted_to, n_unnamed = begin, begin, 0
                n_unnamed += _unnamed(text, counted_to, place[own])
                counted_to = place[own]
            to = _feature(text, end, place[own], n_unnamed, out, to)
    bound[len(where)] = to


class Tags(Lazy):
    """The tag of each example, "" for none: the bytes from ``begin[i]`` to ``end[i]``."""

    def __init__(
        self, data: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]
    ) -> None:
        self._data = data
        self._begin = begin
        self._end = end

    def __len__(self) -> int:
        return len(self._begin)

    def _at(self, k: int) -> str:
        return text_of(self._data[self._begin[k] : self._end[k]].tobytes())
