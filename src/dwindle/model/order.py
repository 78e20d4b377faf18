"""The order of features in a model: the heaviest first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.jit.compile import kernel
from dwindle.jit.numbers import uint64

DIGIT = 11  # bits that are sorted by at once: so many counts fit into the first-level cache
N_DIGITS = 1 << DIGIT
SIGN = 63  # the first bit of a number in double precision


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
    packed = _sorted(packed, np.empty_like(packed), n_last)
    order = (packed & last).view(np.int64)
    packed |= last
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = packed[1:] == packed[:-1]
    tied[:-1] |= tied[1:]
    some = order[tied]
    order[tied] = some[np.lexsort((key[some], -np.abs(weight[some])))]
    return order


@kernel
def _sorted(number: Any, spare: Any, n_last: int) -> Any:
    """Sort by all bits but the sign and the last ones, digit by digit; both arrays are used up."""
    end = np.empty(N_DIGITS, np.int64)
    for shift in range(n_last, SIGN, DIGIT):
        end[:] = 0
        for k in range(len(number)):
            end[(number[k] >> uint64(shift)) & uint64(N_DIGITS - 1)] += 1
        n = 0
        for d in range(N_DIGITS):
            n, end[d] = n + end[d], n
        for k in range(len(number)):
            d = (number[k] >> uint64(shift)) & uint64(N_DIGITS - 1)
            spare[end[d]] = number[k]
            end[d] += 1
        number, spare = spare, number
    return number
