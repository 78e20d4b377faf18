"""Numbers in words of eight bytes, read without branches, so that LLVM reads several at once.

A number is given by the words it begins with and its length; what follows it does not count. Each
function reads numbers of some form; the value is that of `numbers.number`, to the bit, and for text
of another form it is nan (of an integer: NOT_A_KEY).
"""

import math
from typing import Any

import numpy as np

from dwindle._base.text import DOT, MINUS, PLUS, ZERO
from dwindle.features.digits import ZEROS, are_digits, eight_digits, marks
from dwindle.features.xxh64 import NOT_A_KEY
from dwindle.jit.compile import helper, inlined
from dwindle.jit.numbers import float32, float64, int64, uint64

# Bytes are compared after an exclusive or with those of ZEROS, which makes digits 0 to 9.
_DOT, _PLUS, _MINUS = DOT ^ ZERO, PLUS ^ ZERO, MINUS ^ ZERO
_CASE = 0x20  # the bit by which e and E differ, set
_E = (ord("e") ^ ZERO) | _CASE
_E_MINUS, _E_PLUS = uint64(_E | _MINUS << 8), uint64(_E | _PLUS << 8)

_BYTE, _ONE, _TO_TOP = uint64(0xFF), uint64(8), uint64(56)
_UNIT = uint64(1 << 56)  # the digit 1, after seven zeros
_PLACES = uint64(0x0706050403020100)  # times the lowest bit of a byte: on top, the bytes above it
_SMALLEST = 2.0**-126  # below it, a single has fewer digits

# Of a double, the last 29 bits decide how it is rounded to a single: it is up from HALF on.
_HALF, _LAST_BITS, _DOUBT = uint64(1 << 28), uint64((1 << 29) - 1), uint64(16)


# Up to 16 bytes, without an exponent


@inlined
def number_of_word(w: Any, n: Any) -> Any:
    """Read the first n bytes of ``w``: up to eight digits, perhaps a dot and a minus."""
    fits = n <= uint64(8)
    negative = w & _BYTE == uint64(MINUS)
    w = w >> _ONE if negative else w
    n -= uint64(negative)
    w = (w ^ ZEROS) << ((uint64(64) - uint64(8) * n) & uint64(63))  # the last digit is on top
    dot = _lowest_dot(w)
    w = w if dot == uint64(0) else _closed(w, dot)
    n -= uint64(dot != uint64(0))
    dot = _UNIT if dot == uint64(0) else dot
    value = float64(int64(eight_digits(w))) / float64(int64(eight_digits(dot)))
    single = float32(-value if negative else value)
    fine = are_digits(w) & (n - uint64(1) < uint64(8)) & fits
    return single if fine else float32(math.nan)


@inlined
def number_of_words(low: Any, high: Any, n: Any) -> Any:
    """Read the first n bytes of two words: up to 15 digits, perhaps a dot and a minus."""
    fits = n <= uint64(16)
    negative = low & _BYTE == uint64(MINUS)
    low = (low >> _ONE) | (high << _TO_TOP) if negative else low
    high = high >> _ONE if negative else high
    n -= uint64(negative)
    low, high = low ^ ZEROS, high ^ ZEROS
    shift = (uint64(128) - uint64(8) * n) & uint64(63)
    both = (high << shift) | ((low >> uint64(1)) >> (uint64(63) - shift))
    low = low << shift
    high = both if n > uint64(8) else low
    low = low if n > uint64(8) else uint64(0)
    upper, lower = _lowest_dot(high), _lowest_dot(low)
    in_high = upper != uint64(0)
    in_low = (not in_high) & (lower != uint64(0))
    high = _closed(high, upper) | (low >> _TO_TOP) if in_high else high
    low = low << _ONE if in_high else _closed(low, lower) if in_low else low
    m = n - uint64(in_high | in_low)
    dot = upper if in_high else lower if in_low else _UNIT
    ten_to = eight_digits(dot) * (uint64(10**8) if in_low else uint64(1))
    digits = eight_digits(low) * uint64(10**8) + eight_digits(high)
    value = float64(int64(digits)) / float64(int64(ten_to))
    single = float32(-value if negative else value)
    fine = are_digits(low) & are_digits(high) & (m - uint64(1) < uint64(15)) & fits
    return single if fine else float32(math.nan)


@inlined
def _lowest_dot(w: Any) -> Any:
    """Find the byte of ``w`` that is a dot: its lowest bit, or 0."""
    dots = marks(w, _DOT)
    return (dots & (~dots + uint64(1))) >> uint64(7)


