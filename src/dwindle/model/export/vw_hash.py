"""Vowpal Wabbit's number of a feature.

It is MurmurHash3 (32 bits) of the name, seeded by that of its namespace, which is 0 for the
default one; a name of digits is itself plus the seed. Of a product it is (h(a) * 16777619) ^ h(b),
and so on.
"""

from collections.abc import Iterable

FNV = 16777619
WORD = 2**32 - 1
CONSTANT = 11650396  # the number of the intercept
NAMELESS = " \t\r\n|:"  # what a name in VW text cannot have


def murmur(raw: bytes, seed: int) -> int:
    """Hash bytes to 32 bits.

    >>> murmur(b"shoes", 0) == murmur(b"hats", 0)
    False
    """
    h, n = seed & WORD, len(raw)
    for i in range(0, n - 3, 4):
        k = int.from_bytes(raw[i : i + 4], "little") * 0xCC9E2D51 & WORD
        h ^= (k << 15 | k >> 17) * 0x1B873593 & WORD
        h = (h << 13 | h >> 19) & WORD
        h = h * 5 + 0xE6546B64 & WORD
    if n % 4:
        k = int.from_bytes(raw[n - n % 4 :], "little") * 0xCC9E2D51 & WORD
        h ^= ((k << 15 | k >> 17) & WORD) * 0x1B873593 & WORD
    h ^= n
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h = (h ^ h >> shift) * factor & WORD
    return h ^ h >> 16


def number_of(name: str, seed: int, *, digits: bool = True) -> int:
    """Hash a name, or take it as a number if it has only digits, as VW does by default."""
    if digits and name and name.isascii() and name.isdigit():
        return (int(name) + seed) & (2**64 - 1)
    return murmur(name.encode("utf-8", "surrogateescape"), seed)


def feature_number(
    namespace: str, name: str, text: str | None = None, *, digits: bool = True
) -> int:
    """Return the number of a feature, or of the feature ``name:text``, whose value is a text."""
    seed = number_of(namespace, 0, digits=digits) if namespace else 0
    number = number_of(name, seed, digits=digits)
    return number if text is None else number_of(text, number & WORD, digits=False)


def product_number(numbers: Iterable[int]) -> int:
    """Return the number of a product of features, or of the one feature."""
    first, *others = numbers
    for other in others:
        first = first * FNV ^ other
    return first
