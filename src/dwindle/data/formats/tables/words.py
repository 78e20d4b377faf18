"""The words of texts: one feature for each, in the namespace that the column names."""

import unicodedata
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwindle.data.formats.tables.distinct import distinct
from dwindle.data.formats.tables.several import Several, once_each
from dwindle.data.formats.tables.vocabulary import keys_in
from dwindle.features.arrow import strings_of
from dwindle.features.keys import seed_of
from dwindle.features.names import cut
from dwindle.features.offsets import offsets
from dwindle.jit.compile import inlined, kernel
from dwindle.jit.intrinsics import byte
from dwindle.jit.numbers import int64

JOINT = ord("_")  # between the words of an n-gram: no letter, and VW text can write it
SEPARATOR, LETTER, ALONE = range(3)
# Chinese and Japanese have no spaces: from the first to the last of each, a character is a word.
_ALONE = ((0x3041, 0x30FF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


def words(column: pa.Array, namespace: str, ngrams: int = 1, *, counts: bool = False) -> Several:
    r"""Split texts into words: runs of letters and digits, in lower case.

    ``ngrams`` N adds each run of 2 to N words, joined by ``_``. A word's value is 1, or with
    ``counts`` how often it occurs. Features stand in the order in which they first occur, single
    words before pairs.

    >>> mails = pa.array(["Don't wait: FREE, free!", None, "Ein Maß"])
    >>> found = words(mails, "text", counts=True)
    >>> [name.replace("\0", "^") for name in found.names.to_pylist()[:4]]
    ['text^don', 'text^t', 'text^wait', 'text^free']
    >>> found.start.tolist(), found.word.tolist(), found.x.tolist()
    ([0, 4, 4, 6], [0, 1, 2, 3, 4, 5], [1.0, 1.0, 1.0, 2.0, 1.0, 1.0])
    >>> words(mails[2:], "text", ngrams=2).names.to_pylist()
    ['text\x00ein', 'text\x00maß', 'text\x00ein_maß']
    """
    lower = pc.utf8_lower(column.cast(pa.large_string()).fill_null(""))
    _, bounds, raw = lower.buffers()
    bound = np.frombuffer(bounds, np.int64)[lower.offset :][: len(lower) + 1].copy()
    size = int(bound[-1] - bound[0])
    # After each word comes a joint, which takes the place of a separator, except at a row's end and
    # beside a character alone: at most every two bytes, as in "1日2日".
    text = np.empty(size + size // 2 + len(bound), np.uint8)
    begin = np.empty((size + len(bound)) // 2 + 2, np.int64)
    first = np.empty(len(bound), np.int64)
    _find(raw.address if raw else 0, bound, _letters(), text, begin, first)
    start, at, end = _grams(begin, first, ngrams)
    seed = np.full(len(at), seed_of(namespace), np.uint64)
    key = keys_in(text.ctypes.data, at, end, seed)
    where, which = distinct(key)
    bare = strings_of(*cut(text, at[where], end[where] - at[where]))
    names = pc.binary_join_element_wise(
        pa.scalar(namespace, bare.type), bare, pa.scalar("\0", bare.type)
    )
    return Several(names, key[where], *once_each(start, which, len(where), counts=counts))


def _grams(
    begin: NDArray[np.int64], first: NDArray[np.int64], ngrams: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where the n-grams of each row start, and where each begins and ends in the text."""
    n_words = np.diff(first)
    sizes = [np.maximum(n_words - n, 0) for n in range(ngrams)]
    start = offsets(np.sum(sizes, axis=0))
    at, end = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    shift = start[:-1] - first[:-1]  # from the number of an n-gram's first word to its place
    for n, size in enumerate(sizes):
        word = np.repeat(first[:-1] - offsets(size)[:-1], size) + np.arange(size.sum())
        place = word + np.repeat(shift, size)
        at[place], end[place] = begin[word], begin[word + n + 1] - 1
        shift = shift + size
    return start, at, end


@cache
def _letters() -> NDArray[np.uint8]:
    """Say of each code point what it is in a text; further ones are no letters."""
    kind = np.array(
        [LETTER if unicodedata.category(chr(c))[0] in "LNM" else SEPARATOR for c in range(1 << 18)],
        np.uint8,
    )
    for first, last in _ALONE:
        every = slice(first, last + 1)
        kind[every] = np.where(kind[every] == LETTER, ALONE, SEPARATOR)
    return kind


@inlined
def _character(address: int) -> tuple[int, int]:
    """Decode a character of UTF-8, which must be valid: (code point, number of bytes)."""
    c = byte(address)
    if c < 0x80:
        return c, 1
    second = byte(address + 1) & 63
    if c < 0xE0:
        return (c & 31) << 6 | second, 2
    third = byte(address + 2) & 63
    if c < 0xF0:
        return (c & 15) << 12 | second << 6 | third, 3
    return (c & 7) << 18 | second << 12 | third << 6 | (byte(address + 3) & 63), 4


@kernel
def _find(source: int, bound: Any, kind: Any, text: Any, begin: Any, first: Any) -> None:
    """Copy the words of all rows into ``text``, with a `JOINT` after each.

    Word w begins at ``begin[w]``, and row i begins with word ``first[i]``.
    """
    n, end = 0, 0
    begin[0] = 0
    for i in range(len(bound) - 1):
        first[i] = n
        p, last, alone = bound[i], bound[i + 1], False
        while p <= last:
            size, what = 1, SEPARATOR
            if p < last:
                c, size = _character(source + p)
                what = int64(kind[c]) if c < len(kind) else SEPARATOR
            if end > begin[n] and (alone or what != LETTER):
                text[end] = JOINT
                end += 1
                n += 1
                begin[n] = end
            if what != SEPARATOR:
                for k in range(size):
                    text[end + k] = byte(source + p + k)
                end += size
            alone = what == ALONE
            p += size
    first[len(bound) - 1] = n
