"""Flat JSON lines, as pandas writes them: each member of an object is a column of a table."""

from collections.abc import Sequence
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Parsed, are_words
from dwindle.data.formats.tables.kinds import kind_by_cells
from dwindle.data.formats.tables.objects import members, short
from dwindle.data.formats.tables.several import Several
from dwindle.data.formats.tables.wide import WideTable
from dwindle.data.options import ReadOptions
from dwindle.data.schema import ColumnKinds, Kind

MOST = 10_000  # members: a line has a cell for each, and most would be empty


class FlatLines:
    """Reads objects as rows of a table whose columns are the members met so far."""

    def __init__(self, source: str, options: ReadOptions, kinds: ColumnKinds) -> None:
        self._source, self._options, self._kinds = source, options, kinds
        self._columns: dict[str, None] = {}
        self._table: WideTable | None = None
        self._text_labels: bool | None = None  # decided by the first ones

    def read(self, rows: Sequence[dict[str, Any]], line: NDArray[np.int64]) -> Parsed:
        """Read some objects; null, and a member that is not there, is a missing value."""
        table = self._table_of(rows)
        wrong: dict[int, str] = {}
        columns = {"\0": pa.nulls(len(rows))}  # no name; a table without columns has no rows
        objects: dict[str, Several] = {}
        for name in table.wanted:
            values = [row.get(name) for row in rows]
            if name in {table.role.label, table.role.weight}:
                self._check_numbers(values, name, wrong, is_label=name == table.role.label)
            types = set(map(type, values)) - {NoneType}
            is_feature = name in table.role.features
            if dict in types and is_feature:
                objects[name] = members(self._objects(values, name, wrong), name, wrong)
            else:
                columns[name] = self._column(
                    values, types, name, line, wrong, is_feature=is_feature
                )
        return table.read(pa.RecordBatch.from_pydict(columns), line, wrong, objects)

    def _table_of(self, rows: Sequence[dict[str, Any]]) -> WideTable:
        n_before = len(self._columns)
        self._columns |= dict.fromkeys(name for row in rows for name in row)
        if len(self._columns) > MOST:
            raise DataError(
                f"{self._source}: more than {MOST} members: write rare ones inside an object, "
                'as in {"label": 1, "features": {"price": 3.5}}'
            )
        if self._table is None or len(self._columns) > n_before:
            names = list(self._columns)
            self._table = WideTable(names, self._source, self._options, self._kinds)
        return self._table

    def _check_numbers(
        self, values: list[Any], name: str, wrong: dict[int, str], *, is_label: bool
    ) -> None:
        """Make null of labels and weights that are no numbers, and wrong; labels may be text."""
        n = len(values) - values.count(None)
        if is_label and n and self._text_labels is None:
            self._text_labels = are_words(sum(type(value) is str for value in values), n)
        good = {NoneType, int, float, bool}
        if is_label and self._text_labels:
            good.add(str)
        for i, value in enumerate(values):
            if type(value) not in good:
                wrong[i], values[i] = not_a_number(name, value), None

    def _column(
        self,
        values: list[Any],
        types: set[type],
        name: str,
        line: NDArray[np.int64],
        wrong: dict[int, str],
        *,
        is_feature: bool,
    ) -> pa.Array:
        """Return values as a column: of their type, of lists of strings, or of cells if mixed."""
        if types <= {int, float}:
            try:
                return pa.array(values)
            except (pa.ArrowException, OverflowError):  # beyond 64 bits, or beside such numbers
                return pa.array([None if value is None else float(value) for value in values])
        if len(types) == 1:
            try:
                return pa.array(values)
            except (pa.ArrowException, OverflowError):  # lists of numbers and strings
                pass
        if types <= {list, str}:
            return pa.array([_strings(value, name, i, wrong) for i, value in enumerate(values)])
        cells = pa.array([_cell(value, name, i, wrong) for i, value in enumerate(values)])
        if is_feature and (guess := kind_by_cells(cells, name, line)):
            self._kinds.decide(name, *guess)
        return cells

    def _objects(
        self, values: list[Any], name: str, wrong: dict[int, str]
    ) -> list[dict[str, Any] | None]:
        """Return the objects of a column; in one of objects, other values are wrong."""
        kind = self._kinds.decide(name, Kind.OBJECT, "its values are objects").kind
        for i, value in enumerate(values):
            if value is None or (kind is Kind.OBJECT and type(value) is dict):
                continue
            wrong.setdefault(
                i, f"member {short(name)} is of kind {kind}, got {short(value)}: write it alike"
            )
            values[i] = None
        return values


def not_a_number(role: str, value: Any) -> str:
    """Say that a label or a weight is no number."""
    return f"expected a number as {short(role)}, got {short(value)}: write a number or null"


def _strings(value: Any, name: str, i: int, wrong: dict[int, str]) -> list[str] | None:
    """Return a list of strings; a string alone is a list of one."""
    if value is None or type(value) is str:
        return value if value is None else [value]
    if all(each is None or type(each) is str for each in value):
        return value
    wrong.setdefault(
        i,
        f"expected a list of strings as member {short(name)}, got {short(value)}: write it alike",
    )
    return None


def _cell(value: Any, name: str, i: int, wrong: dict[int, str]) -> str | None:
    """Write a value as it would stand in a table of text; a whole number has no decimals."""
    if value is None or type(value) is str:
        return value
    if type(value) in {list, dict}:
        wrong.setdefault(
            i, f"member {short(name)} is {short(value)}, elsewhere it is a value: write it alike"
        )
        return None
    if type(value) is float:
        return str(pa.scalar(value).cast(pa.string()))
    return str(value).lower()
