"""The names of live features, and of no others."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def shown(name: str) -> str:
    """A name as people read it: ``feature``, or ``namespace^feature``."""
    return name.replace("\0", "^")


def split(name: str) -> tuple[str, str]:
    """The namespace, "" for the default one, and the feature's name in it."""
    namespace, _, feature = name.rpartition("\0")
    return namespace, feature


def valid(name: str) -> str:
    """A name that was not UTF-8, made so for other programs; its key is still the right one."""
    return (
        name if name.isascii() else name.encode("utf-8", "surrogateescape").decode(errors="replace")
    )


def taken(names: Sequence[str], where: NDArray[np.int64]) -> list[str]:
    """The names at these places; a sequence that can make many at once is asked to."""
    take = getattr(names, "take", None)
    found: list[str] = take(where) if take else [names[k] for k in where.tolist()]
    return found


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
        for key, name in zip(keys[where].tolist(), taken(names, where), strict=True):
            if not name.isdecimal() or name != str(key):
                self._known[key] = name

    def leave(self, keys: Iterable[int]) -> None:
        """Forget these keys."""
        for key in keys:
            self._known.pop(key, None)

    def of(self, keys: Iterable[int]) -> list[str]:
        """The name of each key."""
        return [known if (known := self._known.get(key)) is not None else str(key) for key in keys]
