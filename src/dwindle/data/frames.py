"""Batches from data frames: pandas, Polars, Arrow, and others that export Arrow streams."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.tables.validation import Validation
from dwindle.data.formats.tables.wide import wide
from dwindle.data.options import ReadOptions, as_before
from dwindle.data.schema import ColumnKinds
from dwindle.features.batch import Batch


def batch_of(
    frame: Any,
    label: str | None = None,
    weight: str | None = None,
    columns: Mapping[str, str] | None = None,
    ngrams: int = 1,
    counts: bool = False,
) -> Batch:
    """Make a batch of a data frame, with the features ``dwindle train`` finds in its Parquet file.

    A column of numbers or booleans is a feature, absent where it is 0 or missing. A column of
    strings or categories is the feature ``column=value`` of value 1, absent where it is empty or
    missing. Of a text, each run of up to ``ngrams`` words is a feature of value 1, or with
    ``counts`` of how often it occurs. ``columns`` says of what kind a column is, by its name or a
    pattern: "number", "category", "text", "date" or "drop". ``label`` and ``weight`` name the
    columns of labels and of importance. An index is no column.

    >>> clicks = pa.table({"click": [1, -1], "hour": [9, None], "ad": ["shoes", "hats"]})
    >>> batch = batch_of(clicks, label="click")
    >>> list(batch.names), batch.start.tolist(), batch.label.tolist()
    (['hour', 'ad=shoes', 'ad=hats'], [0, 2, 3], [1.0, -1.0])
    >>> list(batch_of(clicks, label="click", columns={"hour": "category", "ad": "drop"}).names)
    ['hour=9']
    """
    options = ReadOptions(label_column=label, weight_column=weight, ngrams=ngrams, counts=counts)
    parsed = read_frame(frame, options, ColumnKinds(columns))
    if parsed.label_names:
        raise DataError(
            f"frame: label column {label!r} must hold numbers, got {parsed.label_names[0]!r}: "
            "map text to -1 and 1, or fit an estimator, which takes text"
        )
    return parsed.batch if label else parsed.batch._replace(label=None, importance=None)


def read_frame(frame: Any, options: ReadOptions, kinds: ColumnKinds) -> Parsed:
    """Read a data frame as a file is read; nothing in it may be bad."""
    table = table_of(frame)
    rows = [column.combine_chunks() for column in table.columns]
    parsed = wide(pa.RecordBatch.from_arrays(rows, schema=table.schema), "frame", options, kinds)
    kinds.tell()
    parsed.n_bad(skip_bad=False)
    return parsed


def frame_of(row: Mapping[str, Any]) -> pa.Table:
    """Make a frame of one row, given by the names of its columns."""
    return pa.Table.from_pylist([dict(row)])


def batch_of_row(row: Mapping[str, Any], reading: dict[str, Any]) -> Batch:
    """Make a batch of one row, read as a model's metadata says; what it lacks is missing."""
    how = replace(as_before(reading, ReadOptions()), labelled=False)
    batch = read_frame(frame_of(row), how, ColumnKinds(None, how.schema)).batch
    return batch._replace(label=None, importance=None)


def is_frame(frame: Any) -> bool:
    """Tell whether this is a data frame of pandas, Polars, Arrow or the like."""
    return (
        is_pandas(frame)
        or isinstance(frame, pa.Table | pa.RecordBatch)
        or hasattr(frame, "__arrow_c_stream__")
    )


def only_numbers(frame: Any) -> bool:
    """Tell whether all columns of a data frame are numbers or booleans."""
    if is_pandas(frame):
        return all(kind.kind in "biuf" for kind in frame.dtypes)
    return all(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        for kind in pa.table(frame).schema.types
    )


def is_pandas(frame: Any) -> bool:
    """Tell whether this is a data frame of pandas."""
    pandas = sys.modules.get("pandas")  # a frame of pandas implies its import
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def table_of(frame: Any) -> pa.Table:
    """Turn a data frame into an Arrow table; its values stay where they are, where they can."""
    if is_pandas(frame):
        try:
            return pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            told = ": ".join(map(str, reversed(error.args)))  # the column comes last
            raise DataError(f"frame: {told}: make all its values of one type") from None
    if is_frame(frame):
        table, validation = pa.table(frame), Validation("frame")
        for part in table.to_batches():
            validation.checked(part)
        return table
    kind = type(frame).__name__
    raise DataError(f"expected a data frame of pandas, Polars or Arrow, got {kind}")