@inlined
def _closed(w: Any, dot: Any) -> Any:
    """Remove the byte of ``w`` whose lowest bit is ``dot``; those below it move up."""
    return (w & ~((dot << _ONE) - uint64(1))) | ((w & (dot - uint64(1))) << _ONE)


# Up to 24 bytes and 19 digits, perhaps with an exponent, as in 1e-05 or 1.5E+3


@helper
def is_normalised(w: Any) -> bool:
    """Tell whether a number that begins with ``w`` has one digit before its dot."""
    w = w >> _ONE if w & _BYTE == uint64(MINUS) else w
    return (w >> _ONE) & _BYTE == uint64(DOT)


@helper
def has_exponent(low: Any, high: Any, n: Any) -> bool:
    """Tell whether a number of n bytes, up to 16, ends with e, a sign and two digits: a hint."""
    at = n - uint64(4)
    w = low if at < uint64(8) else high
    return ((w >> (uint64(8) * (at & uint64(7)))) | uint64(_CASE)) & _BYTE == uint64(ord("e"))


@inlined
def normalised_number(low: Any, middle: Any, high: Any, n: Any) -> Any:
    """Read the first n bytes of three words: a digit, a dot, and more digits."""
    fits = n <= uint64(24)
    negative, low, middle, high, n = _unsigned(low, middle, high, n)
    fine = fits & (n > uint64(2)) & ((low >> _ONE) & _BYTE == uint64(_DOT))
    low = (low & ~uint64(0xFFFF)) | ((low & _BYTE) << _ONE)  # instead of the dot, a 0 before all
    low, middle, high = _right_aligned(low, middle, high, n)
    size, power = _exponent(high)
    low, middle, high = _moved_up(low, middle, high, uint64(8) * size)
    places = n - uint64(2) - size
    return _scaled(low, middle, high, power - int64(places), negative, fine)


@inlined
def any_number(low: Any, middle: Any, high: Any, n: Any) -> Any:
    """Read the first n bytes of three words: digits, perhaps a dot among them."""
    fits = n <= uint64(24)
    negative, low, middle, high, n = _unsigned(low, middle, high, n)
    low, middle, high = _right_aligned(low, middle, high, n)
    size, power = _exponent(high)
    low, middle, high = _moved_up(low, middle, high, uint64(8) * size)
    in_low, in_middle, in_high = _lowest_dot(low), _lowest_dot(middle), _lowest_dot(high)
    third = in_high != uint64(0)
    second = (not third) & (in_middle != uint64(0))
    first = (not third) & (not second) & (in_low != uint64(0))
    high = _closed(high, in_high) | (middle >> _TO_TOP) if third else high
    lifted = (middle << _ONE if third else _closed(middle, in_middle)) | (low >> _TO_TOP)
    middle = lifted if third | second else middle
    low = low << _ONE if third | second else _closed(low, in_low) if first else low
    places = (in_high if third else in_middle if second else in_low) * _PLACES >> _TO_TOP
    places += uint64(8) if second else uint64(16) if first else uint64(0)
    n_digits = n - size - uint64(first | second | third)
    fine = fits & (n_digits - uint64(1) < uint64(24))
    return _scaled(low, middle, high, power - int64(places), negative, fine)


@inlined
def _unsigned(low: Any, middle: Any, high: Any, n: Any) -> tuple[bool, Any, Any, Any, Any]:
    """Remove a minus: (whether there is one, the words, n)."""
    low, middle, high = low ^ ZEROS, middle ^ ZEROS, high ^ ZEROS
    negative = low & _BYTE == uint64(_MINUS)
    low = (low >> _ONE) | (middle << _TO_TOP) if negative else low
    middle = (middle >> _ONE) | (high << _TO_TOP) if negative else middle
    high = high >> _ONE if negative else high
    return negative, low, middle, high, n - uint64(negative)


@inlined
def _right_aligned(low: Any, middle: Any, high: Any, n: Any) -> tuple[Any, Any, Any]:
    """Move n bytes up so that the last one is on top of ``high``; zeros come before them."""
    two, three = n > uint64(8), n > uint64(16)
    high = high if three else middle if two else low
    middle = middle if three else low if two else uint64(0)
    low = low if three else uint64(0)
    return _moved_up(low, middle, high, (uint64(192) - uint64(8) * n) & uint64(63))


@inlined
def _moved_up(low: Any, middle: Any, high: Any, shift: Any) -> tuple[Any, Any, Any]:
    """Shift three words by fewer than 64 bits."""
    back = uint64(63) - shift  # and one, because to shift by 64 at once is undefined
    high = (high << shift) | ((middle >> uint64(1)) >> back)
    middle = (middle << shift) | ((low >> uint64(1)) >> back)
    return low << shift, middle, high


