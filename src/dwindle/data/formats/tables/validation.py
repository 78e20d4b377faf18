"""Checks of Arrow data that others made, before anything takes its offsets and codes at their word.

Arrow itself believes what the metadata of a file says, and so do compiled loops.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from dwindle._base.errors import DataError
from dwindle.features.arrow import shared_by_arrow, text_of_strings


class Validation:
    """Checks the batches of one source: lengths, offsets, codes of dictionaries, UTF-8."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[
            str, list[Any]
        ] = {}  # the dictionary of each column that was checked last

    def checked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch if every offset and code in it is in range and every text is UTF-8."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                column.validate()
                self._check(column, name)
            except pa.ArrowInvalid as error:
                raise DataError(
                    f"{self._source}: column {name!r} is damaged: {error}: make the file again"
                ) from None
        return batch

    def _check(self, column: pa.Array, name: str) -> None:
        kind = column.type
        if pa.types.is_dictionary(kind):
            self._check_codes(column, name)
        elif pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type):
            valid, offsets, *_ = column.buffers()
            code = column.values.indices
            # As a list of numbers, because Arrow is slow at checking codes.
            numbers = pa.Array.from_buffers(
                pa.list_(code.type),
                len(column),
                [valid, offsets],
                offset=column.offset,
                children=[code],
            )
            numbers.validate(full=True)
            self._check_codes(column.values, name)
        else:
            _check_values(column)

    def _check_codes(self, column: pa.DictionaryArray, name: str) -> None:
        """Check a dictionary, if it is another one than before, and the codes of its words."""
        words = column.dictionary
        if not _same(words.buffers(), self._known.get(name)):
            _check_values(words)
            self._known[name] = words.buffers()
        column.indices.validate(full=True)
        codes = column.indices.drop_null() if column.null_count else column.indices
        code = shared_by_arrow(codes)
        if len(code) and not 0 <= code.min() <= code.max() < len(words):
            span = f"{code.min()} to {code.max()}"
            raise pa.ArrowInvalid(f"codes from {span} of {len(words)} words")


def _check_values(column: pa.Array) -> None:
    """Check a column of any type; short strings, at which Arrow is slow, as one long string."""
    if pa.types.is_struct(column.type):
        column.validate()
        for number in range(column.type.num_fields):
            _check_values(column.field(number))
        return
    raw = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(column.type)
    if raw is None or not len(column):
        column.validate(full=True)
        return
    column.view(raw).validate(full=True)
    strings = text_of_strings(column)
    bound, text = strings.bound, strings.text
    if text.max(initial=0) < 0x80:
        return
    begins = bound[1:-1][bound[1:-1] < len(text)]
    whole = pa.py_buffer(np.array([0, len(text)], np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, whole, pa.py_buffer(text)).validate(full=True)
    except pa.ArrowInvalid:
        column.validate(full=True)  # it may be in what is null; else the message has the row
        return
    if (text[begins] & 0xC0 == 0x80).any():  # a string begins inside a character
        column.validate(full=True)


def _same(some: list[Any], others: list[Any] | None) -> bool:
    """Tell whether two arrays are at the same place, which is not given away while it is known."""
    places = [
        [None if each is None else (each.address, each.size) for each in of or ()]
        for of in (some, others)
    ]
    return others is not None and places[0] == places[1]
