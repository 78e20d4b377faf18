"""Lanes: plain features side by side, whose names are hashed and values read many at a time.

A kernel puts the bytes of each feature into a lane of its own, at an address; LLVM compiles the
loops here to instructions that work on several lanes at once.
"""

from typing import Any

from dwindle._base.text import ZERO
from dwindle.data.text.numbers import number_of_word, number_of_words
from dwindle.features.xxh64 import DEFAULT_SEED, NOT_A_KEY, ended, long_state, short_integer
from dwindle.jit.compile import helper, inlined
from dwindle.jit.intrinsics import carray, put_word, singles, word, words
from dwindle.jit.numbers import float32, int64, uint64

LANES = 128
_TOGETHER = 16  # lanes are always read in groups of this size; the last ones may be unused

# Offsets of the words of a lane from the address of its first: those of its name (see
# `fresh_state`, `long_state` and `ended`), then those of its value.
STATE, LAST, TAIL, LENGTH, LOW, HIGH, VALUE_LENGTH, SIZE = range(0, 8 * 8 * LANES, 8 * LANES)

_ONE = uint64(ZERO + 1)
_LARGEST: Any = float32(3.4028234663852886e38)


@inlined
def put_name(text: int, begin: int, end: int, seed: Any, fresh: Any, lane: int) -> None:
    """Put a name into a lane; ``fresh`` is the `fresh_state` of the seed of its namespace."""
    size = end - begin
    if size < 16:
        put_word(lane + STATE, fresh + uint64(size))
        put_word(lane + LAST, word(text + begin))
    else:
        put_word(lane + STATE, long_state(text, begin, end, seed))
        put_word(lane + LAST, word(text + begin + (size & ~7) - 8))
    put_word(lane + TAIL, word(text + begin + (size & ~7)))
    put_word(lane + LENGTH, uint64(size))


@inlined
def put_value(text: int, begin: int, end: int, lane: int) -> None:
    """Put the text of a value into a lane."""
    put_word(lane + LOW, word(text + begin))
    put_word(lane + HIGH, word(text + begin + 8))
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


@helper
def put_keys(lanes: int, n: int, key: int) -> None:
    """Write the keys of n features at address ``key``; up to a group after them is overwritten."""
    n = _whole(n)
    state, last = carray(words(lanes + STATE), n), carray(words(lanes + LAST), n)
    tail, length = carray(words(lanes + TAIL), n), carray(words(lanes + LENGTH), n)
    keys = carray(words(key), n)
    for f in range(uint64(n)):
        keys[f] = ended(state[f], last[f], tail[f], length[f])


@helper
def put_ones(n: int, x: int) -> None:
    """Write the value 1 of n features at address ``x``; up to a group after them is overwritten."""
    n = _whole(n)
    values = carray(singles(x), n)
    for f in range(uint64(n)):
        values[f] = float32(1.0)


@helper
def put_values(lanes: int, n: int, longest: int, x: int) -> bool:
    """Write the values of n features at address ``x``, nan for one that is not a plain number.

    ``longest`` is the length of the longest in bytes. Up to a group after them is overwritten.
    Returns whether some value is 0 or nan.
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


@inlined
def apply_namespace(
    text: int, seed: Any, scale: Any, place: int, lane: int, key: int, x: int, n: int
) -> bool:
    """Multiply n values by a scale; in the default namespace, integers are their own keys.

    All but text, seed and scale are addresses, of the features' places, lanes, keys and values.
    Returns whether some value is now 0 or not plain.
    """
    is_odd = False
    keys, values = carray(words(key), n), carray(singles(x), n)
    for f in range(n):
        values[f] *= scale
        is_odd |= not is_plain(values[f])
        if seed == DEFAULT_SEED:
            name = int64(word(place + 8 * f))
            own = short_integer(text, name, name + int64(word(lane + LENGTH + 8 * f)))
            keys[f] = keys[f] if own == NOT_A_KEY else own
    return is_odd
