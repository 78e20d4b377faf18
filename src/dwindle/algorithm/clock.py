"""The clock of a run: the number of steps, the rate of each, and the total pull so far.

Rates and pulls depend on the step alone, never on the weights. So NumPy computes them for a window
of steps ahead, and the kernels read arrays. Windows change no number: the total pull is one running
sum, added up in order, whatever the windows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Shrinkage, is_late, steps_of_clock

WINDOW = 32768  # the most steps in a window
FIRST = 512  # steps in a pass's first window, as it may be short; each later one is twice as long


class Clock:
    """The number of steps taken, and a window of steps to come.

    ``before`` steps were taken before the window and ``at`` within it. ``pulled[at]`` is the clock
    now and ``rate[at + 1]`` the next step's rate. In units of pull the clock is the sum of
    eta_i g_i, and ``size`` is 1. Counting moments, it is their number, and ``size`` is the pull of
    each, equal within a window. Of a shrinkage that is late it is the number of steps, and the size
    of each is the rate of the last example's, ``rate[at]``.

    ``at`` is kept in an array, ``position``, where kernels can change it. Each new window has a new
    array.
    """

    def __init__(self, schedule: Schedule, shrinkage: Shrinkage, *, counts_moments: bool) -> None:
        self.schedule = schedule
        self.shrinkage = shrinkage
        self.counts_moments = counts_moments
        self.passes = 0
        self.position: NDArray[np.int64] = np.zeros(1, np.int64)
        self.before = 0
        self.pulled: NDArray[np.float64] = np.zeros(1)
        self.rate: NDArray[np.float64] = np.zeros(1)
        self._size = 0.0
        self._is_late = is_late(shrinkage)
        self._length = FIRST
        self.open()

    @property
    def at(self) -> int:
        """The number of steps taken within the window."""
        return self.position.item()

    @at.setter
    def at(self, at: int) -> None:
        self.position[0] = at

    @property
    def n_steps(self) -> int:
        """The number of steps taken so far."""
        return self.before + self.at

    @property
    def now(self) -> float:
        """The clock after the last step."""
        return self.pulled.item(self.at)

    @property
    def size(self) -> float:
        """How far a unit of the clock pulls what is settled now."""
        return self.rate.item(self.at) if self._is_late else self._size

    @property
    def spent(self) -> bool:
        """Whether the window is used up."""
        return self.at == len(self.pulled) - 1

    @property
    def state(self) -> dict[str, Any]:
        """All that `set` needs to make another clock go on as this one does."""
        return {
            "n_steps": self.n_steps,
            "passes": self.passes,
            "now": self.now,
            "size": self.size,
        }

    def set(self, n_steps: int, passes: int, now: float, size: float) -> None:
        """Set the clock to the `state` of another one, its window used up."""
        self.before, self.passes, self.position = n_steps, passes, np.zeros(1, np.int64)
        self.pulled, self._size = np.array([now]), size
        if self._is_late:
            self.rate = np.array([size])

    def skip(self, n_steps: int) -> int:
        """Take up to n steps at once, as many as the window has left; return how many.

        They have no examples, so what is late goes on being owed by the rate of the last one.
        """
        n = min(n_steps, len(self.pulled) - 1 - self.at)
        if self._is_late:
            rate, position = self.rate.copy(), self.position.copy()  # others may hold the old ones
            rate[self.at + n] = rate[self.at]
            vars(self).update(rate=rate, position=position)
        self.at += n
        return n

    def next_pass(self) -> None:
        """Open a window with the rates of the next pass."""
        self.open(self.passes + 1, FIRST)

    def open(self, passes: int | None = None, length: int | None = None) -> None:
        """Open a window that begins after the last step.

        Everything changes at once, so that an interrupt finds the old clock or the new one.
        """
        before, now = self.n_steps, self.now
        passes = self.passes if passes is None else passes
        length = self._length if length is None else length
        varies = self.counts_moments and self.schedule.power_t != 0.0
        size = 1 if varies else length
        # Element k of each array is for step ``before + k``; element 0 is the clock now.
        rate = self.schedule.rates(before + np.arange(size + 1), passes)
        if self._is_late:
            rate[0] = self.rate[self.at]  # of the step taken last, perhaps in the pass before
        every = steps_of_clock(self.shrinkage)
        moments = slice(every - before % every, None, every)
        pulls = self.shrinkage.pull(rate)
        ticks = np.zeros(size + 1)
        ticks[moments] = 1.0 if self.counts_moments else pulls[moments]
        ticks[0] = now
        vars(self).update(
            before=before,
            position=np.zeros(1, np.int64),
            passes=passes,
            rate=rate,
            pulled=np.cumsum(ticks),
            _size=float(pulls[1]) if self.counts_moments else 1.0,
            _length=min(2 * length, WINDOW),
        )
