"""Two losses of your own, as fast as the built-in ones: docs/own-loss.md explains them."""

import math
from typing import Any, NamedTuple

import numpy as np


class Expectile(NamedTuple):
    """phi(p, y) = |tau - I(y < p)| (y - p)^2, for numbers y: least at their tau-expectile."""

    tau: float = 0.5

    def value(self, p: float, y: float) -> float:
        """Return the loss of the prediction p for the label y."""
        factor = 1.0 - self.tau if y < p else self.tau
        return factor * math.pow(y - p, 2)

    def slope(self, p: float, y: float) -> float:
        """Return the derivative of the loss by p."""
        factor = 1.0 - self.tau if y < p else self.tau
        return 2.0 * factor * (p - y)

    def slope_bound(self) -> tuple[float, float]:
        """slope^2 = 4 c^2 d^2 <= 4 c phi, with c the steeper side's factor."""
        return 4.0 * max(self.tau, 1.0 - self.tau), 0.0


class ModifiedHuber(NamedTuple):
    """phi(p, y) = max(0, 1 - p y)^2 if p y >= -1, else -4 p y, for two classes y = -1 and +1."""

    def value(self, p: float, y: float) -> float:
        """Return the loss of the prediction p for the label y."""
        return math.pow(max(0.0, 1.0 - p * y), 2) if p * y >= -1.0 else -4.0 * p * y

    def slope(self, p: float, y: float) -> float:
        """Return the derivative of the loss by p."""
        return -2.0 * y * max(0.0, 1.0 - p * y) if p * y >= -1.0 else -4.0 * y

    @property
    def is_classification(self) -> bool:
        """Labels are two classes: report accuracy and AUC, accept 0 and 1 in files."""
        return True

    def link(self, scores: Any) -> Any:
        """P(y = +1) = (1 + p) / 2, clipped to [0, 1]."""
        return (1.0 + np.clip(scores, -1.0, 1.0)) / 2.0


if __name__ == "__main__":
    from dwindle import Learner, Plain, Truncation

    learner = Learner(Expectile(tau=0.9), Truncation(gravity=1e-3), Plain(), learning_rate=0.05)
    for step in range(2000):
        learner.learn_one({"hour": step % 24 / 24}, step % 7)
    print(learner.weights(), learner.intercept)

    learner = Learner(ModifiedHuber(), Truncation(gravity=1e-3))
    for step in range(2000):
        learner.learn_one({"hour": step % 24 / 24}, 1 if step % 24 > 12 else -1)
    print(learner.predict_proba_one({"hour": 0.9}))
