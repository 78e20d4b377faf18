"""Offsets of rows that stand one after another in one array."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def offsets(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return where rows of these sizes start, and where the last one ends.

    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    given = np.asarray(sizes)
    found = np.zeros(len(given) + 1, np.int64)
    np.cumsum(given, out=found[1:])
    return found
