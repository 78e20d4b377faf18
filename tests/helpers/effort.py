"""How much is tried: pairs of settings and a few examples by default, all of it in `make test-all`."""

import os
from itertools import combinations, product

import pytest
from hypothesis import settings

FULL = bool(os.environ.get("DWINDLE_FULL"))  # `make test-all`


in_full = pytest.mark.skipif(not FULL, reason="only in `make test-all`")


def few_examples(n, *, always_the_same=False):
    """Let Hypothesis make n examples, or ten times as many.

    By default they are others in each run, but not where ``CI`` is set. Where rounding may decide,
    once in ten thousand times, they can be always the same.
    """
    the_same = always_the_same or settings.default.derandomize
    return settings(max_examples=10 * n if FULL else n, derandomize=the_same and not FULL)


def pairwise(*parameters, allowed=lambda *_: True, name=str, kind=None):
    """Return cases for ``parametrize`` in which any two values of two parameters come together.

    With ``kind``, any two kinds of values do, and every value is in some case. With ``DWINDLE_FULL``
    in the environment they are the whole product. Only cases for which ``allowed`` is true are
    taken; ``name`` makes the part of a value in the name of its case.
    """
    numbered = product(*(list(enumerate(values)) for values in parameters))
    cases = [case for case in numbered if allowed(*(value for _, value in case))]
    return [
        pytest.param(*(value for _, value in case), id="-".join(name(value) for _, value in case))
        for case in (cases if FULL else _covering(cases, kind))
    ]


def _covering(cases, kind):
    """Choose the case with the most pairs that are still to come, until there are none."""
    pairs = [_pairs(case, kind) for case in cases]
    waiting = set().union(*pairs)
    chosen = []
    while waiting:
        best = max(range(len(cases)), key=lambda i: len(pairs[i] & waiting))
        waiting -= pairs[best]
        chosen.append(best)
    return [cases[i] for i in sorted(chosen)]


def _pairs(case, kind):
    where = [(place, number) for place, (number, _) in enumerate(case)]
    if kind is None:
        return set(combinations(where, 2))
    kinds = [(place, kind(value)) for place, (_, value) in enumerate(case)]
    return set(combinations(kinds, 2)) | {(one,) for one in where}
