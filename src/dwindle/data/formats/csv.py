"""CSV and TSV with a header."""

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.formats.block import BadLine, Parsed, are_words
from dwindle.data.formats.csv_quotes import MARK, Quotes
from dwindle.data.formats.tables.cells import numbers, unicode
from dwindle.data.formats.tables.dates import MISSING
from dwindle.data.formats.tables.kinds import NO, NUMBER, YES
from dwindle.data.formats.tables.sizes import MOST_ROWS
from dwindle.data.formats.tables.wide import Roles, WideTable
from dwindle.data.options import ReadOptions
from dwindle.data.pipes import Pieces
from dwindle.data.schema import ColumnKinds
from dwindle.data.text.errors import quoted

BLOCK = 1 << 22  # bytes read at a time; no row may be longer
NEWLINE = ord("\n")
OTHER_DELIMITERS = ";\t|,"


def batches(
    file: BinaryIO | Pieces,
    source: str,
    options: ReadOptions,
    delimiter: str = ",",
    kinds: ColumnKinds | None = None,
) -> Iterator[Parsed]:
    r"""Read a CSV file, some 4 MB at a time; `wide` says what features a column becomes.

    An empty cell is a missing value. A row with only empty cells is a blank line, and skipped. The
    header is line 1; newlines inside quotes count, except in columns that are not read.

    >>> from io import BytesIO
    >>> file = BytesIO(b"y,price,color\n1,3.5,red\n-1,,blue\n")
    >>> for parsed in batches(file, "shop.csv", ReadOptions(label_column="y")):
    ...     print(list(parsed.batch.names), parsed.batch.x.tolist(), parsed.batch.label.tolist())
    ['price', 'color=red', 'color=blue'] [3.5, 1.0, 1.0] [1.0, -1.0]
    """
    quotes = Quotes(file, source, delimiter)
    columns = _header(quotes, source, delimiter, options)
    wide = WideTable(columns, source, options, kinds, typed=False)
    rows, cells = _RowNumbers(source, 1 if options.header else 2), _Cells(wide.role)
    for table in _tables(quotes, source, columns, wide.wanted, delimiter, rows):
        line, blank, bad = rows.next(table)
        for begin in range(0, max(table.num_rows, 1), MOST_ROWS):
            part, here = table[begin : begin + MOST_ROWS], slice(begin, begin + MOST_ROWS)
            if blank[here].any():
                part = part.filter(pa.array(~blank[here]))
            faults: dict[int, str] = {}
            typed = [cells.typed(part.column(c), c, faults) for c in wide.wanted]
            last = line[here][-1] if begin + MOST_ROWS < table.num_rows else np.inf
            due = [fault for fault in bad if fault.line <= last]
            bad = bad[len(due) :]
            given = pa.RecordBatch.from_arrays(typed, wide.wanted)
            for parsed in wide.parts(given, line[here][~blank[here]], faults):
                yield parsed._replace(bad=sorted(parsed.bad + due, key=lambda fault: fault.line))
                due = []
    if bad := rows.rest():
        nothing = pa.RecordBatch.from_arrays([pa.nulls(0)] * len(wide.wanted), wide.wanted)
        yield wide.read(nothing)._replace(bad=bad)


def _header(file: Quotes, source: str, delimiter: str, options: ReadOptions) -> list[str]:
    """Read the names of the columns from the first line of the file, unless they are given."""
    if options.header:
        return list(options.header)
    raw = file.readline(BLOCK).removeprefix(MARK)
    try:
        header = raw.decode()
    except UnicodeDecodeError:
        raise DataError(f"{source}:1: the header is not UTF-8: save the file as UTF-8") from None
    if not header.strip():
        raise DataError(f"{source}:1: expected a header with the names of the columns, got nothing")
    if "\r" in header.rstrip("\r\n"):
        raise DataError(
            f"{source}:1: lines end in carriage returns alone, as on old Macs: "
            r"write them as newlines (tr '\r' '\n')"
        )
    columns = next(csv.reader([header], delimiter=delimiter))
    other = next((each for each in OTHER_DELIMITERS if each in header), None)
    if len(columns) == 1 and other is not None:
        raise DataError(
            f"{source}:1: one column, {quoted(header.strip().encode())}: expected {delimiter!r} "
            f"between cells, got {other!r}: say --delimiter {other!r}"
        )
    for c, name in enumerate(columns, 1):
        if not name and name not in options.dropped:
            raise DataError(
                f"{source}:1: column {c} has no name: write one "
                "(pandas leaves the index out with to_csv(index=False))"
            )
    return columns


