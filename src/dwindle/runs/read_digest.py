"""A digest of what a run has read in this pass, so that it is noticed if the data changes."""

from typing import Any

import numpy as np
import xxhash

from dwindle.features.batch import Batch


class ReadDigest:
    """The digest of examples in their order: the same however they are cut into batches.

    >>> one = Batch.from_dicts([{"a": 1}, {"b": 2}], [1, -1])
    >>> whole, parts = ReadDigest(), ReadDigest()
    >>> whole.add(one)
    >>> parts.add(one.rows(0, 1))
    >>> parts.add(one.rows(1, 2))
    >>> whole.hex() == parts.hex() != ReadDigest().hex()
    True
    """

    def __init__(self) -> None:
        # Of how many features, their keys and values, labels and importances.
        self._of = [xxhash.xxh3_64() for _ in range(5)]

    def add(self, batch: Batch) -> None:
        """Add the next examples."""
        columns: tuple[Any, ...] = (np.diff(batch.start), batch.key, batch.x, batch.label)
        for digest, column in zip(self._of, (*columns, batch.importance), strict=True):
            if column is not None:
                digest.update(np.ascontiguousarray(column).data)

    def hex(self) -> str:
        """Return it as text."""
        return "".join(each.hexdigest() for each in self._of)
