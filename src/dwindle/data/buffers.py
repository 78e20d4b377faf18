"""Memory for the large arrays of blocks, which come and go all the time."""

import sys
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALL = 2**16  # bytes that the C library is quick to find
MOST = 64  # pieces that are watched; who keeps more batches than that keeps them for good


def _references(pieces: list[NDArray[np.uint8]], k: int) -> int:
    return sys.getrefcount(pieces[k])


_UNSEEN = _references([np.empty(1, np.uint8)], 0)  # to a piece that no array looks at


class Memory:
    """Gives out arrays, in memory that was given out before if no array looks at it any more.

    Memory from the system comes in pages that have to be cleared at first touch, which for a few
    megabytes takes as long as to parse them.

    >>> memory = Memory()
    >>> place = memory.empty(10**6, np.int64).ctypes.data
    >>> memory.empty(10**6, np.float64).ctypes.data == place
    True
    """

    def __init__(self) -> None:
        self._pieces: list[NDArray[np.uint8]] = []
        self._lock = Lock()

    def empty(self, n: int, kind: Any) -> NDArray[Any]:
        """An array of n numbers, whatever they are."""
        size = n * np.dtype(kind).itemsize
        if size < SMALL:
            return np.empty(n, kind)
        with self._lock:
            for k in range(len(self._pieces)):
                if (
                    size <= len(self._pieces[k]) <= 4 * size
                    and _references(self._pieces, k) == _UNSEEN
                ):
                    return self._pieces[k][:size].view(kind)
            piece = np.empty(size + size // 4, np.uint8)  # the next may need a little more
            if len(self._pieces) < MOST:
                self._pieces.append(piece)
            return piece[:size].view(kind)
