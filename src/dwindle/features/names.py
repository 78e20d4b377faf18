"""Names of features, as sequences that spell them only when asked."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.features.offsets import offsets
from dwindle.jit.compile import kernel
from dwindle.jit.intrinsics import byte, carray, prefetch, put, put_word, word, words
from dwindle.jit.numbers import uint64

Spelled = tuple[NDArray[np.int64], NDArray[np.uint8]]  # offsets, and the text that they cut
WORD = 8  # bytes
TENS = np.array([10**n for n in range(1, 20)], np.uint64)  # at which numbers get longer
TEN, ZERO = uint64(10), ord("0")
AHEAD = 24  # how many pieces ahead a text is prefetched


def shown(name: str) -> str:
    """Return a name as people read it: ``feature``, or ``namespace^feature``."""
    return name.replace("\0", "^")


def split(name: str) -> tuple[str, str]:
    """Return the namespace, "" for the default one, and the feature's name in it."""
    namespace, _, feature = name.rpartition("\0")
    return namespace, feature


def text_of(raw: bytes) -> str:
    """Decode bytes that ought to be UTF-8; `str.encode` with surrogateescape gives them back."""
    return raw.decode("utf-8", "surrogateescape")


def spelled(names: Sequence[str], where: NDArray[np.int64]) -> Spelled:
    """Spell the names at these places; any sequence of strings will do."""
    if isinstance(names, FeatureNames):
        return names.spelled(where)
    raw = [names[k].encode("utf-8", "surrogateescape") for k in where.tolist()]
    return offsets([len(name) for name in raw]), np.frombuffer(b"".join(raw), np.uint8)


def decoded(bound: NDArray[np.int64], text: NDArray[np.uint8]) -> list[str]:
    """Return spelled names as strings."""
    raw = text.tobytes()
    return [text_of(raw[a:b]) for a, b in pairwise(bound.tolist())]


def cut(text: NDArray[np.uint8], begin: NDArray[np.int64], size: NDArray[np.int64]) -> Spelled:
    """Copy these pieces of a text, one after another."""
    bound = offsets(size)
    found = np.empty(bound[-1] + WORD, np.uint8)
    text, begin = np.ascontiguousarray(text), np.array(begin, np.int64)  # one type for the kernel
    _copy(text.ctypes.data, len(text), begin, bound, found.ctypes.data)
    return bound, found[:-WORD]


