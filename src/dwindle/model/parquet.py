"""A Parquet table that says what it is and is refused if it is not whole.

Nothing is unpickled. A file that is cut short or altered is refused by name: pages carry checksums,
and the metadata, which is JSON, a digest of everything.
"""

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle._base.files import replacing
from dwindle.features.arrow import shared_with_arrow
from dwindle.features.names import Text

FORMAT = 2
# Format 1 had these words for what is now called otherwise.
_RENAMED = {
    "rate": "learning_rate", "power": "power_t", "t0": "initial_t", "every": "truncate_every",
    "scaled": "normalize", "facts": "metadata", "rest": "cooldown",
    "Unshrunk": "NoShrinkage", "Ftrl": "FTRL", "Rda": "RDA",
}  # fmt: skip
_KEY = b"dwindle"
MOST_TEXT = 2**31 - 1  # bytes of names in a column


def write(
    path: str | os.PathLike[str], kind: str, columns: Mapping[str, Any], about: dict[str, Any]
) -> int:
    """The file says all this, and is whole or not there; returns its size."""
    table = pa.table({name: _array(values) for name, values in columns.items()})
    about = {"format": FORMAT, "kind": kind} | about
    about = json.loads(json.dumps(about))  # as it will be read
    said = json.dumps(about | {"digest": _digest(table, about)})
    table = table.replace_schema_metadata({_KEY: said.encode()})
    with replacing(path) as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            use_dictionary=["class", "namespace"],  # nothing else is there more than once
            write_page_checksum=True,
        )
        return file.tell()


def read(path: str | os.PathLike[str], *kinds: str) -> tuple[pa.Table, dict[str, Any]]:
    """What a file of one of these kinds says: its table, and what it is about."""
    kind = kinds[0]
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        said = (table.schema.metadata or {}).get(_KEY)
        about = None if said is None else json.loads(said)
        digest = None if about is None else about.pop("digest", None)
        whole = about is not None and digest == _digest(table, about)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path}: not a {kind}, or damaged: {reason}") from None
    if about is None:
        raise DataError(f"{path}: a Parquet file, but not a {kind} that dwindle wrote")
    if not whole:
        raise DataError(f"{path}: damaged: its contents are not those it was written with")
    if about["format"] > FORMAT:
        raise DataError(
            f"{path}: written in format {about['format']}, and this dwindle reads up to {FORMAT}: "
            "upgrade it"
        )
    if about["kind"] not in kinds:
        raise DataError(f"{path}: expected a {kind}, got a {about['kind']}")
    return table, about if about["format"] == FORMAT else _upgraded(about)


def _upgraded(about: dict[str, Any]) -> dict[str, Any]:
    """Translate the metadata of format 1, in which only names were different."""

    def renamed(fields: dict[str, Any]) -> dict[str, Any]:
        return {_RENAMED.get(key, key): value for key, value in fields.items()}

    def deeply(value: Any) -> Any:  # a setting may be an ingredient, whose fields are settings
        return (
            {k: deeply(v) for k, v in renamed(value).items()} if isinstance(value, dict) else value
        )

    about = renamed(about)
    return about | {
        "settings": deeply(about["settings"]),
        "metadata": renamed(about["metadata"]),
    }


def numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of numbers, as an array of its own.

    NumPy looks at how long the memory is, which a damaged file may be wrong about.
    """
    kind = np.dtype(column.type.to_pandas_dtype())
    parts = [
        np.frombuffer(chunk.buffers()[1], kind, len(chunk), chunk.offset * kind.itemsize)
        for chunk in column.chunks
    ]
    return np.concatenate([np.empty(0, kind), *parts])


def texts(column: pa.ChunkedArray) -> Text:
    """A column of strings."""
    whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, pa.string())
    _, bound, text = whole.buffers()
    if bound is None:
        return Text.of([])
    ends = np.frombuffer(bound, np.int32)[whole.offset : whole.offset + len(whole) + 1]
    raw = np.frombuffer(text, np.uint8) if text is not None else np.empty(0, np.uint8)
    return Text(ends.astype(np.int64) - ends[0], raw[ends[0] : ends[-1]])


def _valid(name: str) -> str:
    """A name that was not UTF-8, made so for other programs; its key is still the right one."""
    return name.encode("utf-8", "surrogateescape").decode(errors="replace")


def _array(values: NDArray[Any] | Text) -> pa.Array:
    if isinstance(values, Text):
        if values.bound[-1] > MOST_TEXT:
            raise DataError(
                f"the names take {values.bound[-1]:,} bytes, more than a model file holds"
            )
        bound = pa.py_buffer(values.bound.astype(np.int32))
        found = pa.StringArray.from_buffers(len(values), bound, pa.py_buffer(values.text))
        try:
            found.validate(full=True)
        except pa.ArrowInvalid:
            return _array(Text.of([_valid(name) for name in values]))
        return found
    return shared_with_arrow(values)


def _digest(table: pa.Table, about: Mapping[str, Any]) -> str:
    """Of everything that is said, in the order it is said."""
    digest = sha256(json.dumps(about, sort_keys=True).encode())
    for name, column in zip(table.column_names, table.columns, strict=True):
        digest.update(f"{name} {column.type} ".encode())
        if pa.types.is_string(column.type):
            names = texts(column)
            digest.update(names.bound.data)
            digest.update(names.text.data)
        else:
            digest.update(numbers(column).data)
    return digest.hexdigest()
