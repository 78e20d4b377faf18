"""The time of several gravities at once: the steps, and how far a gravity of 1 has pulled."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.clock import Clock
from dwindle.engine.lane_kernels import CLOCK, NOISE, ROOT, WAITING


class LaneTime(NamedTuple):
    """The time as a table of lanes takes it.

    ``state`` is that of the kernels; it has the clock of the noise, which counts if it is
    ``by_noise``. Else the paper's does, the ``clock``.
    """

    clock: Clock
    state: NDArray[np.float64]
    by_noise: bool

    @property
    def n_steps(self) -> int:
        """The number of steps taken so far."""
        return self.clock.n_steps

    @property
    def now(self) -> float:
        """The same, by which absence is measured."""
        return float(self.clock.n_steps)

    @property
    def size(self) -> float:
        """How far a gravity of 1 has pulled."""
        return self.state.item(CLOCK) if self.by_noise else self.clock.now

    def rest_since(self, before: int) -> None:
        """Let the clock of the noise go on from the step ``before`` to now, at its mean pace.

        So two rests are one as long as both. As while learning, a pull comes at every K-th step.
        """
        state, now, every = self.state, self.n_steps, self.clock.shrinkage.truncate_every
        if not before:
            return
        state[NOISE] *= now / before
        root = math.sqrt(state[NOISE])
        state[WAITING] += self.clock.rate[self.clock.at] * (root - state[ROOT])
        state[ROOT] = root
        if now // every > before // every:
            state[CLOCK] += state[WAITING]
            state[WAITING] = 0.0
