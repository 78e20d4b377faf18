"""What the kernels that read text are made of: bytes, words of eight of them, and lines.

The helpers know the text by its address, because an array handed from one to the next would be
reference-counted for each feature: measured, at half the speed or less. What they put down for a
kernel is known by its address too; only the kernels write into arrays.
Positions are offsets into the text, and a range of bytes goes up to, not including, its end.
"""

import functools
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int64, types, uint64
from numba.extending import intrinsic
from numpy.typing import NDArray

from dwindle.formats.block import Block, Size
from dwindle.jit.compile import compiled_with, helper, inlined

# Compiles a kernel that reads text: these are the files that it may call into.
_HERE = Path(__file__).parent
text_kernel = compiled_with(
    *(
        _HERE / f"{name}.py"
        for name in (
            *("scan", "keys", "numerals", "lanes", "crossing", "vw_parts", "vw_faults"),
            "../hashing",
        )
    )
)

TAB, NEWLINE, RETURN, SPACE = b"\t\n\r "
HASH, QUOTE, STAR, PLUS, COMMA, MINUS, DOT, COLON, EQUALS, BAR = b"#'*+,-.:=|"
ZERO = ord("0")

# What a kernel may stop at in any format; a format's own kinds follow. UNSURE: see `number`.
FINE, UNSURE, NUL, LONE_RETURN, KINDS = range(5)

# A quick way reads on past what it looks for; this close to the end of the text it is not taken.
MARGIN = 128


# Lines


def opened(block: Block) -> tuple[NDArray[np.uint8], int, Size]:
    """The block's bytes, where the text begins, and bounds on what it holds.

    It begins after the byte order mark, if line 1 has one. The bytes are read-only, because to
    Numba a writable array is another type.
    """
    data = np.ascontiguousarray(block.data, np.uint8)[:]
    data.flags.writeable = False
    begin = 3 if block.line == 1 and data[:3].tobytes() == b"\xef\xbb\xbf" else 0
    return data, begin, block.size or size_of(data)


def size_of(data: NDArray[np.uint8]) -> Size:
    """Bounds on what a block of these bytes holds."""
    n_newlines, *others = _counts(data.ctypes.data, len(data))
    return Size(n_newlines + 1, *others)


@text_kernel
def last_line(data: Any) -> int:
    """Where the last line ends, or 0 if none does."""
    n = len(data)
    while n > 0 and data[n - 1] != NEWLINE:
        n -= 1
    return n


