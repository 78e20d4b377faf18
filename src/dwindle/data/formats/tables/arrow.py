"""Parquet files, and Arrow IPC files and streams, of wide tables or of lists."""

import base64
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Parsed, joined
from dwindle.data.formats.tables.checksums import Summed, Summing, checksums_of
from dwindle.data.formats.tables.ipc_messages import is_compressed
from dwindle.data.formats.tables.lists import (
    LIST_SCHEMA,
    from_arrow,
    is_list_form,
    pieces,
    rows_of_lists,
    to_arrow,
)
from dwindle.data.formats.tables.sizes import MOST_ROWS, rows_at_once
from dwindle.data.formats.tables.validation import Validation
from dwindle.data.options import ReadOptions
from dwindle.data.schema import ColumnKinds
from dwindle.data.text.errors import quoted
from dwindle.features.arrow import is_text

if TYPE_CHECKING:
    from dwindle.data.formats.tables.wide import WideTable

_IS_SUMMED = {b"dwindle.checksums": b"xxh3"}  # in the metadata of streams that `write` wrote
MOST_WRITTEN = 1 << 20  # features of a batch that is written, unless one example has more
FEW = 1 << 13  # rows of strings by which their kind is decided
# The batches of the columns of these names, each with the share of the file read by its end. Of
# the first rows, the table says which columns of strings are categories.
Shares = Iterator[tuple[pa.RecordBatch, float]]
Read = Callable[[list[str], "WideTable | None"], Shares]


def batches(
    path: str, options: ReadOptions, kinds: ColumnKinds | None = None, name: str | None = None
) -> Iterator[Parsed]:
    """Read a Parquet or Arrow file, a batch at a time; rows count from 1.

    It holds a column for each feature (see `wide`), or lists of features (see `lists.from_arrow`),
    where the names of label and importance are fixed. Messages call the file by its ``name``.
    """
    source = name or path
    return _read_all(source, Path(path).stat().st_size, *_opened(path, source), options, kinds)


def stream_batches(
    data: bytes, source: str, options: ReadOptions, kinds: ColumnKinds | None = None
) -> Iterator[Parsed]:
    """Read an Arrow stream in memory as `batches` reads one in a file.

    Compressed data is refused: a few bytes of it may say that they are many.
    """
    buffer = pa.py_buffer(data)
    with _naming(source):
        if any(is_compressed(bytes(each.metadata)) for each in _messages(buffer)):
            raise DataError(f"{source}: the Arrow stream is compressed: send it as it is")
        schema, read = _ipc_stream(source, source, buffer)
        assert schema.names is not None  # as in `_opened`
    return _read_all(source, len(data), schema, read, options, kinds)


def reader_batches(
    reader: pa.RecordBatchReader,
    source: str,
    options: ReadOptions,
    kinds: ColumnKinds | None = None,
) -> Iterator[Parsed]:
    """Read the batches of a reader as `batches` reads those of a file."""

    def read(wanted: list[str], _table: "WideTable | None") -> Shares:
        validation = Validation(source)
        with _naming(source):
            for batch in reader:
                yield validation.checked(batch.select(wanted)), 0.0

    with _naming(source):
        assert reader.schema.names is not None  # as in `_opened`
    return _read_all(source, 0, reader.schema, read, options, kinds)


def _messages(buffer: pa.Buffer) -> Iterator[Any]:
    reader = pa.ipc.MessageReader.open_stream(pa.BufferReader(buffer))
    with suppress(StopIteration):
        while True:
            yield reader.read_next_message()


