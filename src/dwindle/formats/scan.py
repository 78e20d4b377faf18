"""What the kernels that read text are made of: lines, numbers, names and their keys.

The helpers know the text by its address, because an array handed from one to the next would be
reference-counted for each feature: measured, at half the speed or less. Only the kernels write.
Positions are offsets into the text, and a range of bytes goes up to, not including, its end.
"""

import math
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash
from llvmlite import ir
from numba import float32, float64, int64, types, uint8, uint64
from numba.extending import intrinsic
from numpy.typing import NDArray

from dwindle._jit import compiled, helper
from dwindle.formats.block import Block
from dwindle.hashing import LARGEST

# Numba re-reads a kernel's own file before trusting its cache, but not the files it calls into. So
# the last parameter of every kernel that uses this module is ``stamp=STAMP``: see `_jit.Kernel`.
_SOURCES = (Path(__file__), Path(__file__).parent.parent / "hashing.py")
STAMP = int(sha256(b"".join(file.read_bytes() for file in _SOURCES)).hexdigest()[:15], 16)

TAB, NEWLINE, RETURN, SPACE = b"\t\n\r "
HASH, QUOTE, PLUS, COMMA, MINUS, DOT, COLON, EQUALS, BAR = b"#'+,-.:=|"
ZERO = ord("0")

# What a kernel may stop at in any format; a format's own kinds follow. UNSURE: see `number`.
FINE, UNSURE, NUL, LONE_RETURN, KINDS = range(5)

DEFAULT_SEED = uint64(xxhash.xxh64_intdigest(b""))  # of the namespace without a name
NOT_A_KEY = uint64(LARGEST + 1)


# Lines


class Size(NamedTuple):
    """Bounds on what a block holds.

    ``odd`` says that some line has a NUL, or a carriage return before its end. Without one, no line
    need be searched for them.
    """

    lines: int
    separators: int  # spaces and tabs: there is one before each feature
    bars: int
    odd: bool


def opened(block: Block) -> tuple[NDArray[np.uint8], int]:
    """The block's bytes and where the text begins: after the byte order mark, if line 1 has one.

    They are read-only, because to Numba a writable array is another type.
    """
    data = np.ascontiguousarray(block.data, np.uint8)[:]
    data.flags.writeable = False
    return data, 3 if block.line == 1 and data[:3].tobytes() == b"\xef\xbb\xbf" else 0


def size_of(data: NDArray[np.uint8]) -> Size:
    """Bounds on what the block holds."""
    lines, separators, bars, doubtful = _counts(data)
    return Size(lines + 1, separators, bars, bool(doubtful) and _is_odd(data))


@compiled
def _counts(data: Any) -> tuple[int, int, int, int]:
    """How many newlines, separators, bars, and NULs or carriage returns there are."""
    n = len(data)
    newlines: Any = 0
    separators: Any = 0
    bars: Any = 0
    doubtful: Any = 0
    for begin in range(0, n, 255):  # what 8 bits can count: three times as fast as with 64
        w, x, y, z = uint8(0), uint8(0), uint8(0), uint8(0)
        for i in range(begin, min(begin + 255, n)):
            c = data[uint64(i)]
            w = uint8(w + uint8(c == NEWLINE))
            x = uint8(x + uint8((c == SPACE) | (c == TAB)))
            y = uint8(y + uint8(c == BAR))
            z = uint8(z + uint8((c == 0) | (c == RETURN)))
        newlines += int64(w)
        separators += int64(x)
        bars += int64(y)
        doubtful += int64(z)
    return newlines, separators, bars, doubtful


@compiled
def _is_odd(data: Any) -> bool:
    n = len(data)
    odd = 0
    for i in range(n - 1):
        odd += (data[i] == 0) | ((data[i] == RETURN) & (data[i + 1] != NEWLINE))
    return odd > 0 or data[n - 1] == 0


