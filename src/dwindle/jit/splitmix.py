"""The random numbers of splitmix64 (Steele, Lea and Flood, 2014)."""

from typing import Any

from dwindle.jit.compile import helper
from dwindle.jit.numbers import uint64

INCREMENT = uint64(0x9E3779B97F4A7C15)  # 2^64 / the golden ratio: from one state to the next


@helper
def mixed(h: Any) -> Any:
    """Return the 64 random bits that follow state ``h``."""
    h += INCREMENT
    h = (h ^ (h >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> uint64(27))) * uint64(0x94D049BB133111EB)
    return h ^ (h >> uint64(31))
