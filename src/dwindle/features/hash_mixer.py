"""By what keys are multiplied for their place in a hash table."""

import os
from typing import Any

from dwindle.jit.numbers import uint64

GOLDEN = uint64(0x9E3779B97F4A7C15)  # 2^64 / the golden ratio: spreads neighbouring keys


def random_mixer() -> Any:
    """Return an odd number by which no one can have chosen keys that share their first bits.

    By a random one, two keys share their first k bits with a probability of at most 2 / 2^k.
    """
    return uint64(int.from_bytes(os.urandom(8), "little") | 1)
