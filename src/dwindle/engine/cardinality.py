"""An estimate of the number of distinct features seen, which the table cannot tell: it forgets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle._base.packing import packed, unpacked
from dwindle.jit.compile import kernel
from dwindle.jit.intrinsics import leading_zeros
from dwindle.jit.numbers import uint8, uint64
from dwindle.jit.splitmix import mixed

BITS = 14  # 2^14 registers: a standard error of 1.04 / 2^7 = 0.8 %


def observe(register: Any, key: Any) -> None:
    """Add keys to the registers; mixed, because the number of a column is not random."""
    for k in range(len(key)):
        h = mixed(uint64(key[k]))
        place = h >> uint64(64 - BITS)
        rest = (h << uint64(BITS)) | uint64(1 << (BITS - 1))
        rank = leading_zeros(rest) + 1
        if register[place] < rank:
            register[place] = uint8(rank)


_observe = kernel(observe)


class DistinctCounter:
    """HyperLogLog (Flajolet and others, 2007): estimates the number of distinct keys.

    >>> seen = DistinctCounter()
    >>> seen.observe(np.arange(1000, dtype=np.uint64))
    >>> 980 < seen.count() < 1020
    True
    """

    def __init__(self, register: NDArray[np.uint8] | None = None) -> None:
        self.register = np.zeros(1 << BITS, np.uint8) if register is None else register

    def observe(self, key: NDArray[Any]) -> None:
        """Add keys."""
        _observe(self.register, key)

    def count(self) -> int:
        """Estimate how many distinct keys there were."""
        m = len(self.register)
        estimate = 0.7213 / (1 + 1.079 / m) * m * m / np.exp2(-self.register.astype(float)).sum()
        empty = int(np.count_nonzero(self.register == 0))
        if estimate <= 2.5 * m and empty:
            estimate = m * np.log(m / empty)  # linear counting, better for few keys
        return round(float(estimate))

    def packed(self) -> str:
        """Write the registers as text, for `unpacked`."""
        return packed(self.register)

    @classmethod
    def unpacked(cls, text: str) -> "DistinctCounter":
        """Read what `packed` wrote."""
        register = unpacked(text, "the counter of features", np.zeros(1 << BITS, np.uint8))
        if register.max() > 65 - BITS:
            raise DataError("the counter of features: a register is larger than it can be")
        return cls(register)
