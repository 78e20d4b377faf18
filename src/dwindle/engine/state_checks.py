"""Checks of a learner's state that a file says, before any of it is used.

A digest tells a damaged file, not one that somebody made up. Kernels trust the table that they are
given: a wrong number there is a crash, or a loop without end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import flag, number, numbers, whole
from dwindle._base.errors import DataError
from dwindle.features.keys import LARGEST
from dwindle.features.sorting import radix_sorted

MOST_CELLS = 2**40  # 64 TB of them
MOST_PASSES = 2**31


def checked_clock(clock: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state of the clock; refuse one that it cannot have."""
    return {
        "n_steps": whole(clock["n_steps"], "n_steps"),
        "passes": whole(clock["passes"], "passes", 0, MOST_PASSES),
        "now": number(clock["now"], "the clock", 0.0),
        "size": number(clock["size"], "the size of the clock's unit", 0.0),
    }


def check_counts(state: Mapping[str, Any], room: int, n: int) -> None:
    """Refuse counts of a table of n features that has ``room`` for so many."""
    whole(state["peak"], "peak", n)
    if n > room:
        raise DataError(f"it has {n:,} features, where there is room for {room:,}")
    step, steps, worth = state.get("last_cut", (0, 0, 0.0))
    n_steps = state["clock"]["n_steps"]
    whole(step, "the step of the last eviction", 0, n_steps)
    whole(steps, "the steps since the eviction before", 0, n_steps)
    if not isinstance(worth, float | int) or worth != worth:  # noqa: PLR0124  (nan)
        raise DataError(f"the worth of the last eviction is {worth!r}: expected a number")


def checked_size(n_cells: Any, smallest: int) -> int:
    """Return the number of cells of a table: the smallest, doubled some times."""
    found = whole(n_cells, "n_cells", smallest, MOST_CELLS)
    if found & (found - 1):
        raise DataError(f"n_cells is {found}: expected a power of two")
    return found


def check_keys(key: NDArray[Any]) -> None:
    """Refuse keys that are no keys, or that are there more than once."""
    if key.dtype != np.uint64:
        raise DataError(f"the column id is of type {key.dtype}: expected uint64")
    in_order = radix_sorted(key.copy())
    if len(key) and in_order[-1] > LARGEST:
        raise DataError(f"id {in_order[-1]} is larger than {LARGEST}")
    again = in_order[1:][in_order[1:] == in_order[:-1]]
    if len(again):
        raise DataError(f"id {again[0]} is there more than once")


def checked_column(column: Any, like: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a column of cells, for a field ``like`` this: numbers that it can hold."""
    found = np.asarray(column)
    if found.dtype.kind not in "fiu" or found.shape != like.shape:
        raise DataError(f"{name}: expected {len(like):,} numbers, got {found.dtype} {found.shape}")
    if like.dtype.kind == "f":
        with np.errstate(over="ignore"):
            found = found.astype(like.dtype)
        if np.isnan(found).any() or (name.startswith(("weight", "lane")) and np.isinf(found).any()):
            raise DataError(f"{name}: expected finite numbers")
        return found
    most = np.iinfo(like.dtype).max
    if len(found) and not (found.min() >= 0 and found.max() <= most and (found % 1 == 0).all()):
        raise DataError(f"{name}: expected whole numbers from 0 to {most}")
    return found


def check_moments(moments: Any, n: int) -> None:
    """Refuse moments of labels that there cannot be: n is 3, or 0 if labels are not scaled."""
    found = numbers(moments, "label_moments", n)
    if n:
        number(found[0], "the weight of all labels", 0.0)
        number(found[2], "the sum of squares of labels", 0.0)


def check_lane_state(lanes: Mapping[str, Any], n_lanes: int, width: int, n_state: int) -> None:
    """Refuse what a learner of several gravities cannot have beside its cells."""
    numbers(lanes["state"], "the lanes' state", n_state)
    numbers(lanes["error"], "the lanes' error", width, 0.0)
    whole(lanes["best"], "the best lane", 0, n_lanes - 1)
    if not isinstance(lanes["centred"], list):
        raise DataError("centred: expected a list")
    for each in lanes["centred"]:
        whole(each, "a centred feature", 1, LARGEST + 1)
    if len(set(lanes["centred"])) != len(lanes["centred"]):
        raise DataError("centred: expected each feature once")


def check_scores(scores: Mapping[str, Any], shortest: int, segments: int) -> None:
    """Refuse scores of more examples than there are segments for."""
    length = whole(scores["length"], "the length of segments", shortest)
    whole(scores["examples"], "the examples that were judged", 0, segments * length)
    flag(scores["done"], "done")
