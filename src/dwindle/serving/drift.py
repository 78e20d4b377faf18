"""Whether the data has changed: the recent loss beside the loss before it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RECENT = 0.1  # of the examples are recent
FEWEST = 8  # stretches before them, to know how much losses vary
LIMIT = 3.0  # standard errors, from which on it is called a change


class Drift(NamedTuple):
    """How the recent loss compares: in words, and at each point in standard errors."""

    word: str
    told: str
    z: list[float]


def drift_of(points: Sequence[tuple[float, float]]) -> Drift:
    """Compare the mean loss of the last tenth of the examples with the half before it.

    Points are the weight of all examples so far and the sum of their losses. How much the mean
    loss of so many examples varies is told by the stretches between the points of that half:
    z = (recent - before) / sqrt(s^2 (1 / w + 1 / W)), with s^2 the variance of a stretch's mean
    times its weight.

    >>> steady = [(100.0 * k, 50.0 * k + k % 2) for k in range(40)]
    >>> drift_of(steady).word
    'steady'
    >>> drift_of([*steady, *((3900.0 + 100 * k, 1951 + 90.0 * k) for k in range(1, 6))]).word
    'worse'
    """
    z = [_strength(points[: k + 1]) for k in range(len(points))]
    if not z or math.isnan(z[-1]):
        return Drift("-", "too few examples to tell", [])
    last = z[-1]
    word = "steady" if abs(last) < LIMIT else "worse" if last > 0 else "better"
    return Drift(word, f"recent loss {last:+.1f} standard errors", z)


def _strength(points: Sequence[tuple[float, float]]) -> float:
    weight, total = (np.array(column) for column in zip(*points, strict=True))
    begin = weight[-1] * (1.0 - RECENT)
    first = int(np.searchsorted(weight, begin))
    half = int(np.searchsorted(weight, weight[-1] / 2))
    gained = np.diff(weight[half : first + 1])
    lost = np.diff(total[half : first + 1])[gained > 0]
    gained = gained[gained > 0]
    recent = weight[-1] - weight[min(first, len(weight) - 1)]
    if len(gained) < FEWEST or recent <= 0:
        return math.nan
    before = lost.sum() / gained.sum()
    spread = float((gained * (lost / gained - before) ** 2).sum() / (len(gained) - 1))
    error = math.sqrt(spread * (1.0 / recent + 1.0 / gained.sum()))
    now = (total[-1] - total[first]) / recent
    return float((now - before) / error) if error > 0 else 0.0
