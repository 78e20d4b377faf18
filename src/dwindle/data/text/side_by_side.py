"""Plain features side by side, whose names and values are read many at a time.

A kernel puts the bytes of each feature into a lane of its own, at an address; LLVM compiles the
loops here to instructions that work on several lanes at once. Lanes are always read in whole
groups, so up to a group after the results is overwritten.
"""

import math
from typing import Any

from dwindle._base.text import ZERO
from dwindle.data.text.simd_numbers import (
    any_number,
    has_exponent,
    integer_of_word,
    integer_of_words,
    is_normalised,
    normalised_number,
    number_of_word,
    number_of_words,
)
from dwindle.features.xxh64 import NOT_A_KEY, ended, integer, long_state
from dwindle.jit.compile import called, helper, inlined
from dwindle.jit.intrinsics import byte, carray, put_word, singles, unlikely, word, words
from dwindle.jit.numbers import float32, int64, uint64

LANES = 128
_TOGETHER = 16  # lanes in a group

# Offsets of the words of a lane from the address of its first: those of its name (see
# `fresh_state`, `long_state` and `ended`), then those of its value.
STATE, LAST, TAIL, LENGTH, LOW, MIDDLE, HIGH, VALUE_LENGTH, SIZE = range(
    0, 9 * 8 * LANES, 8 * LANES
)

_ONE = uint64(ZERO + 1)
_LARGEST: Any = float32(3.4028234663852886e38)


@inlined
def put_name(text: int, begin: int, end: int, seed: Any, fresh: Any, lane: int) -> None:
    """Put a name into a lane; ``fresh`` is the `fresh_state` of the seed of its namespace."""
    size = end - begin
    if unlikely(size >= 16):
        put_word(lane + STATE, long_state(text, begin, end, seed))
        put_word(lane + LAST, word(text + begin + (size & ~7) - 8))
    else:
        put_word(lane + STATE, fresh + uint64(size))
        put_word(lane + LAST, word(text + begin))
    put_word(lane + TAIL, word(text + begin + (size & ~7)))
    put_word(lane + LENGTH, uint64(size))


@inlined
def put_index(text: int, begin: int, end: int, lane: int) -> None:
    """Put a name that must be an integer into a lane."""
    put_word(lane + LAST, word(text + begin))
    put_word(lane + TAIL, word(text + begin + 8))
    put_word(lane + LENGTH, uint64(end - begin))


@inlined
def put_value(text: int, begin: int, end: int, lane: int) -> None:
    """Put the text of a value into a lane, except the third of its words, which few need."""
    put_word(lane + LOW, word(text + begin))
    put_word(lane + MIDDLE, word(text + begin + 8))
    put_word(lane + VALUE_LENGTH, uint64(end - begin))


@inlined
def put_no_value(lane: int) -> None:
    """Put the value of a feature that has none, which is 1, into a lane."""
    put_word(lane + LOW, _ONE)
    put_word(lane + VALUE_LENGTH, uint64(1))


@inlined
def token_length(lane: int) -> int:
    """Return how many bytes the ``name:value`` in a lane has."""
    return int64(word(lane + LENGTH) + word(lane + VALUE_LENGTH)) + 1


@helper
def is_plain(value: Any) -> bool:
    """Tell whether a value is neither 0 nor infinite nor nan."""
    return float32(0.0) < abs(value) <= _LARGEST


@helper
def _whole(n: int) -> int:
    """Round n up to whole groups of lanes."""
    return (n + _TOGETHER - 1) // _TOGETHER * _TOGETHER


# Names


@inlined
def put_keys(lanes: int, n: int, key: int) -> None:
    """Hash the names of n features; write their keys at address ``key``."""
    n = _whole(n)
    state, last = carray(words(lanes + STATE), n), carray(words(lanes + LAST), n)
    tail, length = carray(words(lanes + TAIL), n), carray(words(lanes + LENGTH), n)
    keys = carray(words(key), n)
    for f in range(uint64(n)):
        keys[f] = ended(state[f], last[f], tail[f], length[f])


