"""Vowpal Wabbit's text format, without its silent surprises.

    [label [importance [base]]] ['tag] |namespace[:scale] feature[:value] ... |namespace ...

A kernel reads a block in one walk, straight into the arrays of a batch. Of a line that it cannot
read it says where it stopped and at what; the words for it are found afterwards, in Python.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numba import float32, float64, int64, uint64
from numpy.typing import NDArray

from dwindle._jit import helper
from dwindle.batch import Batch
from dwindle.formats.block import BadLine, Block, Parsed
from dwindle.formats.faults import (
    ODDITIES,
    bad_number,
    is_number,
    listed,
    never_finite,
    quoted,
    room_for,
    unsure_numbers,
)
from dwindle.formats.keys import (
    DEFAULT_SEED,
    NOT_A_KEY,
    fresh_state,
    key_of_name,
    key_of_number,
    long_state,
    mix,
    short_integer,
    xxh64,
)
from dwindle.formats.lanes import (
    HIGH,
    LANES,
    LAST,
    LENGTH,
    LOW,
    STATE,
    TAIL,
    VALUE_LENGTH,
    is_plain,
    put_keys,
    put_ones,
    put_values,
)
from dwindle.formats.lanes import SIZE as LANES_SIZE
from dwindle.formats.memory import Memory
from dwindle.formats.numerals import (
    is_never_finite,
    known_numbers,
    number,
    short_number,
)
from dwindle.formats.scan import (
    AHEAD,
    BAR,
    COLON,
    DOT,
    FINE,
    KINDS,
    MINUS,
    NEWLINE,
    PLUS,
    QUOTE,
    RETURN,
    ROOM_FOR_STOPS,
    SPACE,
    TAB,
    UNSURE,
    WINDOW,
    ZERO,
    byte,
    end_of_name,
    find,
    half,
    line_end,
    more_stops,
    oddity,
    opened,
    put_word,
    quick_end,
    size_of,
    skip_blank,
    text_kernel,
    token_end,
    word,
)
from dwindle.formats.spans import NUMERIC, Spans, Tags

NO_SCALE: Any = float32(1.0)
_ONE = uint64(ZERO + 1)
_SPACE_BAR = uint64(int.from_bytes(b" |", "little"))

# The last namespace that was the j-th of a line is remembered, because lines are much alike: where
# its '|' stands, how long it is with that, its seed, its place in ``crossed`` or -1, and whether it
# is special, which is ignored or without a name. None of them has a scale.
SEEN_BAR, SEEN_LENGTH, SEEN_SEED, SEEN_GROUP, SEEN_SPECIAL, SEEN_SIZE = range(0, 48, 8)
MOST_SEEN = 64

MOST_PRODUCTS = 1 << 24  # of one line's features; they take 0.7 GB

# What the kernel stopped at, after the kinds of `scan`. LABEL + 1 is IMPORTANCE and LABEL + 2 BASE;
# PRODUCT + c is a product of interaction c.
(
    BLANK,
    NO_BAR,
    LABEL_TAB,
    GLUED,
    LABEL,
    IMPORTANCE,
    BASE,
    FOURTH,
    HEADER,
    FEATURE,
    SCALED,
    CROWD,
    PRODUCT,
) = range(KINDS, KINDS + 13)


class Plan(NamedTuple):
    """What to do with which namespace, each known by its seed."""

    ignored: NDArray[np.uint64]
    crossed: NDArray[np.uint64]  # the namespaces that are part of some interaction
    crossings: NDArray[np.int64]  # for each interaction places in ``crossed``, -1 for no third


class Rows(NamedTuple):
    """The arrays that the kernel fills; `Spans` explains the last four."""

    start: NDArray[np.int64]
    label: NDArray[np.float32]
    importance: NDArray[np.float32]
    base: NDArray[np.float32]
    tag: NDArray[np.int64]
    tag_end: NDArray[np.int64]
    line: NDArray[np.int64]
    key: NDArray[np.uint64]
    x: NDArray[np.float32]
    place: NDArray[np.int64]
    first: NDArray[np.int64]
    bar: NDArray[np.int64]
    group: NDArray[np.int64]  # which of ``crossed`` the namespace is, or -1
    factor: NDArray[np.int64]


class Members(NamedTuple):
    """The features of one line by namespace, for its products.

    Those of crossed namespace j are ``member[bound[j] : bound[j + 1]]``.
    """

    member: NDArray[np.int64]
    bound: NDArray[np.int64]


def parse(
    block: Block,
    *,
    interactions: tuple[tuple[str, ...], ...] = (),
    ignore: frozenset[str] = frozenset(),
) -> Parsed:
    r"""The examples of a block of VW text.

    ``ignore`` names namespaces to leave out, "" the default one. Each of ``interactions`` names two
    or three namespaces: the products of their features follow an example's own features.

    >>> block = Block(np.frombuffer(b"1 |f a:2 b\n-1 |f: a\n", np.uint8), "data.vw")
    >>> batch, line, bad, tags, *_ = parse(block, interactions=(("f", "f"),))
    >>> [name.replace("\0", "^") for name in batch.names], batch.x.tolist()
    (['f^a', 'f^b', 'f*f^a*a', 'f*f^a*b', 'f*f^b*b'], [2.0, 1.0, 4.0, 2.0, 1.0])
    >>> print(bad[0])
    data.vw:2: scale of nothing in '|f:': write '|f', or a number after ':'
    """
    plan = _plan(interactions, ignore)
    data, begin = opened(block)
    text, end = data.ctypes.data, len(data)
    size = size_of(data)
    members = Members(
        block.memory.empty(size.separators if interactions else 0, np.int64),
        np.zeros(len(plan.crossed) + 1, np.int64),
    )
    n_products = size.separators if interactions else 0  # a guess
    known = known_numbers({})
    faults = room_for(size.lines)
    lanes, stops = np.zeros(LANES_SIZE // 8, np.uint64), np.empty(ROOM_FOR_STOPS // 8, np.int64)
    seen = np.zeros(MOST_SEEN * SEEN_SIZE // 8, np.int64)
    while True:
        rows = _room_for(block.memory, size.lines, size.separators, size.bars, n_products)
        n, n_features, n_sections, n_found, n_faults, has_base, has_tag = _read(
            text,
            begin,
            end,
            size.odd,
            known.ctypes.data,
            plan,
            rows,
            faults,
            members,
            lanes.ctypes.data,
            seen.ctypes.data,
            stops.ctypes.data,
        )
        unsure = len(known) == 1 and (faults.what[:n_faults] == UNSURE).any()
        if not unsure and n_found <= n_products:
            break
        n_products = max(n_products, n_found)
        known = unsure_numbers(data, faults, n_faults) if unsure else known
    batch = Batch(
        rows.start[: n + 1],
        rows.key[:n_features],
        rows.x[:n_features],
        rows.label[:n],
        rows.importance[:n],
        rows.base[:n] if has_base else None,
        Spans(data, rows.place[:n_features], rows.first[:n_sections], rows.bar, rows.factor),
    )
    bad = [
        BadLine(block.source, block.line + line, _why(what, raw, interactions))
        for line, what, raw in listed(data, faults, n_faults)
    ]
    tags = Tags(data, rows.tag[:n], rows.tag_end[:n]) if has_tag else None
    return Parsed(batch, block.line + rows.line[:n], bad, tags)


def _plan(interactions: tuple[tuple[str, ...], ...], ignore: frozenset[str]) -> Plan:
    crossed = sorted({name for names in interactions for name in names})
    crossings = np.full((len(interactions), 3), -1, np.int64)
    for c, names in enumerate(interactions):
        if len(names) not in {2, 3}:
            raise ValueError(f"an interaction is of 2 or 3 namespaces, got {names!r}")
        crossings[c, : len(names)] = [crossed.index(name) for name in names]
    return Plan(_seeds(sorted(ignore)), _seeds(crossed), crossings)


def _seeds(names: list[str]) -> NDArray[np.uint64]:
    raw = (name.encode("utf-8", "surrogateescape") for name in names)
    return np.array([xxhash.xxh64_intdigest(name) for name in raw], np.uint64)


def _room_for(
    memory: Memory, n_lines: int, n_features: int, n_sections: int, n_products: int
) -> Rows:
    """Arrays for at most so many; what is not filled costs no memory."""
    n = n_features + n_products + LANES
    return Rows(
        start=memory.empty(n_lines + 1, np.int64),
        label=memory.empty(n_lines, np.float32),
        importance=memory.empty(n_lines, np.float32),
        base=memory.empty(n_lines, np.float32),
        tag=memory.empty(n_lines, np.int64),
        tag_end=memory.empty(n_lines, np.int64),
        line=memory.empty(n_lines, np.int64),
        key=memory.empty(n, np.uint64),
        x=memory.empty(n, np.float32),
        place=memory.empty(n, np.int64),
        first=memory.empty(n_sections, np.int64),
        bar=memory.empty(n_sections, np.int64),
        group=memory.empty(n_sections, np.int64),
        factor=np.empty((n_products, 3), np.int64),
    )


# The kernel


@helper
def _head(  # noqa: C901, PLR0912 - the grammar of what stands before '|'
    text: int, begin: int, end: int, known: int
) -> tuple[int, int, int, Any, Any, Any, int, int, int]:
    """(what, from, to, label, importance, base, how many of these there are, tag, tag_end).

    Of a fault, from and to enclose the bytes at fault; else from is where the first '|' stands.
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
    """Whether a token may end at ``i``."""
    return i == end or byte(text + i) == SPACE or byte(text + i) == TAB


