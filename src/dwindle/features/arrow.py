"""Conversion between Arrow columns, NumPy arrays and names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle._base.later import pa
from dwindle.features.batch import writable
from dwindle.features.names import Text

# These go through buffers, because Arrow's own conversions import pandas, if it is installed, which
# takes half a second.


def shared_with_arrow(array: NDArray[Any]) -> pa.Array:
    """Return an Arrow array of the same numbers, without copying if they are contiguous."""
    whole = np.ascontiguousarray(array)
    kind = pa.from_numpy_dtype(whole.dtype)
    return pa.Array.from_buffers(kind, len(whole), [None, pa.py_buffer(whole)])


def numpy_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """Return NumPy's name of an Arrow type of numbers.

    Arrow's own ``to_pandas_dtype`` fails without pandas before version 21.
    """
    letter = "f" if pa.types.is_floating(kind) else "i" if pa.types.is_signed_integer(kind) else "u"
    return np.dtype(f"{letter}{kind.bit_width // 8}")


def shared_by_arrow(array: pa.Array) -> NDArray[Any]:
    """Return the numbers of an Arrow array without nulls, without copying.

    ``np.frombuffer`` checks the length of the memory, which a damaged file may misstate.
    """
    dtype = numpy_dtype(array.type)
    if not len(array):
        return np.empty(0, dtype)
    begin = array.offset * dtype.itemsize
    return writable(np.frombuffer(array.buffers()[1], dtype, len(array), begin))


def text_of_strings(strings: pa.Array) -> Text:
    """Return strings as names in one text, without a Python object of each."""
    kind = strings.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        strings, kind = strings.cast(pa.large_string()), pa.large_string()
    _, bound, text = strings.buffers()
    width = np.dtype(np.int32 if pa.types.is_string(kind) else np.int64)
    if not len(strings):
        return Text.of([])
    bounds = np.frombuffer(bound, width, len(strings) + 1, strings.offset * width.itemsize)
    first, last = bounds[0], bounds[-1]
    return Text(bounds - np.int64(first), np.frombuffer(text or b"", np.uint8)[first:last])


def strings_of(bound: NDArray[np.int64], text: NDArray[np.uint8]) -> pa.Array:
    """Return names that stand in one text, and are UTF-8, as strings, without copying."""
    return pa.LargeStringArray.from_buffers(len(bound) - 1, pa.py_buffer(bound), pa.py_buffer(text))


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds strings."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_list(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds lists."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def as_dictionary(column: pa.Array) -> pa.Array:
    """Return the column, dictionary-encoded if and only if it holds strings."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
        return column.dictionary_decode()
    return column.dictionary_encode() if is_text(kind) else column


def single(wide: NDArray[Any]) -> NDArray[np.float32]:
    """Convert to single precision by way of double precision, as text is rounded."""
    if wide.dtype == np.float32:
        return wide
    with np.errstate(over="ignore"):
        return wide.astype(np.float64, copy=False).astype(np.float32)


def not_finite(value: float, missing: str) -> str:
    """Say why single precision cannot hold a number, and what to write instead."""
    if np.isnan(value):
        return f"is nan: write {missing} for a missing value"
    if np.isinf(value):
        return f"is {value}: write a finite number"
    return f"is {value}, too large for single precision: write a number below 3.4e38 in size"


def column_values(
    column: pa.Array, source: str, what: str, faults: dict[int, str]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the numbers of a column, 0 for a missing one, and which are missing.

    What is wrong with row i is added to ``faults[i]``; ``what`` is what messages call the column.
    """
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        held = kind.value_type if pa.types.is_dictionary(kind) else kind
        raise DataError(f"{source}: {what} is of type {held}: expected numbers")
    missing = np.zeros(len(column), np.bool_)
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        column = column.fill_null(0)
    given = shared_by_arrow(column)
    number = single(given)
    finite = np.isfinite(number)
    if not finite.all():
        for i in np.flatnonzero(~finite):
            message = not_finite(float(given[i]), "an empty cell or null")
            faults.setdefault(int(i), f"{what} {message}")
        number = np.where(finite, number, np.float32(0))
    return number, missing
