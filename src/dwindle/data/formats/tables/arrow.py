"""Parquet files, and Arrow IPC files and streams, of wide tables or of lists."""

import base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.tables.lists import LIST_SCHEMA, from_arrow, is_list_form, to_arrow
from dwindle.data.formats.tables.wide import MOST_ROWS, WideTable, index_columns, rows_at_once
from dwindle.data.options import ReadOptions
from dwindle.data.schema import ColumnKinds
from dwindle.data.text.errors import quoted
from dwindle.features.arrow import is_text

FEW = 1 << 13  # rows of strings by which their kind is decided
# The batches of the columns of these names, each with the share of the file read by its end. Of
# the first rows, the table says which columns of strings are categories.
Read = Callable[[list[str], WideTable | None], Iterator[tuple[pa.RecordBatch, float]]]


def batches(path: str, options: ReadOptions, kinds: ColumnKinds | None = None) -> Iterator[Parsed]:
    """Read a Parquet or Arrow file, a batch at a time; rows count from 1.

    It holds a column for each feature (see `wide`), or lists of features (see `lists.from_arrow`),
    where the names of label and importance are fixed.
    """
    schema, read = _opened(path)
    ids = _counted_ids(schema, options.id_column)
    if ids is not None:
        options = replace(options, id_column=None)
    if is_list_form(schema):
        if options.interactions or options.dropped:
            raise DataError(
                f"{path}: lists of features have no columns for interactions or to leave out: "
                "say so when converting the data to lists"
            )
        table = None
        wanted = [name for name in schema.names if name in LIST_SCHEMA.names]
    else:
        table = WideTable(schema.names, path, options, kinds, index=index_columns(schema))
        wanted = table.wanted
    first, size = 1, Path(path).stat().st_size
    for rows, share in read(wanted, table):
        end = int(share * size)
        step = rows_at_once(rows)
        for begin in range(0, rows.num_rows, step):
            part = rows[begin : begin + step]
            line = np.arange(first, first + part.num_rows)
            first += part.num_rows
            parsed = from_arrow(part, path, line) if table is None else table.read(part, line)
            if ids is not None:
                parsed = parsed._replace(tags=[str(ids[i - 1]) for i in parsed.line.tolist()])
            yield parsed._replace(end=end)


def _counted_ids(schema: pa.Schema, name: str | None) -> range | None:
    """Return what pandas numbered the rows with, if they are named by an index it did not write."""
    for index in (schema.pandas_metadata or {}).get("index_columns", []):
        if name is not None and isinstance(index, dict) and index["name"] == name:
            return range(index["start"], index["stop"], index["step"])
    return None


def write(sink: str | BinaryIO, parsed: Iterable[Parsed]) -> None:
    """Write examples as lists, which `batches` reads without copying.

    The format is an Arrow stream, because in an Arrow file all batches must share one dictionary.
    """
    with pa.ipc.new_stream(sink, LIST_SCHEMA) as writer:
        for one in parsed:
            try:
                table = to_arrow(one)
            except UnicodeEncodeError:
                raise DataError(_not_unicode(one)) from None
            writer.write_batch(table)


def _not_unicode(parsed: Parsed) -> str:
    """Say where the first text is that Arrow cannot hold; there is one."""
    names = parsed.batch.names or ()
    for i, line in enumerate(parsed.line.tolist()):
        tag = [parsed.tags[i]] if parsed.tags is not None else []
        for text in (*tag, *names[parsed.batch.start[i] : parsed.batch.start[i + 1]]):
            raw = text.encode("utf-8", "surrogateescape")
            if raw.decode(errors="replace") != text:
                return (
                    f"{parsed.source}:{line}: Arrow holds UTF-8, which {quoted(raw)} is not: "
                    "write it as UTF-8, or convert to vw"
                )
    raise AssertionError("every text is Unicode")


def _opened(path: str) -> tuple[pa.Schema, Read]:
    """Return the schema of a file, and a function that reads the columns of these names."""
    with Path(path).open("rb") as file:
        magic = file.read(8)
    with _naming(path):
        if magic[:4] == b"PAR1":
            return _parquet(path)
        if magic[:6] == b"ARROW1":
            return _ipc(path, pa.ipc.open_file)
        if magic[:4] == b"\xff\xff\xff\xff":
            return _ipc(path, pa.ipc.open_stream)
    raise DataError(f"{path}: expected a Parquet or Arrow file, but it begins with {magic!r}")


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Name the file in errors that Arrow raises."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _parquet(path: str) -> tuple[pa.Schema, Read]:
    schema = pq.read_schema(path)

    def read(wanted: list[str], table: WideTable | None) -> Iterator[tuple[pa.RecordBatch, float]]:
        strings = [f.name for f in schema if f.name in wanted and is_text(f.type)]
        if table is not None and strings:
            with _naming(path), pq.ParquetFile(path) as file:
                for few in file.iter_batches(FEW, columns=strings):
                    strings = table.categories(few)
                    break
        with _naming(path), pq.ParquetFile(path, read_dictionary=strings) as file:
            done, coded = 0, _dictionaries(file) & set(wanted)
            for batch in file.iter_batches(MOST_ROWS, columns=wanted):
                done += batch.num_rows
                yield _encoded(batch, coded), done / file.metadata.num_rows

    return schema, read


def _dictionaries(file: pq.ParquetFile) -> set[str]:
    """List the columns that were dictionaries, as pandas' categories are, when they were written.

    Arrow's reader makes dictionaries of strings only.
    """
    said = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if said is None:
        return set()
    written = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(said)))
    return {field.name for field in written if pa.types.is_dictionary(field.type)}


def _encoded(batch: pa.RecordBatch, names: set[str]) -> pa.RecordBatch:
    """Make dictionaries of the columns of these names."""
    if not names:
        return batch
    columns = [
        column
        if name not in names or pa.types.is_dictionary(column.type)
        else column.dictionary_encode()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _ipc(path: str, opened: Callable[..., Any]) -> tuple[pa.Schema, Read]:
    with pa.memory_map(path) as file, opened(file) as reader:
        schema = reader.schema

    def read(wanted: list[str], _table: WideTable | None) -> Iterator[tuple[pa.RecordBatch, float]]:
        places = [schema.get_field_index(name) for name in wanted]
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with _naming(path), pa.memory_map(path) as file, opened(file, options=options) as reader:
            if hasattr(reader, "get_batch"):
                n = reader.num_record_batches
                yield from ((reader.get_batch(i), (i + 1) / n) for i in range(n))
            else:
                yield from ((batch, file.tell() / file.size()) for batch in reader)

    return schema, read
