"""Helpers of the kernels that read text: lines, tokens, and where names and values end.

Helpers get the address of a text, because Numba would count references to an array for each
feature, which halves the speed or worse. What they write is at an address too; only kernels write
to arrays. Positions are offsets into the text, and a range does not include its end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.text import BAR, COLON, NEWLINE, RETURN, SPACE, TAB
from dwindle.data.formats.block import Block, Size
from dwindle.features.digits import marks
from dwindle.jit.compile import helper, inlined, kernel
from dwindle.jit.intrinsics import byte, lowest, mask_of, n_set, put_word, unlikely, word
from dwindle.jit.numbers import uint64

# What a kernel says of a line in any format; a format's own errors follow. UNSURE: see `number`.
FINE, UNSURE, NUL, LONE_RETURN, KINDS = range(5)

# Fast paths read past what they look for, so they end this many bytes before the text does.
MARGIN = 128
BLANKS = uint64(0x2121212121212121)  # one more than a space, in each byte


# Lines


def opened(block: Block) -> tuple[NDArray[np.uint8], int, Size]:
    """Return the bytes of a block, where the text begins, and bounds on what it holds.

    The text begins after the byte order mark, if there is one. The bytes are read-only, because to
    Numba a writable array has another type.
    """
    data = np.ascontiguousarray(block.data, np.uint8)[:]
    data.flags.writeable = False
    begin = 3 if block.line == 1 and data[:3].tobytes() == b"\xef\xbb\xbf" else 0
    return data, begin, block.size or size_of(data)


def size_of(data: NDArray[np.uint8]) -> Size:
    """Compute bounds on what a block of these bytes holds."""
    n_newlines, *others = _counts(data.ctypes.data, len(data))
    return Size(n_newlines + 1, *others)


@kernel
def last_line(data: Any) -> int:
    """Find where the last whole line ends; 0 if there is none."""
    n = len(data)
    while n > 0 and data[n - 1] != NEWLINE:
        n -= 1
    return n


ends: Any = mask_of(
    SPACE, COLON, BAR
)  # of a name or value: a blank, a control character, ':' or '|'
newlines: Any = mask_of(None, NEWLINE)
_separators: Any = mask_of(None, SPACE, TAB)
_bars: Any = mask_of(None, BAR)
_nuls: Any = mask_of(None, 0)
_returns: Any = mask_of(None, RETURN)


@kernel
def _counts(text: int, end: int) -> tuple[int, int, int, bool]:
    """Count newlines, separators and bars, and tell whether the text is odd: see `Size`."""
    n_newlines, n_separators, n_bars = 0, 0, 0
    odd = uint64(0)
    whole = max(end - 1, 0) & ~63  # up to here, each byte has one after it
    for i in range(0, whole, 64):
        n_newlines += n_set(newlines(text + i))
        n_separators += n_set(_separators(text + i))
        n_bars += n_set(_bars(text + i))
        odd |= _nuls(text + i) | (_returns(text + i) & ~newlines(text + i + 1))
    for i in range(whole, end):
        c = byte(text + i)
        n_newlines += c == NEWLINE
        n_separators += c in (SPACE, TAB)
        n_bars += c == BAR
        is_lone = c == RETURN and i + 1 < end and byte(text + i + 1) != NEWLINE
        odd |= uint64(c == 0 or is_lone)
    return n_newlines, n_separators, n_bars, odd != uint64(0)


@helper
def end_of_name(text: int, begin: int, end: int) -> int:
    """Find where a name ends: at a space, a tab, a colon, a bar, or with its line."""
    i = begin
    while i < end:
        if i + 8 <= end:
            w = word(text + i)
            blank = (w - BLANKS) & ~w & uint64(0x8080808080808080)  # a space or below it
            found = blank | marks(w, COLON) | marks(w, BAR)
            if found == 0:
                i += 8
                continue
            i += lowest(found) >> 3
        if byte(text + i) in (SPACE, TAB, RETURN, NEWLINE, COLON, BAR):
            break
        i += 1
    return i


@helper
def line_end(text: int, i: int, n: int) -> int:
    """Find where the line of ``i`` ends: at its newline, or with the text."""
    while i + 64 <= n:
        found = newlines(text + i)
        if found != 0:
            return i + lowest(found)
        i += 64
    while i < n and byte(text + i) != NEWLINE:
        i += 1
    return i


@helper
def content_end(text: int, i: int, n: int) -> int:
    """Find where the content of the line from ``i`` on ends: before its newline or CRLF."""
    end = line_end(text, i, n)
    return end - int(end > i and byte(text + end - 1) == RETURN)


@helper
def oddity(text: int, begin: int, end: int) -> int:
    """Return NUL or LONE_RETURN if a line has one, else FINE."""
    if find(text, begin, end, 0) < end:
        return NUL
    return LONE_RETURN if find(text, begin, end, RETURN) < end else FINE


@helper
def find(text: int, begin: int, end: int, sought: int) -> int:
    """Find a byte in a range; the end of the range if it is not there."""
    i = begin
    while i + 8 <= end:
        found = marks(word(text + i), sought)
        if found != 0:
            return i + (lowest(found) >> 3)
        i += 8
    while i < end and byte(text + i) != sought:
        i += 1
    return i


@helper
def skip_blank(text: int, begin: int, end: int) -> int:
    """Find the first byte of a range that is neither space nor tab, or its end."""
    i = begin
    while i < end and (byte(text + i) == SPACE or byte(text + i) == TAB):
        i += 1
    return i


@helper
def token_end(text: int, begin: int, end: int) -> int:
    """Find the first space or tab of a range, or its end."""
    i = begin
    while i < end and byte(text + i) != SPACE and byte(text + i) != TAB:
        i += 1
    return i


# Stops: where names and values end

WINDOW = 1024  # bytes searched for stops at a time
AHEAD = 4 * 8  # bytes of the stops needed at once: '|', ':', a carriage return and the newline
ROOM_FOR_STOPS = AHEAD + 8 * (WINDOW + 8)  # they are written eight at a time


@helper
def fast_end(text: int, begin: int, end: int) -> int:
    """Find the end of the last line that is followed by a MARGIN."""
    i = max(begin, end - MARGIN)
    while i > begin and byte(text + i - 1) != NEWLINE:
        i -= 1
    return i


@inlined
def more_stops(text: int, base: int, end: int, stops: int, first: int, last: int) -> int:
    """Write the next stops at address ``stops``, a word each; return the address after the last.

    The stops at addresses ``first`` to ``last`` are moved there first; those of the WINDOW from
    ``base`` on follow. Some may be after ``end``.
    """
    to = stops
    for stop in range(first, last, 8):
        put_word(to, word(stop))
        to += 8
    for i in range(base, min(base + WINDOW, end), 64):
        found = ends(text + i)
        after = to + 8 * n_set(found)
        while to < after:  # eight at a time, because how many there are cannot be predicted
            for _ in range(8):
                put_word(to, uint64(i + lowest(found)))
                found &= found - uint64(1)
                to += 8
        to = after
    return to


@inlined
def refilled(
    text: int, stopped: int, fast: int, stops: int, p: int, last: int, few: int
) -> tuple[int, int, int, int]:
    """Make sure that there are stops from address ``p`` on: (stopped, p, last, few).

    All stops before the place ``stopped`` are known, up to the address ``last``; from the address
    ``few`` on there may be fewer than a kernel needs at once.
    """
    while unlikely(p >= few):
        last = more_stops(text, stopped, fast, stops, p, last)
        stopped, p = stopped + WINDOW, stops
        few = last - AHEAD if stopped < fast else last + AHEAD
    return stopped, p, last, few
