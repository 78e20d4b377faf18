"""CSV and TSV with a header: columns of numbers, of true and false, or of text."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.formats.block import BadLine, Parsed, are_words
from dwindle.data.formats.tables.wide import MOST_ROWS, Roles, roles, wide
from dwindle.data.options import ReadOptions
from dwindle.data.text.errors import is_number, never_finite, quoted

BLOCK = 1 << 22  # bytes read at a time; no row may be longer

YES = [b"true", b"True", b"TRUE"]
NO = [b"false", b"False", b"FALSE"]
# What other programs write for a missing value: such cells do not make a column of numbers text.
MISSING = {b"na", b"n/a", b"#n/a", b"nan", b"null", b"none", b"nil", b"?", b"-", b"."}
NO_WORDS = {*MISSING, b"inf", b"+inf", b"-inf"}


class Kind(Enum):
    """What the cells of a column are, decided in the first block in which some are not empty."""

    NUMBER = 1
    BOOLEAN = 2
    TEXT = 3


def batches(
    file: BinaryIO, source: str, options: ReadOptions, delimiter: str = ","
) -> Iterator[Parsed]:
    r"""Read a CSV file, some 4 MB at a time; `wide` says what features a column becomes.

    Only an empty cell is a
    missing value. A row with only empty cells is a blank line, and skipped. The header is line 1;
    line numbers are right if there are no newlines inside quotes.

    >>> from io import BytesIO
    >>> file = BytesIO(b"y,price,color\n1,3.5,red\n-1,,blue\n")
    >>> for parsed in batches(file, "shop.csv", ReadOptions(label_column="y")):
    ...     print(list(parsed.batch.names), parsed.batch.x.tolist(), parsed.batch.label.tolist())
    ['price', 'color=red', 'color=blue'] [3.5, 1.0, 1.0] [1.0, -1.0]
    """
    columns = _header(file, source, delimiter, options.ignore)
    role = roles(columns, source, options)
    wanted, rest = role.wanted(columns), replace(options, ignore=frozenset())
    rows = _RowNumbers(source, role)
    kinds: dict[str, Kind] = {}
    for table in _tables(file, source, columns, wanted, delimiter, rows):
        line, blank, bad = rows.next(table)
        for begin in range(0, max(table.num_rows, 1), MOST_ROWS):
            part, here = table[begin : begin + MOST_ROWS], slice(begin, begin + MOST_ROWS)
            if blank[here].any():
                part = part.filter(pa.array(~blank[here]))
            faults: dict[int, str] = {}
            typed = [_typed(part.column(c), c, role, kinds, faults) for c in wanted]
            parsed = wide(
                pa.RecordBatch.from_arrays(typed, wanted),
                source,
                rest,
                line=line[here][~blank[here]],
                faults=faults,
            )
            last = line[here][-1] if begin + MOST_ROWS < table.num_rows else np.inf
            due = [fault for fault in bad if fault.line <= last]
            bad = bad[len(due) :]
            yield parsed._replace(bad=sorted(parsed.bad + due, key=lambda fault: fault.line))
    if rows.skipped:
        nothing = pa.RecordBatch.from_arrays([pa.nulls(0)] * len(wanted), wanted)
        parsed = wide(nothing, source, rest)
        yield parsed._replace(bad=list(rows.skipped))


def _header(file: BinaryIO, source: str, delimiter: str, ignore: frozenset[str]) -> list[str]:
    """Read the names of the columns from the first line of the file."""
    raw = file.readline().removeprefix(b"\xef\xbb\xbf")
    try:
        header = raw.decode()
    except UnicodeDecodeError:
        raise DataError(f"{source}:1: the header is not UTF-8: save the file as UTF-8") from None
    if not header.strip():
        raise DataError(f"{source}:1: expected a header with the names of the columns, got nothing")
    columns = next(csv.reader([header], delimiter=delimiter))
    for c, name in enumerate(columns, 1):
        if not name and name not in ignore:
            raise DataError(
                f"{source}:1: column {c} has no name: write one "
                "(pandas leaves the index out with to_csv(index=False))"
            )
    return columns


class _RowNumbers:
    """Line numbers of rows, counting those with too few or too many cells, which Arrow skips."""

    def __init__(self, source: str, role: Roles) -> None:
        self.source = source
        self.role = role
        self.skipped: list[BadLine] = []
        self._first = 2

    def skip(self, row: Any) -> str:
        """Remember a row that has too few or too many cells."""
        cells = f"{row.actual_columns} in {quoted(row.text.encode())}"
        message = (
            f"expected {row.expected_columns} cells, got {cells}: "
            "write one for each column, in quotes if it holds the delimiter"
        )
        self.skipped.append(BadLine(self.source, row.number + 1, message))
        return "skip"

    def next(
        self, table: pa.RecordBatch
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[BadLine]]:
        """Return the line numbers of the next table, which rows are blank, and the rows skipped."""
        n = table.num_rows
        every = np.arange(self._first, self._first + n + len(self.skipped))
        line = np.setdiff1d(every, [fault.line for fault in self.skipped], assume_unique=True)[:n]
        if n:
            self._first = int(line[-1]) + 1
        due = [fault for fault in self.skipped if fault.line < self._first]
        del self.skipped[: len(due)]
        blank = np.ones(n, np.bool_)
        for column in table.columns:
            if blank.any():
                blank &= pc.equal(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
        return line, blank, due


def _tables(
    file: BinaryIO,
    source: str,
    columns: list[str],
    wanted: list[str],
    delimiter: str,
    rows: _RowNumbers,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a file as text."""
    try:
        yield from pyarrow.csv.open_csv(
            file,
            # With threads, skipped rows have no number; the reader uses only one anyway.
            pyarrow.csv.ReadOptions(use_threads=False, block_size=BLOCK, column_names=columns),
            pyarrow.csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=False,  # they count as lines
                invalid_row_handler=rows.skip,
            ),
            pyarrow.csv.ConvertOptions(
                check_utf8=False,  # `_text` does, and says which cell
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
            ),
        )
    except pa.ArrowInvalid as error:
        if str(error) != "Empty CSV file":  # there is a header: a table of no rows
            raise DataError(f"{source}: {error}") from None


