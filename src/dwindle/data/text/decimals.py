"""Numbers written as text with nine significant digits, as Python's ``f"{number:.9g}"`` does.

Four times as fast as ``%``, which would make ``dwindle predict`` a quarter slower.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.text import DOT, MINUS, NEWLINE, PLUS, ZERO
from dwindle.jit.compile import helper, kernel
from dwindle.jit.numbers import int64, uint64

DIGITS = 9
LONGEST = len("-1.23456789e-308\n")
EXPONENT = ord("e")
HALF = 10 ** (DIGITS // 2)
LEAST, MOST = 10 ** (DIGITS - 1), 10**DIGITS  # numbers of nine digits are from LEAST to below MOST
TINY, HUGE = 1e-290, 1e290  # between them, `TEN_TO` can scale a number
FIRST = -300  # the lowest power of ten in the table
TEN_TO = np.array([float(f"1e{k}") for k in range(FIRST, 1 - FIRST)])
DOUBT = 2.0**-20  # a bound on the error of scaling: it rounds twice, and the result is below 2^30


def lines(number: NDArray[np.float64]) -> NDArray[np.uint8]:
    r"""Write each number on a line of its own.

    >>> lines(np.array([0.5, -2, 1e-7, 1 / 3])).tobytes()
    b'0.5\n-2\n1e-07\n0.333333333\n'
    """
    number = np.ascontiguousarray(number, np.float64)
    bits = number.view(np.uint64)
    text = np.empty(LONGEST * len(number), np.uint8)
    i, end = _write(number, bits, 0, text, 0)
    while i < len(number):
        line = np.frombuffer(b"%.9g\n" % number[i], np.uint8)
        text[end : end + len(line)] = line
        i, end = _write(number, bits, i + 1, text, end + len(line))
    return text[:end]


@helper
def _nine_digits(size: float, power: int) -> tuple[int, int]:
    """Write a number between 2^power and 2^(power + 1) as digits * 10^(exponent - 8).

    The number is scaled so that nine digits stand before the dot; unless the rest is near a half,
    the error of scaling does not matter. If it is near, the digits returned are 0.
    """
    exponent = (power * 1233) >> 12  # the common logarithm of 2^power, or one more or less
    exponent -= int64(size < TEN_TO[exponent - FIRST])
    exponent += int64(size >= TEN_TO[exponent + 1 - FIRST])
    scaled = size * TEN_TO[DIGITS - 1 - exponent - FIRST]
    digits = int64(scaled)
    fraction = scaled - digits
    digits += int64(fraction > 0.5)
    if abs(fraction - 0.5) < DOUBT or not LEAST <= digits <= MOST:
        return 0, 0
    return (digits, exponent) if digits < MOST else (LEAST, exponent + 1)


@kernel
def _write(  # noqa: C901 - one walk over the text
    number: Any, bits: Any, i: int, text: Any, end: int
) -> tuple[int, int]:
    """Write the numbers from the i-th on into the text from ``end`` on, up to an uncertain one.

    Returns which one that is and where the text ends. ``bits`` are the bits of the numbers.
    """
    for k in range(i, len(number)):
        size = abs(number[k])
        digits, exponent = 0, 0
        if size != 0.0:
            if not TINY < size < HUGE:
                return k, end
            digits, exponent = _nine_digits(size, (int64(bits[k] >> uint64(52)) & 0x7FF) - 1023)
            if digits == 0:
                return k, end
        text[end] = MINUS
        end += int64(bits[k] >> uint64(63))
        fixed = -5 < exponent < DIGITS
        # All digits are written, behind a place for the dot or behind zeros. Then those before the
        # dot move up to make room for it, and zeros at the end do not count.
        whole = exponent + 1 if fixed else 1
        first = end + max(2 - whole, 1)
        for j in range(first - end):
            text[end + j] = ZERO
        high, low = uint64(digits // HALF), uint64(digits % HALF)  # two chains of divisions
        for j in range(DIGITS // 2):
            text[first + DIGITS - 1 - j] = uint64(ZERO) + low % uint64(10)
            low //= uint64(10)
        for j in range(DIGITS // 2, DIGITS):
            text[first + DIGITS - 1 - j] = uint64(ZERO) + high % uint64(10)
            high //= uint64(10)
        for j in range(whole):
            text[end + j] = text[end + j + 1]
        text[end + max(whole, 1)] = DOT
        last = first + DIGITS - 1
        while text[last] == ZERO:
            last -= 1
        end = last + int64(text[last] != DOT)
        if not fixed:
            text[end] = EXPONENT
            text[end + 1] = MINUS if exponent < 0 else PLUS
            end += 2
            if abs(exponent) >= 100:
                text[end] = ZERO + abs(exponent) // 100
                end += 1
            text[end] = ZERO + abs(exponent) // 10 % 10
            text[end + 1] = ZERO + abs(exponent) % 10
            end += 2
        text[end] = NEWLINE
        end += 1
    return len(number), end