@helper
def _header(text: int, bar: int, end: int, known: int) -> tuple[int, int, Any, Any]:
    """(what, stop, seed, scale) of the namespace whose '|' stands at ``bar``."""
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
def _feature(  # noqa: PLR0911 - as soon as it is clear
    text: int, begin: int, end: int, seed: Any, scale: Any, n_unnamed: int, known: int
) -> tuple[int, int, Any, Any]:
    """(what, stop, key, x) of the feature that starts at ``begin``."""
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


@helper
def _same(text: int, a: int, b: int, n: int) -> bool:
    """Whether the n bytes at two places are the same. A word may be read past their end."""
    while n >= 8:
        if word(text + a) != word(text + b):
            return False
        a, b, n = a + 8, b + 8, n - 8
    return n == 0 or (word(text + a) ^ word(text + b)) << uint64(64 - 8 * n) == uint64(0)


@helper
def _index(seeds: Any, seed: Any) -> int:
    """The place of a seed among others, or -1."""
    for j in range(len(seeds)):
        if seeds[j] == seed:
            return j
    return -1


@helper
def _n_products(crossings: Any, bound: Any) -> float:
    """How many products there are if namespace j has bound[j + 1] - bound[j] features."""
    total = 0.0
    for c in range(len(crossings)):
        a, b, d = crossings[c, 0], crossings[c, 1], crossings[c, 2]
        u = float64(bound[a + 1] - bound[a])
        v = float64(bound[b + 1] - bound[b])
        w = float64(bound[d + 1] - bound[d]) if d >= 0 else 1.0
        if a == b and b == d:
            total += u * (u + 1.0) * (u + 2.0) / 6.0
        elif a == b:
            total += u * (u + 1.0) / 2.0 * w
        elif a == d:
            total += u * (u + 1.0) / 2.0 * v
        elif b == d:
            total += v * (v + 1.0) / 2.0 * u
        else:
            total += u * v * w
    return total


