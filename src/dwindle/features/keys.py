"""Hashing: the 64-bit key of a feature's name."""

from functools import lru_cache

import xxhash

LARGEST = 2**64 - 2  # the one key above marks an empty cell of the hash table


@lru_cache(maxsize=4096)
def seed_of(namespace: str) -> int:
    """Return the seed for names in a namespace: the XXH64 of its own name ("" for the default)."""
    return xxhash.xxh64_intdigest(namespace.encode("utf-8", "surrogateescape"))


def key_of(name: str, namespace: str = "") -> int:
    """Hash a feature: XXH64 of its name, seeded by its namespace.

    A plain decimal integer in the default namespace is its own key, so that column 12 of a matrix
    and the name "12" are the same feature.

    >>> key_of("12"), key_of("012") == 12, key_of("12", "user") == 12, key_of("price")
    (12, False, False, 13983567879279552680)
    """
    if not namespace and name.isdecimal() and name.isascii():
        number = int(name) if len(name) <= 20 else LARGEST + 1
        if number <= LARGEST and str(number) == name:
            return number
    raw = name.encode("utf-8", "surrogateescape")
    return min(xxhash.xxh64_intdigest(raw, seed_of(namespace)), LARGEST)
