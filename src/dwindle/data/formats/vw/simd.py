"""Plain features of a line, side by side: their names are hashed and their values read at once.

A kernel puts what it finds at an address, one lane for each feature; LLVM makes the loops here work
on several lanes in one instruction.
"""

from typing import Any

from numba import float32, uint64
from numba.np.numpy_support import carray

from dwindle.data.text.numbers import number_of_word, number_of_words
from dwindle.features.xxh64 import ended
from dwindle.jit.compile import helper
from dwindle.jit.intrinsics import singles, words

LANES = 128
_TOGETHER = 16  # lanes are always read by so many, of which the last may be idle

# Where the words of a lane stand, from the address of its first on: those of its name (see
# `fresh_state`, `long_state` and `ended`), then those of its value.
STATE, LAST, TAIL, LENGTH, LOW, HIGH, VALUE_LENGTH, SIZE = range(0, 8 * 8 * LANES, 8 * LANES)

_LARGEST: Any = float32(3.4028234663852886e38)


@helper
def is_plain(value: Any) -> bool:
    """Whether a value is neither 0 nor infinite nor nan."""
    return float32(0.0) < abs(value) <= _LARGEST


@helper
def _whole(n: int) -> int:
    """So many lanes are read where n are wanted."""
    return (n + _TOGETHER - 1) // _TOGETHER * _TOGETHER


@helper
def put_keys(lanes: int, n: int, key: int) -> None:
    """The keys of n features stand at address ``key``, and whatever after them."""
    n = _whole(n)
    state, last = carray(words(lanes + STATE), n), carray(words(lanes + LAST), n)
    tail, length = carray(words(lanes + TAIL), n), carray(words(lanes + LENGTH), n)
    keys = carray(words(key), n)
    for f in range(uint64(n)):
        keys[f] = ended(state[f], last[f], tail[f], length[f])


@helper
def put_ones(n: int, x: int) -> None:
    """The values of n features without one stand at address ``x``, and whatever after them."""
    n = _whole(n)
    values = carray(singles(x), n)
    for f in range(uint64(n)):
        values[f] = float32(1.0)


@helper
def put_values(lanes: int, n: int, longest: int, x: int) -> bool:
    """The values of n features stand at address ``x``, and whatever after them: nan if not plain.

    The ``longest`` has so many bytes. Returns whether some is not plain, or 0.
    """
    whole = _whole(n)
    low, high = carray(words(lanes + LOW), whole), carray(words(lanes + HIGH), whole)
    length, values = carray(words(lanes + VALUE_LENGTH), whole), carray(singles(x), whole)
    odd: Any = False
    if longest <= 8:
        for f in range(uint64(whole)):
            values[f] = number_of_word(low[f], length[f])
            odd |= (not is_plain(values[f])) & (f < uint64(n))
    else:
        for f in range(uint64(whole)):
            values[f] = number_of_words(low[f], high[f], length[f])
            odd |= (not is_plain(values[f])) & (f < uint64(n))
    return bool(odd)
