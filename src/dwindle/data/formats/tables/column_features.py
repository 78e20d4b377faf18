"""The features of one column of a table, by its kind."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwindle.data.formats.tables.cells import categories, dicts, numbers, strings, unicode
from dwindle.data.formats.tables.dates import date_parts
from dwindle.data.formats.tables.objects import members
from dwindle.data.formats.tables.several import Several, merged, once_each
from dwindle.data.formats.tables.vocabulary import keys_of
from dwindle.data.formats.tables.words import words
from dwindle.data.options import ReadOptions
from dwindle.data.schema import Column, Kind
from dwindle.features.arrow import column_values, is_list
from dwindle.features.offsets import offsets

Fault = Callable[[int, bytes], None]  # told of a row whose cell is of another kind, and of the cell


class One(NamedTuple):
    """At most one feature in a row: their names, which one each row has, and with what value."""

    names: pa.Array
    word: NDArray[Any]
    x: NDArray[Any]


def absent(name: str, n: int) -> One:
    """Return a column of numbers in which all are missing."""
    return One(pa.array([name], pa.large_string()), np.zeros(n, np.int32), np.zeros(n, np.float32))


def features_of(
    column: pa.Array,
    known: Column,
    source: str,
    options: ReadOptions,
    fault: Fault,
    wrong: dict[int, str],
) -> One | Several:
    """Make the features of a column; what else is wrong with row i is added to ``wrong[i]``."""
    name = known.name
    if known.kind is Kind.TEXT:
        texts = strings(column, name, wrong)
        return words(texts, name, options.ngrams, counts=options.counts)
    if known.kind is Kind.DATE:
        return _date(unicode(column, name, wrong), name, fault)
    if known.kind is Kind.OBJECT:
        return members(dicts(column, fault), name, wrong)
    if known.kind is Kind.NUMBER:
        return _number(numbers(column, fault), source, name, wrong)
    made = _list if is_list(column.type) else _category
    return made(column, name, wrong)


def _number(column: pa.Array, source: str, name: str, faults: dict[int, str]) -> One:
    x, _ = column_values(column, source, f"column {name!r}", faults)
    return One(pa.array([name], pa.large_string()), np.zeros(len(x), np.int32), x)


def _category(column: pa.Array, name: str, faults: dict[int, str]) -> One:
    distinct, code, present = distinct_values(categories(column, name, faults), name, faults)
    named = pc.binary_join_element_wise(_large(name), distinct, _large("="))
    return One(named, code, present)


def _date(column: pa.Array, name: str, fault: Fault) -> Several:
    """Make the features of dates: ``name.part=value`` for each part."""
    parts = [
        _category(values, f"{name}.{part}", {})
        for part, values in date_parts(column, fault).items()
    ]
    first = np.cumsum([0, *(len(part.names) for part in parts[:-1])])
    word = np.column_stack([part.word + n for part, n in zip(parts, first, strict=True)])
    x = np.column_stack([part.x for part in parts]).astype(np.float32)
    names = pa.concat_arrays([part.names for part in parts])
    return Several(names, keys_of(names), *merged(word.astype(np.int32), x, {}))


def _list(column: pa.Array, name: str, wrong: dict[int, str]) -> Several:
    """Make the features of lists of strings: ``name=value`` for each value, once in a row."""
    start = offsets(pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False))
    inside: dict[int, str] = {}
    items = _category(column.flatten(), name, inside)
    for k, message in inside.items():
        wrong.setdefault(int(np.searchsorted(start, k, side="right")) - 1, message)
    there = items.x != 0
    word = items.word[there].astype(np.int32)
    found = once_each(offsets(there)[start], word, len(items.names))
    return Several(items.names, keys_of(items.names), *found)


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def distinct_values(
    column: pa.DictionaryArray, name: str, faults: dict[int, str]
) -> tuple[pa.Array, NDArray[Any], NDArray[np.bool_]]:
    """Return the distinct values of a column, which one each row has, and whether it has one."""
    code = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    distinct = column.dictionary.cast(pa.large_string())
    if len(distinct) > len(code):  # one dictionary may serve many batches
        used, code = np.unique(code, return_inverse=True)
        distinct = distinct.take(pa.array(used))
    elif not len(distinct):
        distinct = pa.array([""], pa.large_string())
    distinct = distinct.fill_null("")
    present = pc.not_equal(distinct, "").to_numpy(zero_copy_only=False)[code]
    if column.indices.null_count:
        present &= column.indices.is_valid().to_numpy(zero_copy_only=False)
    nul = pc.match_substring(distinct, "\0")
    if pc.any(nul).as_py():
        for i in np.flatnonzero(nul.to_numpy(zero_copy_only=False)[code] & present):
            faults.setdefault(int(i), f"column {name!r} holds a NUL character: remove it")
    return distinct, code, present
