"""Learning rates eta_i over the steps of a run."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import SettingError


class Schedule(NamedTuple):
    """eta_i = eta (t_0 / (t_0 + i - 1))^p pass_decay^passes, where i counts steps from 1.

    eta is the ``learning_rate``, p is ``power_t`` and t_0 ``initial_t``. A power of 0 is a constant
    rate; 1/2 and 1 are 1/sqrt(i) and 1/i; a larger ``initial_t`` delays the decay. ``pass_decay``
    multiplies the rate after each pass over the data.

    >>> Schedule(1.0, power_t=1.0).rates(np.arange(1, 5), passes=0)
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    """

    learning_rate: float
    power_t: float = 0.0
    initial_t: float = 1.0
    pass_decay: float = 1.0

    @property
    def constant(self) -> bool:
        """Whether every step has the same rate."""
        return self.power_t == 0.0 and self.pass_decay == 1.0

    @classmethod
    def of(cls, rate: "float | Schedule") -> "Schedule":
        """Return a schedule as it is, and a number as a constant rate."""
        return rate if isinstance(rate, Schedule) else cls(float(rate))

    def rates(self, step: NDArray[np.int64], passes: int) -> NDArray[np.float64]:
        """Return the rate of each step, after ``passes`` whole passes."""
        now = self.learning_rate * self.pass_decay**passes
        if self.power_t == 0.0:
            return np.full(len(step), now)
        return np.asarray(
            now * (self.initial_t / (self.initial_t + np.maximum(step - 1, 0))) ** self.power_t
        )

    def check(self) -> None:
        """Refuse, by name, a value that no run could use."""
        for name, value in self._asdict().items():
            least = 0.0 if name == "power_t" else np.nextafter(0.0, 1.0)
            if not least <= value < np.inf:
                bound = "0 or more" if name == "power_t" else "above 0"
                raise SettingError(f"{name} must be finite and {bound}, got {value}")
