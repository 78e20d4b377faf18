"""Losses phi(p, y) of a prediction p and a label y, each with its slope d phi / d p.

A loss is a NamedTuple with the methods ``value`` and ``slope``. They are compiled into the kernels,
so they use ``math`` and arithmetic only. Other members tell the rest of the program what the loss
is for: `Loss` lists them.

At a kink the slope is 0 if 0 is a sub-gradient there. Every value and slope is finite at
p = +-1e6.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import by_class
from dwindle._base.errors import SettingError

Labels = NDArray[np.float32]
Scores = NDArray[np.float64]

SMALLEST = 1e-15  # probability, whose logarithm is still finite


class Loss(Protocol):
    """What a loss defines: `value` and `slope`, and as much of the rest as it needs."""

    def value(self, p: float, y: float) -> float:
        """Return phi(p, y)."""

    def slope(self, p: float, y: float) -> float:
        """Return d phi / d p at (p, y)."""

    @property
    def is_classification(self) -> bool:
        """Whether labels are two classes, -1 and +1, so that there are accuracy and AUC."""

    @property
    def boundary(self) -> float:
        """The score above which the class +1 is predicted, if it is not 0."""

    @property
    def for_classes(self) -> "Loss":
        """The same loss for labels -1 and +1, if this one is for numbers and there is one."""

    @property
    def takes_any_unit(self) -> bool:
        """Whether phi(a p + b, a y + b) is phi(p, y) but for a factor: labels may be scaled."""

    @property
    def wants(self) -> str:
        """Say which labels `accepts` accepts, for error messages."""

    def accepts(self, label: Labels) -> NDArray[np.bool_]:
        """Tell for each label whether the loss is defined for it; see `accepted_labels`."""

    def check(self) -> None:
        """Raise SettingError, by name, for a parameter that the loss cannot use."""

    def link(self, scores: Any) -> Any:
        """Turn a prediction, or an array of them, into means: P(y = +1), or expected values."""

    def measures(self, scores: Scores, label: Labels, weight: Scores) -> dict[str, float]:
        """Compute figures to report beside the loss, by name."""

    def slope_bound(self) -> tuple[float, float]:
        """Return (a, b) with slope^2 <= a phi + b wherever `accepts` holds.

        Assumption 3.1's A = a max|x|^2 and B = b max|x|^2 follow.
        """


def is_classification(loss: Any) -> bool:
    """Whether the loss tells two classes apart, whose labels are -1 and +1."""
    return bool(getattr(loss, "is_classification", False))


def boundary(loss: Any) -> float:
    """Return the score above which the class +1 is predicted."""
    return float(getattr(loss, "boundary", 0.0))


def for_classes(loss: Any) -> Any:
    """Return the form of a loss for two classes; the loss itself, if it has no other."""
    return getattr(loss, "for_classes", loss)


def accepted_labels(loss: Any) -> tuple[Callable[[Labels], NDArray[np.bool_]] | None, str]:
    """Return what tells which labels the loss is defined for, and those labels in words.

    If the loss does not say: -1 and +1 of a classification, and any number else, which is None.
    """
    if hasattr(loss, "accepts"):
        return loss.accepts, loss.wants
    return (_are_two_classes, "-1 or 1") if is_classification(loss) else (None, "a number")


def _are_two_classes(label: Labels) -> NDArray[np.bool_]:
    return np.asarray(np.abs(label) == 1)


def takes_any_unit(loss: Any) -> bool:
    """Whether the labels may be centred and scaled: it changes the loss by a factor only."""
    return bool(getattr(loss, "takes_any_unit", False))


def has_probabilities(loss: Any) -> bool:
    """Whether the loss's link gives the probability of the class +1."""
    return is_classification(loss) and hasattr(loss, "link")


def log_probabilities(loss: Any, scores: Scores) -> tuple[Scores, Scores]:
    """Compute ln P(y = -1) and ln P(y = +1), by the loss's own formula if it has one."""
    own = getattr(loss, "log_probabilities", None)
    if own is not None:
        return own(scores)  # type: ignore[no-any-return]  # a loss may be anyone's
    positive = link(loss, scores)
    with np.errstate(divide="ignore"):
        return np.log1p(-positive), np.log(positive)


def link(loss: Any, scores: Any) -> Any:
    """Turn a prediction, or an array of them, into means; without a link they are means already."""
    own = getattr(loss, "link", None)
    return scores if own is None else own(scores)


@by_class
def value(loss: Any, p: float, y: float) -> float:
    """Return phi(p, y)."""


