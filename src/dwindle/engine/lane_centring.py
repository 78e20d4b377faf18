"""Centring in lanes: a feature that every example has is taken by its distance from its mean."""

import math
from typing import Any

import numpy as np

from dwindle.algorithm.adaptive import ROUNDING
from dwindle.engine.lane_updates import (
    LARGEST,
    SMALLEST,
    LaneFTRL,
    LaneRDA,
    lane_cell,
    lane_weights,
    mean_of,
    note_value,
    share_of,
    uncentre,
)
from dwindle.engine.table_kernels import ONE
from dwindle.jit.compile import helper
from dwindle.jit.numbers import uint64
from dwindle.jit.vectors import filled, plus, row, set_row, times


class Centring:
    """What an update in lanes has beside its own to centre features that every example has.

    It is for columns far from zero, which are hardly different from the constant 1.

    With m their mean of the examples so far, by importance, and b the intercept,

        p = b + sum of w (x - m),

    and x - m stands for x in all formulas, also in that of u. The model is a plain one: its
    intercept is b - sum of w m. Means are taken before the prediction, as units are.

    A feature that an example has not, or twice, is learned as it is from then on. Its unit becomes
    that of x itself, the root of u^2 + m^2; z and sqrt(n) grow by the same factor, so that w u
    stays, and b becomes b - w m, so that the prediction at the mean stays.

    ``mean`` is 0 for a feature that is not centred. There are never more that are than the features
    of the first example.
    """

    n_lanes: int

    def cell(self) -> np.dtype[np.void]:
        """Return the layout of a cell."""
        return lane_cell(self.n_lanes, "mean")

    def centring(self) -> bool:
        return True

    def mean_of(self, cell: Any) -> Any:
        return cell.mean

    def note_mean(self, cell: Any, x: Any, part: float, first: bool) -> None:
        if (first and cell.seen == 0) or cell.mean != 0.0:  # a weight that it begins with stays
            mean = cell.mean + part * (np.float64(x) - cell.mean)
            cell.mean = mean if mean != 0.0 else SMALLEST
            if cell.seen == 0:
                cell.unit = 1.0  # until there is a distance

    def along(self, cell: Any, x: Any) -> Any:
        if cell.mean == 0.0:
            return x
        apart = np.float64(x) - cell.mean
        return np.float32(apart if abs(apart) > ROUNDING * abs(np.float64(x)) else 0.0)

    def uncentre(self, cell: Any) -> None:
        if cell.seen > 0:
            u = np.float64(cell.unit)
            larger = np.float64(np.float32(min(math.sqrt(u * u + cell.mean * cell.mean), LARGEST)))
            cell.unit = larger
            cell.root *= larger / u
            set_row(cell, "lane", times(row(cell, "lane"), larger / u))
        cell.mean = 0.0

    def settle_lanes(self, cell: Any, _pull: Any, _clock: float, x: Any) -> None:
        if x != 0.0 or cell.mean == 0.0:  # at its mean, a value tells nothing of the unit
            note_value(self, cell, x)


class LaneCentredFTRL(Centring, LaneFTRL):
    """`LaneFTRL` that centres, for numbers: the intercept is learned as the features are."""

    def hurries(self) -> bool:
        return False


class LaneCentredRDA(Centring, LaneRDA):
    """`LaneRDA` that centres."""


@helper
def find(cells: Any, home: Any, mark: Any) -> Any:
    """Return where the cell of this mark is, or the empty one where it would be."""
    mix, shift = home
    mask = uint64(len(cells) - 1)
    j = (mark * mix) >> shift
    while cells[j].key != mark and cells[j].key != 0:
        j = (j + ONE) & mask
    return j


@helper
def total(centred: Any) -> Any:
    """Add up the marks of the features that are centred: their total tells if each is there."""
    found = uint64(0)
    for c in range(len(centred)):
        found += centred[c]
    return found


@helper
def uncentre_missing(
    n: int, centred: Any, cells: Any, home: Any, slots: Any, pull: Any, clock: float,
    bias: Any, bias_share: Any, update: Any,
) -> None:  # fmt: skip
    """Stop centring features that are not, just once, in the example, whose n slots are given."""
    for c in range(len(centred)):
        if centred[c] == 0:
            continue
        j = find(cells, home, centred[c])
        times_there = 0
        for k in range(n):
            times_there += slots[k] == j
        m = mean_of(update, cells[j])
        if m != 0.0 and times_there == 1:
            continue
        if m != 0.0:
            uncentre(update, cells[j])
            w = lane_weights(update, cells[j], pull, clock, share_of(update, cells[j]))
            set_row(bias, "lane", plus(row(bias, "lane"), times(w, -m / bias_share)))
        centred[c] = 0


@helper
def missing(
    first: Any, last: Any, key: Any, centred: Any, cells: Any, home: Any, pull: Any,
    clock: float, update: Any,
) -> Any:  # fmt: skip
    """Sum weight times mean, in each lane, over features that are centred and not there.

    Those there more than once are counted down for each time but one.
    """
    p = filled(pull.gravity, 0.0)
    for c in range(len(centred)):
        j = find(cells, home, centred[c])
        m = mean_of(update, cells[j])
        if centred[c] == 0 or m == 0.0:
            continue
        times_there = 0
        for k in range(first, last):
            times_there += uint64(key[k]) + ONE == centred[c]
        if times_there != 1:
            w = lane_weights(update, cells[j], pull, clock, share_of(update, cells[j]))
            p = plus(p, times(w, m * (1.0 - times_there)))
    return p
