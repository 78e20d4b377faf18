"""Sorting of many whole numbers, several times as fast as NumPy sorts them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.jit.compile import helper, kernel
from dwindle.jit.intrinsics import prefetch
from dwindle.jit.numbers import uint64

BITS = 64
DIGIT = 11  # bits that are sorted by at once: so many counts fit into the first-level cache
N_DIGITS = 1 << DIGIT
GAPS = (701, 301, 132, 57, 23, 10, 4, 1)  # Ciura's, by which Shell's method compares
FEW = 2048  # numbers that are sorted by comparing them
AHEAD = 24  # how many numbers ahead one is prefetched


def radix_sorted(number: NDArray[np.uint64], n_last: int = 0) -> NDArray[np.uint64]:
    """Sort numbers by all bits but the last ones, and otherwise leave them in their order.

    The array that is given is used up.

    >>> radix_sorted(np.array([7, 5, 6], np.uint64)).tolist()
    [5, 6, 7]
    >>> radix_sorted(np.array([7, 5, 6], np.uint64), n_last=1).tolist()
    [5, 7, 6]
    """
    nothing = np.empty(0, np.int64)
    found: NDArray[np.uint64] = _sorted(number, np.empty_like(number), nothing, nothing, n_last)[0]
    return found


def radix_order(number: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the places of numbers in their order, the first of equal ones first.

    >>> radix_order(np.array([7, 5, 7, 6], np.uint64)).tolist()
    [1, 3, 0, 2]
    """
    place = np.arange(len(number))
    spare = np.empty_like(number), np.empty_like(place)
    found: NDArray[np.int64] = _sorted(number.copy(), spare[0], place, spare[1], 0)[1]
    return found


@kernel
def _sorted(number: Any, spare: Any, place: Any, spare_place: Any, n_last: int) -> tuple[Any, Any]:
    """Sort digit by digit, from the last one on, moving all to and fro; places come along, if any.

    Whatever is equal in all digits so far stays in its order.
    """
    end = np.empty(N_DIGITS, np.int64)
    for shift in range(n_last, BITS if len(number) else 0, DIGIT):
        end[:] = 0
        for k in range(len(number)):
            end[(number[k] >> uint64(shift)) & uint64(N_DIGITS - 1)] += 1
        if end[(number[0] >> uint64(shift)) & uint64(N_DIGITS - 1)] == len(number):
            continue  # all have the same digit
        n = 0
        for d in range(N_DIGITS):
            n, end[d] = n + end[d], n
        for k in range(len(number)):
            d = (number[k] >> uint64(shift)) & uint64(N_DIGITS - 1)
            spare[end[d]] = number[k]
            if len(place) > 0:
                spare_place[end[d]] = place[k]
            end[d] += 1
        number, spare = spare, number
        place, spare_place = spare_place, place
    return number, place


@helper
def _sort_by_two(a: Any, b: Any, place: Any, n: int) -> None:
    """Sort the first n of three arrays by a, then by b, by Shell's method."""
    for gap in GAPS:
        for k in range(gap, n):
            x, y, p, at = a[k], b[k], place[k], k
            while at >= gap and (a[at - gap] > x or (a[at - gap] == x and b[at - gap] > y)):
                a[at], b[at], place[at] = a[at - gap], b[at - gap], place[at - gap]
                at -= gap
            a[at], b[at], place[at] = x, y, p


@kernel
def sort_ties(order: Any, tied: Any, first: Any, second: Any) -> Any:
    """Sort each run of places whose ``tied`` are equal by the first, then the second number there.

    Return which places are in runs of more than `FEW`: they are left as they are.
    """
    a, b, place = np.empty(FEW, np.uint64), np.empty(FEW, np.uint64), np.empty(FEW, np.int64)
    left = np.zeros(len(order), np.bool_)
    begin = end = 0
    while end < len(order):
        begin = end
        while end < len(order) and tied[end] == tied[begin]:
            end += 1
        n = end - begin
        if n > FEW:
            left[begin:end] = True
        if n == 1 or n > FEW:
            continue
        for k in range(n):
            if begin + k + AHEAD < len(order):
                prefetch(first, uint64(order[begin + k + AHEAD]))
                prefetch(second, uint64(order[begin + k + AHEAD]))
            place[k] = order[begin + k]
            a[k], b[k] = first[place[k]], second[place[k]]
        _sort_by_two(a, b, place, n)
        for k in range(n):
            order[begin + k] = place[k]
    return left