@inlined
def _exponent(w: Any) -> tuple[Any, int]:
    """Read e, a sign and one or two digits on top of ``w``: (bytes, power); 0 if they are not."""
    is_short = ((w >> uint64(40)) | uint64(_CASE)) & _BYTE == uint64(_E)
    longer = (w & (_BYTE << _TO_TOP)) | ((w >> _ONE) & uint64(0x0000FFFF00000000))
    w = longer if is_short else w  # with a 0 before its digit
    e_sign = ((w >> uint64(32)) | uint64(_CASE)) & uint64(0xFFFF)
    is_minus = e_sign == _E_MINUS
    digits = w >> uint64(48)
    found = ((digits + uint64(0x7676)) | digits) & uint64(0x8080) == uint64(0)
    found &= is_minus | (e_sign == _E_PLUS)
    power = int64(((digits * uint64(2561)) >> _ONE) & _BYTE)
    opposite = -power
    power = opposite if is_minus else power
    size = uint64(3) if is_short else uint64(4)
    return size if found else uint64(0), power if found else 0


@inlined
def _scaled(low: Any, middle: Any, high: Any, power: int, negative: bool, fine: Any) -> Any:
    """Return up to 19 digits times ten to the power; nan if ``fine`` is not, or rounding not sure.

    All that is rounded on the way to ``value`` are the digits, two products in ``ten_to`` and 10^32
    itself, and the last operation: by 5 parts in 2^53 at most, which are 5 in its last place. So
    unless its last bits are within DOUBT of a half, the exact value rounds to the same single.
    """
    top = eight_digits(low)
    digits = (top * uint64(10**8) + eight_digits(middle)) * uint64(10**8) + eight_digits(high)
    other = (low + uint64(0x7676767676767676)) | low | (middle + uint64(0x7676767676767676))
    other |= middle | (high + uint64(0x7676767676767676)) | high  # see `are_digits`
    size = uint64(-power if power < 0 else power)
    fine &= (other & uint64(0x8080808080808080) == uint64(0)) & (top < uint64(1000))
    fine &= size < uint64(64)
    ten_to = 10.0 if size & uint64(1) != uint64(0) else 1.0
    ten_to *= 1e2 if size & uint64(2) != uint64(0) else 1.0
    ten_to *= 1e4 if size & uint64(4) != uint64(0) else 1.0
    ten_to *= 1e8 if size & uint64(8) != uint64(0) else 1.0
    ten_to *= 1e16 if size & uint64(16) != uint64(0) else 1.0
    ten_to *= 1e32 if size & uint64(32) != uint64(0) else 1.0
    whole = float64(digits)
    down, up = whole / ten_to, whole * ten_to
    value = down if power < 0 else up
    last_bits = (np.float64(value).view(np.uint64) - (_HALF - _DOUBT)) & _LAST_BITS
    fine &= (last_bits > uint64(2) * _DOUBT) & ((value >= _SMALLEST) | (digits == uint64(0)))
    single = float32(value)
    opposite, none = -single, float32(math.nan)
    single = opposite if negative else single
    return single if fine else none


# Integers, as `xxh64.integer` reads them


@inlined
def integer_of_word(w: Any, n: Any) -> Any:
    """Read the first n bytes of ``w``, of which there is at least one."""
    leads = (w & _BYTE == uint64(ZERO)) & (n != uint64(1))
    w = (w ^ ZEROS) << ((uint64(64) - uint64(8) * n) & uint64(63))
    fine = are_digits(w) & (n <= uint64(8)) & (not leads)
    return eight_digits(w) if fine else NOT_A_KEY


@inlined
def integer_of_words(low: Any, high: Any, n: Any) -> Any:
    """Read the first n bytes of two words, of which there are one to 15."""
    leads = (low & _BYTE == uint64(ZERO)) & (n != uint64(1))
    low, high = low ^ ZEROS, high ^ ZEROS
    shift = (uint64(128) - uint64(8) * n) & uint64(63)
    both = (high << shift) | ((low >> uint64(1)) >> (uint64(63) - shift))
    low = low << shift
    high = both if n > uint64(8) else low
    low = low if n > uint64(8) else uint64(0)
    fine = are_digits(low) & are_digits(high) & (n < uint64(16)) & (not leads)
    return eight_digits(low) * uint64(10**8) + eight_digits(high) if fine else NOT_A_KEY