@text_kernel
def _read(  # noqa: C901, PLR0912, PLR0915 - one walk: only a kernel may write
    text: int,
    at: int,
    end_of_text: int,
    odd: bool,
    known: int,
    plan: Any,
    rows: Any,
    faults: Any,
    members: Any,
    lanes: int,
    seen: int,
    stops: int,
) -> tuple[int, int, int, int, int, bool, bool]:
    """The examples of the text from ``at`` on stand in ``rows``, the other lines in ``faults``.

    Returns how many examples, features, namespaces, products and faults there are, and whether some
    example has a base and some a tag. Products that there is no room for are counted only.
    """
    start, label, importance, base, tag, tag_end, lines = rows[:7]
    key, x, place, first, bar, group, factor = rows[7:]
    ignored, crossed, crossings = plan
    member, bound = members
    has_base, has_tag = False, False
    n, k, s, row, n_faults, line = 0, 0, 0, 0, 0, 0
    quick = quick_end(text, at, end_of_text)
    stopped, p, last_stop, few = at, stops, stops, stops
    key_at, x_at = key.ctypes.data, x.ctypes.data
    start[0] = 0
    while at < end_of_text:
        begin = at
        s_before, row_before = s, row
        end = -1  # not known yet
        what, i, stop, n_numbers = FINE, begin, begin, 1
        plain = begin < quick
        # What stands before the first '|': most often a number and a space.
        quick_head = False
        if plain:
            while p >= few:
                last_stop = more_stops(text, stopped, quick, stops, p, last_stop)
                stopped, p = stopped + WINDOW, stops
                few = last_stop - AHEAD if stopped < quick else last_stop + AHEAD
            i = int64(word(p))
            if half(text + i) & uint64(0xFFFF) == _SPACE_BAR and i - begin < 16:
                quick_head, label[n] = short_number(text, begin, i)
                importance[n], base[n], tag[n], tag_end[n] = 1.0, 0.0, begin, begin
                i += 1
                p += 8
        if not quick_head:
            end = line_end(text, at, end_of_text)
            end -= end > begin and byte(text + end - 1) == RETURN
            what = oddity(text, begin, end) if odd else FINE
            i, stop = begin, end
            if what == FINE:
                what, i, stop, label[n], importance[n], base[n], n_numbers, tag[n], tag_end[n] = (
                    _head(text, begin, end, known)
                )
            plain &= what == FINE
            while plain and int64(word(p)) < i:
                p += 8
                while p >= few:
                    last_stop = more_stops(text, stopped, quick, stops, p, last_stop)
                    stopped, p = stopped + WINDOW, stops
                    few = last_stop - AHEAD if stopped < quick else last_stop + AHEAD
        # The quick way, as long as all is plain: LANES features at a time.
        first_bar, j, going = i, 0, plain
        likely, is_special = seen, uint64(0)
        seed, fresh, scale, g = DEFAULT_SEED, uint64(0), NO_SCALE, -1
        while going:
            m, s_first, longest, special = 0, s, -1, is_special
            c = SPACE
            while m < LANES:
                while p >= few:
                    last_stop = more_stops(text, stopped, quick, stops, p, last_stop)
                    stopped, p = stopped + WINDOW, stops
                    few = last_stop - AHEAD if stopped < quick else last_stop + AHEAD
                stop = int64(word(p))
                c = byte(text + stop)
                if stop > i:
                    size, lane = stop - i, lanes + 8 * m
                    if size < 16:
                        put_word(lane + STATE, fresh + uint64(size))
                        put_word(lane + LAST, word(text + i))
                    else:
                        put_word(lane + STATE, long_state(text, i, stop, seed))
                        put_word(lane + LAST, word(text + i + (size & ~7) - 8))
                    put_word(lane + TAIL, word(text + i + (size & ~7)))
                    put_word(lane + LENGTH, uint64(size))
                    place[uint64(k + m)] = i
                    m += 1
                    if c == COLON:
                        p += 8
                        value = stop + 1
                        stop = int64(word(p))
                        c = byte(text + stop)
                        put_word(lane + LOW, word(text + value))
                        put_word(lane + HIGH, word(text + value + 8))
                        put_word(lane + VALUE_LENGTH, uint64(stop - value))
                        longest = max(longest, stop - value)
                    else:
                        put_word(lane + LOW, _ONE)
                        put_word(lane + VALUE_LENGTH, uint64(1))
                elif c == BAR:
                    p += 8
                    stop = int64(word(p))
                    c = byte(text + stop)
                    size = stop - i
                    if (
                        j < MOST_SEEN
                        and c != COLON
                        and size == int64(word(likely + SEEN_LENGTH))
                        and _same(text, i, int64(word(likely + SEEN_BAR)), size)
                    ):
                        seed, g = word(likely + SEEN_SEED), int64(word(likely + SEEN_GROUP))
                        is_special = word(likely + SEEN_SPECIAL)
                    else:
                        if c == COLON:
                            p += 8
                            stop = int64(word(p))
                            c = byte(text + stop)
                        found, stop, seed, scale = _header(text, i, stop, known)
                        g = _index(crossed, seed)
                        is_ignored = _index(ignored, seed) >= 0
                        if found != FINE or (is_ignored and scale != NO_SCALE):
                            c = BAR
                            break
                        is_special = uint64(is_ignored or seed == DEFAULT_SEED or scale != NO_SCALE)
                        if j < MOST_SEEN and stop - i == size:
                            put_word(likely + SEEN_BAR, uint64(i))
                            put_word(likely + SEEN_LENGTH, uint64(size))
                            put_word(likely + SEEN_SEED, seed)
                            put_word(likely + SEEN_GROUP, uint64(g))
                            put_word(likely + SEEN_SPECIAL, is_special)
                    fresh = fresh_state(seed)
                    special |= is_special
                    first[uint64(s)], bar[uint64(s)], group[uint64(s)] = k + m, i, g
                    s += 1
                    j += 1
                    likely += SEEN_SIZE
                if c != SPACE and c != TAB:  # noqa: PLR1714 - a set is looked up in more steps
                    break
                p += 8
                i = stop + 1
            going = c in (SPACE, TAB)
            if not going:
                if c == RETURN and byte(text + stop + 1) == NEWLINE:
                    p += 8
                    stop += 1
                    c = NEWLINE
                plain = c == NEWLINE
                if not plain:
                    break
                p += 8
                at = stop + 1
            put_keys(lanes, m, key_at + 8 * k)
            to_sift = False
            if longest >= 0:
                to_sift = put_values(lanes, m, longest, x_at + 4 * k)
            else:
                put_ones(m, x_at + 4 * k)
            for t in range(max(s_first - 1, s_before), s if special != 0 else 0):
                f_first, f_end = max(first[t], k), first[t + 1] if t + 1 < s else k + m
                if f_first < f_end:
                    found, stop, own_seed, own_scale = _header(text, bar[t], place[f_first], known)
                    if _index(ignored, own_seed) >= 0:
                        own_scale = float32(0.0)
                    for f in range(f_first, f_end):
                        x[f] *= own_scale
                        to_sift |= not is_plain(x[f])
                        if own_seed == DEFAULT_SEED:
                            name_end = place[f] + int64(word(lanes + LENGTH + 8 * (f - k)))
                            own_key = short_integer(text, place[f], name_end)
                            key[f] = key[f] if own_key == NOT_A_KEY else own_key
            if to_sift:
                t, to = s_first, k
                for f in range(k, k + m):
                    while t < s and first[t] == f:
                        first[t] = to
                        t += 1
                    value, feature_key = x[f], key[f]
                    if not math.isfinite(value):
                        lane = lanes + 8 * (f - k)
                        size = int64(word(lane + LENGTH) + word(lane + VALUE_LENGTH)) + 1
                        found, stop, own_seed, own_scale = _header(
                            text, bar[t - 1], place[f], known
                        )
                        if _index(ignored, own_seed) >= 0:
                            own_scale = float32(0.0)
                        found, stop, feature_key, value = _feature(
                            text, place[f], place[f] + size, own_seed, own_scale, 0, known
                        )
                        plain &= found == FINE
                    key[to], x[to], place[to] = feature_key, value, place[f]
                    to += value != 0.0
                while t < s:
                    first[t] = to
                    t += 1
                m = to - k
                going &= plain
            k += m
        if what == FINE and not plain:
            k, s = start[n], s_before
            if end < 0:
                end = line_end(text, begin, end_of_text)
                end -= end > begin and byte(text + end - 1) == RETURN
                what = oddity(text, begin, end) if odd else FINE
            i, stop = (first_bar, end) if what == FINE else (begin, end)
            seed, scale, n_unnamed, kept = DEFAULT_SEED, NO_SCALE, 0, True
            while what == FINE and i < end:
                c = byte(text + i)
                if c in (SPACE, TAB):
                    i += 1
                    continue
                if c == BAR:
                    what, stop, seed, scale = _header(text, i, end, known)
                    kept = _index(ignored, seed) < 0
                    n_unnamed = 0
                    first[s], bar[s], group[s] = k, i, _index(crossed, seed)
                    s += 1
                else:
                    what, stop, feature_key, value = _feature(
                        text, i, end, seed, scale, n_unnamed, known
                    )
                    n_unnamed += c == COLON
                    if kept and value != 0.0 and what == FINE:
                        key[k], x[k], place[k] = feature_key, value, i
                        k += 1
                if what == FINE:
                    i = stop
                else:
                    stop = token_end(text, i, end)
        if end >= 0:
            at = line_end(text, end, end_of_text) + 1
            if at > stopped:
                stopped, p, last_stop, few = at, stops, stops, stops
            while p < last_stop and int64(word(p)) < at:
                p += 8
        if what == FINE and len(crossings) > 0:
            m = 0
            for own in range(len(crossed)):
                for t in range(s_before, s):
                    if group[t] == own:
                        for f in range(first[t], first[t + 1] if t + 1 < s else k):
                            member[m] = f
                            m += 1
                bound[own + 1] = m
            if _n_products(crossings, bound) > MOST_PRODUCTS:
                what, i, stop = CROWD, begin, begin
            for interaction in range(len(crossings) if what == FINE else 0):
                a, b, d = (
                    crossings[interaction, 0],
                    crossings[interaction, 1],
                    crossings[interaction, 2],
                )
                for u in range(bound[a], bound[a + 1]):
                    for v in range(u if b == a else bound[b], bound[b + 1]):
                        lowest, highest = 0, 1
                        if d >= 0:
                            lowest = v if d == b else u if d == a else bound[d]
                            highest = bound[d + 1]
                        for w in range(lowest, highest):
                            mixed = mix(key[member[u]], key[member[v]])
                            product = x[member[u]] * x[member[v]]
                            third = -1
                            if d >= 0:
                                third = member[w]
                                mixed = mix(mixed, key[third])
                                product *= x[third]
                            if product != 0.0:
                                if row < len(factor):
                                    key[k], x[k], place[k] = mixed, product, -1 - row
                                    factor[row, 0] = member[u]
                                    factor[row, 1] = member[v]
                                    factor[row, 2] = third
                                    k += 1
                                row += 1
                            if what == FINE and not math.isfinite(product):
                                what, i, stop = PRODUCT + interaction, begin, begin
        if what == FINE:
            has_base |= n_numbers == 3
            has_tag |= tag_end[n] > tag[n]
            lines[n] = line
            n += 1
            start[n] = k
        else:
            k, s, row = start[n], s_before, row_before
            faults.line[n_faults] = line
            faults.what[n_faults] = what
            faults.begin[n_faults] = begin if what == UNSURE else i
            faults.end[n_faults] = end if what == UNSURE else stop
            n_faults += 1
        line += 1
    return n, k, s, row, n_faults, has_base, has_tag