@by_class
def slope(loss: Any, p: float, y: float) -> float:
    """Return d phi / d p at (p, y)."""


class Squared(NamedTuple):
    """phi(p, y) = (p - y)^2 with the paper's slope, 2 (p - y); scikit-learn halves both."""

    def value(self, p: float, y: float) -> float:
        return (p - y) * (p - y)

    def slope(self, p: float, y: float) -> float:
        return 2.0 * (p - y)

    @property
    def takes_any_unit(self) -> bool:
        """In units of 1/a it is a^2 times as large."""
        return True

    def slope_bound(self) -> tuple[float, float]:
        """Return (4, 0): (2 d)^2 = 4 d^2."""
        return 4.0, 0.0


class Logistic(NamedTuple):
    """phi(p, y) = ln(1 + exp(-p y)) for y in {-1, +1}."""

    def value(self, p: float, y: float) -> float:
        # max(-m, 0) + ln(1 + exp(-|m|)), whose exponent is never positive.
        return max(-p * y, 0.0) + math.log1p(math.exp(-abs(p * y)))

    def slope(self, p: float, y: float) -> float:
        return -y / (1.0 + math.exp(min(p * y, 700.0)))  # exp overflows past 709

    @property
    def is_classification(self) -> bool:
        """Labels are two classes."""
        return True

    def link(self, scores: Any) -> Any:
        """Return P(y = +1) = 1 / (1 + exp(-p)), written so that it never overflows."""
        tanh = math.tanh if isinstance(scores, float) else np.tanh  # NumPy's takes 1 us for a float
        return 0.5 * (1.0 + tanh(0.5 * scores))

    def log_probabilities(self, scores: Scores) -> tuple[Scores, Scores]:
        """Ln P(y = -1) and ln P(y = +1), finite also where a probability rounds to 0."""
        return -np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)

    def slope_bound(self) -> tuple[float, float]:
        """Return (0, 1): |slope| = 1 / (1 + exp(p y)) < 1."""
        return 0.0, 1.0


class Hinge(NamedTuple):
    """phi(p, y) = max(0, margin - p y) for y in {-1, +1}; slope 0 at the kink."""

    margin: float = 1.0

    def value(self, p: float, y: float) -> float:
        return max(0.0, self.margin - p * y)

    def slope(self, p: float, y: float) -> float:
        return -y if p * y < self.margin else 0.0

    @property
    def is_classification(self) -> bool:
        """Labels are two classes."""
        return True

    def check(self) -> None:
        """Refuse a margin that is not finite."""
        if not math.isfinite(self.margin):
            raise SettingError(f"margin must be finite, got {self.margin}")

    def slope_bound(self) -> tuple[float, float]:
        """Return (0, 1): |slope| is 0 or 1."""
        return 0.0, 1.0


class ClippedSquared(NamedTuple):
    """Section 5's loss: (p - y)^2 while p is in [0, 1], beyond it the tangent, for y in [0, 1].

    phi(p, y) = (q - y)^2 + 2 (q - y) (p - q), where q is p clipped to [0, 1]; slope 2 (q - y).
    Where labels are two classes, it is `BinaryClippedSquared`.
    """

    def value(self, p: float, y: float) -> float:
        q = min(max(p, 0.0), 1.0)
        return (q - y) * (q - y) + 2.0 * (q - y) * (p - q)

    def slope(self, p: float, y: float) -> float:
        return 2.0 * (min(max(p, 0.0), 1.0) - y)

    def link(self, scores: Any) -> Any:
        """Return q: predictions are clipped to [0, 1]."""
        return clipped(scores)

    @property
    def for_classes(self) -> "BinaryClippedSquared":
        """The loss of two classes."""
        return BinaryClippedSquared()

    @property
    def wants(self) -> str:
        """Say which labels are accepted."""
        return "between 0 and 1"

    def accepts(self, label: Labels) -> NDArray[np.bool_]:
        """Accept labels in [0, 1]: for others the loss would not be convex."""
        return (label >= 0) & (label <= 1)

    def slope_bound(self) -> tuple[float, float]:
        """Return (4, 0): slope^2 = 4 (q - y)^2 <= 4 phi, as (q - y) (p - q) >= 0."""
        return 4.0, 0.0


