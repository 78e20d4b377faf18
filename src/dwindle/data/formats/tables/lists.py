"""Arrow tables that have a list of features in each row: what `dwindle convert` writes."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.buffers import Memory
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

Lists = dict[str, tuple[NDArray[np.int64], pa.Array]]  # by column: see `_list_of`
Coded = tuple[NDArray[np.int64], NDArray[np.int32]]  # the first of each feature, and which each is
CODES = 1 << 16  # different features of a batch that can be numbered with two bytes
MOST_FEATURES = 1 << 18  # read at a time: their keys are in the processor's cache when learned from
FEATURE = pa.struct([pa.field("key", pa.uint64(), nullable=False), pa.field("name", pa.string())])
LIST_SCHEMA = pa.schema(
    [
        pa.field("label", pa.float32(), nullable=False),
        pa.field("importance", pa.float32(), nullable=False),
        pa.field("base", pa.float32()),
        pa.field(
            "feature",
            pa.list_(pa.field("item", pa.dictionary(pa.uint16(), FEATURE), nullable=False)),
        ),
        pa.field("x", pa.list_(pa.field("item", pa.float32(), nullable=False))),
        pa.field("key", pa.list_(pa.field("item", pa.uint64(), nullable=False))),
        pa.field("name", pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        pa.field("tag", pa.string()),
    ]
)
_MEMORY = Memory()


def is_list_form(schema: pa.Schema) -> bool:
    """Tell whether a table of this schema is one that `to_arrow` made."""
    return _has_lists(schema, "key") and _has_lists(schema, "x")


def _has_lists(schema: pa.Schema, name: str) -> bool:
    """Tell whether a column has lists of the same items as in `LIST_SCHEMA`."""
    kind = schema.field(name).type if schema.get_field_index(name) >= 0 else pa.null()
    return pa.types.is_list(kind) and kind.value_type == LIST_SCHEMA.field(name).type.value_type


def rows_of_lists(table: pa.RecordBatch) -> int:
    """Return how many rows of a table of `LIST_SCHEMA` are read at a time."""
    names = [name for name in ("feature", "key") if _has_lists(table.schema, name)]
    size = sum(len(table.column(name).values) for name in names)
    return max(1, MOST_FEATURES * table.num_rows // max(size, 1))


def numbered(batch: Batch) -> Coded | None:
    """Number the features of a batch; None if more than `CODES` are different."""
    first, code = distinct(batch.key, CODES)
    return (first, code) if len(code) == len(batch.key) else None


def pieces(parsed: Parsed) -> Iterator[tuple[Parsed, Coded | None]]:
    """Cut examples where more than `CODES` features would be different.

    What is mostly different is not cut, as nothing is gained by numbering it.
    """
    while parsed.batch.n_examples:
        start = parsed.batch.start
        first, code = distinct(parsed.batch.key, CODES)
        if len(code) == start[-1]:
            yield parsed, (first, code)
            return
        last = int(np.searchsorted(start, len(code), side="right")) - 1
        end = start[last]
        if end < 2 * CODES:
            yield parsed, None
            return
        yield parsed.rows(0, last), (first[: np.searchsorted(first, end)], code[:end])
        parsed = parsed.rows(last, parsed.batch.n_examples)


def to_arrow(parsed: Parsed, coded: Coded | None = None, *, checked: bool = True) -> pa.RecordBatch:
    """Make a table of `LIST_SCHEMA`; `from_arrow` gives the same examples back, to the bit.

    Features are ``coded`` if they are numbers in a dictionary of those that are different; else
    each has its key of eight bytes, and its name. If all values are 1, their column is null.
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
    columns = {field.name: pa.nulls(n, field.type) for field in LIST_SCHEMA}
    columns["label"], columns["importance"] = map(shared_with_arrow, (label, importance))
    if batch.base is not None:
        columns["base"] = shared_with_arrow(batch.base)
    if parsed.tags is not None:
        columns["tag"] = pa.array(parsed.tags, pa.string())
    if not (batch.x == 1).all():
        columns["x"] = _listed("x", offsets, shared_with_arrow(batch.x))
    if coded is None:
        columns["key"] = _listed("key", offsets, _keys(batch.key))
        if batch.names is not None:
            first, code = distinct(batch.key)
            names = _strings(spelled(batch.names, first), checked=checked)
            indices = pa.DictionaryArray.from_arrays(shared_with_arrow(code), names)
            columns["name"] = _listed("name", offsets, indices)
    else:
        first, code = coded
        names = pa.nulls(len(first), pa.string())
        if batch.names is not None:
            names = _strings(spelled(batch.names, first), checked=checked)
        words = pa.StructArray.from_arrays([_keys(batch.key[first]), names], fields=list(FEATURE))
        numbers = shared_with_arrow(code.astype(np.uint16))
        columns["feature"] = _listed(
            "feature", offsets, pa.DictionaryArray.from_arrays(numbers, words)
        )
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=LIST_SCHEMA)


