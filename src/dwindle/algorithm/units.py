"""Units: the scale of a feature, learned from its values, so that steps need not know it.

The unit u is the root mean square of the values of a feature where it is present. A cell has 1 / u
as ``inverse``, 0 if it is not known yet, and the number of values as ``seen``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import by_class_or_default

Floats = NDArray[np.floating[Any]]

TINY = 1e-36  # the least unit: what is computed of it fits in single precision
MOST = 2**22  # values that a unit is the mean of: it is in single precision, and one more is lost
KNOWN = 1000  # values that a unit counts for, if all that is known is the unit


@by_class_or_default
def measure(_update: Any, cell: Any, x: float) -> float:
    """Count the value x in a cell's unit, if it has one: return the old unit by the new one.

    The unit u is the root mean square of the values ``seen``; a cell has 1 / u as ``inverse``.

        u^2 <- (n u^2 + x^2) / (n + 1),   n <- n + 1.

    A value of 0 is none. The first value is the unit of what had none: that is no change.
    """
    if x == 0.0 or cell.seen >= MOST:
        return 1.0
    n, part = cell.seen, x * cell.inverse
    cell.seen = n + 1
    if part * part == 1.0:  # most values are 1, and so is their unit
        return 1.0
    if cell.inverse == 0.0:
        cell.inverse = 1.0 / max(abs(x), TINY)
        return 1.0
    ratio = np.sqrt((n + 1.0) / (n + part * part))
    cell.inverse = min(cell.inverse * ratio, 1.0 / TINY)
    return ratio


@by_class_or_default
def per_unit(_update: Any, cell: Any) -> Any:
    """Return 1 / u: how many of x there are in a unit of it; 1 if it is not known yet."""
    return np.float64(cell.inverse) if cell.inverse > 0.0 else 1.0


def inverted(numbers: Floats) -> Floats:
    """Return 1 over each number, or 0 where it is 0: a unit that is not known.

    >>> inverted(np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    return np.divide(1.0, numbers, where=numbers > 0.0, out=np.zeros_like(numbers))
