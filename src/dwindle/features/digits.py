"""Eight bytes of text as one 64-bit word: whether they are digits, and the number they spell."""

from typing import Any

from numba import uint64

from dwindle.jit.compile import helper

ZEROS = uint64(int.from_bytes(b"0" * 8, "little"))


@helper
def marks(w: Any, sought: int) -> Any:
    """The top bit of each byte of ``w`` that is the one sought, and perhaps of others above it."""
    w ^= uint64(sought) * uint64(0x0101010101010101)
    return (w - uint64(0x0101010101010101)) & ~w & uint64(0x8080808080808080)


@helper
def eight_digits(w: Any) -> Any:
    """The number whose digits are the bytes of ``w``, the first in the lowest."""
    w = ((w * uint64(2561)) >> uint64(8)) & uint64(0x00FF00FF00FF00FF)
    w = ((w * uint64(6553601)) >> uint64(16)) & uint64(0x0000FFFF0000FFFF)
    return (w * uint64(42949672960001)) >> uint64(32)


@helper
def are_digits(w: Any) -> bool:
    """Whether each byte of ``w`` is from 0 to 9."""
    return ((w + uint64(0x7676767676767676)) | w) & uint64(0x8080808080808080) == uint64(0)
