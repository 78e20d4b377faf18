"""Batches from data frames: pandas, Polars, Arrow, and others that export Arrow streams."""

import sys
from typing import Any

import pyarrow as pa

from dwindle._base.errors import DataError
from dwindle.data.formats.tables.wide import wide
from dwindle.data.options import ReadOptions
from dwindle.features.arrow import is_text
from dwindle.features.batch import Batch


def batch_of(frame: Any, label: str | None = None, weight: str | None = None) -> Batch:
    """Make a batch of a data frame, with the features ``dwindle train`` finds in its Parquet file.

    A column of numbers or booleans is a feature, absent where it is 0 or missing. A column of
    strings or categories is the feature ``column=value`` of value 1, absent where it is empty or
    missing. ``label`` and ``weight`` name the columns of labels and of
    importance. An index is no column.

    >>> clicks = pa.table({"click": [1, -1], "hour": [9, None], "ad": ["shoes", "hats"]})
    >>> batch = batch_of(clicks, label="click")
    >>> list(batch.names), batch.start.tolist(), batch.label.tolist()
    (['hour', 'ad=shoes', 'ad=hats'], [0, 2, 3], [1.0, -1.0])
    """
    table = _table(frame)
    columns = [column.combine_chunks() for column in table.columns]
    parsed = wide(
        pa.RecordBatch.from_arrays(columns, schema=table.schema),
        "frame",
        ReadOptions(label_column=label, weight_column=weight),
    )
    parsed.n_bad(skip_bad=False)
    if parsed.label_names:
        raise DataError(
            f"frame: label column {label!r} must hold numbers, got {parsed.label_names[0]!r}: "
            "map text to -1 and 1, or fit an estimator, which takes text"
        )
    return parsed.batch if label else parsed.batch._replace(label=None, importance=None)


def has_text(frame: Any) -> bool:
    """Tell whether this is a data frame with a column that is not numeric."""
    if _is_pandas(frame):
        inner = [getattr(getattr(kind, "categories", None), "dtype", kind) for kind in frame.dtypes]
        return any(kind.kind in "OU" for kind in inner)
    if not (isinstance(frame, pa.Table | pa.RecordBatch) or hasattr(frame, "__arrow_c_stream__")):
        return False
    kinds = _table(frame).schema.types
    return any(is_text(getattr(kind, "value_type", kind)) for kind in kinds)


def _is_pandas(frame: Any) -> bool:
    pandas = sys.modules.get("pandas")  # a frame of pandas implies its import
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _table(frame: Any) -> pa.Table:
    if _is_pandas(frame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(frame, pa.Table | pa.RecordBatch) or hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    kind = type(frame).__name__
    raise DataError(f"expected a data frame of pandas, Polars or Arrow, got {kind}")
