"""Rows that come from no file: a query of a database, or a stream of Arrow batches in Python.

Each is a string, what messages call it, so that it stands wherever a path does.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Self

from dwindle._base.errors import DataError, SettingError

DUCKDB = "duckdb:"
AT_ONCE = 1 << 16  # rows that are asked for at once
LONGEST = 60  # characters of a query in a message


class Rows(str):
    """Rows with a method that opens them as a `pyarrow.RecordBatchReader`."""

    __slots__ = ()

    once_only = False

    @property
    def shown(self) -> str:
        """What messages call it."""
        return str(self)

    def reader(self) -> AbstractContextManager[Any]:
        """Open it from the beginning."""
        raise NotImplementedError

    @property
    def note(self) -> str | None:
        """What the user should know."""
        return None


class Query(Rows):
    """``duckdb:SELECT ...``, or ``duckdb:shop.db?SELECT ...`` on a database file."""

    __slots__ = ()

    @property
    def shown(self) -> str:
        """The query in one line, cut if it is long."""
        line = " ".join(self.split())
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."

    @property
    def note(self) -> str | None:
        """Say that the order may be another one next time."""
        if re.search(r"\border\s+by\b", self, re.IGNORECASE):
            return None
        return (
            f"{self.shown}: no ORDER BY: the rows may come in another order next time, and what is "
            "learned depends on it"
        )

    @contextmanager
    def reader(self) -> Iterator[Any]:
        """Run the query; the database is opened to be read only."""
        try:
            import duckdb  # noqa: PLC0415  (an extra)
        except ModuleNotFoundError:
            raise SettingError('duckdb: needs a package: pip install "dwindle[duckdb]"') from None
        database, query = self._parts()
        try:
            with duckdb.connect(database or ":memory:", read_only=bool(database)) as connection:
                relation = connection.sql(query)
                if relation is None:
                    raise DataError(f"{self.shown}: expected a query that returns rows")
                opens = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
                yield opens(AT_ONCE)
        except duckdb.Error as error:
            told = str(error).splitlines() or [type(error).__name__]
            raise DataError(f"{self.shown}: {told[0]}") from None

    def _parts(self) -> tuple[str, str]:
        """Return the database file, "" for none, and the query."""
        rest = self.removeprefix(DUCKDB)
        before, mark, query = rest.partition("?")
        if mark and Path(before).is_file():
            return before, query
        if mark and not re.search(r"\s", before.strip()):
            raise DataError(f"{before}: no such database")
        if not rest.strip():
            raise DataError(
                "duckdb: expected a query: duckdb:SELECT ..., or duckdb:FILE?SELECT ..."
            )
        return "", rest


class Stream(Rows):
    """What has ``__arrow_c_stream__``: a reader of batches, a relation, a table, a data frame."""

    frame: Any

    @classmethod
    def of(cls, frame: Any) -> Self:
        """Wrap an object."""
        made = cls(f"{type(frame).__name__} of Arrow batches")
        made.frame = frame
        return made

    @property
    def once_only(self) -> bool:  # type: ignore[override]  # read, never set
        """Whether it can be read only once: what has a length is still there afterwards."""
        return not hasattr(self.frame, "__len__")

    @contextmanager
    def reader(self) -> Iterator[Any]:
        """Read it from the beginning."""
        import pyarrow as pa  # noqa: PLC0415  (the command line starts without)

        if isinstance(self.frame, pa.RecordBatchReader):
            yield self.frame
            return
        yield pa.RecordBatchReader.from_stream(self.frame)


def is_stream(given: Any) -> bool:
    """Tell whether this is an object that hands out Arrow batches."""
    return hasattr(given, "__arrow_c_stream__")


def rows_of(path: str) -> Rows | None:
    """Return the rows that a path stands for, None if it is a file."""
    if isinstance(path, Rows):
        return path
    return Query(path) if path.startswith(DUCKDB) else None
