"""Arrow tables that have a list of features in each row: what `dwindle convert` writes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.tables.distinct import distinct
from dwindle.data.formats.tables.vocabulary import listed_faults
from dwindle.features.arrow import (
    as_dictionary,
    column_values,
    not_finite,
    shared_by_arrow,
    shared_with_arrow,
    single,
    text_of_strings,
)
from dwindle.features.batch import Batch
from dwindle.features.keys import LARGEST
from dwindle.features.names import NamesView, Spelled, decoded, spelled
from dwindle.features.offsets import offsets
from dwindle.jit.compile import kernel
from dwindle.jit.numbers import uint64

Lists = dict[str, tuple[NDArray[np.int64], pa.Array]]  # by column: see `_list_of`
LIST_SCHEMA = pa.schema(
    [
        pa.field("label", pa.float32(), nullable=False),
        pa.field("importance", pa.float32(), nullable=False),
        pa.field("base", pa.float32()),
        pa.field("key", pa.list_(pa.field("item", pa.uint64(), nullable=False)), nullable=False),
        pa.field("x", pa.list_(pa.field("item", pa.float32(), nullable=False)), nullable=False),
        pa.field("name", pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        pa.field("tag", pa.string()),
    ]
)


def is_list_form(schema: pa.Schema) -> bool:
    """Tell whether a table of this schema is one that `to_arrow` made."""
    return all(
        schema.get_field_index(name) >= 0
        and pa.types.is_list(schema.field(name).type)
        and schema.field(name).type.value_type == LIST_SCHEMA.field(name).type.value_type
        for name in ("key", "x")
    )


def to_arrow(parsed: Parsed, *, checked: bool = True) -> pa.RecordBatch:
    """Make a table of `LIST_SCHEMA`; `from_arrow` gives the same examples back, to the bit.

    Line numbers and bad lines are left out. Without names, tags or bases, their column is null.
    Examples without a label have label 0 and importance 0. Names that are not UTF-8 raise
    UnicodeEncodeError, or with ``checked=False`` make a table that only `from_arrow` can read.
    """
    batch = parsed.batch
    n = batch.n_examples
    offsets = shared_with_arrow(batch.start).cast(pa.int32())
    if batch.label is None:
        label, importance = np.zeros(n, np.float32), np.zeros(n, np.float32)
    else:
        label, importance = batch.label, batch.importances()
    kind = LIST_SCHEMA.field
    keys = shared_with_arrow(batch.key.astype(np.uint64, copy=False))
    columns = [
        shared_with_arrow(label),
        shared_with_arrow(importance),
        pa.nulls(n, pa.float32()) if batch.base is None else shared_with_arrow(batch.base),
        pa.ListArray.from_arrays(offsets, keys, kind("key").type),
        pa.ListArray.from_arrays(offsets, shared_with_arrow(batch.x), kind("x").type),
        pa.nulls(n, kind("name").type),
        pa.nulls(n, pa.string()) if parsed.tags is None else pa.array(parsed.tags, pa.string()),
    ]
    if batch.names is not None:
        first, code = distinct(batch.key)
        words = _strings(spelled(batch.names, first), checked=checked)
        names = pa.DictionaryArray.from_arrays(shared_with_arrow(code), words)
        columns[5] = pa.ListArray.from_arrays(offsets, names)
    return pa.RecordBatch.from_arrays(columns, schema=LIST_SCHEMA)


def _strings(text: Spelled, *, checked: bool) -> pa.Array:
    bound, raw = text
    found = pa.StringArray.from_buffers(
        len(bound) - 1, pa.py_buffer(bound.astype(np.int32)), pa.py_buffer(raw)
    )
    if checked:
        try:
            found.validate(full=True)
        except pa.ArrowInvalid:  # not all of it is UTF-8: raise the usual error
            return pa.array(decoded(*text), pa.string())
    return found


def from_arrow(table: pa.RecordBatch, source: str, line: NDArray[np.int64] | None = None) -> Parsed:
    """Read a table of `LIST_SCHEMA`, whose ``name``, ``tag`` and ``base`` may be absent.

    If all rows are good, keys and values are not copied: they may be a mapped file, and must not be
    written to.
    """
    line = np.arange(1, table.num_rows + 1) if line is None else line
    n = table.num_rows
    present = {
        name: table.column(name)
        for name in ("base", "name", "tag")
        if name in table.schema.names and table.column(name).null_count < n
    }
    lists = {name: _list_of(table, source, name) for name in ("key", "x")}
    for name in ("label", "importance"):
        _without_nulls(table, source, name)
    if "name" in present:
        lists["name"] = _list_of(table, source, "name")
    key, x = (shared_by_arrow(lists[name][1]) for name in ("key", "x"))
    clean = _is_clean(key, x)
    faults = _row_faults(table, source, lists)
    if not clean:
        _find_bad_items(lists, faults)
    if faults:
        good = np.ones(n, np.bool_)
        good[list(faults)] = False
        bad = listed_faults(source, {int(line[i]): message for i, message in faults.items()})
        return from_arrow(table.filter(pa.array(good)), source, line[good])._replace(bad=bad)
    start, _ = lists["key"]
    label, importance = (_copied(table.column(name)) for name in ("label", "importance"))
    batch = Batch(start, key, x, label, importance)
    if "base" in present:
        batch = batch._replace(base=_copied(present["base"]))
    if "name" in present:
        batch = batch._replace(names=_names(lists["name"][1]))
    if not clean:  # then there are values of 0
        kept = batch.x != 0
        batch = batch._replace(
            start=offsets(kept)[start],
            key=batch.key[kept],
            x=batch.x[kept],
            names=batch.names and [batch.names[int(k)] for k in np.flatnonzero(kept)],
        )
    tags = text_of_strings(present["tag"].fill_null("")) if "tag" in present else None
    return Parsed(batch, line, [], tags, source)


def _copied(column: pa.Array) -> NDArray[np.float32]:
    whole = column.fill_null(0) if column.null_count else column
    return np.array(single(shared_by_arrow(whole)))


def _without_nulls(table: pa.RecordBatch, source: str, name: str) -> pa.Array:
    if table.schema.get_field_index(name) < 0:
        raise DataError(f"{source}: no column {name!r} beside the lists: convert the data again")
    column = table.column(name)
    if column.null_count:
        raise _has_nulls(source, name)
    return column


def _has_nulls(source: str, name: str) -> DataError:
    if name == "name":
        return DataError(f"{source}: some features have no name, others do: convert the data again")
    return DataError(f"{source}: column {name!r} has nulls: convert the data again")


def _list_of(table: pa.RecordBatch, source: str, name: str) -> tuple[NDArray[np.int64], pa.Array]:
    """Return where the lists of a column start in the array of all their items, and that array."""
    column = _without_nulls(table, source, name)
    offset = shared_by_arrow(column.offsets).astype(np.int64)
    items = column.values[offset[0] : offset[-1]]
    if items.null_count:
        raise _has_nulls(source, name)
    return offset - offset[0], items


def _names(items: pa.Array) -> NamesView:
    names = as_dictionary(items)
    return NamesView(text_of_strings(names.dictionary), shared_by_arrow(names.indices))


def _row_faults(table: pa.RecordBatch, source: str, lists: Lists) -> dict[int, str]:
    """Find what is wrong with rows, by their numbers, apart from the items of their lists."""
    faults: dict[int, str] = {}
    column_values(table.column("label"), source, "label", faults)
    importance, _ = column_values(table.column("importance"), source, "importance", faults)
    for i in np.flatnonzero(importance < 0):
        faults.setdefault(
            int(i), f"importance is {importance[i]}: write 0 to learn nothing from the row"
        )
    if "base" in table.schema.names and table.column("base").null_count < table.num_rows:
        column_values(table.column("base"), source, "base", faults)
    start, _ = lists["key"]
    for name, (other, _) in lists.items():
        if not np.array_equal(other, start):
            n, m = np.diff(start), np.diff(other)
            for i in np.flatnonzero(m != n):
                faults.setdefault(int(i), f"there are {n[i]} keys, but {m[i]} items of {name!r}")
    return faults


def _find_bad_items(lists: Lists, faults: dict[int, str]) -> None:
    """Find the rows with values that are not finite or keys that are too large."""

    def check(name: str, wrong: NDArray[np.bool_], message: Callable[[int], str]) -> None:
        start, _ = lists[name]
        for k in np.flatnonzero(wrong):
            i = int(np.searchsorted(start, k, side="right")) - 1
            faults.setdefault(i, message(int(k)))

    key, x = (shared_by_arrow(lists[name][1]) for name in ("key", "x"))
    check("x", ~np.isfinite(x), lambda k: f"a value {not_finite(x[k], '0')}")
    check("key", key > LARGEST, lambda _: f"a key is above {LARGEST}, the largest there is")


@kernel
def _is_clean(key: Any, x: Any) -> bool:
    """Tell whether there are as many values as keys, all finite and not 0, and all keys valid."""
    n_good = 0
    for k in range(min(len(key), len(x))):
        n_good += (abs(x[k]) > 0.0) & (abs(x[k]) < np.inf) & (key[k] <= uint64(LARGEST))
    return n_good == len(key) == len(x)
