"""Explanations: what each feature contributes to a prediction."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.features.batch import Batch, Features
from dwindle.features.names import shown


class Explanation(NamedTuple):
    """A prediction as the sum of the intercept and each live feature's weight times value.

    The largest contribution comes first. The base of an example is part of the intercept.
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
    """Explain the prediction of one example.

    ``products`` predicts without the intercept and unscaled: for an example of a single feature,
    its weight times value. ``scaled_with`` is the x of the intercept if predictions are normalized,
    as `Learner` says, else None.
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
