"""The names of live features, and of no others."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Spelled = tuple[NDArray[np.int64], NDArray[np.uint8]]  # bounds, and the text that is cut at them
DIGITS = 19  # as many as every number of 64 bits may have
LATE = 1024  # names, of 32 bytes each, that may wait until many are written down at once


def shown(name: str) -> str:
    """A name as people read it: ``feature``, or ``namespace^feature``."""
    return name.replace("\0", "^")


def split(name: str) -> tuple[str, str]:
    """The namespace, "" for the default one, and the feature's name in it."""
    namespace, _, feature = name.rpartition("\0")
    return namespace, feature


def text_of(raw: bytes) -> str:
    """What is shown of bytes that ought to be UTF-8."""
    return raw.decode("utf-8", "surrogateescape")


def spelled(names: Sequence[str], where: NDArray[np.int64]) -> Spelled:
    """The names at these places as one text; a sequence that holds bytes is asked for them."""
    own = getattr(names, "spelled", None)
    if own is not None:
        found: Spelled = own(where)
        return found
    raw = [names[k].encode("utf-8", "surrogateescape") for k in where.tolist()]
    bound = np.zeros(len(raw) + 1, np.int64)
    np.cumsum([len(name) for name in raw], out=bound[1:])
    return bound, np.frombuffer(b"".join(raw), np.uint8)


def decoded(bound: NDArray[np.int64], text: NDArray[np.uint8]) -> list[str]:
    """The names that stand one after the other in a text."""
    raw = text.tobytes()
    return [text_of(raw[a:b]) for a, b in pairwise(bound.tolist())]


def cut(text: NDArray[np.uint8], begin: NDArray[np.int64], size: NDArray[np.int64]) -> Spelled:
    """These pieces of a text, one after the other."""
    bound = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=bound[1:])
    return bound, text[np.repeat(begin - bound[:-1], size) + np.arange(bound[-1])]


class Text(Sequence[str]):
    """Names that stand in one text and are made when asked for.

    >>> Text.of(["ad^shoes", "hour", ""])[1:] == ["hour", ""]
    True
    """

    def __init__(self, bound: NDArray[np.int64], text: NDArray[np.uint8]) -> None:
        self.bound, self.text = bound, text

    @classmethod
    def of(cls, names: Sequence[str]) -> "Text":
        """The same names."""
        return names if isinstance(names, cls) else cls(*spelled(names, np.arange(len(names))))

    def __len__(self) -> int:
        return len(self.bound) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        return iter(decoded(self.bound, self.text))

    def __getitem__(self, k: Any) -> Any:
        places = range(len(self))[k]
        if isinstance(places, range):
            return Text(*self.spelled(np.array(places, np.int64)))
        return text_of(self.text[self.bound[places] : self.bound[places + 1]].tobytes())

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """The names at these places."""
        return cut(self.text, self.bound[where], self.bound[where + 1] - self.bound[where])

    def split(self) -> tuple["Text", "Text"]:
        """The namespace of each name, and the rest of it: see `split`."""
        nul = np.append(np.flatnonzero(self.text == 0), -1)
        first, last = self.bound[:-1], self.bound[1:]
        at = nul[np.searchsorted(nul[:-1], last) - 1]  # the last before the name's end, or -1
        has_namespace = at >= first
        namespace = np.where(has_namespace, at - first, 0)
        begin = np.where(has_namespace, at + 1, first)
        return Text(*cut(self.text, first, namespace)), Text(*cut(self.text, begin, last - begin))

    @classmethod
    def joined(cls, namespaces: "Text", features: "Text") -> "Text":
        """What `split` was of."""
        nul = len(namespaces.text)
        text = np.concatenate([namespaces.text, np.zeros(1, np.uint8), features.text])
        begin, size = (np.empty((len(features), 3), np.int64) for _ in range(2))
        begin[:, 0], size[:, 0] = namespaces.bound[:-1], np.diff(namespaces.bound)
        begin[:, 1], size[:, 1] = nul, size[:, 0] > 0
        begin[:, 2], size[:, 2] = features.bound[:-1] + nul + 1, np.diff(features.bound)
        bound, text = cut(text, begin.ravel(), size.ravel())
        return cls(bound[::3].copy(), text)


class Late(NamedTuple):
    """Names that a kernel leaves to be written down: how many are ``waiting``, and their bytes."""

    waiting: NDArray[np.int64]
    key: NDArray[np.uint64]
    size: NDArray[np.int64]
    text: NDArray[np.uint8]

    @classmethod
    def room_for(cls, n: int) -> "Late":
        """Space for n names."""
        key, size, text = np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(32 * n, np.uint8)
        return cls(np.zeros(2, np.int64), key, size, text)