def _load(width: int, result: Any) -> Any:
    """A function from an address, which need not be aligned, to what stands there."""

    def load(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.IntType(width) if result is not float64 else ir.DoubleType()
            found = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return builder.zext(found, ir.IntType(64)) if width < 64 else found

        return result(types.int64), codegen

    return intrinsic(load)


def _lowest_bit(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """Which bit of ``w``, that is not 0, is the lowest set."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.int64(types.uint64), codegen


_lowest: Any = intrinsic(_lowest_bit)
byte = _load(8, int64)
half = _load(32, uint64)
word = _load(64, uint64)
double = _load(64, float64)


@helper
def _marks(w: Any, sought: int) -> Any:
    """The top bit of each byte of ``w`` that is the one sought, and perhaps of others above it."""
    w ^= uint64(sought) * uint64(0x0101010101010101)
    return (w - uint64(0x0101010101010101)) & ~w & uint64(0x8080808080808080)


@helper
def end_of_name(text: int, begin: int, end: int) -> int:
    """Where a name that starts at ``begin`` ends: at a space, tab, colon, bar or line's end."""
    i = begin
    while i + 8 <= end:
        w = word(text + i)
        marks = _marks(w, SPACE) | _marks(w, COLON) | _marks(w, TAB) | _marks(w, BAR)
        if marks != 0:
            return i + (_lowest(marks) >> 3)
        i += 8
    while i < end:
        c = byte(text + i)
        if c in (SPACE, COLON, TAB, BAR):
            break
        i += 1
    return i


@helper
def line_end(text: int, i: int, n: int) -> int:
    """Where the line that ``i`` is on ends: at its newline, or with the text."""
    while i + 8 <= n:
        marks = _marks(word(text + i), NEWLINE)
        if marks != 0:
            return i + (_lowest(marks) >> 3)
        i += 8
    while i < n and byte(text + i) != NEWLINE:
        i += 1
    return i


@helper
def oddity(text: int, begin: int, end: int) -> int:
    """NUL or LONE_RETURN if a line has one, else FINE."""
    if find(text, begin, end, 0) < end:
        return NUL
    return LONE_RETURN if find(text, begin, end, RETURN) < end else FINE


@helper
def find(text: int, begin: int, end: int, sought: int) -> int:
    """The first place of a byte in a range, or its end."""
    i = begin
    while i < end and byte(text + i) != sought:
        i += 1
    return i


@helper
def skip_blank(text: int, begin: int, end: int) -> int:
    """The first place in a range that is neither space nor tab, or its end."""
    i = begin
    while i < end and (byte(text + i) == SPACE or byte(text + i) == TAB):
        i += 1
    return i


@helper
def token_end(text: int, begin: int, end: int) -> int:
    """The first space or tab in a range, or its end."""
    i = begin
    while i < end and byte(text + i) != SPACE and byte(text + i) != TAB:
        i += 1
    return i


# Keys

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
    """What, by exclusive or, makes the ':' at ``colon`` a '=' in the eight bytes from ``i`` on."""
    return uint64(COLON ^ EQUALS) << uint64(8 * (colon - i)) if 0 <= colon - i < 8 else uint64(0)


@helper
def xxh64(text: int, begin: int, end: int, seed: Any, colon: int) -> Any:
    """XXH64 of a range of bytes; the byte at ``colon``, unless that is -1, is read as '='."""
    i = begin
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
    else:
        h = seed + _P5
    h += uint64(end - begin)
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


@helper
def clamped(h: Any) -> Any:
    """The hash as a key."""
    return min(h, uint64(LARGEST))


@helper
def key_of_name(text: int, begin: int, end: int, seed: Any, colon: int) -> Any:
    """`hashing.key_of` a name that stands in the data; see `xxh64` for ``colon``."""
    if seed == DEFAULT_SEED:
        number = integer(text, begin, end)
        if number != NOT_A_KEY:
            return number
    if colon < 0:  # the common case, without the patches
        return clamped(xxh64(text, begin, end, seed, -1))
    return clamped(xxh64(text, begin, end, seed, colon))


@helper
def key_of_number(number: int, seed: Any) -> Any:
    """`hashing.key_of` the name that is this number in decimal, below 10^16."""
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
    """The key of an interaction: XXH64 of the eight bytes of ``b``, seeded by ``a``.

    As a name's key is that of its bytes, seeded by its namespace. Of three, mix(mix(a, b), c).
    """
    return clamped(_finished(_with_word(a + _P5 + uint64(8), b)))


@helper
def integer(text: int, begin: int, end: int) -> Any:
    """The plain decimal integer that a range holds, up to LARGEST, or NOT_A_KEY.

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


# Numbers

_LEAST, _MOST = -65, 39  # 10^19 times any lower power of ten is 0 in single precision
_TEN_TO = np.array([float(f"1e{k}") for k in range(_LEAST, _MOST + 1)])
_BELOW, _ABOVE = 1.0 - 2.0**-50, 1.0 + 2.0**-50
_INF, _NAN, _INFINITY = (
    uint64(int.from_bytes(text, "little")) for text in (b"inf", b"nan", b"infinity")
)


KNOWN = np.dtype([("at", np.int64), ("value", np.float64)])  # a number that Python has read


def known_numbers(numbers: dict[int, float]) -> NDArray[Any]:
    """Numbers by the places where they stand, in order, as `number` looks them up."""
    return np.array([(len(numbers), 0.0), *numbers.items()], KNOWN)


@helper
def _look_up(known: int, at: int) -> float:
    """The known number that stands at a place, or nan."""
    low, high = 1, int64(word(known)) + 1
    while low < high:
        middle = (low + high) // 2
        if int64(word(known + 16 * middle)) < at:
            low = middle + 1
        else:
            high = middle
    if low <= int64(word(known)) and int64(word(known + 16 * low)) == at:
        return double(known + 16 * low + 8)
    return math.nan


@helper
def number(  # noqa: C901, PLR0911, PLR0912 - one walk over the digits
    text: int, begin: int, end: int, known: int
) -> tuple[Any, int, bool]:
    """(value, stop, sure): the decimal number that starts at ``begin`` and how far it goes.

    Where no number starts, the value is nan; where it is too large for single precision, inf.
    Otherwise it is np.float32(float(text)), to the bit:

    * If the digits make an integer up to 2^53 and the power of ten is at most 22, both are exact in
      double precision, and one operation rounds once (Clinger, 1990).
    * Otherwise the first 19 digits times the power of ten are within 4 parts in 2^53 of the true
      value. Rounding is monotonic, so if 8 parts less and 8 more make the same single, so does
      the true value.
    * Otherwise it stands among the ``known`` numbers, or it is not sure: some six in a hundred
      million numbers of more than 15 digits, which are left to Python's float().
    """
    i = begin
    if i < end and (byte(text + i) == MINUS or byte(text + i) == PLUS):
        i += 1
    digits, exponent, first = uint64(0), 0, i
    while i < end:
        digit = uint64(byte(text + i) - ZERO)
        if digit > uint64(9):
            break
        if digits < uint64(10**18):
            digits = digits * uint64(10) + digit
        else:
            exponent += 1
        i += 1
    n_digits = i - first
    if i < end and byte(text + i) == DOT:
        i += 1
        first = i
        while i < end:
            digit = uint64(byte(text + i) - ZERO)
            if digit > uint64(9):
                break
            if digits < uint64(10**18):
                digits = digits * uint64(10) + digit
                exponent -= 1
            i += 1
        n_digits += i - first
    if n_digits == 0:
        return float32(math.nan), begin, True
    if i < end and (byte(text + i) == ord("e") or byte(text + i) == ord("E")):
        power, stop = _power(text, i + 1, end)
        exponent += power
        i = stop if stop > i + 1 else i
    sign = -1.0 if byte(text + begin) == MINUS else 1.0
    if digits == uint64(0) or exponent < _LEAST:
        return float32(sign * 0.0), i, True
    if exponent > _MOST:
        return float32(math.inf), i, True
    if digits <= uint64(2**53) and -22 <= exponent <= 22:
        if exponent < 0:
            value = float64(digits) / _TEN_TO[-exponent - _LEAST]
        else:
            value = float64(digits) * _TEN_TO[exponent - _LEAST]
        single = float32(value)
    else:
        value = float64(digits) * _TEN_TO[exponent - _LEAST]
        single = float32(value * _BELOW)
        if single != float32(value * _ABOVE):
            exact = _look_up(known, begin)
            if math.isnan(exact):
                return float32(0.0), i, False
            return float32(exact), i, True
    if single == float32(math.inf):
        return single, i, True
    return float32(sign) * single, i, True


@helper
def _power(text: int, begin: int, end: int) -> tuple[int, int]:
    """The integer that starts at ``begin``, up to 10^17, and where it stops: there if none."""
    i = begin
    if i < end and (byte(text + i) == MINUS or byte(text + i) == PLUS):
        i += 1
    power, first = 0, i
    while i < end and ZERO <= byte(text + i) < ZERO + 10:
        if power < 10**16:
            power = power * 10 + int64(byte(text + i)) - ZERO
        i += 1
    if i == first:
        return 0, begin
    return -power if byte(text + begin) == MINUS else power, i


@helper
def is_never_finite(text: int, begin: int, end: int) -> bool:
    """Whether a range holds inf, infinity or nan, in any case, with or without a sign."""
    i = begin
    if i < end and (byte(text + i) == MINUS or byte(text + i) == PLUS):
        i += 1
    n = end - i
    if n not in (3, 8):
        return False
    w = uint64(0)
    for k in range(n):
        w |= uint64(byte(text + i + k) | 0x20) << uint64(8 * k)
    return w in (_INF, _NAN, _INFINITY)
