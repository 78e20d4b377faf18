"""Eight bytes of text at a time, as one 64-bit word: finding a byte, reading digits."""

from typing import Any

from dwindle.jit.compile import helper
from dwindle.jit.numbers import uint64

ZEROS = uint64(int.from_bytes(b"0" * 8, "little"))


@helper
def marks(w: Any, sought: int) -> Any:
    """Set the top bit of each byte of ``w`` that is the one sought, and maybe of bytes above it."""
    w ^= uint64(sought) * uint64(0x0101010101010101)
    return (w - uint64(0x0101010101010101)) & ~w & uint64(0x8080808080808080)


@helper
def eight_digits(w: Any) -> Any:
    """Read eight digits, given as numbers from 0 to 9, the first one in the lowest byte."""
    w = ((w * uint64(2561)) >> uint64(8)) & uint64(0x00FF00FF00FF00FF)
    w = ((w * uint64(6553601)) >> uint64(16)) & uint64(0x0000FFFF0000FFFF)
    return (w * uint64(42949672960001)) >> uint64(32)


@helper
def are_digits(w: Any) -> bool:
    """Tell whether each byte of ``w`` is a number from 0 to 9."""
    return ((w + uint64(0x7676767676767676)) | w) & uint64(0x8080808080808080) == uint64(0)
