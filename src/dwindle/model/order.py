"""The order of features in a model: the heaviest first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.features.sorting import radix_order, radix_sorted


def heaviest_first(key: NDArray[np.uint64], weight: NDArray[Any]) -> NDArray[np.int64]:
    """Return the order of features by absolute weight, then by key.

    The last bits of each weight give way to its place, so that both are sorted as one number. What
    is equal without these bits, which is little, is sorted anew.
    """
    packed = np.abs(weight, dtype=np.float64).view(np.uint64)
    n_last = max(len(weight) - 1, 0).bit_length()
    last = np.uint64((1 << n_last) - 1)
    np.invert(packed, out=packed)
    packed &= ~last
    packed |= np.arange(len(weight), dtype=np.uint64)
    packed = radix_sorted(packed, n_last)
    order: NDArray[np.int64] = (packed & last).view(np.int64)
    packed |= last
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = packed[1:] == packed[:-1]
    tied[:-1] |= tied[1:]
    some = order[tied]
    some = some[radix_order(key[some])]
    size = np.abs(weight[some], dtype=np.float64).view(np.uint64)
    order[tied] = some[radix_order(~size)]
    return order