# The words

_ROLES = {LABEL: "label", IMPORTANCE: "importance", BASE: "base"}

_WORDS = ODDITIES | {
    BLANK: "blank line: remove it, or write '|' for an example with no features",
    NO_BAR: "expected 'label |namespace features', got {}: write '|' before the features",
    LABEL_TAB: "TAB before '|' in {}: write spaces between label, importance, base and tag",
    FOURTH: "expected at most label, importance and base, got {} too: write ' before a tag",
    SCALED: (
        "{} times the scale of its namespace is too large for single precision: "
        "scale one of them down"
    ),
    CROWD: (
        f"the interactions make more than {MOST_PRODUCTS} products of this line: "
        "leave one of them out, or split the line"
    ),
}


def _why(what: int, raw: bytes, interactions: tuple[tuple[str, ...], ...]) -> str:
    """What was expected, what was found and what to write, of a fault at these bytes."""
    if what >= PRODUCT:
        return (
            f"a product of the interaction {'*'.join(interactions[what - PRODUCT])} is too large "
            "for single precision: scale its values down"
        )
    if what == GLUED:
        return f"label {quoted(raw)} touches '|': write {quoted(raw + b' |')}"
    if what in _ROLES:
        return _bad_label(_ROLES[what], raw)
    if what == HEADER:
        return _bad_header(raw)
    if what == FEATURE:
        return _bad_feature(raw)
    return _WORDS[what].format(quoted(raw))


