"""How much is tried: pairs of settings and a few examples by default, all of it in `make test-all`."""

import os
from itertools import combinations, product

import pytest
from hypothesis import settings

FULL = bool(os.environ.get("DWINDLE_FULL"))  # `make test-all`


in_full = pytest.mark.skipif(not FULL, reason="only in `make test-all`")


def few_examples(n, *, always_the_same=False):
    """Let Hypothesis make n examples, or ten times as many.

    Where rounding may decide, once in ten thousand times, they can be always the same, by default.
    """
    return settings(max_examples=10 * n if FULL else n, derandomize=always_the_same and not FULL)


def pairwise(*parameters, allowed=lambda *_: True, name=str):
    """Return cases for ``parametrize`` in which any two values of two parameters come together.

    With ``DWINDLE_FULL`` in the environment they are the whole product. Only cases for which
    ``allowed`` is true are taken; ``name`` makes the part of a value in the name of its case.
    """
    numbered = product(*(list(enumerate(values)) for values in parameters))
    cases = [case for case in numbered if allowed(*(value for _, value in case))]
    return [
        pytest.param(*(value for _, value in case), id="-".join(name(value) for _, value in case))
        for case in (cases if FULL else _covering(cases))
    ]


def _covering(cases):
    """Choose the case with the most pairs that are still to come, until there are none."""
    pairs = [_pairs(case) for case in cases]
    waiting = set().union(*pairs)
    chosen = []
    while waiting:
        best = max(range(len(cases)), key=lambda i: len(pairs[i] & waiting))
        waiting -= pairs[best]
        chosen.append(best)
    return [cases[i] for i in sorted(chosen)]


def _pairs(case):
    where = [(place, number) for place, (number, _) in enumerate(case)]
    return set(combinations(where, 2))
