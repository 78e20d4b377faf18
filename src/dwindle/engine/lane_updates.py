"""Updates in lanes: one model for each of several gravities, which share all but their weights.

Lane l has a gravity c_l of its own. All lanes predict and learn from each example; what AdaGrad
needs to know of a feature is the same for all of them, and comes from the lane that predicts best
so far: with its slope s,

    n <- n + (s x)^2,   u = the root mean square of x where it is not 0,   r = u (beta u + sqrt(n)).

A step is divided by the length of its example, the root of 1 + sum of (x / u)^2; the intercept's is
not. The *noise clock* is

    S = the root of the sum of (s / length)^2,

the deviation of the summed gradient of a feature, of unit 1, that tells nothing. So a gravity of c
is in sigmas: it needs no scale and no look at the data. S only grows, as a pull must; beside it
grows eta S, which the formulas call S, too. A slope of another lane counts for no more than length
times S: as n is not its own, a lane that errs much more than the best would leap.

Of the dual updates, FTRL and RDA, a lane may also ask for *evidence* of k: a feature has a weight
only while its summed gradient z is at least k of its own standard deviations from 0,

    |z| >= k S sqrt(n / N),   N being the sum of s^2 over all examples.

A gravity alone holds all features to the noise of one that is in every example. Evidence holds each
to its own, so it removes rare features that tell nothing, too.

Cells are in single precision, and so is every step of the arithmetic with them, which takes half
the time; what is read from a cell is an `np.float32` by name, as without a compiler it would be a
double. `tests/reference_lanes.py` has the same, eager.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from dwindle._base.dispatch import by_class, by_class_or_default
from dwindle.algorithm.sigmas import Sigmas
from dwindle.jit.vectors import (
    filled,
    nonzero,
    plus,
    row,
    set_row,
    times,
    truncated,
    where_at_least,
    within,
)

OFTEN = 10  # the most times seen that count in what a feature is worth
COUNTED = 2**22  # values of a feature, after which its unit stands still
LAST_32 = 2**32 - 1  # the bits of the number of steps that a cell has room for
RECENT = 4  # a feature absent for more than this part of all examples is not recent
LANES = 8  # as many as make a cell a cache line
SMALLEST, LARGEST = 1e-18, 1e18  # of units, whose squares fit in single precision
MOST = 1e38  # that n can be


class SweepView(NamedTuple):
    """What a sweep has to know beside the cells, in place of a shrinkage.

    ``lanes[0]`` has what holds weights down. If it ``forgets``, a feature is dropped that was
    absent from the last quarter of all examples and that no lane with gravity or evidence holds.
    """

    lanes: Any
    forgets: bool


def lane_cell(n_lanes: int, own: str = "settled") -> np.dtype[np.void]:
    """Return the layout of a cell: 32 bytes that the lanes share, and the lanes.

    ``root`` is that of n, ``seen`` the number of values that ``unit`` is of, and ``last`` the step
    at which there was one. ``own`` is for the update.
    """
    shared = [("key", "u8"), (own, "f8"), ("root", "f4"), ("unit", "f4")]
    return np.dtype([*shared, ("seen", "u4"), ("last", "u4"), ("lane", "f4", (n_lanes,))])


def lane_record(n_lanes: int, shrinkage: Sigmas) -> Any:
    """Make the record of what is the same for all features.

    For each lane its gravity, the evidence it asks for, the same times S / sqrt(N), its last slope,
    and the sum of its squared slopes, discounted. Lanes without use do as the last one does.
    """
    names = "gravity", "evidence", "proof", "slope", "error"
    record = np.zeros(1, [(name, "f4", (n_lanes,)) for name in names])
    for name, values in zip(names, shrinkage.pairs, strict=False):
        record[name] = values[-1]
        record[name][0, : len(values)] = values
    return record


class Pull(NamedTuple):
    """What holds weights down in each lane: rows of gravities and of evidence times S / sqrt(N)."""

    gravity: Any
    proof: Any


@by_class_or_default
def pull_of(_update: Any, shared: Any) -> Any:
    """Return the pull of all lanes."""
    return Pull(row(shared, "gravity"), row(shared, "proof"))


@by_class_or_default
def no_pull(_update: Any, shared: Any) -> Any:
    """Return what holds the intercept down: nothing."""
    none = filled(row(shared, "gravity"), 0.0)
    return Pull(none, none)


@by_class
def settle_lanes(update: Any, cell: Any, pull: Any, clock: float, x: Any) -> None:
    """Prepare a cell for the value x at this time of the clock."""


@by_class
def lane_weights(update: Any, cell: Any, pull: Any, clock: float, share: Any) -> Any:
    """Return the row of a cell's weights at this time of the clock; ``share`` is its 1 / r."""


