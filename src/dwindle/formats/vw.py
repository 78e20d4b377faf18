"""Vowpal Wabbit's text format, without its silent surprises.

    [label [importance [base]]] ['tag] |namespace[:scale] feature[:value] ... |namespace ...

A kernel reads a block in one walk, straight into the arrays of a batch. Of a line that it cannot
read it says where it stopped and at what; the words for it are found afterwards, in Python.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numba import float32, float64, uint64
from numpy.typing import NDArray

from dwindle._jit import helper, inlined
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
    key_of_name,
    key_of_number,
    key_of_short_name,
    mix,
    xxh64,
)
from dwindle.formats.memory import Memory
from dwindle.formats.numerals import is_never_finite, known_numbers, number, short_number
from dwindle.formats.scan import (
    BAR,
    COLON,
    DOT,
    FINE,
    KINDS,
    MARGIN,
    MINUS,
    PLUS,
    QUOTE,
    RETURN,
    SPACE,
    TAB,
    UNSURE,
    ZERO,
    byte,
    end_of_name,
    ends,
    find,
    line_end,
    lowest,
    oddity,
    opened,
    size_of,
    skip_blank,
    text_kernel,
    token_end,
)
from dwindle.formats.spans import NUMERIC, Spans, Tags

NO_SCALE: Any = float32(1.0)
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
    factor: NDArray[np.int64]


class Scratch(NamedTuple):
    """The features of one line by namespace, for its products.

    The members of crossed namespace j are ``member[bound[j] : bound[j + 1]]``.
    """

    group: NDArray[np.int64]
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
    bound = np.zeros(len(plan.crossed) + 1, np.int64)
    n_products, longest = _measure(text, begin, end, plan, bound) if interactions else (0.0, 0)
    rows = _room_for(block.memory, size.lines, size.separators, size.bars, int(n_products))
    faults = room_for(size.lines)
    scratch = Scratch(np.empty(longest, np.int64), np.empty(longest, np.int64), bound)

    def read(known: NDArray[Any]) -> tuple[int, int, int, int, bool, bool]:
        found: tuple[int, int, int, int, bool, bool] = _read(
            text, begin, end, size.odd, known.ctypes.data, plan, rows, faults, scratch
        )
        return found

    n, n_features, n_sections, n_faults, has_base, has_tag = read(known_numbers({}))
    if (faults.what[:n_faults] == UNSURE).any():
        known = unsure_numbers(data, faults, n_faults)
        n, n_features, n_sections, n_faults, has_base, has_tag = read(known)
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
    n = n_features + n_products
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
        factor=np.empty((n_products + 1, 3), np.int64),  # one more, for a product that is dropped
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


@inlined
def _quick_feature(
    text: int, begin: int, end: int, seed: Any, base: int, found: Any
) -> tuple[int, Any, Any, int, Any]:
    """(stop, key, value, base, found): what `_feature` says of a plain one; else stop is ``begin``.

    Plain is a name of up to 31 bytes, and no value or one that is a `short_number`. ``found`` are
    the `ends` in the 64 bytes from ``base`` on: one look serves several features.
    """
    value: Any = float32(1.0)
    no_key = uint64(0)
    ahead = found >> uint64(begin - base) if begin - base < 64 else uint64(0)
    if ahead & (ahead - uint64(1)) == 0:  # fewer than two ends
        base, found = begin, ends(text + begin)
        ahead = found
    name_end = begin + lowest(ahead)
    n = name_end - begin
    stop = name_end
    if n == 0 or n > 31:
        return begin, no_key, value, base, found
    if byte(text + name_end) == COLON:
        stop = begin + lowest(ahead & (ahead - uint64(1)))
        is_number, value = short_number(text, name_end + 1, stop)
        if not is_number:
            return begin, no_key, value, base, found
    if not _is_end(text, stop, end):
        return begin, no_key, value, base, found
    return stop, key_of_short_name(text, begin, name_end, seed), value, base, found


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
def _measure(
    text: int,
    at: int,
    end_of_text: int,
    plan: Any,
    bound: Any,
) -> tuple[float, int]:
    """Bounds on how many products there are in all, and how many features on one line."""
    total, longest = 0.0, 0
    while at < end_of_text:
        end = line_end(text, at, end_of_text)
        bound[:] = 0
        n, g = 0, -1
        i = find(text, at, end, BAR)
        while i < end:
            if byte(text + i) == BAR:
                name_end = end_of_name(text, i + 1, end)
                g = _index(plan.crossed, xxh64(text, i + 1, name_end, uint64(0), -1))
            else:
                n += 1
                if g >= 0:
                    bound[g + 1] += 1
            i = skip_blank(text, token_end(text, i, end), end)
        for j in range(len(plan.crossed)):
            bound[j + 1] += bound[j]
        total += min(_n_products(plan.crossings, bound), float64(MOST_PRODUCTS))
        longest = max(longest, n)
        at = end + 1
    return total, longest


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
    scratch: Any,
) -> tuple[int, int, int, int, bool, bool]:
    """The examples of the text from ``at`` on stand in ``rows``, the other lines in ``faults``.

    Returns how many examples, features, namespaces and faults there are, and whether some example
    has a base and some a tag.
    """
    start, label, importance, base, tag, tag_end, lines, key, x, place, first, bar, factor = rows
    ignored, crossed, crossings = plan
    group, member, bound = scratch
    has_base, has_tag = False, False
    n, k, s, row, n_faults, line = 0, 0, 0, 0, 0, 0
    quick_end = end_of_text - MARGIN
    base_of_ends, ends_there = at, uint64(0)
    start[0] = 0
    while at < end_of_text:
        begin = at
        end = line_end(text, at, end_of_text)
        at = end + 1
        if end > begin and byte(text + end - 1) == RETURN:
            end -= 1
        s_before, row_before = s, row
        what = oddity(text, begin, end) if odd else FINE
        i, stop, n_numbers = begin, end, 0
        if what == FINE:
            what, i, stop, label[n], importance[n], base[n], n_numbers, tag[n], tag_end[n] = _head(
                text, begin, end, known
            )
        seed, scale, n_unnamed, kept, g = DEFAULT_SEED, NO_SCALE, 0, True, -1
        while what == FINE and i < end:
            # Plain features one after the other, in a loop that has little else on its mind.
            while kept and i < min(end, quick_end):
                if byte(text + i) == SPACE:
                    i += 1
                    continue
                stop, feature_key, value, base_of_ends, ends_there = _quick_feature(
                    text, i, end, seed, base_of_ends, ends_there
                )
                value *= scale
                if stop == i or value == 0.0 or not math.isfinite(value):
                    break
                key[uint64(k)] = feature_key
                x[uint64(k)] = value
                place[uint64(k)] = i
                if len(group) > 0:
                    group[k - start[n]] = g
                k += 1
                i = stop
            if i == end:
                break
            c = byte(text + i)
            if c in (SPACE, TAB):
                i += 1
                continue
            if c == BAR:
                what, stop, seed, scale = _header(text, i, end, known)
                first[s] = k
                bar[s] = i
                s += 1
                n_unnamed = 0
                kept = _index(ignored, seed) < 0
                g = _index(crossed, seed)
            else:
                what, stop, feature_key, value = _feature(
                    text, i, end, seed, scale, n_unnamed, known
                )
                n_unnamed += c == COLON
                if kept and value != 0.0 and what == FINE:
                    key[uint64(k)] = feature_key
                    x[uint64(k)] = value
                    place[uint64(k)] = i
                    if len(group) > 0:
                        group[k - start[n]] = g
                    k += 1
            if what == FINE:
                i = stop
            else:
                stop = token_end(text, i, end)
        if what == FINE and len(crossings) > 0:
            m, n_own = 0, k - start[n]
            for j in range(len(crossed)):
                for own in range(n_own):
                    if group[own] == j:
                        member[m] = start[n] + own
                        m += 1
                bound[j + 1] = m
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
                            factor[row, 0] = member[u]
                            factor[row, 1] = member[v]
                            factor[row, 2] = -1
                            if d >= 0:
                                mixed = mix(mixed, key[member[w]])
                                product *= x[member[w]]
                                factor[row, 2] = member[w]
                            if product != 0.0:
                                key[k] = mixed
                                x[k] = product
                                place[k] = -1 - row
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
    return n, k, s, n_faults, has_base, has_tag


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
