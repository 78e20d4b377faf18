"""Memory that ends, or begins, at a page that nothing may touch."""

import ctypes
import mmap
import sys

import numpy as np

PAGE = mmap.PAGESIZE
PROT_NONE = 0


class Guarded:
    """Memory between two protected pages; a step outside ends the process with a signal."""

    def __init__(self, size=2**20):
        self._size = -(-size // PAGE) * PAGE
        self._map = mmap.mmap(-1, self._size + 2 * PAGE)
        self._all = np.frombuffer(self._map, np.uint8)
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for at in (0, PAGE + self._size):
            if protect(self._all.ctypes.data + at, PAGE, PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")

    def copy(self, array, *, at_end=True):
        """Copy an array to the end of the memory, or to its beginning."""
        array = np.ascontiguousarray(array)
        if array.nbytes > self._size:
            raise ValueError("too large for this memory")
        begin = PAGE + (self._size - array.nbytes if at_end else 0)
        return self._put(array, begin)

    def _put(self, array, begin):
        found = self._all[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        found[...] = array
        return found


def guarded(array):
    """Copy an array to memory of its own that ends at a protected page."""
    return Guarded(max(array.nbytes, 1)).copy(array)


SUPPORTED = sys.platform.startswith("linux")
