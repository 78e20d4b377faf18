"""Tables that have a column for each feature as examples."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwindle._base.errors import DataError, SettingError
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.tables.vocabulary import (
    Interactions,
    Rows,
    Words,
    finished,
    keys_of,
)
from dwindle.features.arrow import as_dictionary, numbers, text_of_strings
from dwindle.features.offsets import offsets

MOST_ROWS = 1 << 16  # of a batch: more would only wait in memory


class Roles(NamedTuple):
    """What the columns of a wide table are."""

    label: str | None
    weight: str | None
    features: list[str]


def at_hand(columns: Sequence[str], *names: str | None) -> tuple[str | None, ...]:
    """These columns, None for each that is not there: who only predicts needs no label."""
    return tuple(name if name in columns else None for name in names)


def roles(
    columns: Sequence[str],
    source: str,
    label_column: str | None,
    weight_column: str | None = None,
    interactions: Interactions = (),
    ignore: Iterable[str] = (),
) -> Roles:
    """What these columns are, if each that is spoken of is there."""
    for name, n in Counter(columns).items():
        if n > 1:
            raise DataError(f"{source}: {n} columns are named {name!r}: rename all but one")
    features = [c for c in columns if c not in {label_column, weight_column} and c not in ignore]
    said = [("the label", label_column), ("the weight", weight_column)]
    wanted = [(role, name) for role, name in said if name is not None]
    wanted += [("a column to ignore", name) for name in sorted(ignore)]
    wanted += [("an interaction", name) for names in interactions for name in names]
    for role, name in wanted:
        if name not in columns:
            there = ", ".join(map(repr, columns))
            raise DataError(f"{source}: no column {name!r} for {role}; the columns are {there}")
    for names in interactions:
        if len(names) not in {2, 3}:
            raise SettingError(f"an interaction is of 2 or 3 columns, got {names!r}")
        for name in names:
            if name not in features:
                role = "ignored" if name in ignore else "the label or the weight"
                raise DataError(
                    f"{source}: the interaction {'*'.join(names)} is of column {name!r}, "
                    f"which is {role}: interactions are of features"
                )
    return Roles(label_column, weight_column, features)


def wide(
    table: pa.RecordBatch,
    source: str,
    *,
    label_column: str | None,
    weight_column: str | None = None,
    interactions: Interactions = (),
    ignore: frozenset[str] = frozenset(),
    line: NDArray[np.int64] | None = None,
    faults: Mapping[int, str] | None = None,
) -> Parsed:
    """The examples of a table that has a column for each feature.

    A numeric or boolean column is a feature named by the column, absent where it is 0 or null. A
    column of strings is the feature ``column=value`` of value 1, absent where it is empty or null.
    A null label, or no ``label_column``, makes an example that is not learned from: label 0,
    importance 0.

    Row i is called ``line[i]``, by default i + 1; ``faults`` says what is already known to be wrong
    with which row, counted from 0.

    >>> columns = {"y": [1, None], "price": [3.5, 0], "color": ["red", ""]}
    >>> table = pa.RecordBatch.from_pydict(columns)
    >>> batch = wide(table, "shop.parquet", label_column="y").batch
    >>> list(batch.names), batch.x.tolist(), batch.start.tolist(), batch.importance.tolist()
    (['price', 'color=red'], [3.5, 1.0], [0, 2, 2], [1.0, 0.0])
    """
    role = roles(table.schema.names, source, label_column, weight_column, interactions, ignore)
    n = table.num_rows
    wrong = dict(faults or {})
    label, importance = _said(table, source, role, wrong)
    word = np.empty((n, len(role.features)), np.int32)
    x = np.empty((n, len(role.features)), np.float32)
    names: list[pa.Array] = [pa.array([], pa.large_string())]
    n_words = 0
    for c, name in enumerate(role.features):
        column = as_dictionary(table.column(name))
        if pa.types.is_dictionary(column.type):
            distinct, code, x[:, c] = _text(column, name, wrong)
            named = pc.binary_join_element_wise(_large(name), distinct, _large("="))
            word[:, c] = code
            word[:, c] += n_words
        else:
            x[:, c], _ = numbers(column, source, name, f"column {name!r}", wrong)
            named = pa.array([name], pa.large_string())
            word[:, c] = n_words
        names.append(named)
        n_words += len(named)
    good = np.ones(n, np.bool_)
    good[list(wrong)] = False
    present = x != 0
    present[~good] = False
    line = np.arange(1, n + 1) if line is None else line
    rows = Rows(
        line[good],
        label[good],
        importance[good],
        offsets(np.count_nonzero(present, axis=1)[good]),
        word[present],
        x[present],
    )
    every = pa.concat_arrays(names)
    group = np.repeat(np.arange(len(role.features), dtype=np.int32), [len(a) for a in names[1:]])
    words = Words(text_of_strings(every), keys_of(every), group, role.features)
    known = {int(line[i]): message for i, message in wrong.items()}
    return finished(rows, words, source, known, interactions)


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _said(
    table: pa.RecordBatch, source: str, role: Roles, faults: dict[int, str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The label and the importance of each row."""
    if role.label is None:
        return np.zeros(table.num_rows, np.float32), np.zeros(table.num_rows, np.float32)
    what = f"label column {role.label!r}"
    column = as_dictionary(table.column(role.label))
    if pa.types.is_dictionary(column.type):
        texts = column.drop_null()
        if len(texts):
            raise DataError(
                f"{source}: {what} must hold numbers, got {texts[0].as_py()!r}: "
                "write a number for each label"
            )
        column = pa.nulls(len(column))
    label, unlabeled = numbers(column, source, role.label, what, faults)
    importance = np.ones(len(label), np.float32)
    if role.weight is not None:
        what = f"weight column {role.weight!r}"
        column = table.column(role.weight)
        importance, missing = numbers(column, source, role.weight, what, faults)
        importance = np.where(missing, np.float32(1), importance)
        for i in np.flatnonzero(importance < 0):
            faults.setdefault(
                int(i), f"{what} is {importance[i]}: write 0 to learn nothing from the row"
            )
    importance[unlabeled] = 0
    return label, importance


def _text(
    column: pa.DictionaryArray, name: str, faults: dict[int, str]
) -> tuple[pa.Array, NDArray[Any], NDArray[np.bool_]]:
    """The distinct values of a column, which of them each row has, and whether it has one."""
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