def _read_all(
    source: str,
    size: int,
    schema: pa.Schema,
    read: Read,
    options: ReadOptions,
    kinds: ColumnKinds | None,
) -> Iterator[Parsed]:
    ids = _counted_ids(schema, options.id_column)
    if ids is not None:
        options = replace(options, id_column=None)
    if is_list_form(schema):
        if options.interactions or options.dropped:
            raise DataError(
                f"{source}: lists of features have no columns for interactions or to leave out: "
                "say so when converting the data to lists"
            )
        table = None
        wanted = [name for name in schema.names if name in LIST_SCHEMA.names]
    else:
        from dwindle.data.formats.tables.wide import (  # noqa: PLC0415  (lists are read without)
            WideTable,
            index_columns,
        )

        table = WideTable(schema.names, source, options, kinds, index=index_columns(schema))
        wanted = table.wanted
    first = 1
    for rows, share in read(wanted, table):
        end = int(share * size)
        step = rows_at_once(rows)
        if table is None:
            step = min(step, rows_of_lists(rows))
        for begin in range(0, rows.num_rows, step):
            part = rows[begin : begin + step]
            line = np.arange(first, first + part.num_rows)
            first += part.num_rows
            for parsed in _parts(part, source, line, table):
                tags = parsed.tags
                if ids is not None:
                    tags = [str(ids[i - 1]) for i in parsed.line.tolist()]
                yield parsed._replace(end=end, tags=tags)


def _parts(
    part: pa.RecordBatch, source: str, line: NDArray[np.int64], table: "WideTable | None"
) -> Iterator[Parsed]:
    """Read some rows of lists, or of a table that is wide."""
    with _naming(source):
        if table is None:
            yield from_arrow(part, source, line)
        else:
            yield from table.parts(part, line)


def _counted_ids(schema: pa.Schema, name: str | None) -> range | None:
    """Return what pandas numbered the rows with, if they are named by an index it did not write."""
    for index in (schema.pandas_metadata or {}).get("index_columns", []):
        if name is not None and isinstance(index, dict) and index["name"] == name:
            return range(index["start"], index["stop"], index["step"])
    return None


def write(sink: str | BinaryIO, parsed: Iterable[Parsed]) -> None:
    """Write examples as lists, whose values `batches` reads without copying.

    The format is an Arrow stream, because in an Arrow file all batches must share one dictionary;
    checksums follow it, which the metadata of its schema says.
    """
    if isinstance(sink, str):
        with Path(sink).open("wb") as file:
            write(file, parsed)
        return
    summing = Summing(sink)
    with pa.ipc.new_stream(summing, LIST_SCHEMA.with_metadata(_IS_SUMMED)) as writer:
        for some in _gathered(parsed):
            for piece, coded in pieces(joined(some)):
                try:
                    table = to_arrow(piece, coded)
                except UnicodeEncodeError:
                    raise DataError(_not_unicode(some)) from None
                writer.write_batch(table)
                summing.end_part()
    summing.end_part()
    summing.write_checksums()


def _gathered(parsed: Iterable[Parsed]) -> Iterator[list[Parsed]]:
    """Gather examples up to `MOST_WRITTEN` features, so that few batches name them again.

    An example counts as one more feature: it may have none.
    Those are apart of which some have labels, bases, names or tags and others have not.
    """
    some: list[Parsed] = []
    n = 0
    for one in parsed:
        size = len(one.batch.key) + one.batch.n_examples
        if some and (n + size > MOST_WRITTEN or _lacking(one) != _lacking(some[0])):
            yield some
            some, n = [], 0
        some.append(one)
        n += size
    if some:
        yield some


def _lacking(parsed: Parsed) -> list[bool]:
    batch = parsed.batch
    return [each is None for each in (batch.label, batch.base, batch.names, parsed.tags)]


def _not_unicode(some: Iterable[Parsed]) -> str:
    """Say where the first text is that Arrow cannot hold; there is one."""
    for one in some:
        names = one.batch.names or ()
        for i, line in enumerate(one.line.tolist()):
            tag = [one.tags[i]] if one.tags is not None else []
            for text in (*tag, *names[one.batch.start[i] : one.batch.start[i + 1]]):
                raw = text.encode("utf-8", "surrogateescape")
                if raw.decode(errors="replace") != text:
                    return (
                        f"{one.source}:{line}: Arrow holds UTF-8, which {quoted(raw)} is not: "
                        "write it as UTF-8, or convert to vw"
                    )
    raise AssertionError("every text is Unicode")


