"""Batches: examples as sparse rows, checked once when they are made."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dwindle._base.errors import DataError
from dwindle.features.keys import LARGEST, key_of
from dwindle.features.names import ChainedNames, NamesView
from dwindle.features.offsets import offsets

Kind = TypeVar("Kind", bound=np.generic)
Features = Mapping[str, float | str | bool]


class Batch(NamedTuple):
    """Examples as a compressed sparse matrix: row i is from ``start[i]`` to ``start[i + 1]``.

    Make one with `from_dicts`, `from_csr` or `from_arrays`: they check that the numbers are finite,
    leave out values of 0, and give every array a type that the kernels are compiled for.
    Keys are 64 bits wide, or 32 as in most matrices, whose columns are then taken as they stand.
    Values, labels, importances and bases are single precision; a base is added to the prediction.
    """

    start: NDArray[np.int64]
    key: NDArray[np.uint32] | NDArray[np.uint64]
    x: NDArray[np.float32]
    label: NDArray[np.float32] | None = None
    importance: NDArray[np.float32] | None = None
    base: NDArray[np.float32] | None = None
    names: Sequence[str] | None = None

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return len(self.start) - 1

    def importances(self) -> NDArray[np.float32]:
        """Return how much each example counts, by default 1."""
        given = self.importance
        return np.ones(self.n_examples, np.float32) if given is None else given

    @classmethod
    def from_dicts(
        cls,
        examples: Iterable[Features],
        label: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        base: ArrayLike | None = None,
    ) -> "Batch":
        """Make a batch of dicts; ``name: "text"`` is the feature ``name=text`` of value 1.

        >>> Batch.from_dicts([{"color": "red", "price": 3.5}], [1]).names
        ['color=red', 'price']
        """
        names: list[str] = []
        values: list[Any] = []
        start = [0]
        for i, features in enumerate(examples):
            if not isinstance(features, Mapping):
                kind = type(features).__name__  # type: ignore[unreachable]  # types are only hoped for
                raise DataError(f"example {i}: expected a dict of name: value, got {kind}")
            for name, value in features.items():
                if not isinstance(name, str):
                    raise DataError(
                        f"example {i}: a feature's name must be a string, got {name!r} "
                        f"(write {str(name)!r})"
                    )
                if isinstance(value, str):
                    names.append(f"{name}={value}")
                    values.append(1.0)
                elif isinstance(value, int | float | np.number | np.bool_):
                    names.append(name)
                    values.append(value)
                else:
                    raise DataError(
                        f"example {i}: feature {name!r} must be a number or a string, got {value!r}"
                    )
            start.append(len(names))
        try:
            key = np.fromiter(map(key_of, names), np.uint64, len(names))
        except UnicodeEncodeError as error:
            i = int(np.searchsorted(start, names.index(error.object), side="right")) - 1
            raise DataError(
                f"example {i}: the name {error.object!r} is not Unicode: it has half of a pair"
            ) from None
        return cls.from_arrays(start, key, values, label, importance, base, names)

    @classmethod
    def from_csr(
        cls,
        matrix: Any,
        label: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        base: ArrayLike | None = None,
    ) -> "Batch":
        """Make a batch of a scipy sparse matrix or array; column j is the feature named str(j)."""
        csr = matrix.tocsr()
        return cls.from_arrays(csr.indptr, csr.indices, csr.data, label, importance, base)

    @classmethod
    def from_dense(
        cls,
        matrix: NDArray[Any],
        label: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        base: ArrayLike | None = None,
    ) -> "Batch":
        """Make a batch of a two-dimensional array; column j is the feature named str(j)."""
        n, d = matrix.shape
        start, key = np.arange(n + 1) * d, np.tile(np.arange(d, dtype=np.int32), n)
        return cls.from_arrays(start, key, matrix.ravel(), label, importance, base)

    @classmethod
    def from_arrays(
        cls,
        start: ArrayLike,
        key: ArrayLike,
        x: ArrayLike,
        label: ArrayLike | None = None,
        importance: ArrayLike | None = None,
        base: ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> "Batch":
        """Make a batch of compressed rows: where each row starts, then keys and values."""
        starts = _starts(start)
        keys = _keys(key)
        if len(keys) != starts[-1]:
            raise DataError(f"start ends at {starts[-1]}, but there are {len(keys)} keys")

        def example_of(k: int) -> str:
            i = int(np.searchsorted(starts, k, side="right")) - 1
            feature = repr(names[k]) if names is not None else str(keys[k])
            return f"example {i}: the value of feature {feature}"

        values = _single(x)
        clean = _is_clean(values)
        if not clean:
            _check_finite(values, x, example_of)
        if len(values) != len(keys):
            raise DataError(f"there are {len(keys)} keys, but {len(values)} values")
        if names is not None and len(names) != len(keys):
            raise DataError(f"there are {len(keys)} keys, but {len(names)} names")
        n = len(starts) - 1
        bases = _per_example(base, n, "base")
        batch = cls(starts, keys, values, base=bases, names=names)
        batch = batch if clean or np.all(values) else batch._without_zeros()
        return batch.labelled(label, importance)

    @classmethod
    def joined(cls, parts: Sequence["Batch"]) -> "Batch":
        """Make one batch of several, in order.

        >>> one = Batch.from_dicts([{"a": 1}, {"b": 2}], [1, -1])
        >>> Batch.joined([one, one]).start.tolist(), Batch.joined([one, one]).names[3]
        ([0, 1, 2, 3, 4], 'b')
        """
        if len(parts) == 1:
            return parts[0]

        def column(name: str, usual: float) -> NDArray[np.float32] | None:
            found = [getattr(part, name) for part in parts]
            if all(each is None for each in found):
                return None
            some = zip(parts, found, strict=True)
            missing = np.float32(usual)
            return np.concatenate(
                [np.full(p.n_examples, missing) if each is None else each for p, each in some]
            )

        names: Sequence[str] | None = None
        if any(part.names is not None for part in parts):
            names = ChainedNames(
                [[*map(str, p.key.tolist())] if p.names is None else p.names for p in parts]
            )
        return cls(
            offsets(np.concatenate([np.diff(part.start) for part in parts])),
            np.concatenate([part.key for part in parts]),
            np.concatenate([part.x for part in parts]),
            column("label", 0.0),
            column("importance", 1.0),
            column("base", 0.0),
            names,
        )

    def labelled(self, label: ArrayLike | None, importance: ArrayLike | None = None) -> "Batch":
        """Return the same examples with these labels and importances."""
        labels = _per_example(label, self.n_examples, "label")
        weights = _per_example(importance, self.n_examples, "importance")
        if weights is not None and (weights < 0).any():
            i = int(np.argmax(weights < 0))
            raise DataError(
                f"example {i}: importance must be 0 or more, got {weights[i]} "
                "(0 learns nothing from it)"
            )
        return self._replace(label=labels, importance=weights)

    def rows(self, first: int, last: int) -> "Batch":
        """Return the examples from ``first`` to before ``last``, without copying their features."""
        if first == 0 and last == self.n_examples:
            return self
        a, b = int(self.start[first]), int(self.start[last])
        start, where = self.start[first : last + 1] - a, slice(a, b)
        return self._picked(slice(first, last), start, where, range(a, b))

    def only(self, chosen: NDArray[np.bool_]) -> "Batch":
        """Return the chosen examples."""
        size = np.diff(self.start)
        kept = np.flatnonzero(np.repeat(chosen, size))
        return self._picked(chosen, offsets(size[chosen]), kept, kept)

    def take(self, order: NDArray[np.int64]) -> "Batch":
        """Return the examples at these places, in this order."""
        first, size = self.start[order], np.diff(self.start)[order]
        start = offsets(size)
        place = np.repeat(first - start[:-1], size) + np.arange(start[-1])
        return self._picked(order, start, place, place)

    def _picked(self, rows: Any, start: NDArray[np.int64], where: Any, places: Any) -> "Batch":
        """Return these rows, whose features are at ``where``, which as numbers are ``places``."""
        label, importance, base = (
            None if each is None else each[rows]
            for each in (self.label, self.importance, self.base)
        )
        names = None if self.names is None else NamesView(self.names, places)
        return Batch(start, self.key[where], self.x[where], label, importance, base, names)

    def _without_zeros(self) -> "Batch":
        """Leave out the features whose value is 0."""
        kept = np.flatnonzero(self.x)
        names = None if self.names is None else [self.names[int(k)] for k in kept]
        start = np.searchsorted(kept, self.start)
        return self._replace(start=start, key=self.key[kept], x=self.x[kept], names=names)


def _starts(start: ArrayLike) -> NDArray[np.int64]:
    array = np.asarray(start)
    if array.ndim != 1 or len(array) == 0 or (array.dtype.kind not in "iu"):
        raise DataError(f"start must be one row of integers, got {array.dtype} {array.shape}")
    starts = np.ascontiguousarray(array, dtype=np.int64)
    if starts[0] != 0:
        raise DataError(f"start must begin with 0, got {starts[0]}")
    if (np.diff(starts) < 0).any():
        i = int(np.argmax(np.diff(starts) < 0))
        raise DataError(
            f"example {i}: it starts at {starts[i]} but ends before, at {starts[i + 1]}"
        )
    return writable(starts)


def _keys(key: ArrayLike) -> NDArray[np.uint32] | NDArray[np.uint64]:
    array = np.asarray(key)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise DataError(f"keys must be one row of integers, got {array.dtype} {array.shape}")
    signed = array.dtype.kind == "i"
    if array.size and (signed or array.dtype == np.uint64):  # others cannot be out of bounds
        extreme = array.min() if signed else array.max()
        if not 0 <= extreme <= LARGEST:
            raise DataError(f"a key must be between 0 and {LARGEST}, got {extreme}")
    if array.dtype in (np.int32, np.uint32):
        return writable(np.ascontiguousarray(array).view(np.uint32))
    if array.dtype == np.int64:
        return writable(np.ascontiguousarray(array).view(np.uint64))
    return writable(np.ascontiguousarray(array, dtype=np.uint64))


def _single(numbers: ArrayLike) -> NDArray[np.float32]:
    """Convert to single precision; numbers that are too large become infinite."""
    array = np.asarray(numbers)
    if array.ndim != 1 or (array.dtype.kind not in "iufb" and array.size):
        raise DataError(f"expected one row of numbers, got {array.dtype} {array.shape}")
    with np.errstate(over="ignore"):
        return writable(np.ascontiguousarray(array, dtype=np.float32))


def _check_finite(
    single: NDArray[np.float32], given: ArrayLike, what: Callable[[int], str]
) -> None:
    """Refuse numbers that are not finite; ``what(k)`` names the k-th number."""
    finite = np.isfinite(single)
    if not finite.all():
        k = int(np.argmin(finite))
        number = np.asarray(given)[k]
        why = "too large for single precision" if np.isfinite(number) else "not finite"
        raise DataError(f"{what(k)} is {number}, {why}")


def _is_clean(x: NDArray[np.float32]) -> bool:
    """Tell whether all of x is finite and not 0, by its extremes, which are nan if any is."""
    low, high = x.min(initial=np.inf), x.max(initial=-np.inf)
    return bool(low > -np.inf and high < np.inf and (low > 0.0 or high < 0.0 or x.all()))


def _per_example(numbers: ArrayLike | None, n: int, role: str) -> NDArray[np.float32] | None:
    if numbers is None:
        return None
    given = np.atleast_1d(np.asarray(numbers))
    array = _single(given)
    _check_finite(array, given, lambda i: f"example {i}: the {role}")
    if len(array) != n:
        raise DataError(f"there are {n} examples, but {len(array)} values of {role}")
    return array


class _Memory:
    """The memory of an array, declared writable."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array  # keeps the memory alive
        told = array.__array_interface__
        self.__array_interface__ = told | {"data": (told["data"][0], False)}


def writable(array: NDArray[Kind]) -> NDArray[Kind]:
    """Return a writable view: to Numba a read-only array is another type, to be compiled for.

    Nothing is copied, so that a mapped file stays mapped; nothing may be written, and kernels only
    read a batch.
    """
    return array if array.flags.writeable else np.asarray(_Memory(array))
