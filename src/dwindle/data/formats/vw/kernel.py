"""The kernel that reads the lines of VW text.

Most lines are plain, and are read the quick way: from stop to stop, which is where names and values
end, their features into lanes, and those side by side. What is not plain there is left to the slow
way, which reads a line from its first byte to its last, and alone knows what is wrong with one.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, uint64
from numpy.typing import NDArray

from dwindle._base.text import BAR, COLON, NEWLINE, RETURN, SPACE, TAB, ZERO
from dwindle.data.formats.interactions import n_products, put_products
from dwindle.data.formats.vw.errors import CROWD, MOST_PRODUCTS, PRODUCT
from dwindle.data.formats.vw.grammar import NO_SCALE, feature, head, header
from dwindle.data.formats.vw.simd import (
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
from dwindle.data.text.numbers import short_number
from dwindle.data.text.scan import FINE, UNSURE, line_end, oddity, quick_end, refilled, token_end
from dwindle.features.xxh64 import DEFAULT_SEED, NOT_A_KEY, fresh_state, long_state, short_integer
from dwindle.jit.compile import helper, kernel
from dwindle.jit.intrinsics import byte, half, put_word, word

_ONE = uint64(ZERO + 1)
_SPACE_BAR = uint64(int.from_bytes(b" |", "little"))

# The last namespace that was the j-th of a line is remembered, because lines are much alike: where
# its '|' stands, how long it is with that, its seed, its place in ``crossed`` or -1, and whether it
# is special, which is ignored or without a name. None of them has a scale.
SEEN_BAR, SEEN_LENGTH, SEEN_SEED, SEEN_GROUP, SEEN_SPECIAL, SEEN_SIZE = range(0, 48, 8)
MOST_SEEN = 64


class Plan(NamedTuple):
    """What to do with which namespace, each known by its seed."""

    ignored: NDArray[np.uint64]
    crossed: NDArray[np.uint64]  # the namespaces that are part of some interaction
    crossings: NDArray[np.int64]  # for each interaction places in ``crossed``, -1 for no third


class Rows(NamedTuple):
    """The arrays that the kernel fills; `Spans` explains place, first, bar and factor."""

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


@kernel
def read(  # noqa: C901, PLR0912, PLR0915 - one walk: only a kernel may write
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
    example has a base and some a tag. From the first line on whose products there is no room for,
    products are only counted, or rather how many there may be at most.
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
            stopped, p, last_stop, few = refilled(text, stopped, quick, stops, p, last_stop, few)
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
                    head(text, begin, end, known)
                )
            plain &= what == FINE
            while plain and int64(word(p)) < i:
                p += 8
                stopped, p, last_stop, few = refilled(
                    text, stopped, quick, stops, p, last_stop, few
                )
        # The quick way, as long as all is plain: LANES features at a time.
        first_bar, j, going = i, 0, plain
        likely, is_special = seen, uint64(0)
        seed, fresh, scale, g = DEFAULT_SEED, uint64(0), NO_SCALE, -1
        while going:
            m, s_first, longest, special = 0, s, -1, is_special
            c = SPACE
            while m < LANES:
                stopped, p, last_stop, few = refilled(
                    text, stopped, quick, stops, p, last_stop, few
                )
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
                        value_at = stop + 1
                        stop = int64(word(p))
                        c = byte(text + stop)
                        put_word(lane + LOW, word(text + value_at))
                        put_word(lane + HIGH, word(text + value_at + 8))
                        put_word(lane + VALUE_LENGTH, uint64(stop - value_at))
                        longest = max(longest, stop - value_at)
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
                        found, stop, seed, scale = header(text, i, stop, known)
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
                    found, stop, own_seed, own_scale = header(text, bar[t], place[f_first], known)
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
                t, to, own_section, own_seed, own_scale = s_first, k, -1, seed, NO_SCALE
                for f in range(k, k + m):
                    while t < s and first[t] == f:
                        first[t] = to
                        t += 1
                    value, feature_key = x[f], key[f]
                    if not math.isfinite(value):
                        lane = lanes + 8 * (f - k)
                        size = int64(word(lane + LENGTH) + word(lane + VALUE_LENGTH)) + 1
                        if own_section != t - 1:
                            own_section = t - 1
                            found, stop, own_seed, own_scale = header(
                                text, bar[own_section], place[f], known
                            )
                            if _index(ignored, own_seed) >= 0:
                                own_scale = float32(0.0)
                        found, stop, feature_key, value = feature(
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
                    what, stop, seed, scale = header(text, i, end, known)
                    kept = _index(ignored, seed) < 0
                    n_unnamed = 0
                    first[s], bar[s], group[s] = k, i, _index(crossed, seed)
                    s += 1
                else:
                    what, stop, feature_key, value = feature(
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
            n_own: Any = n_products(crossings, bound)
            has_room = row + n_own <= len(factor)
            if n_own > MOST_PRODUCTS:
                what, i, stop = CROWD, begin, begin
            elif not has_room:
                row += int64(n_own)
            else:
                k, row, c = put_products(crossings, member, bound, key, x, place, factor, k, row)
                if c >= 0:
                    what, i, stop = PRODUCT + c, begin, begin
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