class Names:
    """Names by key. A key without a name is called by its number, which for a column is its name.

    A name is the feature's, with its namespace and a NUL before it unless that is the default one.
    All of them stand in one text, so that a name costs its bytes and 16 more.
    """

    def __init__(self) -> None:
        self._key = _Growing(np.uint64)
        self._size = _Growing(np.int64)
        self._text = _Growing(np.uint8)
        self.late = Late.room_for(LATE)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys that have a name, in the order they came."""
        self._write_down_late()
        return self._key.filled

    def enter(self, keys: NDArray[Any], names: Sequence[str], where: NDArray[np.int64]) -> None:
        """Remember the names at the places ``where`` of a batch, for keys that have none yet."""
        self._write_down_late()
        if len(where):
            self._write_down(keys[where].astype(np.uint64), *spelled(names, where))

    def expect(self, n: int) -> None:
        """There is room for so many late names."""
        waiting, n_bytes = self.late.waiting.tolist()
        if waiting + n > len(self.late.key) or 2 * n_bytes > len(self.late.text):
            self._write_down_late()
        if n > len(self.late.key):
            self.late = Late.room_for(2 * n)

    def _write_down_late(self) -> None:
        n, n_bytes = self.late.waiting.tolist()
        if n:
            bound = np.zeros(n + 1, np.int64)
            np.cumsum(self.late.size[:n], out=bound[1:])
            self._write_down(self.late.key[:n], bound, self.late.text[:n_bytes])
            self.late.waiting[:] = 0

    def _write_down(
        self, key: NDArray[np.uint64], bound: NDArray[np.int64], text: NDArray[np.uint8]
    ) -> None:
        size = np.diff(bound)
        kept = ~_is_number(key, bound, text)
        if not kept.all():
            text = text[np.repeat(kept, size)]
            key, size = key[kept], size[kept]
        for all_of, more in ((self._key, key), (self._size, size), (self._text, text)):
            all_of.append(more)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget the names of all `keys` but these."""
        if not kept.all():
            self._text.keep(np.repeat(kept, self._size.filled))
            self._key.keep(kept)
            self._size.keep(kept)

    def of(self, keys: NDArray[np.uint64]) -> Text:
        """The name of each key."""
        known, size = self.keys, self._size.filled
        order = np.argsort(known)
        place = np.append(order, -1)[np.searchsorted(known, keys, sorter=order)]
        has_name = np.append(known, np.uint64(0))[place] == keys
        has_name &= place >= 0
        numbers = Text.of([str(key) for key in keys[~has_name].tolist()])
        begin, length = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        begin[has_name] = (np.cumsum(size) - size)[place[has_name]]
        length[has_name] = size[place[has_name]]
        begin[~has_name] = numbers.bound[:-1] + len(self._text.filled)
        length[~has_name] = np.diff(numbers.bound)
        return Text(*cut(np.concatenate([self._text.filled, numbers.text]), begin, length))


class _Growing:
    """An array that is appended to: it doubles when it is full."""

    def __init__(self, kind: Any) -> None:
        self._room = np.empty(0, kind)
        self._used = 0

    @property
    def filled(self) -> NDArray[Any]:
        """What was appended."""
        return self._room[: self._used]

    def append(self, more: NDArray[Any]) -> None:
        needed = self._used + len(more)
        if needed > len(self._room):
            larger = np.empty(max(needed, 2 * len(self._room)), self._room.dtype)
            larger[: self._used] = self.filled
            self._room = larger
        self._room[self._used : needed] = more
        self._used = needed

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._room = self.filled[kept]
        self._used = len(self._room)


def _is_number(
    key: NDArray[np.uint64], bound: NDArray[np.int64], text: NDArray[np.uint8]
) -> NDArray[np.bool_]:
    """Which names are their own keys, in decimal: those need not be remembered."""
    found = np.zeros(len(key), np.bool_)
    size = np.diff(bound)
    first = np.zeros(len(key), np.uint8)
    first[size > 0] = text[bound[:-1][size > 0]]
    maybe = (first >= ord("0")) & (first <= ord("9")) & (size <= DIGITS)
    for n in np.unique(size[maybe]).tolist():
        like = np.flatnonzero(maybe & (size == n))
        digit = text[bound[like, np.newaxis] + np.arange(n)] - np.uint8(ord("0"))
        plain = (digit < 10).all(axis=1) & ((digit[:, 0] > 0) | (n == 1))
        number = digit.astype(np.uint64) @ np.uint64(10) ** np.arange(n, dtype=np.uint64)[::-1]
        found[like] = plain & (number == key[like])
    return found
