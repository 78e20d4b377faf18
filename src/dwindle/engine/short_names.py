"""Names in few bytes: how a long one begins, and its key.

A budget of features bounds memory only if names are short. So they have one too: when all of them
take more than `SHARE` bytes for each feature of the budget, every name longer than `LONGEST` is cut
short, those there and those that come. Weights do not depend on it.

>>> key, size = np.array([7, 255], np.uint64), np.array([1, 50], np.uint32)
>>> size, text = shortened(key, size, np.frombuffer(b"a" + b"b" * 50, np.uint8))
>>> size.tolist(), text.tobytes().decode()
([1, 39], 'abbbbbbbbbbbbbbbbbbbb…00000000000000ff')
"""

import numpy as np
from numpy.typing import NDArray

from dwindle.features.names import cut

LONGEST = 40  # bytes
SHARE = 40  # bytes for each feature of the budget,
LEAST = 2**22  # and so many for all at least
HEAD = 20  # bytes kept of the beginning
MORE = "…".encode()
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_SHIFTS = np.arange(60, -1, -4, dtype=np.uint64)


def shortened(
    key: NDArray[np.uint64], size: NDArray[np.uint32], text: NDArray[np.uint8]
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Cut every name that is longer than `LONGEST`; return the sizes and the text of all."""
    long = np.flatnonzero(size > LONGEST)
    if not len(long):
        return size, text
    end = np.cumsum(size, dtype=np.int64)
    begin = end - size
    head = size.astype(np.int64)
    head[long] = HEAD
    for _ in range(3):  # a character of UTF-8 has up to three bytes after its first
        head[long] -= text[begin[long] + head[long]] & 0xC0 == 0x80
    digits = _HEX[(key[long][:, None] >> _SHIFTS) & np.uint64(15)]
    tails = np.hstack([np.tile(np.frombuffer(MORE, np.uint8), (len(long), 1)), digits])
    width = tails.shape[1]
    # Pieces of the text and of the tails after it: each name's head and, of a long one, its tail.
    after = np.zeros(len(size), np.int64)
    after[long] = width
    where = np.zeros(len(size), np.int64)
    where[long] = len(text) + np.arange(len(long)) * width
    places, sizes = np.column_stack([begin, where]).ravel(), np.column_stack([head, after]).ravel()
    _, found = cut(np.concatenate([text, tails.ravel()]), places, sizes)
    return (head + after).astype(np.uint32), found
