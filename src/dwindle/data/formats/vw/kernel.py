"""The kernel that reads lines of VW text.

Most lines are plain and take the fast path: it goes from stop to stop (where a name or a value
ends), collects features in lanes, and hashes names and reads values of many lanes at once. A line
that is not plain takes the slow path, which reads byte by byte and can say what is wrong.

Helpers on the fast path take addresses and numbers, not arrays: Numba would count references to
them at each call, which costs more than reading a feature.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.text import BAR, COLON, NEWLINE, RETURN, SPACE, TAB
from dwindle.data.formats.interactions import MOST_PRODUCTS, n_products, put_products
from dwindle.data.formats.vw.errors import CROWD, PRODUCT
from dwindle.data.formats.vw.grammar import NO_SCALE, feature, head, header
from dwindle.data.formats.vw.namespaces import (
    SEEN_GROUP,
    SEEN_SEED,
    SEEN_SIZE,
    SEEN_SPECIAL,
    index_of,
    is_seen,
    own_header,
    remembered_header,
)
from dwindle.data.text.numbers import short_number
from dwindle.data.text.scan import (
    FINE,
    UNSURE,
    content_end,
    fast_end,
    line_end,
    oddity,
    refilled,
    token_end,
)
from dwindle.data.text.side_by_side import (
    LANES,
    multiply,
    put_integers,
    put_keys,
    put_name,
    put_no_value,
    put_ones,
    put_value,
    put_values,
    replace_integers,
    token_length,
)
from dwindle.features.xxh64 import DEFAULT_SEED, fresh_state
from dwindle.jit.compile import inlined, kernel
from dwindle.jit.intrinsics import byte, half, put_word, unlikely, word
from dwindle.jit.numbers import int64, uint64

NUMBERED, ODD = 1, 2  # see `_put_features`
_SPACE_BAR = uint64(int.from_bytes(b" |", "little"))


class Output(NamedTuple):
    """Arrays for the kernel to fill; `VWNames` explains place, first, bar and factor."""

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


@inlined
def _sift(
    text: int,
    known: int,
    ignored: Any,
    first: Any,
    bar: Any,
    place: Any,
    key: Any,
    x: Any,
    lanes: int,
    k: int,
    end: int,
    t: int,
    s: int,
) -> tuple[int, bool]:
    """Drop features from k to ``end`` whose value is 0, and read values that are not plain.

    Namespaces t to s begin among them. Returns where the features now end, and whether all of them
    could be read.
    """
    to, own, is_fine = k, -1, True
    seed, scale = DEFAULT_SEED, NO_SCALE
    for f in range(k, end):
        while t < s and first[t] == f:
            first[t] = to
            t += 1
        own_key, value = key[f], x[f]
        if not math.isfinite(value):
            if own != t - 1:
                own = t - 1
                seed, scale = own_header(text, bar[own], place[f], known, ignored)
            stop = place[f] + token_length(lanes + 8 * (f - k))
            what, stop, own_key, value = feature(text, place[f], stop, seed, scale, 0, known)
            is_fine &= what == FINE
        key[to], x[to], place[to] = own_key, value, place[f]
        to += value != 0.0
    while t < s:
        first[t] = to
        t += 1
    return to, is_fine


@inlined
def _put_features(
    text: int, lanes: int, m: int, longest: int, numbered: bool, place: int, key: int, x: int
) -> int:
    """Read the m features in the lanes; return flags: names are integers, a value is not plain.

    ``longest`` is the length of the longest value, or -1 if there is none. ``numbered`` says that
    all are of the namespace without a name, where integers are their own keys.
    """
    flags = NUMBERED if numbered and put_integers(lanes, m, key) else 0
    if flags == 0:
        put_keys(lanes, m, key)
    if longest < 0:
        put_ones(m, x)
    elif put_values(text, lanes, m, longest, place, x):
        flags |= ODD
    return flags


@inlined
def _read_slow(
    text: int, i: int, end: int, known: int, ignored: Any, crossed: Any, rows: Any, k: int, s: int
) -> tuple[int, int, int, int, int]:
    """Read a line byte by byte, from its first '|' at i to its end: (what, i, stop, k, s).

    Features go into ``rows`` from k on, namespaces from s on. If the line is bad, i and stop
    enclose the token to blame.
    """
    what, stop = FINE, end
    seed, scale, n_unnamed, kept = DEFAULT_SEED, NO_SCALE, 0, True
    while what == FINE and i < end:
        c = byte(text + i)
        if c in (SPACE, TAB):
            i += 1
            continue
        if c == BAR:
            what, stop, seed, scale = header(text, i, end, known)
            kept = index_of(ignored, seed) < 0
            n_unnamed = 0
            rows.first[s], rows.bar[s], rows.group[s] = k, i, index_of(crossed, seed)
            s += 1
        else:
            what, stop, key, x = feature(text, i, end, seed, scale, n_unnamed, known)
            n_unnamed += c == COLON
            if kept and x != 0.0 and what == FINE:
                rows.key[k], rows.x[k], rows.place[k] = key, x, i
                k += 1
        if what == FINE:
            i = stop
        else:
            stop = token_end(text, i, end)
    return what, i, stop, k, s


@inlined
def _multiply(
    crossed: Any, crossings: Any, rows: Any, members: Any, k: int, t: int, s: int, row: int
) -> tuple[int, int, int]:
    """Put the products of a line after its features, which end at k: (what, k, row).

    The namespaces of the line are those from t to s. If there is no room for its products, they are
    only counted.
    """
    m = 0
    for own in range(len(crossed)):
        for section in range(t, s):
            if rows.group[section] == own:
                last = rows.first[section + 1] if section + 1 < s else k
                for f in range(rows.first[section], last):
                    members.member[m] = f
                    m += 1
        members.bound[own + 1] = m
    n: Any = n_products(crossings, members.bound)
    if n > MOST_PRODUCTS:
        return CROWD, k, row
    if row + n > len(rows.factor):
        return FINE, k, row + int64(n)
    k, row, c = put_products(
        *(crossings, members.member, members.bound, rows.key, rows.x, rows.place, rows.factor),
        *(k, row),
    )
    return FINE if c < 0 else PRODUCT + c, k, row


@kernel
def read(  # noqa: C901, PLR0912, PLR0915 - one walk over the lines
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
    """Read the text from ``at`` on: examples into ``rows``, bad lines into ``faults``.

    Returns how many examples, features, namespaces, products and faults there are, and whether some
    example has a base and some a tag. From the first line on whose products there is no room for,
    products are only counted, or rather how many there may be at most.
    """
    start, label, importance, base, tag, tag_end, lines = rows[:7]
    key, x, place, first, bar, group, _ = rows[7:]
    ignored, crossed, crossings = plan
    has_base, has_tag = False, False
    n, k, s, row, n_faults, line = 0, 0, 0, 0, 0, 0
    fast = fast_end(text, at, end_of_text)
    stopped, p, last_stop, few = at, stops, stops, stops
    key_at, x_at, place_at = key.ctypes.data, x.ctypes.data, place.ctypes.data
    all_lanes = lanes + 8 * LANES
    start[0] = 0
    while at < end_of_text:
        begin = at
        s_before, row_before = s, row
        end = -1  # not known yet
        what, i, stop, n_numbers = FINE, begin, begin, 1
        plain = begin < fast
        # The head of the line, up to its first '|': most often a number and a space.
        fast_head = False
        if plain:
            stopped, p, last_stop, few = refilled(text, stopped, fast, stops, p, last_stop, few)
            i = int64(word(p))
            if half(text + i) & uint64(0xFFFF) == _SPACE_BAR and i - begin < 16:
                fast_head, label[n] = short_number(text, begin, i)
                importance[n], base[n], tag[n], tag_end[n] = 1.0, 0.0, begin, begin
                i += 1
                p += 8
        if unlikely(not fast_head):
            end = content_end(text, begin, end_of_text)
            what = oddity(text, begin, end) if odd else FINE
            i, stop = begin, end
            if what == FINE:
                what, i, stop, label[n], importance[n], base[n], n_numbers, tag[n], tag_end[n] = (
                    head(text, begin, end, known)
                )
            plain &= what == FINE
            while plain and int64(word(p)) < i:
                p += 8
                stopped, p, last_stop, few = refilled(text, stopped, fast, stops, p, last_stop, few)
        # The fast path, as long as all is plain: LANES features at a time.
        first_bar, j, going = i, 0, plain
        likely, is_special = seen, uint64(0)
        seed, fresh = DEFAULT_SEED, uint64(0)
        while going:
            lane, s_first, longest, special = lanes, s, -1, is_special
            to_place = place_at + 8 * k - lanes  # from a lane to the place of its feature
            c = SPACE
            while lane < all_lanes:
                stopped, p, last_stop, few = refilled(text, stopped, fast, stops, p, last_stop, few)
                stop = int64(word(p))
                c = byte(text + stop)
                if stop > i:
                    put_name(text, i, stop, seed, fresh, lane)
                    put_word(lane + to_place, uint64(i))
                    if c == COLON:
                        p += 8
                        value_at = stop + 1
                        stop = int64(word(p))
                        c = byte(text + stop)
                        put_value(text, value_at, stop, lane)
                        longest = max(longest, stop - value_at)
                    else:
                        put_no_value(lane)
                    lane += 8
                elif c == BAR:
                    p += 8
                    stop = int64(word(p))
                    if unlikely(not is_seen(text, i, stop, j, likely)):
                        is_fine, p, stop, seed, g, is_special = remembered_header(
                            text, i, p, j, known, likely, ignored, crossed
                        )
                        if not is_fine:
                            break
                    else:
                        seed, g = word(likely + SEEN_SEED), int64(word(likely + SEEN_GROUP))
                        is_special = word(likely + SEEN_SPECIAL)
                    c = byte(text + stop)
                    fresh = fresh_state(seed)
                    special |= is_special
                    m = (lane - lanes) >> 3
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
            m = (lane - lanes) >> 3
            # All are of the namespace without a name: most likely their names are integers.
            is_default = seed == DEFAULT_SEED and len(ignored) == 0
            is_default &= s == s_first or (s == s_first + 1 and first[s_first] == k)
            flags = _put_features(
                *(text, lanes, m, longest, is_default),
                *(place_at + 8 * k, key_at + 8 * k, x_at + 4 * k),
            )
            is_odd = flags & ODD != 0
            n_special = s if special != 0 and flags & NUMBERED == 0 else 0
            for t in range(max(s_first - 1, s_before), n_special):
                f, last = max(first[t], k), first[t + 1] if t + 1 < s else k + m
                if f < last:
                    own_seed, own_scale = own_header(text, bar[t], place[f], known, ignored)
                    if own_scale != NO_SCALE:
                        is_odd |= multiply(own_scale, last - f, x_at + 4 * f)
                    if own_seed == DEFAULT_SEED:
                        replace_integers(
                            *(text, lanes + 8 * (f - k), last - f),
                            *(place_at + 8 * f, key_at + 8 * f),
                        )
            if unlikely(is_odd):
                k, is_fine = _sift(
                    *(text, known, ignored, first, bar, place, key, x),
                    *(lanes, k, k + m, s_first, s),
                )
                plain &= is_fine
                going &= plain
            else:
                k += m
        if unlikely(what == FINE and not plain):
            k, s = start[n], s_before
            if end < 0:
                end = content_end(text, begin, end_of_text)
                what = oddity(text, begin, end) if odd else FINE
            i, stop = begin, end
            if what == FINE:
                what, i, stop, k, s = _read_slow(
                    text, first_bar, end, known, ignored, crossed, rows, k, s
                )
        if unlikely(end >= 0):
            at = line_end(text, end, end_of_text) + 1
            if at > stopped:
                stopped, p, last_stop, few = at, stops, stops, stops
            while p < last_stop and int64(word(p)) < at:
                p += 8
        if unlikely(what == FINE and len(crossings) > 0):
            what, k, row = _multiply(crossed, crossings, rows, members, k, s_before, s, row)
            if what != FINE:
                i, stop = begin, begin
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