class _RowNumbers:
    """Line numbers of rows, counting those with too few or too many cells, which Arrow skips.

    Rows are counted first, and then the newlines inside the cells of those before.
    """

    def __init__(self, source: str, first: int) -> None:
        self.source = source
        self._skipped: list[tuple[BadLine, int]] = []  # by row, with its newlines
        self._first, self._before = first, first - 1
        self._newlines = 0  # in cells of the rows before
        self.not_unicode = False  # a row to be skipped is not UTF-8: Arrow cannot hand it over

    def skip(self, row: Any) -> str:
        """Remember a row that has too few or too many cells."""
        cells = f"{row.actual_columns} in {quoted(row.text.encode())}"
        advice = "write one for each column, in quotes if it holds the delimiter"
        newlines = row.text.count("\n")
        if newlines:
            advice = "is a quote not closed?"
        message = f"expected {row.expected_columns} cells, got {cells}: {advice}"
        fault = BadLine(self.source, row.number + self._before, message)
        self._skipped.append((fault, newlines))
        return "skip"

    @contextmanager
    def told(self) -> Iterator[None]:
        """Notice that Arrow could not tell of a row, for which it has only a hook of Python."""
        before = sys.unraisablehook

        def noticed(event: Any) -> None:
            if getattr(event.object, "__self__", None) is self:
                self.not_unicode = True
            else:
                before(event)

        sys.unraisablehook = noticed
        try:
            yield
        finally:
            sys.unraisablehook = before

    def restart(self) -> None:
        """Go on with a reader that counts from 1 again."""
        self._before = max([self._first - 1, *(fault.line for fault, _ in self._skipped)])

    def next(
        self, table: pa.RecordBatch
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[BadLine]]:
        """Return the line numbers of the next table, which rows are blank, and the rows skipped."""
        n, first = table.num_rows, self._first
        every = np.arange(first, first + n + len(self._skipped))
        skipped = [fault.line for fault, _ in self._skipped]
        row = np.setdiff1d(every, skipped, assume_unique=True)[:n]
        if n:
            self._first = int(row[-1]) + 1
        due = [each for each in self._skipped if each[0].line < self._first]
        del self._skipped[: len(due)]
        newlines = np.zeros(self._first - first, np.int64)
        newlines[row - first] = sum(map(_newlines, table.columns))
        for fault, count in due:
            newlines[fault.line - first] = count
        line = np.arange(first, self._first) + self._newlines + np.cumsum(newlines) - newlines
        self._newlines += int(newlines.sum())
        bad = [fault._replace(line=int(line[fault.line - first])) for fault, _ in due]
        blank = np.ones(n, np.bool_)
        for column in table.columns:
            if blank.any():
                blank &= pc.equal(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
        return line[row - first], blank, bad

    def rest(self) -> list[BadLine]:
        """Return the rows that were skipped after the last table."""
        bad = []
        for fault, count in self._skipped:
            bad.append(fault._replace(line=fault.line + self._newlines))
            self._newlines += count
        return bad


def _newlines(column: pa.StringArray) -> NDArray[np.int64] | int:
    """Count the newlines in each cell."""
    text = column.buffers()[2]
    if text is None or not (np.frombuffer(text, np.uint8) == NEWLINE).any():
        return 0
    found: NDArray[np.int64] = pc.count_substring(column, "\n").to_numpy(zero_copy_only=False)
    return found


def _tables(
    file: Quotes,
    source: str,
    columns: list[str],
    wanted: list[str],
    delimiter: str,
    rows: _RowNumbers,
) -> Iterator[pa.RecordBatch]:
    """Read the rows of a file as text, of a pipe in pieces."""
    options = (
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
    while True:
        last: list[pa.RecordBatch] = []
        try:
            with rows.told():
                reader = pyarrow.csv.open_csv(file, *options)
            while True:
                with rows.told():
                    table = next(reader, None)
                if table is None:
                    break
                yield from last
                last = [table]
        except pa.ArrowInvalid as error:
            if str(error) != "Empty CSV file":  # there is a header: a table of no rows
                file.check()
                if rows.not_unicode:
                    error = "a row has too few or too many cells and is not UTF-8: save it as UTF-8"
                raise DataError(f"{source}: {error}") from None
        file.check()  # before the last rows, which may be in quotes by mistake, are used
        yield from last
        if not file.next_piece():
            return
        rows.restart()


class _Cells:
    """Columns with null for an empty cell; weights are numbers, and so are labels unless text."""

    def __init__(self, role: Roles) -> None:
        self._role = role
        self._text_labels: bool | None = None  # decided by the first ones

    def typed(self, column: pa.StringArray, name: str, faults: dict[int, str]) -> pa.Array:
        """Convert a column; what is wrong with row i is added to ``faults[i]``."""
        empty = pc.equal(pc.binary_length(column), 0)
        if pc.any(empty).as_py():
            column = pc.if_else(empty, pa.scalar(None, column.type), column)
        if name == self._role.label and column.null_count < len(column):
            if self._text_labels is None:
                self._text_labels = _are_words(column)
            if self._text_labels:
                return unicode(column, name, faults)
        if name == self._role.id:
            return unicode(column, name, faults)
        what = {self._role.label: "label column", self._role.weight: "weight column"}.get(name)
        if what is None:
            return column

        def fault(i: int, cell: bytes) -> None:
            faults[i] = (
                f"expected a number in {what} {name!r}, got {quoted(cell)}: "
                "write a number, or an empty cell for a missing value"
            )

        return numbers(column, fault, words=False)


def _are_words(labels: pa.StringArray) -> bool:
    """Tell whether these labels are text."""
    cells = labels.drop_null().cast(pa.binary())
    number, missing = (pc.match_substring_regex(cells, each) for each in (NUMBER, MISSING))
    none = pc.or_(pc.or_(number, missing), pc.is_in(cells, pa.array(YES + NO)))
    return are_words(len(cells) - pc.sum(none).as_py(), len(cells))
