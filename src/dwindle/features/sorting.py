"""Sorting of many whole numbers, several times as fast as NumPy sorts them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.jit.compile import kernel
from dwindle.jit.numbers import uint64

BITS = 64
DIGIT = 11  # bits that are sorted by at once: so many counts fit into the first-level cache
N_DIGITS = 1 << DIGIT


def radix_sorted(number: NDArray[np.uint64], n_last: int = 0) -> NDArray[np.uint64]:
    """Sort numbers by all bits but the last ones, and otherwise leave them in their order.

    The array that is given is used up.

    >>> radix_sorted(np.array([7, 5, 6], np.uint64)).tolist()
    [5, 6, 7]
    >>> radix_sorted(np.array([7, 5, 6], np.uint64), n_last=1).tolist()
    [5, 7, 6]
    """
    if not len(number):
        return number
    found: NDArray[np.uint64] = _sorted(number, np.empty_like(number), n_last)
    return found


@kernel
def _sorted(number: Any, spare: Any, n_last: int) -> Any:
    """Sort digit by digit, from the last one on, moving all numbers to and fro."""
    end = np.empty(N_DIGITS, np.int64)
    for shift in range(n_last, BITS, DIGIT):
        end[:] = 0
        for k in range(len(number)):
            end[(number[k] >> uint64(shift)) & uint64(N_DIGITS - 1)] += 1
        if end[(number[0] >> uint64(shift)) & uint64(N_DIGITS - 1)] == len(number):
            continue  # all have the same digit
        n = 0
        for d in range(N_DIGITS):
            n, end[d] = n + end[d], n
        for k in range(len(number)):
            d = (number[k] >> uint64(shift)) & uint64(N_DIGITS - 1)
            spare[end[d]] = number[k]
            end[d] += 1
        number, spare = spare, number
    return number
