"""A loss of your own, at the speed of the built-in ones: docs/own-loss.md tells its story."""

import math
from typing import NamedTuple

from dwindle._base.dispatch import body_of
from dwindle.algorithm.losses import slope, value


class Expectile(NamedTuple):
    """phi(p, y) = |tau - I(y < p)| (y - p)^2: least at the tau-expectile of y."""

    tau: float = 0.5

    def slope_bound(self) -> tuple[float, float]:
        """slope^2 = 4 c^2 d^2 <= 4 c phi, with c the steeper side's factor."""
        return 4.0 * max(self.tau, 1.0 - self.tau), 0.0


@body_of(value, Expectile)
def _(loss: Expectile, p: float, y: float) -> float:
    factor = 1.0 - loss.tau if y < p else loss.tau
    return factor * math.pow(y - p, 2)


@body_of(slope, Expectile)
def _(loss: Expectile, p: float, y: float) -> float:
    factor = 1.0 - loss.tau if y < p else loss.tau
    return 2.0 * factor * (p - y)


if __name__ == "__main__":
    from dwindle import Learner, Plain, Truncation

    learner = Learner(Expectile(tau=0.9), Truncation(gravity=1e-3), Plain(), learning_rate=0.05)
    for step in range(2000):
        learner.learn_one({"hour": step % 24 / 24}, step % 7)
    print(learner.weights(), learner.intercept)
