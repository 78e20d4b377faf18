"""Names of features as texts."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Spelled = tuple[NDArray[np.int64], NDArray[np.uint8]]  # bounds, and the text that is cut at them
AT_ONCE = 2**12  # pieces that are cut, so that their places, eight bytes each, stay in the cache


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
    shift, found = begin - bound[:-1], np.empty(bound[-1], np.uint8)
    for i in range(0, len(size), AT_ONCE):
        a, b = bound[i], bound[min(i + AT_ONCE, len(size))]
        some = slice(i, i + AT_ONCE)
        found[a:b] = text[np.repeat(shift[some], size[some]) + np.arange(a, b)]
    return bound, found


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

    __hash__ = None  # type: ignore[assignment]  # what is equal to any sequence has no hash

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
