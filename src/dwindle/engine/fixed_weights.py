"""Weights that stand still: the features of a model in a hash table, to predict with."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.shrinkage import NoShrinkage
from dwindle.engine import kernels
from dwindle.engine.table import SMALLEST, empty_cells, spread
from dwindle.features.batch import Batch

ROOM = 2  # cells for each feature: a table that is half empty is looked up without many probes


class Fixed(NamedTuple):
    """An update that never comes: its cells have a key and a weight only, in 16 bytes."""

    def cell(self) -> np.dtype[np.void]:
        """Return the layout of a cell."""
        return np.dtype([("key", "u8"), ("weight", "f8")])

    def exported(self, _shrinkage: Any, cell: Any, _now: float, _size: float, _n: int) -> Any:
        """Return the weight, which owes nothing."""
        return cell.weight


FIXED: Any = Fixed()  # no `Update`, as it takes no step


class FixedWeights:
    """The weights of some features, by key, and an intercept."""

    def __init__(
        self, key: NDArray[np.uint64], weight: NDArray[np.float64], intercept: float
    ) -> None:
        rows = empty_cells(FIXED, len(key))
        np.add(key, np.uint64(1), out=rows["key"])
        rows["weight"] = weight
        n_cells = max(SMALLEST, 1 << (ROOM * len(key) - 1).bit_length())
        self._table = spread(rows, FIXED, n_cells)
        self._bias = empty_cells(FIXED, 1)
        self._bias["weight"] = intercept

    def predict(self, batch: Batch, *, constant: bool, normalize: bool) -> NDArray[np.float64]:
        """Predict each example, with or without the intercept: see `Learner`."""
        prediction = np.empty(batch.n_examples)
        base = np.zeros(batch.n_examples, np.float32) if batch.base is None else batch.base
        kernels.predict.of(NoShrinkage(), FIXED)(
            *(batch.start, batch.key, batch.x, base, 0.0, 0.0, 0),
            *(*self._table, self._bias, float(constant), bool(normalize)),
            *(NoShrinkage(), FIXED, prediction),
        )
        return prediction