@called
def put_integers(lanes: int, n: int, key: int) -> bool:
    """Write names of n features that are integers of up to 15 digits, which are their keys.

    Returns whether all are; if not, keys are undefined.
    """
    whole = _whole(n)
    last, tail = carray(words(lanes + LAST), whole), carray(words(lanes + TAIL), whole)
    length, keys = carray(words(lanes + LENGTH), whole), carray(words(key), whole)
    if integer_of_words(last[0], tail[0], length[0]) == NOT_A_KEY:
        return False  # most likely, all are words
    odd: Any = False
    for f in range(uint64(whole)):
        keys[f] = integer_of_word(last[f], length[f])
        odd |= (keys[f] == NOT_A_KEY) & (f < uint64(n))
    if odd:
        odd = False
        for f in range(uint64(whole)):
            keys[f] = integer_of_words(last[f], tail[f], length[f])
            odd |= (keys[f] == NOT_A_KEY) & (f < uint64(n))
    return not odd


@called
def replace_integers(text: int, lanes: int, n: int, place: int, key: int) -> None:
    """Replace the keys of those of n names that are integers by these integers.

    Where the names begin is at address ``place``.
    """
    whole = _whole(n)
    last, tail = carray(words(lanes + LAST), whole), carray(words(lanes + TAIL), whole)
    length, keys = carray(words(lanes + LENGTH), whole), carray(words(key), whole)
    are_long: Any = False
    for f in range(uint64(whole)):
        own = integer_of_words(last[f], tail[f], length[f])
        keys[f] = own if (own != NOT_A_KEY) & (f < uint64(n)) else keys[f]
        are_long |= (length[f] >= uint64(16)) & (f < uint64(n))
    for f in range(n if are_long else 0):
        begin = int64(word(place + 8 * f))
        if length[f] >= uint64(16) and ZERO <= byte(text + begin) < ZERO + 10:
            own = integer(text, begin, begin + int64(length[f]))
            keys[f] = keys[f] if own == NOT_A_KEY else own


# Values


@helper
def put_ones(n: int, x: int) -> None:
    """Write the value 1 of n features at address ``x``."""
    n = _whole(n)
    values = carray(singles(x), n)
    for f in range(uint64(n)):
        values[f] = float32(1.0)


@called
def put_values(text: int, lanes: int, n: int, longest: int, place: int, x: int) -> bool:
    """Write the values of n features at address ``x``, nan for one that cannot be read like this.

    ``longest`` is the length of the longest in bytes; where the features begin is at address
    ``place``. Returns whether some value is 0 or nan.
    """
    whole = _whole(n)
    low, middle = carray(words(lanes + LOW), whole), carray(words(lanes + MIDDLE), whole)
    high, length = carray(words(lanes + HIGH), whole), carray(words(lanes + VALUE_LENGTH), whole)
    values = carray(singles(x), whole)
    odd: Any = False
    # What suits the first value most likely suits all.
    if longest <= 8:
        for f in range(uint64(whole)):
            values[f] = number_of_word(low[f], length[f])
            odd |= (not is_plain(values[f])) & (f < uint64(n))
    elif longest <= 16 and not has_exponent(low[0], middle[0], length[0]):
        for f in range(uint64(whole)):
            values[f] = number_of_words(low[f], middle[f], length[f])
            odd |= (not is_plain(values[f])) & (f < uint64(n))
    elif is_normalised(low[0]):
        _put_high(text, lanes, n, longest, place)
        for f in range(uint64(whole)):
            values[f] = normalised_number(low[f], middle[f], high[f], length[f])
            odd |= (not is_plain(values[f])) & (f < uint64(n))
    else:
        odd = True
        values[0] = float32(math.nan)
    if odd and _has_nan(n, x):
        odd = False
        _put_high(text, lanes, n, longest, place)
        for f in range(uint64(whole)):
            values[f] = any_number(low[f], middle[f], high[f], length[f])
            odd |= (not is_plain(values[f])) & (f < uint64(n))
    return bool(odd)


@helper
def _put_high(text: int, lanes: int, n: int, longest: int, place: int) -> None:
    """Put the third words of n values into their lanes, if they are so long."""
    for lane in range(lanes, lanes + 8 * n if longest > 16 else lanes, 8):
        begin = int64(word(place + lane - lanes) + word(lane + LENGTH)) + 1
        put_word(lane + HIGH, word(text + begin + 16))


@helper
def _has_nan(n: int, x: int) -> bool:
    """Tell whether one of n values is nan."""
    values = carray(singles(x), n)
    found: Any = False
    for f in range(uint64(n)):
        found |= math.isnan(values[f])
    return bool(found)


@called
def multiply(scale: Any, n: int, x: int) -> bool:
    """Multiply n values; return whether some value is now 0, infinite or nan."""
    values = carray(singles(x), n)
    odd: Any = False
    for f in range(uint64(n)):
        values[f] *= scale
        odd |= not is_plain(values[f])
    return bool(odd)
