"""From the name of a feature to its 64-bit key."""

import xxhash

LARGEST = 2**64 - 2  # the table marks an empty cell with the one key above

# XXH64 of the name seeded by XXH64 of the namespace; the default namespace is the empty string.
_DEFAULT_SEED = xxhash.xxh64_intdigest(b"")


def key_of(name: str) -> int:
    """The key of a feature in the default namespace.

    A plain decimal integer is its own key, so that column 12 of a matrix and the name "12" are the
    same feature; any other name is hashed.

    >>> key_of("12"), key_of("012") == 12, key_of("price")
    (12, False, 7182439420440966573)
    """
    if name.isdecimal() and name.isascii():
        number = int(name) if len(name) <= 20 else LARGEST + 1
        if number <= LARGEST and str(number) == name:
            return number
    return min(xxhash.xxh64_intdigest(name.encode("utf-8", "surrogatepass"), _DEFAULT_SEED), LARGEST)
