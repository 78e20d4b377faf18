"""Products of features (interactions), for kernels."""

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dwindle.features.xxh64 import mix
from dwindle.jit.compile import helper, inlined
from dwindle.jit.numbers import float64

Item = TypeVar("Item")


# Of the features of one line, and of a batch of several: they take 80 MB.
MOST_PRODUCTS = 1 << 21


class Crowded(Exception):  # noqa: N818  (it is not an error)
    """Several lines have too many products for one batch: read them in so many parts."""

    def __init__(self, n_products: float) -> None:
        super().__init__(f"{n_products:,.0f} products")
        self.parts = 1 + int(n_products // MOST_PRODUCTS)


def in_parts(read: Callable[[int, int], Item], first: int, last: int) -> Iterator[Item]:
    """Yield ``read(first, last)``, in as many parts as it has to be where that is `Crowded`."""
    try:
        found = read(first, last)
    except Crowded as crowded:
        step = max(1, (last - first) // crowded.parts)
        for begin in range(first, last, step):
            yield from in_parts(read, begin, min(begin + step, last))
    else:
        yield found


@helper
def n_products(crossings: Any, bound: Any) -> float:
    """Count the products, where namespace j has bound[j + 1] - bound[j] features."""
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


@inlined
def put_products(
    crossings: Any,
    member: Any,
    bound: Any,
    key: Any,
    x: Any,
    place: Any,
    factor: Any,
    k: int,
    row: int,
) -> tuple[int, int, int]:
    """Put the products of an example into ``key`` and ``x`` from k on; return (k, row, c).

    Each of ``crossings`` is the numbers of two or three groups, -1 for no third; the features of
    group j are ``member[bound[j] : bound[j + 1]]``. In a group times itself, each pair occurs once.
    ``place`` of a product is -1 - row, and ``factor[row]`` are its features, -1 for no third.
    Products that are 0 are left out. The k and row returned are the next free ones; c is the first
    crossing with a product that is not finite, or -1.
    """
    too_large = -1
    for c in range(len(crossings)):
        a, b, d = crossings[c, 0], crossings[c, 1], crossings[c, 2]
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
                        key[k], x[k], place[k] = mixed, product, -1 - row
                        factor[row, 0] = member[u]
                        factor[row, 1] = member[v]
                        factor[row, 2] = third
                        k += 1
                        row += 1
                    if too_large < 0 and not math.isfinite(product):
                        too_large = c
    return k, row, too_large
