"""Tables that have a list of features in each row as examples: what `dwindle convert` writes."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dwindle.batch import Batch
from dwindle.errors import DataError
from dwindle.formats.arrays import (
    as_dictionary,
    not_finite,
    numbers,
    shared_by_arrow,
    shared_with_arrow,
    single,
)
from dwindle.formats.block import Parsed
from dwindle.formats.distinct import distinct
from dwindle.formats.spans import Lazy
from dwindle.formats.words import NO_FACTORS, Names, Words, listed_faults, starts
from dwindle.hashing import LARGEST
from dwindle.names import Spelled, decoded, spelled

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
    """Whether a table of this schema is one that `to_arrow` made."""
    return all(
        schema.get_field_index(name) >= 0
        and pa.types.is_list(schema.field(name).type)
        and schema.field(name).type.value_type == LIST_SCHEMA.field(name).type.value_type
        for name in ("key", "x")
    )


def to_arrow(parsed: Parsed, *, checked: bool = True) -> pa.RecordBatch:
    """The examples as a table of `LIST_SCHEMA`; `from_arrow` gives them back, to the bit.

    Neither the numbers nor the faults of lines are kept. Without names, tags or bases, their column
    is null. Examples without a label have label 0 and importance 0. Names that are not UTF-8 raise
    UnicodeEncodeError, unless they are not ``checked``: then only `from_arrow` can read them.
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
        except pa.ArrowInvalid:  # not all of it is UTF-8: say so as for other strings
            return pa.array(decoded(*text), pa.string())
    return found


def from_arrow(table: pa.RecordBatch, source: str, line: NDArray[np.int64] | None = None) -> Parsed:
    """The examples of a table of `LIST_SCHEMA`, whose ``name``, ``tag`` and ``base`` may be absent.

    If all rows are good, keys and values are where Arrow has them, perhaps in a file: they must
    not be written to.
    """
    line = np.arange(1, table.num_rows + 1) if line is None else line
    for name in ("label", "importance", "key", "x"):
        if table.schema.get_field_index(name) < 0:
            raise DataError(
                f"{source}: no column {name!r} beside the lists: convert the data again"
            )
        column = table.column(name)
        if column.null_count or (name in {"key", "x"} and column.flatten().null_count):
            raise DataError(f"{source}: column {name!r} has nulls: convert the data again")
    faults = _list_faults(table, source)
    if faults:
        good = np.ones(table.num_rows, np.bool_)
        good[list(faults)] = False
        bad = listed_faults(source, {int(line[i]): message for i, message in faults.items()})
        return from_arrow(table.filter(pa.array(good)), source, line[good])._replace(bad=bad)
    n = table.num_rows
    start, key = _list_of(table.column("key"))
    _, x = _list_of(table.column("x"))
    batch = Batch(
        start,
        shared_by_arrow(key),
        shared_by_arrow(x),
        _copied(table.column("label")),
        _copied(table.column("importance")),
    )
    present = {
        name: table.column(name)
        for name in ("base", "name", "tag")
        if name in table.schema.names and table.column(name).null_count < n
    }
    if "base" in present:
        batch = batch._replace(base=_copied(present["base"]))
    if "name" in present:
        batch = batch._replace(names=_list_names(present["name"], source))
    kept = batch.x != 0
    if not kept.all():
        batch = batch._replace(
            start=starts(kept)[start],
            key=batch.key[kept],
            x=batch.x[kept],
            names=batch.names and [batch.names[int(k)] for k in np.flatnonzero(kept)],
        )
    tags = Texts(present["tag"].fill_null("")) if "tag" in present else None
    return Parsed(batch, line, [], tags, source)


class Texts(Lazy):
    """An Arrow array of strings as a sequence of them, each made when asked for."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def _at(self, k: int) -> str:
        return str(self._array[k])


def _copied(column: pa.Array) -> NDArray[np.float32]:
    whole = column.fill_null(0) if column.null_count else column
    return np.array(single(shared_by_arrow(whole)))


def _list_of(column: pa.ListArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Where the lists of a column start in the array of all their items, and that array."""
    offset = shared_by_arrow(column.offsets).astype(np.int64)
    return offset - offset[0], column.values[offset[0] : offset[-1]]


def _list_names(column: pa.ListArray, source: str) -> Names:
    if column.null_count or column.flatten().null_count:
        raise DataError(f"{source}: some features have no name, others do: convert the data again")
    names = as_dictionary(_list_of(column)[1])
    place = shared_by_arrow(names.indices)
    none = Words(names.dictionary, np.empty(0, np.uint64), np.empty(0, np.int32), ())
    return Names(none, place, NO_FACTORS)


def _list_faults(table: pa.RecordBatch, source: str) -> dict[int, str]:
    """What is wrong with which row of a list table."""
    faults: dict[int, str] = {}
    numbers(table.column("label"), source, "label", "label", faults)
    importance, _ = numbers(table.column("importance"), source, "importance", "importance", faults)
    for i in np.flatnonzero(importance < 0):
        faults.setdefault(
            int(i), f"importance is {importance[i]}: write 0 to learn nothing from the row"
        )
    if "base" in table.schema.names and table.column("base").null_count < table.num_rows:
        numbers(table.column("base"), source, "base", "base", faults)
    start, key = _list_of(table.column("key"))
    start_of_x, x = _list_of(table.column("x"))
    sizes = [("x", start_of_x)]
    if "name" in table.schema.names and table.column("name").null_count == 0:
        sizes.append(("name", _list_of(table.column("name"))[0]))
    n = np.diff(start)
    for name, other in sizes:
        for i in np.flatnonzero(np.diff(other) != n):
            m = int(other[i + 1] - other[i])
            faults.setdefault(int(i), f"there are {n[i]} keys, but {m} items of {name!r}")

    def check(
        start: NDArray[np.int64], wrong: NDArray[np.bool_], message: Callable[[int], str]
    ) -> None:
        if wrong.any():
            for k in np.flatnonzero(wrong):
                i = int(np.searchsorted(start, k, side="right")) - 1
                faults.setdefault(i, message(int(k)))

    value = shared_by_arrow(x)
    check(start_of_x, ~np.isfinite(value), lambda k: f"a value {not_finite(value[k], '0')}")
    check(
        start,
        shared_by_arrow(key) > LARGEST,
        lambda _: f"a key is above {LARGEST}, the largest there is",
    )
    return faults
