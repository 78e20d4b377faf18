"""The text format of SVMlight and LIBSVM.

    target [qid:integer] index:value ... [# comment]

An index is the feature's name and its key. Indices may count from 0 or from 1, and may come in any
order.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import SettingError
from dwindle._base.text import COLON, HASH, MINUS, NEWLINE, PLUS, RETURN, SPACE, TAB, ZERO
from dwindle.data.formats.block import BadLine, Block, Parsed
from dwindle.data.text.errors import ODDITIES, bad_number, listed, quoted, room_for, unsure_numbers
from dwindle.data.text.numbers import after_sign, known_numbers, number, short_number
from dwindle.data.text.scan import (
    FINE,
    KINDS,
    ROOM_FOR_STOPS,
    UNSURE,
    fast_end,
    find,
    line_end,
    oddity,
    opened,
    refilled,
    skip_blank,
    token_end,
)
from dwindle.data.text.side_by_side import (
    LANES,
    LENGTH,
    SIZE,
    put_index,
    put_integers,
    put_value,
    put_values,
    token_length,
)
from dwindle.features.batch import Batch
from dwindle.features.keys import LARGEST
from dwindle.features.xxh64 import NOT_A_KEY, integer
from dwindle.jit.compile import helper, inlined, kernel
from dwindle.jit.intrinsics import byte, half, put_word, unlikely, word
from dwindle.jit.numbers import float32, int64, uint64

_QID = uint64(int.from_bytes(b"qid:", "little"))

TARGET, QID, FEATURE = range(KINDS, KINDS + 3)  # errors, after the kinds of `scan`


class Output(NamedTuple):
    """Arrays for the kernel to fill."""

    start: NDArray[np.int64]
    label: NDArray[np.float32]
    line: NDArray[np.int64]
    key: NDArray[np.uint64]
    x: NDArray[np.float32]


def parse(
    block: Block,
    *,
    interactions: tuple[tuple[str, ...], ...] = (),
    ignore: frozenset[str] = frozenset(),
) -> Parsed:
    r"""Parse a block of svmlight text; it has no namespaces to cross or to ignore.

    >>> block = Block(np.frombuffer(b"1 3:0.5 7:2 # first\n-1 007:1\n", np.uint8), "data.svm")
    >>> batch, line, bad, tags, *_ = parse(block)
    >>> batch.key.tolist(), batch.x.tolist(), batch.label.tolist()
    ([3, 7], [0.5, 2.0], [1.0])
    >>> print(bad[0])
    data.svm:2: index '007' has leading zeros: write '7'
    """
    if interactions or ignore:
        option = "interactions" if interactions else "drop"
        raise SettingError(f"{option}: svmlight has no namespaces (VW text has)")
    data, begin, size = opened(block)
    rows = Output(
        start=block.memory.empty(size.lines + 1, np.int64),
        label=block.memory.empty(size.lines, np.float32),
        line=block.memory.empty(size.lines, np.int64),
        key=block.memory.empty(size.separators + LANES, np.uint64),
        x=block.memory.empty(size.separators + LANES, np.float32),
    )
    faults = room_for(size.lines)
    lanes = np.zeros(SIZE // 8 + LANES, np.uint64)
    stops = np.empty(ROOM_FOR_STOPS // 8, np.int64)

    def read(known: NDArray[Any]) -> tuple[int, int]:
        found: tuple[int, int] = _read(
            *(data.ctypes.data, begin, len(data), size.odd, known.ctypes.data, rows, faults),
            *(lanes.ctypes.data, stops.ctypes.data),
        )
        return found

    n, n_faults = read(known_numbers({}))
    if (faults.what[:n_faults] == UNSURE).any():
        n, n_faults = read(unsure_numbers(data, faults, n_faults))
    n_features = rows.start[n]
    batch = Batch(
        rows.start[: n + 1],
        rows.key[:n_features],
        rows.x[:n_features],
        rows.label[:n],
        np.ones(n, np.float32),
    )
    bad = [
        BadLine(block.source, block.line + line, _why(what, raw))
        for line, what, raw in listed(data, faults, n_faults)
    ]
    return Parsed(batch, block.line + rows.line[:n], bad)


# The kernel


@helper
def _feature(text: int, begin: int, end: int, known: int) -> tuple[int, int, Any, Any]:
    """Read the feature that starts at ``begin``: (what, stop, key, x)."""
    colon = begin
    while colon < end and ZERO <= byte(text + colon) < ZERO + 10:
        colon += 1
    key = integer(text, begin, colon)
    if key == NOT_A_KEY or colon == end or byte(text + colon) != COLON:
        return FEATURE, colon, key, float32(0.0)
    x, stop, sure = number(text, colon + 1, end, known)
    is_end = stop == end or byte(text + stop) == SPACE or byte(text + stop) == TAB
    if not is_end or not math.isfinite(x):
        return FEATURE, stop, key, x
    return FINE if sure else UNSURE, stop, key, x


@helper
def _is_integer(text: int, begin: int, end: int) -> bool:
    i = first = after_sign(text, begin, end)
    while i < end and ZERO <= byte(text + i) < ZERO + 10:
        i += 1
    return i == end and i > first


@inlined
def _fast_target(text: int, begin: int, stop: int) -> tuple[bool, Any]:
    """Read a target that is a `short_number`, perhaps with a plus: (is one, value)."""
    begin += byte(text + begin) == PLUS and byte(text + begin + 1) != MINUS
    if not 0 < stop - begin < 16:
        return False, float32(0.0)
    return short_number(text, begin, stop)


@inlined
def _sift(
    text: int, known: int, lanes: int, key: Any, x: Any, k: int, end: int
) -> tuple[int, bool]:
    """Drop features from k to ``end`` whose value is 0, and read values that are not plain.

    Returns where the features now end, and whether all of them could be read.
    """
    to, is_fine = k, True
    for f in range(k, end):
        value, lane = x[f], lanes + 8 * (f - k)
        if not math.isfinite(value):
            begin = int64(word(lane + SIZE))
            stop = begin + token_length(lane)
            what, number_end, _, value = _feature(text, begin, stop, known)
            is_fine &= what == FINE and number_end == stop
        key[to], x[to] = key[f], value
        to += value != 0.0
    return to, is_fine


@inlined
def _put_long_integers(text: int, lanes: int, n: int, key: int) -> bool:
    """Write indices of n features of any length; return whether all are indices."""
    fine = True
    for lane in range(lanes, lanes + 8 * n, 8):
        begin = int64(word(lane + SIZE))
        own = integer(text, begin, begin + int64(word(lane + LENGTH)))
        put_word(key + lane - lanes, own)
        fine &= own != NOT_A_KEY
    return fine


@inlined
def _read_slow(  # noqa: C901, PLR0912 - the grammar of a line
    text: int, begin: int, end: int, odd: bool, known: int, rows: Any, n: int, k: int
) -> tuple[int, int, int, int, bool]:
    """Read a line byte by byte: (what, i, stop, k, is an example).

    Features go into ``rows`` from k on. If the line is bad, i and stop enclose the token to blame.
    """
    what = oddity(text, begin, end) if odd else FINE
    end = find(text, begin, end, HASH)
    i = skip_blank(text, begin, end)
    if i == end and what == FINE:
        return FINE, i, i, k, False
    stop = token_end(text, i, end)
    if what == FINE:
        rows.label[n], number_end, sure = number(text, i, stop, known)
        if number_end != stop or not math.isfinite(rows.label[n]):
            what = TARGET
        elif not sure:
            what = UNSURE
        else:
            i = skip_blank(text, stop, end)
            stop = token_end(text, i, end)
            if stop - i >= 4 and half(text + i) == _QID:
                if _is_integer(text, i + 4, stop):
                    i = stop
                else:
                    what = QID
    while what == FINE:
        i = skip_blank(text, i, end)
        if i == end:
            break
        what, stop, key, x = _feature(text, i, end, known)
        if what == FINE:
            rows.key[k], rows.x[k] = key, x
            k += x != 0.0
            i = stop
        else:
            stop = token_end(text, i, end)
    if what == UNSURE:
        i, stop = begin, end
    return what, i, stop, k, True


@kernel
def _read(  # noqa: C901, PLR0912, PLR0915 - one walk: only a kernel may write
    text: int,
    at: int,
    end_of_text: int,
    odd: bool,
    known: int,
    rows: Any,
    faults: Any,
    lanes: int,
    stops: int,
) -> tuple[int, int]:
    """Read the text from ``at`` on: examples into ``rows``, bad lines into ``faults``.

    Returns how many there are of each. Most lines are plain and take the fast path, as in
    `vw.kernel.read`: their features are collected in lanes, of which many are read at once.
    """
    start, label, lines, key, x = rows
    n, k, n_faults, line = 0, 0, 0, 0
    fast = fast_end(text, at, end_of_text)
    stopped, p, last_stop, few = at, stops, stops, stops
    key_at, x_at = key.ctypes.data, x.ctypes.data
    start[0] = 0
    while at < end_of_text:
        begin = at
        line += 1
        end = -1  # not known yet
        what, i, stop, is_example, c = FINE, begin, begin, True, SPACE
        plain = begin < fast
        if plain:
            stopped, p, last_stop, few = refilled(text, stopped, fast, stops, p, last_stop, few)
            stop = int64(word(p))
            c = byte(text + stop)
            plain, label[n] = _fast_target(text, begin, stop)
            is_blank = c in (SPACE, TAB)
            i = stop + is_blank
            p += 8 * is_blank
            if is_blank and half(text + i) == _QID:
                stopped, p, last_stop, few = refilled(text, stopped, fast, stops, p, last_stop, few)
                stop = int64(word(p + 8))
                c = byte(text + stop)
                plain &= int64(word(p)) == i + 3 and _is_integer(text, i + 4, stop)
                is_blank = c in (SPACE, TAB)
                i = stop + is_blank
                p += 8 + 8 * is_blank
        going = plain
        while going:
            lane, longest, c = lanes, -1, SPACE
            while lane < lanes + 8 * LANES:
                stopped, p, last_stop, few = refilled(text, stopped, fast, stops, p, last_stop, few)
                stop = int64(word(p))
                c = byte(text + stop)
                if stop > i:
                    value_at = stop + 1
                    if unlikely(c != COLON):
                        c = COLON  # whatever follows, it is no feature
                        break
                    put_index(text, i, stop, lane)
                    put_word(lane + SIZE, uint64(i))
                    p += 8
                    stop = int64(word(p))
                    c = byte(text + stop)
                    put_value(text, value_at, stop, lane)
                    longest = max(longest, stop - value_at)
                    lane += 8
                if c != SPACE and c != TAB:  # noqa: PLR1714 - a set is looked up in more steps
                    break
                p += 8
                i = stop + 1
            going = c in (SPACE, TAB)
            if not going:
                if byte(text + i) == HASH and not odd:  # a comment, up to the end of the line
                    end = stop = line_end(text, i, end_of_text)
                    c = NEWLINE
                elif c == RETURN and byte(text + stop + 1) == NEWLINE:
                    p += 8
                    stop += 1
                    c = NEWLINE
                plain = c == NEWLINE
                p += 8
                at = stop + 1
            m = (lane - lanes) >> 3
            if plain and m > 0:
                plain = put_integers(lanes, m, key_at + 8 * k)
                if not plain:
                    plain = _put_long_integers(text, lanes, m, key_at + 8 * k)
                is_odd = put_values(text, lanes, m, longest, lanes + SIZE, x_at + 4 * k)
                if unlikely(is_odd and plain):
                    k, plain = _sift(text, known, lanes, key, x, k, k + m)
                else:
                    k += m
            going &= plain
        if unlikely(not plain):
            end = line_end(text, begin, end_of_text)
            content = end - (end > begin and byte(text + end - 1) == RETURN)
            what, i, stop, k, is_example = _read_slow(
                text, begin, content, odd, known, rows, n, start[n]
            )
        if unlikely(end >= 0):
            at = end + 1
            if at > stopped:
                stopped, p, last_stop, few = at, stops, stops, stops
            while p < last_stop and int64(word(p)) < at:
                p += 8
        if unlikely(what != FINE):
            k = start[n]
            faults.line[n_faults] = line - 1
            faults.what[n_faults] = what
            faults.begin[n_faults] = i
            faults.end[n_faults] = stop
            n_faults += 1
        elif is_example:
            lines[n] = line - 1
            n += 1
            start[n] = k
    return n, n_faults


# The words


def _why(what: int, raw: bytes) -> str:
    """Say what was expected, what was found and what to write instead."""
    if what == TARGET:
        return _bad_target(raw)
    if what == FEATURE:
        return _bad_feature(raw)
    if what == QID:
        return f"expected an integer as qid, got {quoted(raw)}: write qid:1"
    return ODDITIES[what]


def _bad_target(raw: bytes) -> str:
    if b"," in raw:
        return f"multi-label targets are not supported: got {quoted(raw)}, write one number"
    if b":" in raw:
        return f"expected a target first, got {quoted(raw)}: write a number before it"
    return bad_number("target", raw, "a number")


def _bad_feature(raw: bytes) -> str:  # noqa: PLR0911 - one for each fault
    index, colon, value = raw.partition(b":")
    if raw.startswith(b"qid:"):
        return f"qid out of place: write {quoted(raw)} after the target, once"
    if not colon or not index.isdigit():
        return f"expected index:value, got {quoted(raw)}: write an integer, ':' and a number"
    if index.startswith(b"0") and index != b"0":
        return (
            f"index {quoted(index)} has leading zeros: write {quoted(index.lstrip(b'0') or b'0')}"
        )
    if len(index) > 20 or int(index) > LARGEST:
        return f"index {quoted(index)} is too large: write at most {LARGEST}"
    if b":" in value:
        return f"second ':' in {quoted(raw)}: write index:value"
    if not value:
        return f"value of nothing in {quoted(raw)}: write a number after ':'"
    return bad_number("value", value, "a number")