def _typed(
    column: pa.StringArray,
    name: str,
    role: Roles,
    kinds: dict[str, Kind],
    faults: dict[int, str],
) -> pa.Array:
    """Convert a column to its kind, null where a cell is empty or bad."""
    empty = pc.equal(pc.binary_length(column), 0)
    if pc.any(empty).as_py():
        column = pc.if_else(empty, pa.scalar(None, column.type), column)
    if column.null_count == len(column):
        return pa.nulls(len(column))
    if name not in kinds:
        kinds[name] = _kind(column, may_be_text=name not in {role.label, role.weight})
        if name == role.label and kinds[name] is Kind.NUMBER and _are_words(column):
            kinds[name] = Kind.TEXT
    if kinds[name] is Kind.TEXT:
        return _text(column, name, faults)
    what = {role.label: "label column", role.weight: "weight column"}.get(name, "column")
    what = f"{what} {name!r}"
    if kinds[name] is Kind.NUMBER:
        return _numbers(column, what, faults)
    return _booleans(column, what, faults)


def _kind(column: pa.StringArray, *, may_be_text: bool) -> Kind:
    """Decide what the cells of a column are."""
    try:
        column.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    else:
        return Kind.NUMBER
    distinct = column.drop_null().cast(pa.binary()).unique()
    if pc.all(pc.is_in(distinct, pa.array(YES + NO))).as_py():
        return Kind.BOOLEAN
    if not may_be_text:
        return Kind.NUMBER
    cells = [cell.strip() for cell in distinct.to_pylist()]
    if all(is_number(cell) or never_finite(cell) for cell in cells):
        return Kind.NUMBER
    plain = [cell for cell in cells if cell.lower() not in MISSING]
    return Kind.NUMBER if plain and all(map(is_number, plain)) else Kind.TEXT


def _are_words(labels: pa.StringArray) -> bool:
    """Tell whether these labels are text."""
    counted = pc.value_counts(labels.drop_null().cast(pa.binary())).to_pylist()
    n_words = sum(
        each["counts"]
        for each in counted
        if not is_number(cell := each["values"].strip()) and cell.lower() not in NO_WORDS
    )
    return are_words(n_words, sum(each["counts"] for each in counted))


def _numbers(column: pa.StringArray, what: str, faults: dict[int, str]) -> pa.Array:
    for cells in (column, pc.ascii_trim_whitespace(column)):
        try:
            return cells.cast(pa.float64())
        except pa.ArrowInvalid:
            continue
    numbers: list[float | None] = []
    for i, cell in enumerate(column.cast(pa.binary()).to_pylist()):
        number = None
        if cell is not None:
            if is_number(cell.strip()) or never_finite(cell.strip()):
                number = float(cell)
            else:
                faults.setdefault(
                    i,
                    f"expected a number in {what}, got {quoted(cell)}: "
                    "write a number, or an empty cell for a missing value",
                )
        numbers.append(number)
    return pa.array(numbers, pa.float64())


def _booleans(column: pa.StringArray, what: str, faults: dict[int, str]) -> pa.Array:
    raw = column.cast(pa.binary())
    yes = pc.is_in(raw, pa.array(YES))
    known = pc.or_(yes, pc.is_in(raw, pa.array(NO)))
    for i in np.flatnonzero(pc.and_(pc.is_valid(raw), pc.invert(known)).to_numpy(False)):
        faults.setdefault(
            int(i),
            f"expected true or false in {what}, got {quoted(raw[int(i)].as_py())}: "
            "write true, false or an empty cell",
        )
    return pc.if_else(known, yes, pa.scalar(None, pa.bool_()))


def _text(column: pa.StringArray, name: str, faults: dict[int, str]) -> pa.Array:
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