def _opened(path: str, name: str) -> tuple[pa.Schema, Read]:
    """Return the schema of a file, and a function that reads the columns of these names."""
    with Path(path).open("rb") as file:
        magic = file.read(8)
    if magic[:4] == b"PAR1":
        opened = _parquet
    elif magic[:6] == b"ARROW1":
        opened = _ipc_file
    elif magic[:4] == b"\xff\xff\xff\xff":
        opened = _ipc_stream
    else:
        raise DataError(f"{name}: expected a Parquet or Arrow file, but it begins with {magic!r}")
    with _naming(name):
        schema, read = opened(path, name)
        assert schema.names is not None  # raises if one is not UTF-8
        return schema, read


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the file in errors that Arrow raises."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise DataError(f"{name}: cannot be read: {error}") from error


def _parquet(path: str, name: str) -> tuple[pa.Schema, Read]:
    schema = pq.read_schema(path)
    validation = Validation(name)

    def read(wanted: list[str], table: "WideTable | None") -> Shares:
        strings = [f.name for f in schema if f.name in wanted and is_text(f.type)]
        if table is not None and strings:
            with _naming(name), pq.ParquetFile(path) as file:
                for few in file.iter_batches(FEW, columns=strings):
                    strings = table.categories(validation.checked(few))
                    break
        opened = partial(pq.ParquetFile, page_checksum_verification=True)
        with _naming(name), opened(path, read_dictionary=strings) as file:
            _check_rows(file.metadata, path)
            done, coded = 0, _dictionaries(file) & set(wanted)
            for batch in file.iter_batches(MOST_ROWS, columns=wanted):
                done += batch.num_rows
                yield _encoded(validation.checked(batch), coded), done / file.metadata.num_rows

    return schema, read


def _check_rows(metadata: pq.FileMetaData, path: str) -> None:
    """Refuse metadata that contradicts itself: Arrow's readers then return different rows."""
    rows = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if rows != metadata.num_rows:
        raise DataError(
            f"{path}: is damaged: its metadata says {metadata.num_rows} rows, and its row groups "
            f"have {rows}: make it again"
        )


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


def _ipc_file(path: str, name: str) -> tuple[pa.Schema, Read]:
    with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
        schema = reader.schema

    def read(wanted: list[str], _table: "WideTable | None") -> Shares:
        validation, options = Validation(name), _only(wanted, schema)
        with (
            _naming(name),
            pa.memory_map(path) as file,
            pa.ipc.open_file(file, options=options) as reader,
        ):
            n = reader.num_record_batches
            for i in range(n):
                yield validation.checked(reader.get_batch(i)), (i + 1) / n

    return schema, read


def _ipc_stream(path: str, name: str, data: pa.Buffer | None = None) -> tuple[pa.Schema, Read]:
    """Open the stream in a file, or the one that is given."""
    with _stream(path, name, data, None) as (_, reader, _):
        schema = reader.schema

    def read(wanted: list[str], _table: "WideTable | None") -> Shares:
        validation = Validation(name)
        with (
            _naming(name),
            _stream(path, name, data, _only(wanted, schema)) as (file, reader, summed),
        ):
            for batch in reader:
                yield validation.checked(batch), file.tell() / file.size()
                summed.check_part()

    return schema, read


def _only(wanted: list[str], schema: pa.Schema) -> pa.ipc.IpcReadOptions:
    """Choose the columns of these names."""
    places = [schema.get_field_index(name) for name in wanted]
    return pa.ipc.IpcReadOptions(included_fields=places)


@contextmanager
def _stream(
    path: str, name: str, data: pa.Buffer | None, options: pa.ipc.IpcReadOptions | None
) -> Iterator[tuple[pa.BufferReader, pa.ipc.RecordBatchStreamReader, Summed]]:
    """Open a stream whose first part is as it was written; the others are to be checked."""
    if data is None:
        with pa.memory_map(path) as file:
            data = file.read_buffer()
    parts = checksums_of(np.frombuffer(data, np.uint8), name)
    summed = Summed(memoryview(data), np.empty((0, 2), np.uint64) if parts is None else parts, name)
    summed.check_part()
    with pa.BufferReader(data) as file, pa.ipc.open_stream(file, options=options) as reader:
        if parts is None and _IS_SUMMED.items() <= (reader.schema.metadata or {}).items():
            raise DataError(f"{name}: is cut short: its checksums are missing: make it again")
        yield file, reader, summed
