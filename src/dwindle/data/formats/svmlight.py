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
from dwindle._base.text import COLON, HASH, RETURN, SPACE, TAB, ZERO
from dwindle.data.formats.block import BadLine, Block, Parsed
from dwindle.data.text.errors import ODDITIES, bad_number, listed, quoted, room_for, unsure_numbers
from dwindle.data.text.numbers import after_sign, known_numbers, number, short_number
from dwindle.data.text.scan import (
    FINE,
    KINDS,
    MARGIN,
    UNSURE,
    ends,
    find,
    line_end,
    oddity,
    opened,
    skip_blank,
    token_end,
)
from dwindle.features.batch import Batch
from dwindle.features.keys import LARGEST
from dwindle.features.xxh64 import NOT_A_KEY, integer, short_integer
from dwindle.jit.compile import helper, inlined, kernel
from dwindle.jit.intrinsics import byte, half, lowest
from dwindle.jit.numbers import float32, uint64

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
        key=block.memory.empty(size.separators, np.uint64),
        x=block.memory.empty(size.separators, np.float32),
    )
    faults = room_for(size.lines)

    def read(known: NDArray[Any]) -> tuple[int, int]:
        found: tuple[int, int] = _read(
            data.ctypes.data, begin, len(data), size.odd, known.ctypes.data, rows, faults
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


@inlined
def _fast_feature(
    text: int, begin: int, end: int, base: int, found: Any
) -> tuple[int, Any, Any, int, Any]:
    """Read a plain feature: (stop, key, x, base, found); if it is not plain, stop is ``begin``.

    A plain one has an index of up to 19 digits and a `short_number`. ``found`` are the `ends` in
    the 64 bytes from ``base`` on, kept because they serve several features.
    """
    no_key, no_value = uint64(0), float32(0.0)
    ahead = found >> uint64(begin - base) if begin - base < 64 else uint64(0)
    if ahead & (ahead - uint64(1)) == 0:  # fewer than two ends
        base, found = begin, ends(text + begin)
        ahead = found
    colon = begin + lowest(ahead)
    stop = begin + lowest(ahead & (ahead - uint64(1)))
    if not 0 < colon - begin < 20 or byte(text + colon) != COLON:
        return begin, no_key, no_value, base, found
    key = short_integer(text, begin, colon)
    is_number, x = short_number(text, colon + 1, stop)
    is_end = stop == end or byte(text + stop) == SPACE or byte(text + stop) == TAB
    if key == NOT_A_KEY or not is_number or not is_end:
        return begin, no_key, no_value, base, found
    return stop, key, x, base, found


@helper
def _is_integer(text: int, begin: int, end: int) -> bool:
    i = first = after_sign(text, begin, end)
    while i < end and ZERO <= byte(text + i) < ZERO + 10:
        i += 1
    return i == end and i > first


@kernel
def _read(  # noqa: C901, PLR0912, PLR0915 - one walk: only a kernel may write
    text: int,
    at: int,
    end_of_text: int,
    odd: bool,
    known: int,
    rows: Any,
    faults: Any,
) -> tuple[int, int]:
    """Read the text from ``at`` on: examples into ``rows``, bad lines into ``faults``.

    Returns how many there are of each.
    """
    start, label, lines, key, x = rows
    n, k, n_faults, line = 0, 0, 0, 0
    fast_end, base, found = end_of_text - MARGIN, at, uint64(0)
    start[0] = 0
    while at < end_of_text:
        begin = at
        end = line_end(text, at, end_of_text)
        at = end + 1
        if end > begin and byte(text + end - 1) == RETURN:
            end -= 1
        line += 1
        what = oddity(text, begin, end) if odd else FINE
        end = find(text, begin, end, HASH)
        i = skip_blank(text, begin, end)
        if i == end and what == FINE:
            continue
        stop = token_end(text, i, end)
        if what == FINE:
            label[n], number_end, sure = number(text, i, stop, known)
            if number_end != stop or not math.isfinite(label[n]):
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
            stop = i
            if i < fast_end:
                stop, key[uint64(k)], x[uint64(k)], base, found = _fast_feature(
                    text, i, end, base, found
                )
            if stop == i:
                what, stop, key[k], x[k] = _feature(text, i, end, known)
            if what == FINE:
                k += x[k] != 0.0
                i = stop
            else:
                stop = token_end(text, i, end)
        if what == FINE:
            lines[n] = line - 1
            n += 1
            start[n] = k
        else:
            k = start[n]
            faults.line[n_faults] = line - 1
            faults.what[n_faults] = what
            faults.begin[n_faults] = begin if what == UNSURE else i
            faults.end[n_faults] = end if what == UNSURE else stop
            n_faults += 1
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
