"""Data frames as examples: of pandas, of Polars, of Arrow and of whatever else speaks Arrow."""

import sys
from typing import Any

import pyarrow as pa

from dwindle._base.errors import DataError
from dwindle.data.formats.tables.wide import wide
from dwindle.features.arrow import is_text
from dwindle.features.batch import Batch


def batch_of(frame: Any, label: str | None = None, weight: str | None = None) -> Batch:
    """The rows of a data frame, with the features that ``dwindle train`` finds in its Parquet file.

    A column of numbers or booleans is a feature, absent where it is 0 or missing. A column of
    strings or categories is the feature ``column=value`` of value 1, absent where it is empty or
    missing; no column is made of each. ``label`` and ``weight`` name the columns of labels and of
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
        label_column=label,
        weight_column=weight,
    )
    parsed.n_bad(skip_bad=False)
    return parsed.batch if label else parsed.batch._replace(label=None, importance=None)


def has_text(frame: Any) -> bool:
    """Whether it is a data frame in which some column is not of numbers."""
    if _is_pandas(frame):
        inner = [getattr(getattr(kind, "categories", None), "dtype", kind) for kind in frame.dtypes]
        return any(kind.kind in "OU" for kind in inner)
    if not (isinstance(frame, pa.Table | pa.RecordBatch) or hasattr(frame, "__arrow_c_stream__")):
        return False
    kinds = _table(frame).schema.types
    return any(is_text(getattr(kind, "value_type", kind)) for kind in kinds)


def _is_pandas(frame: Any) -> bool:
    pandas = sys.modules.get("pandas")  # who has a frame of it has imported it
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _table(frame: Any) -> pa.Table:
    if _is_pandas(frame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(frame, pa.Table | pa.RecordBatch) or hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    kind = type(frame).__name__
    raise DataError(f"expected a data frame of pandas, Polars or Arrow, got {kind}")
