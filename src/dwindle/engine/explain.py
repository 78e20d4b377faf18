"""Why a prediction is what it is."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.features.batch import Batch, Features
from dwindle.features.names import shown


class Explanation(NamedTuple):
    """The intercept and what each live feature adds to it, weight times value, make the prediction.

    The largest contribution comes first. An example's base, if it has one, counts to the intercept.
    """

    prediction: float
    intercept: float
    contributions: dict[str, float]

    def __str__(self) -> str:
        rows = [*self.contributions.items(), ("(intercept)", self.intercept)]
        lines = [f"{contribution:+10.4f}  {name}" for name, contribution in rows]
        return "\n".join([*lines, f"{self.prediction:+10.4f}  prediction"])


def explained(
    x: Features | Batch,
    predict: Callable[[Batch], NDArray[np.float64]],
    products: Callable[[Batch], NDArray[np.float64]],
    intercept: float,
    scaled_with: float | None,
) -> Explanation:
    """The prediction of one example in its parts.

    ``products`` gives the weight times value of each example of a single feature. Predictions may
    be ``scaled_with`` the intercept's x: see `Learner`.
    """
    batch = x if isinstance(x, Batch) else Batch.from_dicts([x])
    if batch.n_examples != 1:
        raise DataError(f"one example is explained at a time, got {batch.n_examples}")
    n = len(batch.key)
    apart = Batch(np.arange(n + 1), batch.key, batch.x)
    spread = 1.0 if scaled_with is None else math.sqrt(max(n + scaled_with, 1.0))
    names = map(str, batch.key.tolist()) if batch.names is None else batch.names
    added: dict[str, float] = {}
    for name, product in zip(map(shown, names), products(apart).tolist(), strict=True):
        if product:
            added[name] = added.get(name, 0.0) + product / spread
    largest = sorted(added.items(), key=lambda item: -abs(item[1]))
    base = 0.0 if batch.base is None else float(batch.base[0])
    return Explanation(float(predict(batch)[0]), intercept / spread + base, dict(largest))
