"""The clock of a run: which step it is, that step's rate, and all the pull exerted so far.

Rates and pulls depend on the step alone, never on the weights, so NumPy lays them out for a window
of steps ahead and the kernel reads arrays. Windows never change a number: ``pulled`` is one running
sum, added up in order, whatever the windows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.schedules import Schedule

WINDOW = 32768  # steps that are laid out at once
FIRST = 512  # in the first window of a pass, which may be short; each that follows is twice as long


class Clock:
    """Steps taken, and a window of steps to come.

    ``before`` steps were taken before the window; ``pulled[at]`` is the clock now and
    ``rate[at + 1]`` the next step's rate. In units of pull the clock is the sum of eta_i g_i and
    ``size`` is 1; counting moments, it is their number and ``size`` is how far each of them pulls,
    equal within a window.
    """

    def __init__(self, schedule: Schedule, shrinkage: Any, *, counts_moments: bool) -> None:
        self.schedule = schedule
        self.shrinkage = shrinkage
        self.counts_moments = counts_moments
        self.passes = 0
        self.at = 0
        self.before = 0
        self.pulled: NDArray[np.float64] = np.zeros(1)
        self.rate: NDArray[np.float64] = np.zeros(1)
        self.size = 0.0
        self._length = FIRST
        self.open()

    @property
    def n_steps(self) -> int:
        """Steps taken so far."""
        return self.before + self.at

    @property
    def now(self) -> float:
        """The clock after the last step."""
        return float(self.pulled[self.at])

    @property
    def spent(self) -> bool:
        """Whether the window is used up."""
        return self.at == len(self.pulled) - 1

    @property
    def state(self) -> dict[str, Any]:
        """All that `set` makes a clock go on with as this one does."""
        return {
            "n_steps": self.n_steps,
            "passes": self.passes,
            "now": self.now,
            "size": self.size,
        }

    def set(self, n_steps: int, passes: int, now: float, size: float) -> None:
        """The clock stands as another one did, its window spent."""
        self.before, self.at, self.passes = n_steps, 0, passes
        self.pulled, self.size = np.array([now]), size

    def skip(self, n_steps: int) -> int:
        """Take up to n steps at once, as many as the window has; returns how many."""
        n = min(n_steps, len(self.pulled) - 1 - self.at)
        self.at += n
        return n

    def next_pass(self) -> None:
        """The rates from here on are those of the next pass."""
        self.open(self.passes + 1, FIRST)

    def open(self, passes: int | None = None, length: int | None = None) -> None:
        """Lay out a window that begins after the last step.

        All of it changes at once, so that an interrupt finds the clock as it was or as it will be.
        """
        before, now = self.n_steps, self.now
        passes = self.passes if passes is None else passes
        length = self._length if length is None else length
        varies = self.counts_moments and self.schedule.power_t != 0.0
        size = 1 if varies else length
        # Place k of each array is step ``before + k``; place 0 is where the clock stands now.
        rate = self.schedule.rates(before + np.arange(size + 1), passes)
        every = self.shrinkage.truncate_every
        moments = slice(every - before % every, None, every)
        pulls = self.shrinkage.pull(rate)
        ticks = np.zeros(size + 1)
        ticks[moments] = 1.0 if self.counts_moments else pulls[moments]
        ticks[0] = now
        vars(self).update(
            before=before,
            at=0,
            passes=passes,
            rate=rate,
            pulled=np.cumsum(ticks),
            size=float(pulls[1]) if self.counts_moments else 1.0,
            _length=min(2 * length, WINDOW),
        )
