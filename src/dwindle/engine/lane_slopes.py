"""The slope of the logistic loss in all lanes at once.

The C library's exp takes one number at a time: for eight lanes longer than all else that is done
once for an example. This one is of additions and multiplications only, in single precision.
"""

import math
from typing import Any

from dwindle.jit.compile import helper
from dwindle.jit.vectors import (
    added,
    filled,
    plus,
    product,
    quotient,
    shifted,
    times,
    where_positive,
)

FARTHEST = 87.0  # exp(-87) is the least that single precision has with all its digits
ROUNDING = 1.5 * 2**23  # a number added to it is rounded to an integer, which is in its last bits
PER_LN_2 = 1.0 / math.log(2.0)
LN_2 = 355 / 512, math.log(2.0) - 355 / 512  # so few digits that times an integer it is exact
SERIES = tuple(1.0 / math.factorial(k) for k in range(8))  # of exp; up to ln(2) / 2 that is enough


@helper
def exp_row(v: Any) -> Any:
    """Return exp(v), for v from -87 to 0."""
    k = added(times(v, PER_LN_2), ROUNDING)
    whole = added(k, -ROUNDING)
    r = plus(plus(v, times(whole, -LN_2[0])), times(whole, -LN_2[1]))
    r2 = product(r, r)
    low = plus(_pair(r, 0), product(_pair(r, 2), r2))
    high = plus(_pair(r, 4), product(_pair(r, 6), r2))
    return shifted(plus(low, product(high, product(r2, r2))), k)


@helper
def _pair(r: Any, k: int) -> Any:
    return added(times(r, SERIES[k + 1]), SERIES[k])


@helper
def logistic_slopes(p: Any, y: float) -> Any:
    """Return -y / (1 + exp(p y)) for the row of predictions p, all finite, and y in {-1, +1}."""
    m = times(p, y)
    size = where_positive(m, m, times(m, -1.0))
    size = where_positive(added(size, -FARTHEST), filled(size, FARTHEST), size)
    e = exp_row(times(size, -1.0))
    return times(quotient(where_positive(m, e, filled(e, 1.0)), added(e, 1.0)), -y)