def _listed(name: str, offsets: pa.Array, items: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(offsets, items, LIST_SCHEMA.field(name).type)


def _keys(key: NDArray[Any]) -> pa.Array:
    return shared_with_arrow(key.astype(np.uint64, copy=False))


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
    """Read a table of `LIST_SCHEMA`, which may lack all but label, importance, ``key`` and ``x``.

    If all rows are good, values and keys that are not coded are not copied: they may be a mapped
    file, and must not be written to.
    """
    line = np.arange(1, table.num_rows + 1) if line is None else line
    n = table.num_rows
    present = {
        name: table.column(name)
        for name in ("base", "feature", "x", "name", "tag")
        if name in table.schema.names and table.column(name).null_count < n
    }
    for name in ("label", "importance"):
        _without_nulls(table, source, name)
    coded = "feature" in present and _has_lists(table.schema, "feature")
    features = ("feature",) if coded else ("key", "name")
    read = [name for name in (*features, "x") if name in present or name == "key"]
    lists = {name: _list_of(table, source, name) for name in read}
    start, _ = lists[features[0]]
    key, names = _coded(lists["feature"][1], source) if coded else _plain(lists)
    x = shared_by_arrow(lists["x"][1]) if "x" in lists else np.ones(len(key), np.float32)
    clean = len(key) == len(x) and _is_clean(x) and key.max(initial=0) <= LARGEST
    faults = _row_faults(table, source, start, lists)
    if not clean:
        _find_bad_items(start, key, lists.get("x", (start,))[0], x, faults)
    if faults:
        good = np.ones(n, np.bool_)
        good[list(faults)] = False
        bad = listed_faults(source, {int(line[i]): message for i, message in faults.items()})
        return from_arrow(table.filter(pa.array(good)), source, line[good])._replace(bad=bad)
    label, importance = (_copied(table.column(name)) for name in ("label", "importance"))
    batch = Batch(start, key, x, label, importance, names=names)
    if "base" in present:
        batch = batch._replace(base=_copied(present["base"]))
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


def _coded(items: pa.Array, source: str) -> tuple[NDArray[np.uint64], NamesView | None]:
    """Return the key and the name of each feature, by its number."""
    known, code = items.dictionary, shared_by_arrow(items.indices)
    named = known.field("name")
    if known.null_count or known.field("key").null_count:
        raise _has_nulls(source, "feature")
    if 0 < named.null_count < len(named):
        raise _has_nulls(source, "name")
    key = _MEMORY.empty(len(code), np.uint64)
    _look_up(shared_by_arrow(known.field("key")), code, key)
    return key, None if named.null_count else NamesView(text_of_strings(named), code)


def _plain(lists: Lists) -> tuple[NDArray[np.uint64], NamesView | None]:
    """Return the key and the name of each feature, where they are not numbered."""
    key = shared_by_arrow(lists["key"][1])
    if "name" not in lists:
        return key, None
    names = as_dictionary(lists["name"][1])
    return key, NamesView(text_of_strings(names.dictionary), shared_by_arrow(names.indices))


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


def _row_faults(
    table: pa.RecordBatch, source: str, start: NDArray[np.int64], lists: Lists
) -> dict[int, str]:
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
    for name, (other, _) in lists.items():
        if not np.array_equal(other, start):
            n, m = np.diff(start), np.diff(other)
            for i in np.flatnonzero(m != n):
                faults.setdefault(int(i), f"there are {n[i]} keys, but {m[i]} items of {name!r}")
    return faults


def _find_bad_items(
    key_start: NDArray[np.int64],
    key: NDArray[np.uint64],
    x_start: NDArray[np.int64],
    x: NDArray[np.float32],
    faults: dict[int, str],
) -> None:
    """Find the rows with values that are not finite or keys that are too large."""

    def check(
        start: NDArray[np.int64], wrong: NDArray[np.bool_], message: Callable[[int], str]
    ) -> None:
        for k in np.flatnonzero(wrong):
            i = int(np.searchsorted(start, k, side="right")) - 1
            faults.setdefault(i, message(int(k)))

    check(x_start, ~np.isfinite(x), lambda k: f"a value {not_finite(x[k], '0')}")
    check(key_start, key > LARGEST, lambda _: f"a key is above {LARGEST}, the largest there is")


@kernel
def _is_clean(x: Any) -> bool:
    """Tell whether all values are finite and not 0."""
    n_good = 0
    for k in range(len(x)):
        n_good += (abs(x[k]) > 0.0) & (abs(x[k]) < np.inf)
    return n_good == len(x)


@kernel
def _look_up(known: Any, code: Any, key: Any) -> None:
    """Find the key of each feature by its number, which must be in range."""
    for k in range(len(code)):
        key[k] = known[code[k]]