class BinaryClippedSquared(NamedTuple):
    """`ClippedSquared` of two classes: labels -1 and +1, which stand for its 0 and 1.

    The clipped prediction q is the probability of the class +1, which is predicted above 1/2.
    """

    def value(self, p: float, y: float) -> float:
        t = 0.5 * (y + 1.0)
        q = min(max(p, 0.0), 1.0)
        return (q - t) * (q - t) + 2.0 * (q - t) * (p - q)

    def slope(self, p: float, y: float) -> float:
        return 2.0 * (min(max(p, 0.0), 1.0) - 0.5 * (y + 1.0))

    @property
    def is_classification(self) -> bool:
        """Labels are two classes."""
        return True

    @property
    def boundary(self) -> float:
        """1/2, midway between the two."""
        return 0.5

    def link(self, scores: Any) -> Any:
        """Return P(y = +1) = q."""
        return clipped(scores)

    def log_probabilities(self, scores: Scores) -> tuple[Scores, Scores]:
        """Ln P(y = -1) and ln P(y = +1), of no less than 1e-15, so that both are finite."""
        q = clipped(scores)
        return np.log(np.maximum(1.0 - q, SMALLEST)), np.log(np.maximum(q, SMALLEST))

    def slope_bound(self) -> tuple[float, float]:
        """Return (4, 0), as for `ClippedSquared`."""
        return 4.0, 0.0


def clipped(scores: Any) -> Any:
    """Clip a prediction, or an array of them, to [0, 1]."""
    return min(max(scores, 0.0), 1.0) if isinstance(scores, float) else np.clip(scores, 0.0, 1.0)


class Quantile(NamedTuple):
    """phi(p, y) = tau (y - p) if p <= y, else (1 - tau) (p - y): least at the tau-quantile of y."""

    tau: float = 0.5

    def value(self, p: float, y: float) -> float:
        return max(self.tau * (y - p), (1.0 - self.tau) * (p - y))

    def slope(self, p: float, y: float) -> float:
        if p == y:
            return 0.0
        return -self.tau if p < y else 1.0 - self.tau

    @property
    def takes_any_unit(self) -> bool:
        """In units of 1/a it is a times as large."""
        return True

    def check(self) -> None:
        """Refuse a tau for which the loss is not convex."""
        if not 0.0 < self.tau < 1.0:
            raise SettingError(f"tau must be between 0 and 1, got {self.tau}")

    def measures(self, scores: Scores, label: Labels, weight: Scores) -> dict[str, float]:
        """Compute the coverage: the share of labels at or below the prediction, ideally tau."""
        return {"coverage": float(np.average(label <= scores, weights=weight))}

    def slope_bound(self) -> tuple[float, float]:
        """Return (0, b), b being the square of the steeper slope."""
        return 0.0, max(self.tau, 1.0 - self.tau) ** 2


class Huber(NamedTuple):
    """phi(p, y) = d^2 if |d| <= delta, else delta (2 |d| - delta), where d = p - y.

    `Squared` in the middle, linear outside. Books that halve the squared loss halve this too.
    """

    delta: float = 1.0

    def value(self, p: float, y: float) -> float:
        d = abs(p - y)
        near = min(d, self.delta)
        return near * (2.0 * d - near)

    def slope(self, p: float, y: float) -> float:
        return 2.0 * min(max(p - y, -self.delta), self.delta)

    def check(self) -> None:
        """Refuse a delta for which the loss is not convex."""
        if not 0.0 < self.delta < math.inf:
            raise SettingError(f"delta must be finite and above 0, got {self.delta}")

    def slope_bound(self) -> tuple[float, float]:
        """Return (0, 4 delta^2): slope^2 = 4 min(d^2, delta^2)."""
        return 0.0, 4.0 * self.delta**2


class Poisson(NamedTuple):
    """phi(p, y) = exp(p) - y p for counts y >= 0: the mean is exp(p).

    No A and B of Assumption 3.1 exist: slope^2 grows as exp(2 p), the loss as exp(p).
    """

    def value(self, p: float, y: float) -> float:
        return math.exp(min(p, 700.0)) - y * p  # exp overflows past 709

    def slope(self, p: float, y: float) -> float:
        return math.exp(min(p, 700.0)) - y

    def link(self, scores: Any) -> Any:
        """Return the expected count, exp(p), with p limited so that its square is finite too."""
        if isinstance(scores, float):
            return math.exp(min(scores, 300.0))
        return np.exp(np.minimum(scores, 300.0))

    @property
    def wants(self) -> str:
        """Say which labels are accepted."""
        return "0 or more"

    def accepts(self, label: Labels) -> NDArray[np.bool_]:
        """Accept 0 and more: counts or rates."""
        return label >= 0