@by_class
def step_lanes(
    update: Any, cell: Any, pull: Any, clock: float, share: Any,
    step: Any, shared: Any, x: Any,
) -> None:  # fmt: skip
    """Take one gradient step in all lanes: ``step`` is the row of -eta s / length.

    ``shared`` is the slope s of the best lane.
    """


@by_class_or_default
def spread_of(update: Any, cell: Any) -> Any:
    """Return beta u + sqrt(n)."""
    return np.float32(update.beta) * np.float32(cell.unit) + np.float32(cell.root)


@by_class_or_default
def share_of(update: Any, cell: Any) -> Any:
    """Return 1 / r."""
    return np.float32(1.0) / (np.float32(cell.unit) * spread_of(update, cell))


@by_class_or_default
def in_units(update: Any, cell: Any, share: Any, x: Any) -> Any:
    """Return x / u, which lengthens the example, without another division."""
    return x * (share * spread_of(update, cell))


@by_class_or_default
def lengthens(_update: Any) -> bool:
    """Whether rates are divided by the length of an example."""
    return True


@by_class_or_default
def hurries(_update: Any) -> bool:
    """Whether the intercept's steps are not divided by the length, if the clock is the noise's."""
    return True


@by_class_or_default
def note_value(_update: Any, cell: Any, x: Any) -> None:
    """Take a value of the feature into its unit, up to `COUNTED` values."""
    size: Any = min(max(abs(x), np.float32(SMALLEST)), np.float32(LARGEST))
    if cell.seen == 0:
        cell.unit = size
        cell.seen = 1
    elif cell.seen < COUNTED:
        cell.seen += 1
        u = np.float32(cell.unit)
        if size != u:  # most values are 1
            m = u * u
            cell.unit = math.sqrt(m + (size * size - m) / np.float32(cell.seen))


@by_class_or_default
def centring(_update: Any) -> bool:
    """Whether features that every example has are taken by their distance from their mean."""
    return False


@by_class_or_default
def note_mean(update: Any, cell: Any, x: Any, part: float, first: bool) -> None:
    """Move the mean by ``part`` of the way to x, if the feature has one or this is the first."""


@by_class_or_default
def along(_update: Any, _cell: Any, x: Any) -> Any:
    """Return x, or its distance from the mean if the feature has one."""
    return x


@by_class_or_default
def mean_of(_update: Any, _cell: Any) -> float:
    """Return the mean by which the feature is centred; 0 if it is not."""
    return 0.0


@by_class_or_default
def uncentre(update: Any, cell: Any) -> None:
    """Take the feature as it is from now on, as if it had always been; keep w times its unit."""


@by_class_or_default
def add_slope(_update: Any, cell: Any, shared: Any, x: Any) -> Any:
    """Add (s x)^2 to n; return by how much its root grew.

    In single precision n stands still once it is 2^23 times what is added.
    """
    g = shared * x
    root = np.float32(cell.root)
    new = np.float32(math.sqrt(min(root * root + g * g, np.float32(MOST))))
    cell.root = new
    return new - root


@by_class_or_default
def is_held(update: Any, cell: Any, view: Any, clock: float) -> bool:
    """Whether a lane that holds weights down has one."""
    pull = pull_of(update, view.lanes[0])
    w = lane_weights(update, cell, pull, clock, share_of(update, cell))
    return nonzero(w) & nonzero(plus(pull.gravity, pull.proof)) != 0


@by_class_or_default
def absence(_update: Any, cell: Any, now: float) -> float:
    """Return for how many steps the feature was not seen."""
    return float((np.uint64(now) - np.uint64(cell.last)) & np.uint64(LAST_32))


class LaneUpdate(NamedTuple):
    """What all updates in lanes have: their parameters, their cell, and when it may go."""

    n_lanes: int = LANES
    beta: float = 0.2
    threshold: float = math.inf

    def cell(self) -> np.dtype[np.void]:
        """Return the layout of a cell."""
        return lane_cell(self.n_lanes)

    def weight_at(self, view: Any, cell: Any, now: float, clock: float) -> float:
        """Return 0 if a sweep is to drop the cell, else 1; see `SweepView`."""
        if not view.forgets or absence(self, cell, now) < now / RECENT:
            return 1.0
        return 1.0 if is_held(self, cell, view, clock) else 0.0

    def worth(self, cell: Any, now: float, _clock: float) -> Any:
        """Return n min(times seen, 10) / (1 + steps since it was last seen)."""
        often = min(np.float64(cell.seen), OFTEN)
        root = np.float64(cell.root)
        return root * root * often / (1.0 + absence(self, cell, now))