@kernel
def _copy(address: int, n: int, begin: Any, bound: Any, to: int) -> None:
    """Copy pieces of the n bytes at an address, by words: up to one after them is written."""
    lines = carray(words(address), n // WORD)
    last = address + n - WORD
    for w in range(len(begin)):
        if w + AHEAD < len(begin):
            prefetch(lines, uint64(begin[w + AHEAD]) >> uint64(3))
        i, t = address + begin[w], to + bound[w]
        end = i + bound[w + 1] - bound[w]
        while i < end and i <= last:
            put_word(t, word(i))
            i += WORD
            t += WORD
        while i < end:
            put(t, uint64(byte(i)))
            i += 1
            t += 1


@kernel
def _spell(numbers: Any, bound: Any, text: Any) -> None:
    """Write numbers in decimal, each where there is room for its digits."""
    for w in range(len(numbers)):
        left = uint64(numbers[w])
        for i in range(bound[w + 1] - 1, bound[w] - 1, -1):
            text[i] = ZERO + left % TEN
            left //= TEN


@kernel
def _parts(address: int, bound: Any, namespace: Any, begin: Any, size: Any) -> None:
    """Find the last NUL of each name in the text at an address, and what is on either side.

    ``namespace`` gets the bytes before it, 0 if there is none; ``begin`` and ``size`` are where
    what follows it begins, and its bytes.
    """
    for w in range(len(size)):
        i = bound[w + 1] - 1
        while i >= bound[w] and byte(address + i) != 0:
            i -= 1
        namespace[w] = max(i - bound[w], 0)
        begin[w] = i + 1
        size[w] = bound[w + 1] - (i + 1)


class FeatureNames(Sequence[str]):
    """Names that need not be strings yet: a subclass says how many there are and spells them."""

    @abstractmethod
    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """Spell the names at these places: name w is ``text[offset[w] : offset[w + 1]]``."""

    def __getitem__(self, k: Any) -> Any:
        places = range(len(self))[k]
        if isinstance(places, range):
            if isinstance(self, Text) and len(places) == len(self) and places.step == 1:
                return self
            return Text(*self.spelled(np.arange(places.start, places.stop, places.step)))
        return decoded(*self.spelled(np.array([places])))[0]

    def __iter__(self) -> Iterator[str]:
        return iter(decoded(*self.spelled(np.arange(len(self)))))


class NamesView(FeatureNames):
    """The names at some places of a sequence: a run of them, or a selection in any order."""

    def __init__(self, names: Sequence[str], where: range | NDArray[np.int64]) -> None:
        self._names, self._where = names, where

    def __len__(self) -> int:
        return len(self._where)

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """Spell the names at these places of the view."""
        if isinstance(self._where, range):  # of step 1: no array of places is made
            return spelled(self._names, where + self._where.start)
        places = self._where[where].astype(np.int64, copy=False)  # narrower ones may overflow
        return spelled(self._names, places)


class ChainedNames(FeatureNames):
    """The names of several sequences, one after the other.

    >>> ChainedNames([["a", "b"], Text.of(["c"])])[1:] == ["b", "c"]
    True
    """

    def __init__(self, parts: Sequence[Sequence[str]]) -> None:
        self._parts = parts
        self._bound = offsets([len(part) for part in parts])

    def __len__(self) -> int:
        return int(self._bound[-1])

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """Spell the names at these places, part by part."""
        part = np.searchsorted(self._bound, where, side="right") - 1
        begin, size = np.empty(len(where), np.int64), np.empty(len(where), np.int64)
        texts, done = [np.empty(0, np.uint8)], 0
        for k in np.unique(part).tolist():
            of_it = part == k
            bound, text = spelled(self._parts[k], where[of_it] - self._bound[k])
            begin[of_it], size[of_it] = done + bound[:-1], np.diff(bound)
            texts.append(text)
            done += len(text)
        return cut(np.concatenate(texts), begin, size)


class Text(FeatureNames):
    """Names that stand one after another in one text.

    >>> Text.of(["ad^shoes", "hour", ""])[1:] == ["hour", ""]
    True
    """

    def __init__(self, bound: NDArray[np.int64], text: NDArray[np.uint8]) -> None:
        self.bound, self.text = bound, text

    @classmethod
    def of(cls, names: Sequence[str]) -> "Text":
        """Copy any names into one text."""
        return names if isinstance(names, cls) else cls(*spelled(names, np.arange(len(names))))

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.uint64]) -> "Text":
        """Spell numbers in decimal.

        >>> list(Text.of_numbers(np.array([0, 10, 2**64 - 1], np.uint64)))
        ['0', '10', '18446744073709551615']
        """
        size = np.searchsorted(TENS, numbers, side="right") + 1
        bound = offsets(size)
        text = np.empty(bound[-1], np.uint8)
        _spell(numbers, bound, text)
        return cls(bound, text)

    def __len__(self) -> int:
        return len(self.bound) - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # equal to any sequence of the same names

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """Copy the names at these places."""
        begin = self.bound[where]
        return cut(self.text, begin, self.bound[where + 1] - begin)

    def split(self) -> tuple["Text", "Text"]:
        """Return the namespaces of all names, and the names in them: see `split`."""
        # Copied, so that there is one type for the kernel.
        text, bound = np.ascontiguousarray(self.text), np.array(self.bound, np.int64)
        namespace, begin, size = (np.empty(len(self), np.int64) for _ in range(3))
        _parts(text.ctypes.data, bound, namespace, begin, size)
        return Text(*cut(text, bound[:-1], namespace)), Text(*cut(text, begin, size))

    @classmethod
    def concatenated(cls, parts: Sequence["Text"]) -> "Text":
        """Put several sequences of names, whose texts have nothing else, into one text."""
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([np.diff(part.bound) for part in parts])
        return cls(offsets(sizes), np.concatenate([part.text for part in parts]))


class JoinedNames(Text):
    """Names that undo `Text.split`: they are joined when they are first asked for.

    >>> [shown(name) for name in JoinedNames(Text.of(["ad", ""]), Text.of(["shoes", "hour"]))]
    ['ad^shoes', 'hour']
    """

    def __init__(self, namespaces: Text, features: Text) -> None:
        self._parts = namespaces, features

    def __len__(self) -> int:
        return len(self._parts[1])

    def __getattr__(self, name: str) -> Any:
        if name not in {"bound", "text"}:
            raise AttributeError(name)
        self.bound, self.text = _joined(*self._parts)
        return getattr(self, name)

    def split(self) -> tuple[Text, Text]:
        """Return the namespaces of all names, and the names in them."""
        return self._parts


def _joined(namespaces: Text, features: Text) -> Spelled:
    nul = len(namespaces.text)
    text = np.concatenate([namespaces.text, np.zeros(1, np.uint8), features.text])
    begin, size = (np.empty((len(features), 3), np.int64) for _ in range(2))
    begin[:, 0], size[:, 0] = namespaces.bound[:-1], np.diff(namespaces.bound)
    begin[:, 1], size[:, 1] = nul, size[:, 0] > 0
    begin[:, 2], size[:, 2] = features.bound[:-1] + nul + 1, np.diff(features.bound)
    bound, text = cut(text, begin.ravel(), size.ravel())
    return bound[::3].copy(), text
