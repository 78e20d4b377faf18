"""Hashing for kernels: the same keys as `features.keys.key_of`, of names in text."""

from typing import Any

import xxhash

from dwindle._base.text import COLON, EQUALS, ZERO
from dwindle.features.digits import ZEROS, are_digits, eight_digits
from dwindle.features.keys import LARGEST
from dwindle.jit.compile import helper, inlined
from dwindle.jit.intrinsics import byte, half, word
from dwindle.jit.numbers import uint64

DEFAULT_SEED = uint64(xxhash.xxh64_intdigest(b""))  # of the namespace without a name
NOT_A_KEY = uint64(LARGEST + 1)

_P1 = uint64(0x9E3779B185EBCA87)
_P2 = uint64(0xC2B2AE3D27D4EB4F)
_P3 = uint64(0x165667B19E3779F9)
_P4 = uint64(0x85EBCA77C2B2AE63)
_P5 = uint64(0x27D4EB2F165667C5)


@helper
def _rotated(w: Any, n: int) -> Any:
    return (w << uint64(n)) | (w >> uint64(64 - n))


@helper
def _stirred(lane: Any, w: Any) -> Any:
    return _rotated(lane + w * _P2, 31) * _P1


@helper
def _merged(h: Any, lane: Any) -> Any:
    h ^= _stirred(uint64(0), lane)
    return h * _P1 + _P4


@helper
def _with_word(h: Any, w: Any) -> Any:
    h ^= _stirred(uint64(0), w)
    return _rotated(h, 27) * _P1 + _P4


@helper
def _with_half(h: Any, w: Any) -> Any:
    h ^= w * _P1
    return _rotated(h, 23) * _P2 + _P3


@helper
def _with_byte(h: Any, w: Any) -> Any:
    h ^= w * _P5
    return _rotated(h, 11) * _P1


@helper
def _finished(h: Any) -> Any:
    h ^= h >> uint64(33)
    h *= _P2
    h ^= h >> uint64(29)
    h *= _P3
    return h ^ (h >> uint64(32))


@helper
def _patch(i: int, colon: int) -> Any:
    """Return what to xor with the eight bytes from ``i`` on, to make the ':' at ``colon`` a '='."""
    return uint64(COLON ^ EQUALS) << uint64(8 * (colon - i)) if 0 <= colon - i < 8 else uint64(0)


@helper
def _striped(text: int, begin: int, end: int, seed: Any, colon: int) -> Any:
    """Compute the state of XXH64 after the whole stripes, of 32 bytes, of a range."""
    i = begin
    h = seed + _P5
    if end - begin >= 32:
        a = seed + _P1 + _P2
        b = seed + _P2
        c = seed
        d = seed - _P1
        while i + 32 <= end:
            a = _stirred(a, word(text + i) ^ _patch(i, colon))
            b = _stirred(b, word(text + i + 8) ^ _patch(i + 8, colon))
            c = _stirred(c, word(text + i + 16) ^ _patch(i + 16, colon))
            d = _stirred(d, word(text + i + 24) ^ _patch(i + 24, colon))
            i += 32
        h = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
        h = _merged(_merged(_merged(_merged(h, a), b), c), d)
    return h + uint64(end - begin)


@helper
def xxh64(text: int, begin: int, end: int, seed: Any, colon: int) -> Any:
    """Compute XXH64 of a range; the byte at ``colon``, unless that is -1, is read as '='."""
    h = _striped(text, begin, end, seed, colon)
    i = begin + ((end - begin) & ~31)
    while i + 8 <= end:
        h = _with_word(h, word(text + i) ^ _patch(i, colon))
        i += 8
    if i + 4 <= end:
        h = _with_half(h, half(text + i) ^ (_patch(i, colon) & uint64(0xFFFFFFFF)))
        i += 4
    while i < end:
        h = _with_byte(h, uint64(byte(text + i)) ^ (_patch(i, colon) & uint64(0xFF)))
        i += 1
    return _finished(h)


@inlined
def fresh_state(seed: Any) -> Any:
    """Return the state of XXH64 of fewer than 16 bytes; the caller adds their number."""
    return seed + _P5


@helper
def long_state(text: int, begin: int, end: int, seed: Any) -> Any:
    """Return the state of XXH64 of 16 bytes or more, before their last whole word."""
    h = _striped(text, begin, end, seed, -1)
    i = begin + ((end - begin) & ~31)
    while i + 16 <= end:
        h = _with_word(h, word(text + i))
        i += 8
    return h


@inlined
def ended(h: Any, last: Any, tail: Any, n: Any) -> Any:
    """Finish the key of n bytes: ``h`` is their `fresh_state` plus n, or their `long_state`.

    ``last`` is their last whole word, ``tail`` are the bytes after it and others. There are no
    branches, because lengths cannot be predicted, and so that several names are mixed at once.
    """
    longer = _with_word(h, last)
    h = longer if n & uint64(31) >= uint64(8) else h
    return _with_tail(h, tail, n)


