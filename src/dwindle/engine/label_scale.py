"""Labels in standard units: centred and scaled by the mean and deviation of all labels so far.

With y_i the labels, h_i their importances, n_i = h_1 + ... + h_i, and all sums up to i:

    m_i = sum of h y / n_i,   s_i = sqrt(sum of h (y - m_i)^2 / n_i).

Example i is learned with the label z_i = (y_i - m_i) / s_i, or 0 while all labels are the same, and
predicted, before it is learned from, as m_{i-1} + s_{i-1} f(x_i), where f is what was learned. So
steps and pulls suit labels of any unit, and the model, of weights s w and the intercept m + s b, is
in the labels' own. A loss that is the same in any unit but for a factor is needed; the base of an
example is taken off its label.

Labels are scaled but not centred, m = 0, where no intercept could make up for a mean: without one,
and with `normalize`, which divides it by an example's length.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.losses import value
from dwindle.jit.compile import helper, kernel

N, MEAN, SQUARES = range(3)  # elements of ``moments``; SQUARES is the sum of h (y - m)^2


@helper
def deviation(n: float, squares: float) -> float:
    """Return s, 0 if there were no labels."""
    return math.sqrt(squares / n) if n > 0.0 else 0.0


@helper
def with_label(
    n: float, mean: float, squares: float, y: float, h: float, centred: bool
) -> tuple[float, float, float]:
    """Return the moments with one more label, by Welford's recurrence."""
    if h == 0.0:
        return n, mean, squares
    n += h
    apart = y - mean
    if centred:
        mean += h * apart / n
    return n, mean, squares + h * apart * (y - mean)


@helper
def standard(n: float, mean: float, squares: float, y: float) -> float:
    """Return z."""
    s = deviation(n, squares)
    return (y - mean) / s if s > 0.0 else 0.0


@kernel
def _standard_labels(
    label: Any, importance: Any, base: Any, centred: bool, moments: Any, z: Any
) -> None:
    """Compute z of each example; row i of ``moments`` is what is known before example i."""
    for i in range(len(label)):
        y = float(label[i]) - base[i]
        n, mean, squares = with_label(
            moments[i, N], moments[i, MEAN], moments[i, SQUARES], y, importance[i], centred
        )
        moments[i + 1, N], moments[i + 1, MEAN], moments[i + 1, SQUARES] = n, mean, squares
        z[i] = standard(n, mean, squares, y)


@kernel
def own_unit(moments: Any, base: Any, prediction: Any) -> None:
    """Turn each prediction f into base + m + s f, by its row of ``moments``."""
    for i in range(len(prediction)):
        s = deviation(moments[i, N], moments[i, SQUARES])
        prediction[i] = base[i] + (moments[i, MEAN] + s * prediction[i])


class LabelScale:
    """The moments of the labels learned from so far.

    They are kept in an array, where kernels can change them; it is empty if labels are learned as
    they are.
    """

    def __init__(self, *, scaled: bool, centred: bool) -> None:
        self.moments: NDArray[np.float64] = np.zeros(3 if scaled else 0)
        self.scaled, self.centred = scaled, centred

    @property
    def mean(self) -> float:
        """The mean of the labels; 0 if they are learned as they are."""
        return float(self.moments[MEAN]) if self.scaled else 0.0

    @property
    def unit(self) -> float:
        """What 1 is in the labels' own unit."""
        if not self.scaled:
            return 1.0
        n, _, squares = self.moments.tolist()
        return math.sqrt(squares / n) if n > 0.0 else 0.0

    def unit_of(self, loss: Any) -> float:
        """Return what a loss of 1, of labels in standard units, is in the labels' own unit."""
        return value(loss, self.unit, 0.0) / value(loss, 1.0, 0.0) if self.scaled else 1.0

    def standard(
        self, label: NDArray[np.float32], importance: NDArray[np.float32], base: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Return the labels in standard units, and the moments before each and after the last."""
        z, moments = np.empty(len(label), np.float32), np.empty((len(label) + 1, 3))
        moments[0] = self.moments
        _standard_labels(label, importance, base, self.centred, moments, z)
        return z, moments
