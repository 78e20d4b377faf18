"""The cells of a column as numbers or as categories, whatever the type of its source."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dwindle.data.formats.tables.dates import MISSING
from dwindle.data.formats.tables.kinds import NO, SPACE, YES
from dwindle.data.text.errors import is_number, never_finite, quoted
from dwindle.features.arrow import is_list, is_text


def numbers(
    column: pa.Array, fault: Callable[[int, bytes], None], *, words: bool = True
) -> pa.Array:
    """Return a column of numbers; strings are read, true is 1.

    With ``words``, nan and words for missing are null.
    ``fault`` is told of each row that is no number, and of its cell.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not is_text(column.type):
        return column
    for cells in _ever_barer(column, words):
        try:
            found = cells.cast(pa.float64())
        except pa.ArrowInvalid:
            continue
        nan = pc.is_nan(found)
        return pc.if_else(nan, None, found) if words and pc.any(nan).as_py() else found
    raw = column.cast(pa.binary()).dictionary_encode()
    distinct = raw.dictionary.to_pylist()
    values = [_number(cell) for cell in distinct]
    missing = pc.match_substring_regex(raw.dictionary, MISSING).to_pylist()
    if words:
        values = [None if missing[c] else value for c, value in enumerate(values)]
    bad = [c for c, value in enumerate(values) if value is None and not (words and missing[c])]
    if bad:
        code = raw.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for i in np.flatnonzero(np.isin(code, bad)):
            fault(int(i), distinct[code[i]])
    return pa.array(values, pa.float64()).take(raw.indices)


def _ever_barer(column: pa.Array, words: bool) -> Iterator[pa.Array]:
    """Yield the cells as they are, without spaces around them, and without words for missing."""
    yield column
    column = pc.ascii_trim(column, SPACE.decode())  # not ascii_trim_whitespace: it trims more
    yield column
    if words:
        missing = pc.match_substring_regex(column.cast(pa.binary()), MISSING)
        yield pc.if_else(missing, pa.scalar(None, column.type), column)


def _number(cell: bytes) -> float | None:
    """Return the number that a cell says, if any."""
    if cell in YES or cell in NO:
        return float(cell in YES)
    bare = cell.strip(SPACE)
    return float(bare) if is_number(bare) or never_finite(bare) else None


def categories(column: pa.Array, name: str, faults: dict[int, str]) -> pa.DictionaryArray:
    """Return a column as a dictionary of strings; a whole number has no decimals."""
    if is_text(column.type):
        return unicode(column, name, faults).dictionary_encode()
    if pa.types.is_dictionary(column.type):
        if is_text(column.type.value_type):
            return column
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string()))
    return column.cast(pa.string()).dictionary_encode()


def strings(column: pa.Array, name: str, faults: dict[int, str]) -> pa.Array:
    """Return a column as strings; a list of them becomes one, with spaces between."""
    if is_list(column.type):
        return pc.binary_join(column.cast(pa.list_(pa.string())), " ")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return unicode(column, name, faults) if is_text(column.type) else column.cast(pa.string())


def dicts(column: pa.Array, fault: Callable[[int, bytes], None]) -> list[dict[str, Any] | None]:
    """Return a column of structs or maps as dicts."""
    if pa.types.is_map(column.type) or pa.types.is_struct(column.type):
        every = column.to_pylist()
        return [
            each and {str(key): _member(value) for key, value in dict(each).items()}
            for each in every
        ]
    for i in np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)):
        fault(int(i), str(column[int(i)].as_py()).encode())
    return [None] * len(column)


def _member(value: Any) -> Any:
    """Return the value of a member as JSON would hold it."""
    return float(value) if isinstance(value, Decimal) else value


def unicode(column: pa.Array, name: str, faults: dict[int, str]) -> pa.Array:
    """Check that strings are UTF-8, which cells of a file need not be."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        for i, cell in enumerate(column.cast(pa.binary()).to_pylist()):
            try:
                texts.append(None if cell is None else cell.decode())
            except UnicodeDecodeError:
                texts.append(None)
                faults.setdefault(
                    i, f"column {name!r} is not UTF-8 in {quoted(cell)}: save the file as UTF-8"
                )
        return pa.array(texts, pa.string())
    return column
