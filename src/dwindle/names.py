"""The names of live features, and of no others."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Spelled = tuple[NDArray[np.int64], NDArray[np.uint8]]  # bounds, and the text that is cut at them


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
    """

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def enter(self, keys: NDArray[Any], names: Sequence[str], where: NDArray[np.int64]) -> None:
        """Remember the names at the places ``where`` of a batch."""
        for key, name in zip(keys[where].tolist(), decoded(*spelled(names, where)), strict=True):
            if not name.isdecimal() or name != str(key):
                self._known[key] = name

    def leave(self, keys: Iterable[int]) -> None:
        """Forget these keys."""
        for key in keys:
            self._known.pop(key, None)

    def of(self, keys: Iterable[int]) -> list[str]:
        """The name of each key."""
        return [known if (known := self._known.get(key)) is not None else str(key) for key in keys]
