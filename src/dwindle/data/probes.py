"""Random features as often as real ones: how many are kept tells how many are kept by chance."""

import bisect
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.data.formats.block import Parsed
from dwindle.features.batch import Batch
from dwindle.features.names import ChainedNames, NamesView
from dwindle.features.offsets import offsets
from dwindle.jit.compile import kernel
from dwindle.jit.numbers import uint64
from dwindle.jit.splitmix import mixed

SLOTS = 256  # examples that wait to give their features to another one
# The first bits of a probe's key: a real feature has them once in 2^40 times.
BITS = 24
MARK = 0x70726F6265


class Waiting(NamedTuple):
    """Features of an example that have a probe: which they are, mixed, and their values."""

    mixed: NDArray[np.uint64]
    x: NDArray[np.float32]


class Probes:
    """Probes: copies of up to ``n`` real features, each in examples that are not its own.

    A feature has a probe if its key is mixed to one of the n least numbers, so those that have one
    are drawn from all features alike. An example takes the place of an earlier one out of `SLOTS`,
    and gets that one's features as probes, with their values. So a probe is as frequent as its
    feature, and tells nothing. All is decided by the order of the examples, however they are cut
    into batches.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._least: list[int] = []  # in order
        self._slots = [Waiting(np.empty(0, np.uint64), np.empty(0, np.float32))] * SLOTS
        self._examples = 0
        self._first: dict[int, int] = {}  # the example in which a key came first

    def __len__(self) -> int:
        """Count the features that have a probe."""
        return len(self._least)

    def are(self, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Tell which keys are those of the probes that there are now."""
        least = _keys(np.array(self._least, np.uint64))
        return np.isin(key, least, kind="sort")  # NumPy 2.0 fails by tables of large keys

    def n_until(self, n_examples: int) -> int:
        """Count all probes in the first examples, those of features that have none now included."""
        return sum(first < n_examples for first in self._first.values())

    def added(self, batch: Batch) -> Batch:
        """Return the examples with their probes, each example's after its features."""
        value = _mixed(batch.key.astype(np.uint64))
        near = np.flatnonzero(value <= self._limit)
        bound = np.searchsorted(near, batch.start)
        number = np.arange(self._examples, self._examples + batch.n_examples, dtype=np.uint64)
        self._examples += batch.n_examples
        given = []
        for i, slot in enumerate((_mixed(number) % np.uint64(SLOTS)).tolist()):
            own = near[bound[i] : bound[i + 1]]
            given.append(self._kept(self._slots[slot]))
            self._note(value[own])
            self._slots[slot] = Waiting(value[own], batch.x[own])
        return self._joined(batch, given)

    @property
    def _limit(self) -> np.uint64:
        """The largest number to which the key of a feature with a probe is mixed."""
        is_full = len(self._least) == self.n
        return np.uint64(self._least[-1] if is_full else np.iinfo(np.uint64).max)

    def _note(self, found: NDArray[np.uint64]) -> None:
        """Let the features with the n least numbers have probes."""
        for each in found.tolist():
            at = bisect.bisect_left(self._least, each)
            if at < self.n and self._least[at : at + 1] != [each]:
                self._least.insert(at, each)
                del self._least[self.n :]

    def _kept(self, waiting: Waiting) -> Waiting:
        """Return those of features that have a probe still."""
        still = waiting.mixed <= self._limit
        return waiting if still.all() else Waiting(waiting.mixed[still], waiting.x[still])

    def _joined(self, batch: Batch, given: list[Waiting]) -> Batch:
        size = np.array([len(each.x) for each in given], np.int64)
        if not size.any():
            return batch
        key = _keys(np.concatenate([each.mixed for each in given]))
        example = self._examples - len(size) + np.repeat(np.arange(len(size)), size)
        found, first = np.unique(key, return_index=True)
        self._first = dict(zip(found.tolist(), example[first].tolist(), strict=True)) | self._first
        more = offsets(size)
        at = np.arange(len(batch.key)) + np.repeat(more[:-1], np.diff(batch.start))
        of_probe = np.arange(len(key)) + np.repeat(batch.start[1:], size)
        names = batch.names
        if names is not None:
            where = _merged(np.arange(len(at)), len(at) + np.arange(len(key)), at, of_probe)
            names = NamesView(ChainedNames([names, [f"probe\0{k:x}" for k in key.tolist()]]), where)
        return batch._replace(
            start=batch.start + more,
            key=_merged(batch.key.astype(np.uint64), key, at, of_probe),
            x=_merged(batch.x, np.concatenate([each.x for each in given]), at, of_probe),
            names=names,
        )


def with_probes(parsed: Iterator[Parsed], probes: Probes) -> Iterator[Parsed]:
    """Add probes to all examples of a pass."""
    for item in parsed:
        yield item._replace(batch=probes.added(item.batch))


def _merged(one: Any, other: Any, at: Any, of_other: Any) -> Any:
    """Put the elements of two arrays at these places."""
    found = np.empty(len(one) + len(other), one.dtype)
    found[at], found[of_other] = one, other
    return found


def is_probe(key: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell which keys are those of probes."""
    return key >> np.uint64(BITS) == MARK


def _keys(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the keys of the probes of features that are mixed to these numbers.

    By the last bits: the first are much the same in the least of many.
    """
    found: NDArray[np.uint64] = value & np.uint64(2**BITS - 1) | np.uint64(MARK << BITS)
    return found


@kernel
def _mixed(key: Any) -> Any:
    """Return the random bits that follow each key."""
    found = np.empty_like(key)
    for k in range(len(key)):
        found[k] = mixed(uint64(key[k]))
    return found