def _load(width: int, result: Any) -> Any:
    """A function from an address, which need not be aligned, to what stands there."""

    def load(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.IntType(width) if result is not float64 else ir.DoubleType()
            found = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return builder.zext(found, ir.IntType(64)) if width < 64 else found

        return result(types.int64), codegen

    return intrinsic(load)


def _store(width: int) -> Any:
    """A function that puts a number at an address."""

    def store(_typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001 - as above
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.IntType(width)
            value = builder.trunc(args[1], kind) if width < 64 else args[1]
            builder.store(value, builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64), codegen

    return intrinsic(store)


def _lowest_bit(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """Which bit of ``w`` is the lowest set, 64 if none is."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.int64(types.uint64), codegen


def _mask(up_to: int | None, *sought: int) -> Any:
    """A function from an address to 64 bits: which of the 64 bytes there are the ones sought.

    Those are all bytes ``up_to`` one, and the others named. LLVM makes it a compare or two.
    """

    def mask(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.VectorType(ir.IntType(8), 64)
            found = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
            all_of = {c: ir.Constant(kind, [c] * 64) for c in (up_to or 0, *sought)}
            tests = [builder.icmp_unsigned("==", found, all_of[c]) for c in sought]
            if up_to is not None:
                tests.append(builder.icmp_unsigned("<=", found, all_of[up_to]))
            return builder.bitcast(functools.reduce(builder.or_, tests), ir.IntType(64))

        return uint64(types.int64), codegen

    return intrinsic(mask)


def _set_bits(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """How many bits of ``w`` are set."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


lowest: Any = intrinsic(_lowest_bit)
n_set: Any = intrinsic(_set_bits)
ends: Any = _mask(SPACE, COLON, BAR)  # of a name or value: a blank, a control character, ':' or '|'
newlines: Any = _mask(None, NEWLINE)
_separators: Any = _mask(None, SPACE, TAB)
_bars: Any = _mask(None, BAR)
_nuls: Any = _mask(None, 0)
_returns: Any = _mask(None, RETURN)


@text_kernel
def _counts(text: int, end: int) -> tuple[int, int, int, bool]:
    """How many newlines, separators and bars there are, and whether it is odd: see `Size`."""
    n_newlines, n_separators, n_bars = 0, 0, 0
    odd = uint64(0)
    whole = max(end - 1, 0) & ~63  # up to here, there is a byte after each
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


put = _store(8)
put_word = _store(64)
byte = _load(8, int64)
half = _load(32, uint64)
word = _load(64, uint64)
double = _load(64, float64)


@helper
def marks(w: Any, sought: int) -> Any:
    """The top bit of each byte of ``w`` that is the one sought, and perhaps of others above it."""
    w ^= uint64(sought) * uint64(0x0101010101010101)
    return (w - uint64(0x0101010101010101)) & ~w & uint64(0x8080808080808080)


@helper
def end_of_name(text: int, begin: int, end: int) -> int:
    """Where a name that starts at ``begin`` ends: at a space, tab, colon, bar or line's end."""
    i = begin
    while i + 8 <= end:
        w = word(text + i)
        found = marks(w, SPACE) | marks(w, COLON) | marks(w, TAB) | marks(w, BAR)
        if found != 0:
            return i + (lowest(found) >> 3)
        i += 8
    while i < end:
        c = byte(text + i)
        if c in (SPACE, COLON, TAB, BAR):
            break
        i += 1
    return i


@helper
def line_end(text: int, i: int, n: int) -> int:
    """Where the line that ``i`` is on ends: at its newline, or with the text."""
    while i + 64 <= n:
        found = newlines(text + i)
        if found != 0:
            return i + lowest(found)
        i += 64
    while i < n and byte(text + i) != NEWLINE:
        i += 1
    return i


@helper
def oddity(text: int, begin: int, end: int) -> int:
    """NUL or LONE_RETURN if a line has one, else FINE."""
    if find(text, begin, end, 0) < end:
        return NUL
    return LONE_RETURN if find(text, begin, end, RETURN) < end else FINE


@helper
def find(text: int, begin: int, end: int, sought: int) -> int:
    """The first place of a byte in a range, or its end."""
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
    """The first place in a range that is neither space nor tab, or its end."""
    i = begin
    while i < end and (byte(text + i) == SPACE or byte(text + i) == TAB):
        i += 1
    return i


@helper
def token_end(text: int, begin: int, end: int) -> int:
    """The first space or tab in a range, or its end."""
    i = begin
    while i < end and byte(text + i) != SPACE and byte(text + i) != TAB:
        i += 1
    return i


# Stops: where names and values end

WINDOW = 1024  # bytes whose stops are found at once
AHEAD = 4 * 8  # bytes of stops: of '|', ':', a carriage return and the newline, at most, in turn
ROOM_FOR_STOPS = AHEAD + 8 * (WINDOW + 8)  # they are written eight at a time


@helper
def quick_end(text: int, begin: int, end: int) -> int:
    """Where the last line ends after which there is a MARGIN."""
    i = max(begin, end - MARGIN)
    while i > begin and byte(text + i - 1) != NEWLINE:
        i -= 1
    return i


@helper
def more_stops(text: int, base: int, end: int, stops: int, first: int, last: int) -> int:
    """Where the stops end that are now at address ``stops``.

    Those from ``first`` to ``last`` have moved there, and those of the WINDOW from ``base`` on
    follow them; there may be some after ``end``. Each is a word.
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
    text: int, stopped: int, quick: int, stops: int, p: int, last: int, few: int
) -> tuple[int, int, int, int]:
    """(stopped, p, last, few): from address ``p`` on there are stops again, if there are any more.

    All stops before ``stopped`` are known, up to the address ``last``; from ``few`` on there may be
    fewer than a kernel needs at once.
    """
    while p >= few:
        last = more_stops(text, stopped, quick, stops, p, last)
        stopped, p = stopped + WINDOW, stops
        few = last - AHEAD if stopped < quick else last + AHEAD
    return stopped, p, last, few
