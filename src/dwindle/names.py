"""The names of live features, and of no others."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray


class Names:
    """Names by key. A key without a name is shown as its number, which for a column is its name."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def enter(self, keys: NDArray[np.uint64], names: Sequence[str], where: Iterable[int]) -> None:
        """Remember the names at the places ``where`` of a batch."""
        for k in where:
            key = int(keys[k])
            if names[k] != str(key):
                self._known[key] = names[k]

    def leave(self, keys: Iterable[int]) -> None:
        """Forget these keys."""
        for key in keys:
            self._known.pop(key, None)

    def of(self, keys: Iterable[int]) -> list[str]:
        """The name of each key."""
        return [self._known.get(key) or str(key) for key in keys]
