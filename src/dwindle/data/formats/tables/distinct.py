"""The distinct keys of a batch.

Arrow's dictionary encoding does the same at a quarter of the speed.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.features.hash_mixer import random_mixer
from dwindle.jit.compile import kernel
from dwindle.jit.numbers import uint64

ONE = uint64(1)


def distinct(
    key: NDArray[Any], most: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each distinct key first occurs, and which of them each key is.

    With ``most``, a power of two of at least 512, stop before there are more distinct keys.

    >>> first, which = distinct(np.array([7, 3, 7, 7, 5], np.uint64))
    >>> first.tolist(), which.tolist()
    ([0, 1, 4], [0, 1, 0, 0, 2])
    """
    first, which = np.empty(len(key), np.int64), np.empty(len(key), np.int32)
    known = np.empty(len(key), np.uint64)
    n, done = 0, 0
    mixer = random_mixer()
    bits = max(10, len(key).bit_length() - 1)  # in most batches, keys occur several times
    last = 64 if most is None else most.bit_length()  # a table is at most half full
    bits = min(bits, last)
    while True:
        n, done = _number(key, np.zeros(1 << bits, np.int32), mixer, n, done, known, first, which)
        if done == len(key) or bits == last:
            return first[:n], which[:done]
        bits += 1


@kernel
def _number(
    key: Any, table: Any, mixer: Any, n: int, done: int, known: Any, first: Any, which: Any
) -> tuple[int, int]:
    """Number the keys from ``done`` on; the first ``n`` distinct ones are already ``known``.

    ``table`` holds numbers plus one, 0 for an empty cell. Returns how many distinct keys there are,
    and how far it came: to the end, unless the table became half full.
    """
    mask, shift = uint64(len(table) - 1), uint64(64)
    while len(table) >> (uint64(64) - shift) > 1:
        shift -= ONE
    for j in range(n):
        at = (known[j] * mixer) >> shift
        while table[at] != 0:
            at = (at + ONE) & mask
        table[at] = j + 1
    for k in range(done, len(key)):
        mark = uint64(key[k])
        at = (mark * mixer) >> shift
        number = table[at]
        while number != 0 and known[number - 1] != mark:
            at = (at + ONE) & mask
            number = table[at]
        if number == 0:
            if 2 * n >= len(table):
                return n, k
            known[n] = mark
            first[n] = k
            n += 1
            number = n
            table[at] = n
        which[k] = number - 1
    return n, len(key)