class LaneFTRL(LaneUpdate):
    """FTRL-Proximal in lanes: ``lane`` is z.

        z <- z - eta s x / length + (sqrt(n + (s x)^2) - sqrt(n)) u w,   w = T1(z, c S u) / r.

    or w = 0 for want of evidence. There is no threshold.
    """

    def settle_lanes(self, cell: Any, _pull: Any, _clock: float, x: Any) -> None:
        note_value(self, cell, x)

    def lane_weights(self, cell: Any, pull: Any, clock: float, share: Any) -> Any:
        z = row(cell, "lane")
        far = np.float32(clock) * np.float32(cell.unit)
        w = times(truncated(z, times(pull.gravity, far)), share)
        return where_at_least(z, times(pull.proof, np.float32(cell.root)), w)

    def step_lanes(
        self, cell: Any, pull: Any, clock: float, share: Any,
        step: Any, shared: Any, x: Any,
    ) -> None:  # fmt: skip
        w = lane_weights(self, cell, pull, clock, share)
        more = add_slope(self, cell, shared, x)
        z = plus(row(cell, "lane"), times(w, more * np.float32(cell.unit)))
        set_row(cell, "lane", plus(z, times(step, x)))


class LaneRDA(LaneFTRL):
    """Regularised dual averaging in lanes: z <- z - eta s x / length, else as `LaneFTRL`."""

    def step_lanes(
        self, cell: Any, _pull: Any, _clock: float, _share: Any,
        step: Any, shared: Any, x: Any,
    ) -> None:  # fmt: skip
        add_slope(self, cell, shared, x)
        set_row(cell, "lane", plus(row(cell, "lane"), times(step, x)))


class LaneAdaptive(LaneUpdate):
    """Truncated gradient with AdaGrad's rates in lanes: ``lane`` is w.

        w <- T1(w, c (S - the S up to which it was pulled) u / r),   w <- w - eta s x / (length r).

    As u changes, w u stays. Weights above ``threshold`` are not pulled.
    """

    def settle_lanes(self, cell: Any, pull: Any, clock: float, x: Any) -> None:
        if cell.seen > 0:
            w = lane_weights(self, cell, pull, clock, share_of(self, cell))
            before = np.float32(cell.unit)
            note_value(self, cell, x)
            if cell.unit != before:
                w = times(w, before / np.float32(cell.unit))
            set_row(cell, "lane", w)
        else:
            note_value(self, cell, x)
        cell.settled = clock

    def lane_weights(self, cell: Any, pull: Any, clock: float, share: Any) -> Any:
        w = row(cell, "lane")
        owed = np.float32(clock - cell.settled) * (np.float32(cell.unit) * share)
        return within(w, truncated(w, times(pull.gravity, owed)), self.threshold)

    def step_lanes(
        self, cell: Any, _pull: Any, _clock: float, _share: Any,
        step: Any, shared: Any, x: Any,
    ) -> None:  # fmt: skip
        add_slope(self, cell, shared, x)
        set_row(cell, "lane", plus(row(cell, "lane"), times(step, x * share_of(self, cell))))


class LanePlain(LaneUpdate):
    """The paper's update in lanes: ``lane`` is w.

        w <- T1(w, c (S - the S up to which it was pulled)),   w <- w - eta s x.

    The lanes share no rate: n and u are noted only for what a feature is worth. Weights above
    ``threshold`` are not pulled.
    """

    def settle_lanes(self, cell: Any, pull: Any, clock: float, x: Any) -> None:
        note_value(self, cell, x)
        set_row(cell, "lane", lane_weights(self, cell, pull, clock, 1.0))
        cell.settled = clock

    def share_of(self, _cell: Any) -> Any:
        return np.float32(1.0)

    def in_units(self, _cell: Any, _share: Any, _x: Any) -> Any:
        return np.float32(0.0)

    def lane_weights(self, cell: Any, pull: Any, clock: float, _share: Any) -> Any:
        w = row(cell, "lane")
        return within(w, truncated(w, times(pull.gravity, clock - cell.settled)), self.threshold)

    def step_lanes(
        self, cell: Any, _pull: Any, _clock: float, _share: Any,
        step: Any, shared: Any, x: Any,
    ) -> None:  # fmt: skip
        add_slope(self, cell, shared, x)
        set_row(cell, "lane", plus(row(cell, "lane"), times(step, x)))

    def lengthens(self) -> bool:
        return False
