"""The grammar of VW text: the head of a line, up to its first '|', namespaces and features.

Each function reads one of these; ``what`` is FINE or one of the kinds of `vw.errors`.
"""

import math
from typing import Any

from dwindle._base.text import BAR, COLON, DOT, MINUS, PLUS, QUOTE, SPACE, TAB, ZERO
from dwindle.data.formats.vw.errors import (
    BLANK,
    FEATURE,
    FOURTH,
    GLUED,
    HEADER,
    LABEL,
    LABEL_TAB,
    NO_BAR,
    SCALED,
)
from dwindle.data.text.numbers import is_never_finite, number
from dwindle.data.text.scan import FINE, UNSURE, end_of_name, find, skip_blank, token_end
from dwindle.features.xxh64 import key_of_name, key_of_number, xxh64
from dwindle.jit.compile import helper
from dwindle.jit.intrinsics import byte
from dwindle.jit.numbers import float32, uint64

NO_SCALE: Any = float32(1.0)


@helper
def head(  # noqa: C901, PLR0912 - the grammar of what stands before '|'
    text: int, begin: int, end: int, known: int
) -> tuple[int, int, int, Any, Any, Any, int, int, int]:
    """Read the head of a line: (what, i, stop, label, importance, base, n, tag, tag_end).

    n says how many of label, importance and base there are. i is where the first '|' is; if the
    line is bad, i and stop enclose the bytes to blame.
    """
    label: Any = float32(0.0)
    importance: Any = float32(0.0)
    base: Any = float32(0.0)
    n, tag, tag_end = 0, begin, begin
    bar = find(text, begin, end, BAR)
    what, i, stop = FINE, begin, bar
    if skip_blank(text, begin, end) == end:
        what = BLANK
    elif bar == end:
        what = NO_BAR
    elif find(text, begin, bar, TAB) < bar:
        what = LABEL_TAB
    while what == FINE:
        i = skip_blank(text, i, bar)
        if i == bar:
            break
        stop = token_end(text, i, bar)
        is_quoted = byte(text + i) == QUOTE
        value, number_end, sure = number(text, i, stop, known)
        if stop == bar or (is_quoted and skip_blank(text, stop, bar) == bar):
            if not is_quoted and n == 0 and (number_end == stop or is_never_finite(text, i, stop)):
                what = GLUED
            else:
                tag, tag_end = i + is_quoted, stop
                i = bar
        elif n == 3:
            what = FOURTH
        elif number_end != stop or not math.isfinite(value) or (n == 1 and value < 0.0):
            what = LABEL + n
        elif not sure:
            what = UNSURE
        else:
            if n == 0:
                label, importance = value, float32(1.0)
            elif n == 1:
                importance = value
            else:
                base = value
            n += 1
            i = stop
    return what, i, stop, label, importance, base, n, tag, tag_end


@helper
def _is_end(text: int, i: int, end: int) -> bool:
    """Tell whether a token may end at ``i``."""
    return i == end or byte(text + i) == SPACE or byte(text + i) == TAB


@helper
def header(text: int, bar: int, end: int, known: int) -> tuple[int, int, Any, Any]:
    """Read the namespace whose '|' is at ``bar``: (what, stop, seed, scale)."""
    name_end = end_of_name(text, bar + 1, end)
    seed = xxh64(text, bar + 1, name_end, uint64(0), -1)
    if _is_end(text, name_end, end):
        return FINE, name_end, seed, NO_SCALE
    stop = token_end(text, name_end, end)
    if byte(text + name_end) == BAR or name_end == bar + 1:
        return HEADER, stop, seed, NO_SCALE
    scale, number_end, sure = number(text, name_end + 1, stop, known)
    if number_end != stop or not math.isfinite(scale) or (sure and scale == 0.0):
        return HEADER, stop, seed, NO_SCALE
    return FINE if sure else UNSURE, stop, seed, scale


@helper
def feature(  # noqa: PLR0911 - as soon as it is clear
    text: int, begin: int, end: int, seed: Any, scale: Any, n_unnamed: int, known: int
) -> tuple[int, int, Any, Any]:
    """Read the feature that starts at ``begin``: (what, stop, key, x)."""
    no_key = uint64(0)
    colon = end_of_name(text, begin, end)
    name_end, stop, joint = colon, colon, -1
    value: Any = float32(1.0)
    if colon < end and byte(text + colon) == COLON:
        c = byte(text + colon + 1) if colon + 1 < end else SPACE
        if ZERO <= c < ZERO + 10 or c in (DOT, MINUS, PLUS):
            value, stop, sure = number(text, colon + 1, end, known)
            if not math.isfinite(value):
                return FEATURE, stop, no_key, value
            if not sure and _is_end(text, stop, end):
                return UNSURE, stop, no_key, value
        else:
            stop = end_of_name(text, colon + 1, end)
            if stop == colon + 1 or colon == begin or is_never_finite(text, colon + 1, stop):
                return FEATURE, stop, no_key, value
            name_end, joint = stop, colon
    if not _is_end(text, stop, end):
        return FEATURE, stop, no_key, value
    x = value * scale
    if not math.isfinite(x):
        return SCALED, stop, no_key, x
    if name_end == begin:
        return FINE, stop, key_of_number(n_unnamed, seed), x
    return FINE, stop, key_of_name(text, begin, name_end, seed, joint), x