def _bad_label(role: str, raw: bytes) -> str:
    if role == "importance" and is_number(raw) and raw.startswith(b"-"):
        return f"importance {quoted(raw)} is negative: write 0 to learn nothing from the line"
    return bad_number(role, raw, "a number, or ' before a tag")


def _bad_header(raw: bytes) -> str:
    name, _, scale = raw.partition(b":")
    if b"|" in raw[1:]:
        return f"'|' inside {quoted(raw)}: write a space before it"
    if b":" in scale:
        return f"second ':' in {quoted(raw)}: write |namespace:scale"
    if name == b"|":
        return f"scale of no namespace in {quoted(raw)}: write |namespace:scale"
    if not scale:
        return f"scale of nothing in {quoted(raw)}: write {quoted(name)}, or a number after ':'"
    if is_number(scale) and abs(float(scale)) < 1.0:
        return f"scale of 0 in {quoted(raw)}: ignore the namespace, or leave it out"
    return bad_number("scale", scale, "a number")


def _bad_feature(raw: bytes) -> str:
    name, _, value = raw.partition(b":")
    if b"|" in raw:
        return f"'|' inside {quoted(raw)}: write a space before it"
    if b":" in value:
        return f"second ':' in {quoted(raw)}: write name:value"
    if not value:
        instead = f"write {quoted(name)}, or a number after ':'" if name else "write name:value"
        return f"value of nothing in {quoted(raw)}: {instead}"
    if not name and value[0] not in NUMERIC and not never_finite(value):
        return f"text without a name in {quoted(raw)}: write name:text"
    return bad_number("value", value, "a number, or text that does not begin like one")
