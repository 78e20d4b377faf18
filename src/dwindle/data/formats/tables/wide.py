"""Tables with a column for each feature."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.types import is_dictionary

from dwindle._base.errors import DataError, SettingError
from dwindle.data.formats.block import Parsed, joined
from dwindle.data.formats.interactions import in_parts
from dwindle.data.formats.tables.column_features import (
    One,
    absent,
    distinct_values,
    features_of,
)
from dwindle.data.formats.tables.kinds import ZEROS, kind_by_cells, kind_by_type
from dwindle.data.formats.tables.several import Several, merged
from dwindle.data.formats.tables.vocabulary import (
    Vocabulary,
    WordRows,
    finished,
    keys_of,
)
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.schema import Column, ColumnKinds, Kind, listed
from dwindle.data.text.errors import is_number, quoted
from dwindle.features.arrow import as_dictionary, column_values, is_text, text_of_strings


class Roles(NamedTuple):
    """Which columns of a table are the label, the weight, the features and the names of rows."""

    label: str | None
    weight: str | None
    features: list[str]
    id: str | None = None

    def wanted(self, columns: Sequence[str]) -> list[str]:
        """List the columns to read, in the order of the table."""
        wanted = {self.label, self.weight, self.id, *self.features}
        return [name for name in columns if name in wanted]


def _check_names(columns: Sequence[str], source: str) -> None:
    for name, n in Counter(columns).items():
        if n > 1:
            raise DataError(f"{source}: {n} columns are named {name!r}: rename all but one")
        if "\0" in name:
            raise DataError(f"{source}: the name of column {name!r} holds a NUL: rename it")


def roles(columns: Sequence[str], source: str, options: ReadOptions, kinds: ColumnKinds) -> Roles:
    """Assign columns to their roles, checking that every column that is named exists.

    With ``labelled=False`` the label and the weight may be absent.
    """
    _check_names(columns, source)
    label, weight = (
        name if options.labelled or name in columns else None
        for name in (options.label_column, options.weight_column)
    )
    features = kinds.features(columns, source, _apart(options, kinds))
    wanted: list[tuple[str, str | None]] = [("the label", label), ("the weight", weight)]
    wanted.append(("the names of rows", options.id_column))
    if kinds.remembered is None:
        wanted += [("an interaction", name) for names in options.interactions for name in names]
    headless = any(is_number(name.encode()) for name in columns)
    for role, sought in wanted:
        if sought is not None and sought not in columns:
            hint = " (if it has no header, name the columns with --header)" if headless else ""
            there = listed(columns) + hint
            raise DataError(f"{source}: no column {sought!r} for {role}; the columns are {there}")
    for names in options.interactions:
        if len(names) not in {2, 3}:
            raise SettingError(f"an interaction is of 2 or 3 columns, got {names!r}")
        for name in names:
            if kinds.remembered is None and name not in features:
                why = "the label or the weight" if name in {label, weight} else "left out"
                raise DataError(
                    f"{source}: the interaction {'*'.join(names)} is of column {name!r}, "
                    f"which is {why}: interactions are of features"
                )
    kinds.seen(columns)
    return Roles(label, weight, features, options.id_column)


def _apart(options: ReadOptions, kinds: ColumnKinds) -> set[str | None]:
    """Name the columns that are no features; one that names rows may be one if it was learned."""
    known = None if kinds.remembered is None else kinds.remembered.kind(options.id_column or "")
    names = {options.id_column} if known in {None, Kind.DROP} else set()
    return {options.label_column, options.weight_column, *names}


class WideTable:
    """A table that has a column for each feature, read in parts.

    ``kinds`` decides what a column is. If the source is not ``typed``, its cells are text, and
    their look decides; null is a missing value either way. ``index`` names columns that are
    numbers of rows.
    """

    def __init__(
        self,
        columns: Sequence[str],
        source: str,
        options: ReadOptions,
        kinds: ColumnKinds | None = None,
        *,
        typed: bool = True,
        index: Collection[str] = (),
    ) -> None:
        self._source, self._options, self._typed = source, options, typed
        self._kinds = kinds or kinds_for(options)
        for name in index:
            self._kinds.leave_out(name, "it is the index of pandas")
        self.role = roles(columns, source, options, self._kinds)
        self.wanted = self.role.wanted(columns)

    def parts(
        self,
        table: pa.RecordBatch,
        line: NDArray[np.int64],
        faults: Mapping[int, str] = MappingProxyType({}),
    ) -> Iterator[Parsed]:
        """Read some rows; in parts, if interactions make too many products of them."""

        def read(first: int, last: int) -> Parsed:
            known = {i - first: why for i, why in faults.items() if first <= i < last}
            return self.read(table[first:last], line[first:last], known)

        return in_parts(read, 0, table.num_rows)

    def read(
        self,
        table: pa.RecordBatch,
        line: NDArray[np.int64] | None = None,
        faults: Mapping[int, str] | None = None,
        objects: Mapping[str, Several] = MappingProxyType({}),
    ) -> Parsed:
        """Read some rows, of which the columns that are wanted are there.

        Row i is called ``line[i]``, by default i + 1; ``faults`` says what is already known to be
        wrong with which row, counted from 0. ``objects`` has the features of columns of objects.
        """
        n = table.num_rows
        wrong = dict(faults or {})
        line = np.arange(1, n + 1) if line is None else line
        label, importance, label_names = _said(table, self._source, self.role, wrong)
        features = self.role.features
        word = np.empty((n, len(features)), np.int32)
        x = np.empty((n, len(features)), np.float32)
        names: list[pa.Array] = [pa.array([], pa.large_string())]
        several: dict[int, Several] = {}
        n_words = 0
        for c, name in enumerate(features):
            found = objects.get(name) or self._features(table.column(name), name, line, wrong)
            if isinstance(found, Several):
                several[c] = found._replace(word=found.word + np.int32(n_words))
            else:
                word[:, c], x[:, c] = found.word, found.x
                word[:, c] += n_words
            names.append(found.names)
            n_words += len(found.names)
        rows = WordRows(line, label, importance, *merged(word, x, several))
        if wrong:
            good = np.ones(n, np.bool_)
            good[list(wrong)] = False
            rows = rows.only(good)
        every, size = pa.concat_arrays(names), [len(each) for each in names[1:]]
        key = keys_of(every)
        for c, column in several.items():
            key[sum(size[:c]) :][: size[c]] = column.key
        group = np.repeat(np.arange(len(features), dtype=np.int32), size)
        vocabulary = Vocabulary(text_of_strings(every), key, group, features)
        known = {int(line[i]): message for i, message in wrong.items()}
        parsed = finished(rows, vocabulary, self._source, known, self._options.interactions)
        tags = None
        if self.role.id is not None:
            every_tag = _tags(table.column(self.role.id))
            tags = [every_tag[i] for i in np.flatnonzero(np.isin(line, parsed.line))]
        return parsed._replace(label_names=label_names, tags=tags)

    def categories(self, table: pa.RecordBatch) -> list[str]:
        """Decide what these columns are by their first rows; leave out texts and dates."""
        line = np.arange(1, table.num_rows + 1)
        for name, column in zip(table.schema.names, table.columns, strict=True):
            if name in self.role.features and self._kinds.column(name) is None:
                self._decided(column, name, line)
        known = {name: self._kinds.column(name) for name in table.schema.names}
        return [
            name
            for name, column in known.items()
            if column is None or column.kind not in {Kind.TEXT, Kind.DATE}
        ]

    def _features(
        self, column: pa.Array, name: str, line: NDArray[np.int64], wrong: dict[int, str]
    ) -> One | Several:
        """Make the features of a column, of the kind it is."""
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())  # most functions of Arrow need it
        known = self._kinds.column(name) or self._decided(column, name, line)
        if known is None or pa.types.is_null(column.type):
            return absent(name, len(column))
        if known.why.startswith(ZEROS) and not (is_text(column.type) or is_dictionary(column.type)):
            self._kinds.note(
                f"{self._source}: column {name!r} is of type {column.type}, and the model learned "
                f"{known.why}: numbers have lost these zeros, so read the column as strings"
            )

        def fault(i: int, cell: bytes) -> None:
            wrong.setdefault(i, self._kinds.contradicts(known, quoted(cell)))

        try:
            return features_of(column, known, self._source, self._options, fault, wrong)
        except pa.ArrowNotImplementedError:
            raise self._of_no_kind(column, name, str(known.kind), "strings") from None

    def _decided(self, column: pa.Array, name: str, line: NDArray[np.int64]) -> Column | None:
        """Decide what a column is, if it has a value here."""
        if column.null_count == len(column):
            return None
        if self._typed:
            guess = kind_by_type(column, name)
            if guess is None:
                raise self._of_no_kind(column, name, "feature", "numbers or strings")
        else:
            guess = kind_by_cells(column, name, line)
        return None if guess is None else self._kinds.decide(name, *guess)

    def _of_no_kind(self, column: pa.Array, name: str, what: str, instead: str) -> DataError:
        drop = self._kinds.advice(name, Kind.DROP, ", or leave it out with {}")
        return DataError(
            f"{self._source}: column {name!r} is of type {column.type}, which is no {what}: "
            f"make it {instead}{drop}"
        )


def wide(
    table: pa.RecordBatch, source: str, options: ReadOptions, kinds: ColumnKinds | None = None
) -> Parsed:
    """Read a table that has a column for each feature.

    A numeric or boolean column is a feature named by the column, absent where it is 0 or null. A
    category is the feature ``column=value`` of value 1, absent where it is empty or null.
    A null label, or no label column, makes an example that is not learned from: label 0,
    importance 0.

    >>> columns = {"y": [1, None], "price": [3.5, 0], "color": ["red", ""]}
    >>> table = pa.RecordBatch.from_pydict(columns)
    >>> batch = wide(table, "shop.parquet", ReadOptions(label_column="y")).batch
    >>> list(batch.names), batch.x.tolist(), batch.start.tolist(), batch.importance.tolist()
    (['price', 'color=red'], [3.5, 1.0], [0, 2, 2], [1.0, 0.0])
    """
    index = index_columns(table.schema)
    columns = WideTable(table.schema.names, source, options, kinds, index=index)
    return joined([*columns.parts(table, np.arange(1, table.num_rows + 1))])


def index_columns(schema: pa.Schema) -> list[str]:
    """List the columns that pandas wrote for the index of a frame."""
    about = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in about if isinstance(name, str) and name in schema.names]


def _said(
    table: pa.RecordBatch, source: str, role: Roles, faults: dict[int, str]
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[str] | None]:
    """Return the label and the importance of each row, and what labels that are text number."""
    if role.label is None:
        return np.zeros(table.num_rows, np.float32), np.zeros(table.num_rows, np.float32), None
    what, names = f"label column {role.label!r}", None
    column = as_dictionary(table.column(role.label))
    if is_dictionary(column.type):
        distinct, code, present = distinct_values(column, role.label, faults)
        names = [name.strip() for name in distinct.to_pylist()]
        blank = np.array([not name for name in names])
        label, unlabeled = code.astype(np.float32), ~present | blank[code]
    else:
        label, unlabeled = column_values(column, source, what, faults)
    importance = np.ones(len(label), np.float32)
    if role.weight is not None:
        what = f"weight column {role.weight!r}"
        column = table.column(role.weight)
        importance, missing = column_values(column, source, what, faults)
        importance = np.where(missing, np.float32(1), importance)
        for i in np.flatnonzero(importance < 0):
            faults.setdefault(
                int(i), f"{what} is {importance[i]}: write 0 to learn nothing from the row"
            )
    importance[unlabeled] = 0
    return label, importance, names


def _tags(column: pa.Array) -> list[str]:
    """Spell the cells of a column that names the rows; a missing one is empty."""
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]
