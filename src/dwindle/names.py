"""The names of live features, and of no others."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Spelled = tuple[NDArray[np.int64], NDArray[np.uint8]]  # bounds, and the text that is cut at them
DIGITS = 19  # as many as every number of 64 bits may have


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


class Names:
    """Names by key. A key without a name is called by its number, which for a column is its name.

    A name is the feature's, with its namespace and a NUL before it unless that is the default one.
    All of them stand in one text, so that a name costs its bytes and 16 more.
    """

    def __init__(self) -> None:
        self._key = _Growing(np.uint64)
        self._size = _Growing(np.int64)
        self._text = _Growing(np.uint8)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys that have a name, in the order they came."""
        return self._key.filled

    def enter(self, keys: NDArray[Any], names: Sequence[str], where: NDArray[np.int64]) -> None:
        """Remember the names at the places ``where`` of a batch, for keys that have none yet."""
        if not len(where):
            return
        key = keys[where].astype(np.uint64)
        bound, text = spelled(names, where)
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

    def of(self, keys: NDArray[np.uint64]) -> list[str]:
        """The name of each key."""
        known, size = self.keys, self._size.filled
        order = np.argsort(known)
        place = np.append(order, -1)[np.searchsorted(known, keys, sorter=order)]
        has_name = np.append(known, np.uint64(0))[place] == keys
        has_name &= place >= 0
        begin = (np.cumsum(size) - size)[place[has_name]]
        size = size[place[has_name]]
        bound = np.zeros(len(size) + 1, np.int64)
        np.cumsum(size, out=bound[1:])
        text = self._text.filled[np.repeat(begin - bound[:-1], size) + np.arange(bound[-1])]
        names = iter(decoded(bound, text))
        return [
            next(names) if named else str(key)
            for key, named in zip(keys.tolist(), has_name.tolist(), strict=True)
        ]


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