@inlined
def _with_tail(h: Any, tail: Any, n: Any) -> Any:
    """Finish the key of n bytes, of which only those after the last whole word, ``tail``, are left.

    There are no branches either.
    """
    longer = _with_half(h, tail & uint64(0xFFFFFFFF))
    has_half = n & uint64(4) != uint64(0)
    h = longer if has_half else h
    tail = tail >> uint64(32) if has_half else tail
    n &= uint64(3)
    longer = _with_byte(h, tail & uint64(0xFF))
    h = longer if n > uint64(0) else h
    longer = _with_byte(h, (tail >> uint64(8)) & uint64(0xFF))
    h = longer if n > uint64(1) else h
    longer = _with_byte(h, (tail >> uint64(16)) & uint64(0xFF))
    h = longer if n > uint64(2) else h
    return clamped(_finished(h))


@helper
def clamped(h: Any) -> Any:
    """Make a hash a valid key."""
    return min(h, uint64(LARGEST))


@helper
def key_of_name(text: int, begin: int, end: int, seed: Any, colon: int) -> Any:
    """Return the key of a name in the text; see `xxh64` for ``colon``."""
    if seed == DEFAULT_SEED:
        number = integer(text, begin, end)
        if number != NOT_A_KEY:
            return number
    if colon < 0:  # the common case, without the patches
        return clamped(xxh64(text, begin, end, seed, -1))
    return clamped(xxh64(text, begin, end, seed, colon))


@inlined
def key_in_memory(name: int, length: int) -> Any:
    """Return the key of a name at an address; up to 7 bytes before it are read, none after it.

    They are there: before its text stands the head of a string, or what the allocator keeps.
    """
    if not 0 < length < 32 or ZERO <= byte(name) < ZERO + 10:
        return key_of_name(name, 0, length, DEFAULT_SEED, -1)
    h = DEFAULT_SEED + _P5 + uint64(length)
    for at in range(name, name + length - 7, 8):
        h = _with_word(h, word(at))
    tail = word(name + length - 8) >> uint64(-8 * length & 63)
    return _with_tail(h, tail, uint64(length))


@inlined
def short_integer(text: int, begin: int, end: int) -> Any:
    """Read an integer as `integer` does; a word may be read past the end of the range."""
    n = end - begin
    if n > 8:
        return integer(text, begin, end)
    w = (word(text + begin) ^ ZEROS) << uint64(64 - 8 * n)
    leading = n > 1 and byte(text + begin) == ZERO
    return eight_digits(w) if are_digits(w) and not leading else NOT_A_KEY


@helper
def key_of_number(number: int, seed: Any) -> Any:
    """Return the key of the name that is this number, below 10^16, in decimal."""
    if seed == DEFAULT_SEED:
        return uint64(number)
    low, high, n = uint64(0), uint64(0), 0
    while n == 0 or number > 0:  # the last digit first, so each moves those after it up
        high = (high << uint64(8)) | (low >> uint64(56))
        low = (low << uint64(8)) | uint64(ZERO + number % 10)
        number //= 10
        n += 1
    h = seed + _P5 + uint64(n)
    while n >= 8:
        h = _with_word(h, low)
        low, n = high, n - 8
    if n >= 4:
        h = _with_half(h, low & uint64(0xFFFFFFFF))
        low, n = low >> uint64(32), n - 4
    for _ in range(n):
        h = _with_byte(h, low & uint64(0xFF))
        low >>= uint64(8)
    return clamped(_finished(h))


@helper
def mix(a: Any, b: Any) -> Any:
    """Return the key of a product: XXH64 of the eight bytes of ``b``, seeded by ``a``.

    As a name's key is that of its bytes, seeded by its namespace. Of three, mix(mix(a, b), c).
    """
    return clamped(_finished(_with_word(a + _P5 + uint64(8), b)))


@helper
def integer(text: int, begin: int, end: int) -> Any:
    """Read a plain decimal integer of up to LARGEST; NOT_A_KEY if a range is not one.

    Plain: digits only, and a leading 0 only in "0" itself.
    """
    n = end - begin
    if n == 0 or n > 20 or (n > 1 and byte(text + begin) == ZERO):
        return NOT_A_KEY
    number = uint64(0)
    for i in range(begin, end):
        digit = uint64(byte(text + i) - ZERO)
        if digit > uint64(9):
            return NOT_A_KEY
        if i - begin == 19 and number > (uint64(LARGEST) - digit) // uint64(10):
            return NOT_A_KEY
        number = number * uint64(10) + digit
    return number
