"""Names and tags as places in a block, read only when asked for."""

import re
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dwindle._jit import compiled
from dwindle.names import text_of

_HEADER = re.compile(rb"\|([^ \t\r\n:|]*)")
_TOKEN = re.compile(rb"([^ \t\r\n:]*)(?::([^ \t\r\n]*))?")
_SECTION = re.compile(rb"\|[^|\n]*")
_UNNAMED = re.compile(rb"[ \t]:")
NUMERIC = frozenset(b"0123456789+-.")  # how a value that is a number begins

TAB, NEWLINE, RETURN, SPACE = b"\t\n\r "
PLUS, MINUS, DOT, COLON, EQUALS, BAR = b"+-.:=|"
ZERO = ord("0")
USUAL = 32  # bytes of a name; if they are more, they are walked twice


@compiled
def spell(  # noqa: C901  (a kernel writes in its own body)
    data: Any, place: Any, first: Any, bar: Any, where: Any, bound: Any, out: Any
) -> None:
    """Name w goes from ``bound[w]`` to ``bound[w + 1]`` of ``out``, as far as there is room.

    A name that does not stand in the data has no length.
    """
    to, s = 0, 0
    for w in range(len(where)):
        bound[w] = to
        k = place[where[w]]
        if k < 0 or data[k] == COLON:
            continue
        if where[w] < first[s]:
            s = 0
        while s + 1 < len(first) and first[s + 1] <= where[w]:
            s += 1
        # The namespace up to its end, a NUL, then the feature's name up to its value.
        c = bar[s] + 1
        while c < len(data) and data[c] not in (SPACE, TAB, RETURN, NEWLINE, COLON, BAR):
            if to < len(out):
                out[to] = data[c]
            to += 1
            c += 1
        if c > bar[s] + 1:
            if to < len(out):
                out[to] = 0
            to += 1
        c = k
        while c < len(data) and data[c] not in (SPACE, TAB, RETURN, NEWLINE):
            letter = data[c]
            if letter == COLON:
                digit = data[c + 1]
                if digit in (PLUS, MINUS, DOT) or ZERO <= digit <= ZERO + 9:
                    break
                letter = EQUALS
            if to < len(out):
                out[to] = letter
            to += 1
            c += 1
    bound[len(where)] = to


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
        self._data = data.data  # as a buffer, which regular expressions read
        self._place = place
        self._first = first
        self._bar = bar
        self._factor = factor
        self._numbered = -1, np.empty(0, np.int64)  # a namespace's '|', its features without names

    def __len__(self) -> int:
        return len(self._place)

    def spelled(self, where: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The bytes of the names at these places: name w is from ``bound[w]`` to ``bound[w + 1]``.

        They are copied out of the data by a kernel, which leaves products and names that are
        counts to `_at`.
        """
        data = np.frombuffer(self._data, np.uint8)
        bound, room = np.zeros(len(where) + 1, np.int64), USUAL * len(where)
        while True:
            out = np.empty(room, np.uint8)
            spell(data, self._place, self._first, self._bar, where, bound, out)
            if bound[-1] <= room:
                break
            room = int(bound[-1])
        out = out[: bound[-1]]
        size = np.diff(bound)
        missing = np.flatnonzero(size == 0)
        if len(missing):
            raw = [self._at(int(k)).encode("utf-8", "surrogateescape") for k in where[missing]]
            size[missing] = [len(name) for name in raw]
            spelled = np.repeat(np.isin(np.arange(len(where)), missing, invert=True), size)
            both = np.empty(len(spelled), np.uint8)
            both[spelled] = out
            both[~spelled] = np.frombuffer(b"".join(raw), np.uint8)
            bound[1:], out = np.cumsum(size), both
        return bound, out

    def _at(self, k: int) -> str:
        namespace, name = self._parts(k)
        return f"{namespace}\0{name}" if namespace else name

    def _parts(self, k: int) -> tuple[str, str]:
        place = int(self._place[k])
        if place < 0:
            parts = [self._parts(int(j)) for j in self._factor[-1 - place] if j >= 0]
            namespaces, names = zip(*parts, strict=True)
            return "*".join(namespaces), "*".join(names)
        bar = int(self._bar[np.searchsorted(self._first, k, side="right") - 1])
        header = _HEADER.match(self._data, bar)
        token = _TOKEN.match(self._data, place)
        assert header is not None  # the kernel read a namespace there
        assert token is not None  # and here a feature
        name, value = token.groups()
        if value is not None and value[0] not in NUMERIC:
            name = name + b"=" + value
        elif not name:
            name = str(self._number(bar, place)).encode()
        return text_of(header[1]), text_of(name)

    def _number(self, bar: int, place: int) -> int:
        """How many features without a name stand between the namespace's '|' and ``place``."""
        numbered = self._numbered  # held here: another thread may ask about another namespace
        if numbered[0] != bar:
            section = _SECTION.match(self._data, bar)
            assert section is not None  # there is a '|' at its start
            unnamed = _UNNAMED.finditer(self._data, bar, section.end())
            places = [match.end() - 1 for match in unnamed]
            self._numbered = numbered = bar, np.array(places, np.int64)
        return int(np.searchsorted(numbered[1], place))


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
