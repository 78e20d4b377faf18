"""A pool of memory for the large arrays of blocks, which come and go all the time."""

import sys
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALL = 2**16  # bytes below which the C library allocates quickly
MOST = 64  # pieces in the pool; further ones are not reused


def _references(pieces: list[NDArray[np.uint8]], k: int) -> int:
    return sys.getrefcount(pieces[k])


_UNSEEN = _references([np.empty(1, np.uint8)], 0)  # references to a piece that no array uses


class Memory:
    """Allocates arrays, reusing memory of earlier ones that are no longer referred to.

    The system clears each new page at first touch, which takes as long as parsing into it.

    >>> memory = Memory()
    >>> place = memory.empty(10**6, np.int64).ctypes.data
    >>> memory.empty(10**6, np.float64).ctypes.data == place
    True
    """

    def __init__(self) -> None:
        self._pieces: list[NDArray[np.uint8]] = []
        self._lock = Lock()

    def empty(self, n: int, kind: Any) -> NDArray[Any]:
        """Return an array of n numbers, not initialised."""
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
            piece = np.empty(size + size // 4, np.uint8)  # the next one may be a little larger
            if len(self._pieces) < MOST:
                self._pieces.append(piece)
            return piece[:size].view(kind)
