"""Namespaces of VW lines: which to ignore and to cross, and what is remembered of the last ones."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.text import COLON
from dwindle.data.formats.vw.grammar import NO_SCALE, header
from dwindle.data.text.scan import FINE
from dwindle.features.xxh64 import DEFAULT_SEED
from dwindle.jit.compile import helper, inlined
from dwindle.jit.intrinsics import byte, put_word, word
from dwindle.jit.numbers import float32, int64, uint64

# Lines are much alike, so the last namespace that was the j-th of a line is remembered: where its
# '|' is, its length with that, its seed, its place in ``crossed`` or -1, and whether it is special,
# that is, ignored or without a name. Namespaces with a scale are not remembered.
SEEN_BAR, SEEN_LENGTH, SEEN_SEED, SEEN_GROUP, SEEN_SPECIAL, SEEN_SIZE = range(0, 48, 8)
MOST_SEEN = 64


class Plan(NamedTuple):
    """Which namespaces to ignore and to cross, by their seeds."""

    ignored: NDArray[np.uint64]
    crossed: NDArray[np.uint64]  # those that are part of some interaction
    crossings: NDArray[np.int64]  # for each interaction places in ``crossed``, -1 for no third


@helper
def _same(text: int, a: int, b: int, n: int) -> bool:
    """Compare the n bytes at two places; up to a word is read past their end."""
    while n >= 8:
        if word(text + a) != word(text + b):
            return False
        a, b, n = a + 8, b + 8, n - 8
    return n == 0 or (word(text + a) ^ word(text + b)) << uint64(64 - 8 * n) == uint64(0)


@helper
def index_of(seeds: Any, seed: Any) -> int:
    """Find a seed among others; -1 if it is not there."""
    for j in range(len(seeds)):
        if seeds[j] == seed:
            return j
    return -1


@inlined
def is_seen(text: int, bar: int, stop: int, j: int, likely: int) -> bool:
    """Tell whether the j-th namespace of a line is the one remembered at ``likely``."""
    size = stop - bar
    return (
        j < MOST_SEEN
        and byte(text + stop) != COLON
        and size == int64(word(likely + SEEN_LENGTH))
        and _same(text, bar, int64(word(likely + SEEN_BAR)), size)
    )


@helper
def remembered_header(
    text: int, bar: int, p: int, j: int, known: int, likely: int, ignored: Any, crossed: Any
) -> tuple[bool, int, int, Any, int, Any]:
    """Read and remember a namespace: (is plain, p, stop, seed, group, special).

    ``p`` is the address of the stop after its name; the p returned, of the stop after its scale.
    """
    stop = int64(word(p))
    has_scale = byte(text + stop) == COLON
    if has_scale:
        p += 8
        stop = int64(word(p))
    what, stop, seed, scale = header(text, bar, stop, known)
    group = index_of(crossed, seed)
    is_ignored = index_of(ignored, seed) >= 0
    special = uint64(is_ignored or seed == DEFAULT_SEED or scale != NO_SCALE)
    if what != FINE or (is_ignored and scale != NO_SCALE):
        return False, p, stop, seed, group, special
    if j < MOST_SEEN and not has_scale:
        put_word(likely + SEEN_BAR, uint64(bar))
        put_word(likely + SEEN_LENGTH, uint64(stop - bar))
        put_word(likely + SEEN_SEED, seed)
        put_word(likely + SEEN_GROUP, uint64(group))
        put_word(likely + SEEN_SPECIAL, special)
    return True, p, stop, seed, group, special


@inlined
def own_header(text: int, bar: int, end: int, known: int, ignored: Any) -> tuple[Any, Any]:
    """Read the seed and the scale of a namespace, which is 0 for one to ignore."""
    _, _, seed, scale = header(text, bar, end, known)
    return seed, float32(0.0) if index_of(ignored, seed) >= 0 else scale
