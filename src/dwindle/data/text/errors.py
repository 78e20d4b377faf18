"""Messages about bad lines, and numbers that a kernel leaves to Python."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.data.text.numbers import known_numbers
from dwindle.data.text.scan import LONE_RETURN, NUL, UNSURE
from dwindle.features.names import text_of

LONGEST = 40  # characters of a token shown in a message

_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NEVER_FINITE = re.compile(rb"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_TOKEN = re.compile(rb"[^ \t:|#]+")

ODDITIES = {
    NUL: "NUL byte in the line: remove it",
    LONE_RETURN: r"carriage return inside the line: end lines with \n or \r\n",
}


class Faults(NamedTuple):
    """Bad lines: their numbers, from 0, what is wrong with them, and the bytes to blame."""

    line: NDArray[np.int64]
    what: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


def room_for(n_lines: int) -> Faults:
    """Allocate space for all lines to be bad."""
    return Faults(*(np.empty(n_lines, np.int64) for _ in Faults._fields))


def listed(
    data: NDArray[np.uint8], faults: Faults, n_faults: int
) -> Iterator[tuple[int, int, bytes]]:
    """Yield the line, the kind of error and the bytes to blame."""
    for line, what, begin, end in zip(
        *(field[:n_faults].tolist() for field in faults), strict=True
    ):
        yield line, what, data[begin:end].tobytes()


def unsure_numbers(data: NDArray[np.uint8], faults: Faults, n_faults: int) -> NDArray[Any]:
    """Read all numbers of the lines in which the kernel was not sure of one."""
    found = {}
    for f in np.flatnonzero(faults.what[:n_faults] == UNSURE):
        begin, end = int(faults.begin[f]), int(faults.end[f])
        for token in _TOKEN.finditer(data.data, begin, end):
            if _NUMBER.fullmatch(token[0]):
                found[token.start()] = float(token[0])
    return known_numbers(found)


def quoted(raw: bytes) -> str:
    """Show bytes in a message: in quotes, on one line, cut short."""
    text = text_of(raw[: 4 * LONGEST + 4])  # a character has at most 4 bytes
    return repr(text[:LONGEST]) + ("..." if len(text) > LONGEST else "")


def is_number(raw: bytes) -> bool:
    """Tell whether this is a decimal number, of any size."""
    return _NUMBER.fullmatch(raw) is not None


def never_finite(raw: bytes) -> bool:
    """Tell whether this is inf or nan."""
    return _NEVER_FINITE.fullmatch(raw) is not None


def bad_number(role: str, raw: bytes, instead: str) -> str:
    """Say why this is not the finite number that was expected."""
    if is_number(raw):
        return (
            f"{role} {quoted(raw)} is too large for single precision: "
            "write a number below 3.4e38 in size"
        )
    if never_finite(raw):
        return f"{role} {quoted(raw)} is not finite: write a finite number"
    return f"expected a number as {role}, got {quoted(raw)}: write {instead}"
