"""The order of features in a model: the heaviest first."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.threads import side_by_side
from dwindle.features.names import Text
from dwindle.features.sorting import radix_order, radix_sorted, sort_ties

if TYPE_CHECKING:
    from dwindle.engine.name_table import NameTable

MANY = 2**15  # features for which a thread is worth starting


def order_and_names(
    key: NDArray[np.uint64], weight: NDArray[Any], names: "NameTable", keep: int | None = None
) -> tuple[NDArray[np.int64], Text]:
    """Return the order of features, of the ``keep`` heaviest if given, and their names in it.

    Names are looked up while features are sorted.
    """
    tasks = partial(names.places, key), partial(heaviest_first, key, weight)
    place, order = side_by_side(*tasks) if len(key) > MANY else [task() for task in tasks]
    order = order[:keep]
    return order, names.of(key[order], place[order])


def heaviest_first(key: NDArray[np.uint64], weight: NDArray[Any]) -> NDArray[np.int64]:
    """Return the order of features by absolute weight, then by key.

    The last bits of each weight give way to its place, so that both are sorted as one number. What
    is equal without these bits is sorted anew: features that were seen in one example only often
    are, a few hundred at a time.
    """
    size = ~np.abs(weight, dtype=np.float64).view(np.uint64)
    n_last = max(len(weight) - 1, 0).bit_length()
    last = np.uint64((1 << n_last) - 1)
    packed = radix_sorted((size & ~last) | np.arange(len(weight), dtype=np.uint64), n_last)
    order: NDArray[np.int64] = (packed & last).view(np.int64)
    packed |= last
    left = sort_ties(order, packed, size, key)
    some = order[left]
    some = some[radix_order(key[some])]
    order[left] = some[radix_order(size[some])]
    return order
