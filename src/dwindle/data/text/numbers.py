"""Decimal numbers in text, read by kernels: float() rounded to single precision, to the bit."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.text import DOT, MINUS, PLUS, ZERO
from dwindle.features.digits import ZEROS, are_digits, eight_digits, marks
from dwindle.jit.compile import helper, inlined
from dwindle.jit.intrinsics import byte, double, lowest, word
from dwindle.jit.numbers import float32, float64, int64, uint64

_LEAST, _MOST = -65, 39  # 10^19 times any lower power of ten is 0 in single precision
_TEN_TO = np.array([float(f"1e{k}") for k in range(_LEAST, _MOST + 1)])
_BELOW, _ABOVE = 1.0 - 2.0**-50, 1.0 + 2.0**-50
_INF, _NAN, _INFINITY = (
    uint64(int.from_bytes(text, "little")) for text in (b"inf", b"nan", b"infinity")
)


KNOWN = np.dtype([("at", np.int64), ("value", np.float64)])  # a number read by Python


def known_numbers(numbers: dict[int, float]) -> NDArray[Any]:
    """Make the table in which `number` looks up numbers by their places, which are in order."""
    return np.array([(len(numbers), 0.0), *numbers.items()], KNOWN)


@helper
def _look_up(known: int, at: int) -> float:
    """Look up the known number at a place; nan if there is none."""
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
def after_sign(text: int, begin: int, end: int) -> int:
    """Skip a plus or minus at the beginning of a range."""
    signed = begin < end and (byte(text + begin) == MINUS or byte(text + begin) == PLUS)
    return begin + int(signed)


@helper
def _without(low: Any, high: Any, place: int) -> Any:
    """Remove a byte of ``low``; those above it move down, and one of ``high`` follows."""
    half = uint64(4 * place)  # twice, because to shift by 64 at once is undefined
    below = ((uint64(1) << half) << half) - uint64(1)
    return (low & below) | (((low >> uint64(8)) | (high << uint64(56))) & ~below)


@inlined
def short_number(text: int, begin: int, end: int) -> tuple[bool, Any]:
    """Read a number of at most 15 digits and a dot, perhaps with a minus: (is one, value).

    The value is that of `number`. Eight digits are read at once and without branches, because
    neither lengths nor the place of the dot can be predicted. Words may be read past the end.
    (For one number at a time, this is 10 % faster than `simd_numbers.number_of_words`.)
    """
    no_value = float32(0.0)
    negative = byte(text + begin) == MINUS
    begin += int64(negative)
    n = end - begin
    low = word(text + begin)
    if n <= 8:
        dot = min(lowest(marks(low, DOT)) >> 3, n)
        m = n - int64(dot < n)
        if m <= 0:
            return False, no_value
        low = (_without(low, uint64(0), dot) ^ ZEROS) << uint64(64 - 8 * m)
        if not are_digits(low):
            return False, no_value
        digits = eight_digits(low)
    else:
        high = word(text + begin + 8)
        dot = lowest(marks(low, DOT)) >> 3
        if dot < 8:
            low, high = _without(low, high, dot), high >> uint64(8)
        else:
            dot = min(lowest(marks(high, DOT)) >> 3, n - 8)
            high = _without(high, uint64(0), dot)
            dot += 8
        m = n - int64(dot < n)
        if n > 16 or m > 15:
            return False, no_value
        low ^= ZEROS
        high ^= ZEROS
        if m <= 8:
            low, high = uint64(0), low
        else:
            shift = uint64(128 - 8 * m)
            low, high = low << shift, (high << shift) | (low >> (uint64(64) - shift))
        if not (are_digits(low) and are_digits(high)):
            return False, no_value
        digits = eight_digits(low) * uint64(10**8) + eight_digits(high)
    value = float64(int64(digits)) / _TEN_TO[uint64(n - dot - int64(dot < n) - _LEAST)]
    return True, float32(-value if negative else value)


@inlined
def _digits(text: int, i: int, end: int, digits: Any) -> tuple[int, Any, int]:
    """Append digits to others, as far as 19 fit: (where they end, all digits, how many fitted)."""
    taken = 0
    while i < end:
        digit = uint64(byte(text + i) - ZERO)
        if digit > uint64(9):
            break
        if digits < uint64(10**18):
            digits = digits * uint64(10) + digit
            taken += 1
        i += 1
    return i, digits, taken


@helper
def number(  # noqa: C901, PLR0911 - one walk over the digits
    text: int, begin: int, end: int, known: int
) -> tuple[Any, int, bool]:
    """Read the decimal number that starts at ``begin``: (value, stop, sure).

    Where no number starts, the value is nan; where it is too large for single precision, inf.
    Otherwise it is np.float32(float(text)), to the bit:

    * If the digits make an integer up to 2^53 and the power of ten is at most 22, both are exact in
      double precision, and one operation rounds once (Clinger, 1990).
    * Otherwise the first 19 digits times the power of ten are within 4 parts in 2^53 of the true
      value. Rounding is monotonic, so if 8 parts less and 8 more make the same single, so does
      the true value.
    * Otherwise it is one of the ``known`` numbers, or not sure and left to Python's float(): about
      six in a hundred million numbers of more than 15 digits.
    """
    i = after_sign(text, begin, end)
    stop, digits, taken = _digits(text, i, end, uint64(0))
    n_digits = stop - i
    exponent, i = n_digits - taken, stop
    if i < end and byte(text + i) == DOT:
        stop, digits, taken = _digits(text, i + 1, end, digits)
        n_digits += stop - (i + 1)
        exponent, i = exponent - taken, stop
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
    """Read the integer that starts at ``begin``, up to 10^17, and where it stops."""
    i = after_sign(text, begin, end)
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
    """Tell whether a range is inf, infinity or nan, in any case, with or without a sign."""
    i = after_sign(text, begin, end)
    n = end - i
    if n not in (3, 8):
        return False
    w = uint64(0)
    for k in range(n):
        w |= uint64(byte(text + i + k) | 0x20) << uint64(8 * k)
    return w in (_INF, _NAN, _INFINITY)
