"""Several gravities at once, each a lane of its own: in standard deviations, or the paper's."""

import math
from typing import NamedTuple

from dwindle._base.errors import SettingError
from dwindle.algorithm.shrinkage import Rates, check_not_negative

# Gravities, in sigmas, for updates that know no evidence: they span what eleven sets wanted.
SIGMAS = (0.0, 2.0**-7, 2.0**-5, 2.0**-4, 2.0**-3, 2.0**-2, 2.0**-1, 1.0)
MOST_LANES = 16


class Sigmas(NamedTuple):
    """Truncation by several gravities at once, each in standard deviations of noise.

    A gravity of c removes a feature whose summed gradient stays below c deviations of that of a
    feature that tells nothing, and takes as much off all others. So it needs no scale and no look
    at the data. An ``evidence`` of k, for `FTRL` and `RDA`, removes a feature whose summed gradient
    stays below k deviations of its own noise, and leaves the others as they are. There is one for
    each value, or none. `engine.lane_updates` has the formulas. Weights above ``threshold`` are not
    pulled.
    """

    values: tuple[float, ...] = SIGMAS
    evidence: tuple[float, ...] = ()
    threshold: float = math.inf
    truncate_every: int = 1

    @property
    def evidences(self) -> tuple[float, ...]:
        """The evidence of each lane."""
        return self.evidence or (0.0,) * len(self.values)

    @property
    def pairs(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The gravity, and the evidence, of each lane."""
        return self.values, self.evidences

    def shrink(self, v: float, _owed: float, _size: float) -> float:
        return v  # each lane has a gravity of its own: see `engine.lane_updates`

    def pull(self, rate: Rates) -> Rates:
        """Return K eta_i: how far the clock goes, if it is not that of the noise."""
        return rate * self.truncate_every

    @property
    def in_lanes(self) -> bool:
        """True: it takes a `LaneLearner`."""
        return True

    @property
    def by_noise(self) -> bool:
        """Whether the clock is that of the noise."""
        return True

    def check(self) -> None:
        """Refuse too many values, any that is negative or not finite, and another order."""
        check_not_negative(self, "threshold")
        if not 1 <= len(self.values) <= MOST_LANES:
            raise SettingError(f"expected 1 to {MOST_LANES} gravities, got {len(self.values)}")
        if len(self.evidences) != len(self.values):
            raise SettingError(
                f"expected an evidence for each of {len(self.values)} gravities, got "
                f"{len(self.evidence)}"
            )
        for value in (*self.values, *self.evidence):
            if not 0.0 <= value < math.inf:
                raise SettingError(f"a gravity must be finite and 0 or more, got {value}")
        lanes = list(zip(self.evidences, self.values, strict=True))
        if lanes != sorted(lanes):
            raise SettingError(
                "gravities must be in increasing order, by evidence first, got "
                f"{self.values}{f' with evidence {self.evidence}' if self.evidence else ''}"
            )


class Gravities(Sigmas):
    """Truncation by several of the paper's gravities at once."""

    @property
    def by_noise(self) -> bool:
        """Whether the clock is that of the noise."""
        return False


# What a run tries that is to find its own gravity. docs/auto.md says on which data it was chosen.
AUTOMATIC = Sigmas(
    values=(0.0, 2.0**-6, 2.0**-4, 2.0**-2, 1.0, 0.0, 2.0**-4, 2.0**-2),
    evidence=(0.0, 0.0, 0.0, 0.0, 0.0, 2.5, 2.5, 2.5),
)
