"""A generated log of clicks on ads, without end: like the paper's largest experiment, Big_Ads.

Two ads were shown for a query; which one was clicked? A line has the words of the query and those
of the ads, with value 1 for the first ad and -1 for the second; words of both ads cancel:

    1 |q w12 w873 ... |a x5 x99:-1 ...

The label depends on which ad goes with which query: on the products ``q*a``, most of which occur
only once. A word is its rank r in a vocabulary of 2^27, by Zipf's law, P(r) = log2(1 + 1/r) / 27.

The first ad is clicked with probability sigmoid(m). Here m is the sum, over the words x of the ads
and their products with the words w of the query, of planted weights times 1 or -1. The weight of x,
or of w and x, is a function of their ranks and the seed. It is 0 unless the word or product is
frequent, x <= 2^13 or w x <= 2^13, and then for three in four: some 20,000 weights are not 0.

Example i is a function of the seed and of i, so that a log can be generated from anywhere.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dwindle._base.errors import SettingError
from dwindle.data.formats.block import Block
from dwindle.data.formats.vw import parser as vw
from dwindle.features.batch import Batch
from dwindle.jit.compile import helper, kernel
from dwindle.jit.numbers import uint64
from dwindle.jit.splitmix import INCREMENT, mixed

INTERACTIONS = (("q", "a"),)
OCTAVES = 27  # the vocabulary: words of rank 1 to 2^27
QUERY = 12  # words of a query, fewer if some are equal
AD = 8  # words of each ad, likewise
FREQUENT = 2**13  # the largest rank, or product of two, with a planted weight
ONE_IN = 4  # of those has one
AT_ONCE = 4096  # lines generated in one call
LONGEST = len("-1 |q |a\n") + QUERY * len(" w134217728") + 2 * AD * len(" x134217728:-1")

_HALF, _LOW = uint64(32), uint64(0xFFFFFFFF)
_ZERO, _TEN = uint64(ord("0")), uint64(10)


@helper
def _share(h: Any) -> float:
    """Return the lower half of the bits as a number in [0, 1)."""
    return float(h & _LOW) * 2.0**-32


@helper
def _rank(h: Any) -> Any:
    """Draw the rank of a word by Zipf's law: its logarithm is uniform.

    The integer part of the logarithm is the octave. For the rest, f, a polynomial replaces 2^f: it
    is off by 0.02 % at most and, unlike the exponential function, the same on every machine.
    """
    octave = ((h >> _HALF) * uint64(OCTAVES)) >> _HALF
    f = _share(h)
    within = 1.0 + f * (0.6952 + f * (0.2262 + f * 0.0786))
    return uint64(int(float(uint64(1) << octave) * within))


@helper
def _weight(truth: Any, w: Any, x: Any) -> float:
    """Return the planted weight of the product of two words; with w = 0, of the word x."""
    if max(w, uint64(1)) * x > uint64(FREQUENT):
        return 0.0
    h = mixed(mixed(truth + w) + x)
    if (h >> uint64(33)) % uint64(ONE_IN):
        return 0.0
    size = 1.0 + _share(h)
    return size if h >> uint64(63) else -size


@helper
def _draw(state: Any, n: int, word: Any, first: int) -> int:
    """Draw n words into ``word`` from ``first`` on, without repeats; return where they end."""
    end = first
    for k in range(n):
        r = _rank(mixed(state + uint64(k) * INCREMENT))
        word[end] = r
        j = first
        while word[j] != r:
            j += 1
        end += j == end
    return end


@helper
def _without_common(word: Any, middle: int, end: int) -> tuple[int, int]:
    """Remove the words on both sides of the middle; return the new middle and end."""
    place, n_first = 0, 0
    for k in range(end):
        begin, stop = (middle, end) if k < middle else (0, middle)
        common = False
        for j in range(begin, stop):
            common |= word[j] == word[k]
        if not common:
            word[end + place] = word[k]
            place += 1
            n_first += k < middle
    for k in range(place):
        word[k] = word[end + k]
    return n_first, place


@helper
def _write_word(text: Any, at: int, letter: int, r: Any) -> int:
    """Write a space, the letter and the rank; return where they end."""
    text[at] = ord(" ")
    text[at + 1] = letter
    n, power = 1, _TEN
    while r >= power:
        n += 1
        power *= _TEN
    for k in range(at + 1 + n, at + 1, -1):
        tenth = r // _TEN
        text[k] = _ZERO + (r - tenth * _TEN)
        r = tenth
    return at + 2 + n


@helper
def _begin(text: Any, at: int, namespace: int) -> int:
    text[at] = ord(" ")
    text[at + 1] = ord("|")
    text[at + 2] = namespace
    return at + 3


def ads(seed: Any, first: int, last: int, text: Any, error: float) -> tuple[int, float]:
    """Write the lines of these examples; return where they end, and ``error`` plus theirs.

    The error of an example is the least possible one, min(p, 1 - p).
    """
    seed = mixed(uint64(seed))
    truth = mixed(~seed)
    query, ad = np.empty(QUERY + 1, np.uint64), np.empty(4 * AD + 1, np.uint64)
    at = 0
    for i in range(first, last):
        state = mixed(seed + uint64(i))
        n_query = _draw(state, QUERY, query, 0)
        n_first = _draw(state + uint64(QUERY) * INCREMENT, AD, ad, 0)
        n_both = _draw(state + uint64(QUERY + AD) * INCREMENT, AD, ad, n_first)
        n_first, n_both = _without_common(ad, n_first, n_both)
        margin = 0.0
        for k in range(n_both):
            w = _weight(truth, uint64(0), ad[k])
            for j in range(n_query):
                w += _weight(truth, query[j], ad[k])
            margin += w if k < n_first else -w
        chance = 1.0 / (1.0 + math.exp(-margin))
        error += min(chance, 1.0 - chance)
        if _share(mixed(state + uint64(QUERY + 2 * AD) * INCREMENT)) >= chance:
            text[at] = ord("-")
            at += 1
        text[at] = ord("1")
        at = _begin(text, at + 1, ord("q"))
        for j in range(n_query):
            at = _write_word(text, at, ord("w"), query[j])
        at = _begin(text, at, ord("a"))
        for k in range(n_both):
            at = _write_word(text, at, ord("x"), ad[k])
            if k >= n_first:
                text[at] = ord(":")
                text[at + 1] = ord("-")
                text[at + 2] = ord("1")
                at += 3
        text[at] = ord("\n")
        at += 1
    return at, error


_ads = kernel(ads)


class Ads:
    """A log of clicks, as the module describes.

    >>> log = Ads(seed=7)
    >>> next(log.text(1))[:19]
    b'1 |q w85377 w3329 w'
    >>> [batch.n_examples for batch in log.batches(5000)]
    [4096, 904]
    """

    def __init__(self, seed: int = 0) -> None:
        if not 0 <= seed < 2**63:
            raise SettingError(f"seed must be from 0 to 2^63 - 1, got {seed}")
        self.seed = seed
        self.least_errors = 0.0  # summed over all examples generated so far

    def text(self, n: int, first: int = 0) -> Iterator[bytes]:
        """Yield the n examples from ``first`` on as VW text, some thousand lines at a time."""
        text = np.empty(AT_ONCE * LONGEST, np.uint8)
        for begin in range(first, first + n, AT_ONCE):
            end = min(begin + AT_ONCE, first + n)
            size, self.least_errors = _ads(self.seed, begin, end, text, self.least_errors)
            yield text[:size].tobytes()

    def batches(self, n: int, first: int = 0) -> Iterator[Batch]:
        """Yield the same as batches, with the products of the words of query and ads."""
        for text in self.text(n, first):
            block = Block(np.frombuffer(text, np.uint8), "ads")
            yield vw.parse(block, interactions=INTERACTIONS).batch

    def bayes_error(self, n: int, first: int = 0) -> float:
        """Return the error rate on these examples of a model that knows the planted weights."""
        if n < 1:
            raise SettingError(f"n must be 1 or more, got {n}")
        other = Ads(self.seed)
        for _ in other.text(n, first):
            pass
        return other.least_errors / n


GENERATED = {"ads": Ads}
