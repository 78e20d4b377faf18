"""Parquet files that carry their own metadata and a digest, and are refused if damaged.

Nothing is unpickled. The metadata is JSON under the key ``dwindle`` of the schema; its SHA-256
digest covers all columns, and every page has a checksum, so that a truncated or altered file is
refused by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.checks import NONSENSE, mapping, reading_from
from dwindle._base.dispatch import check_recipes
from dwindle._base.errors import DataError
from dwindle._base.files import replacing
from dwindle._base.later import pa, pq
from dwindle._base.remote import local, shown
from dwindle.algorithm.schedules import Schedule
from dwindle.features.arrow import (
    is_text,
    numpy_dtype,
    shared_by_arrow,
    shared_with_arrow,
    text_of_strings,
)
from dwindle.features.names import Text

FORMAT = 3  # 2 had other cells: engine/learner_state.py translates them
# Settings and metadata that had another name in format 1.
_RENAMED = {
    "rate": "learning_rate", "power": "power_t", "t0": "initial_t", "every": "truncate_every",
    "scaled": "normalize", "facts": "metadata", "rest": "cooldown",
    "Unshrunk": "NoShrinkage", "Ftrl": "FTRL", "Rda": "RDA",
}  # fmt: skip
_KEY = b"dwindle"
_MAGIC = b"PAR1"  # how a Parquet file begins
# Up to so many bytes of text a column is an Arrow ``string``, whose offsets have 32 bits; beyond, a
# ``large_string``, whose offsets have 64. Parquet has one type for both.
MOST_SMALL_TEXT = 2**31 - 1


def write(
    path: str | os.PathLike[str], kind: str, columns: Mapping[str, Any], about: dict[str, Any]
) -> int:
    """Write columns and metadata; the new file replaces ``path`` once whole. Return its size."""
    table = pa.table({name: _array(values) for name, values in columns.items()})
    about = {"format": FORMAT, "kind": kind} | about
    about = json.loads(json.dumps(about))  # the digest is of what will be read back
    metadata = json.dumps(about | {"digest": _digest(table, about)})
    table = table.replace_schema_metadata({_KEY: metadata.encode()})
    with replacing(path) as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            use_dictionary=["class", "namespace"],  # other columns hardly repeat a value
            write_page_checksum=True,
            write_statistics=["weight"],  # of other columns they say nothing, and take time
        )
        return file.tell()


def read(path: str | os.PathLike[str], *kinds: str) -> tuple[pa.Table, dict[str, Any]]:
    """Read the table and the metadata of a file, which must be of one of these kinds."""
    with local(path) as here:
        return _read(here, shown(path), *kinds)


def _read(here: str, path: str, *kinds: str) -> tuple[pa.Table, dict[str, Any]]:
    kind = kinds[0]
    try:
        with pq.ParquetFile(here, page_checksum_verification=True) as file:
            metadata = (file.schema_arrow.metadata or {}).get(_KEY)
            about = None if metadata is None else json.loads(metadata)
            # Before the digest: a newer format may have another.
            newer = about is not None and about["format"] > FORMAT
            table = None if newer or about is None else _checked(file.read())
        digest = None if about is None else about.pop("digest", None)
        whole = table is not None and about is not None and digest == _digest(table, about)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, *NONSENSE, pa.ArrowException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        is_other = isinstance(error, pa.ArrowInvalid) and not _begins_as_parquet(here)
        if kind == "model" and is_other:
            raise DataError(
                f"{path}: not a model. Commands take the model first, then the data"
            ) from None
        raise DataError(f"{path}: not a {kind}, or damaged: {reason}") from None
    if about is None:
        raise DataError(f"{path}: a Parquet file, but not a {kind} that dwindle wrote")
    if newer:
        raise DataError(
            f"{path}: written by a newer dwindle, in format {about['format']}; this one reads up "
            f"to format {FORMAT}: upgrade"
        )
    if not whole:
        raise DataError(f"{path}: damaged: its digest does not match its contents")
    with reading_from(path):
        if about["kind"] not in kinds:
            raise DataError(f"expected a {kind}, got a {about['kind']}")
        about = _upgraded(about) if about["format"] == 1 else about
        for name in ("settings", "metadata"):
            mapping(about[name], name)
        check_recipes(about["settings"], Schedule)
    return table, about


def _checked(table: pa.Table) -> pa.Table:
    """Refuse columns of anything but numbers and text, and those that lack a value."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind)
        is_number |= pa.types.is_float64(kind)
        is_categories = pa.types.is_dictionary(kind) and is_text(kind.value_type)
        if not (is_number or is_text(kind) or is_categories) or column.null_count:
            raise DataError(f"the column {name} is of type {kind}, or lacks a value")
    return table


def _begins_as_parquet(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _upgraded(about: dict[str, Any]) -> dict[str, Any]:
    """Translate the metadata of format 1, which differs from format 2 in names only."""

    def renamed(fields: dict[str, Any]) -> dict[str, Any]:
        return {_RENAMED.get(key, key): value for key, value in fields.items()}

    def deeply(value: Any) -> Any:  # a setting may be an ingredient, whose fields are settings
        if not isinstance(value, dict):
            return value
        return {key: deeply(inner) for key, inner in renamed(value).items()}

    about = renamed(about)
    settings, metadata = deeply(about["settings"]), renamed(about["metadata"])
    return about | {"settings": settings, "metadata": metadata}


def numbers(column: pa.ChunkedArray) -> NDArray[Any]:
    """Copy a column of numbers into an array."""
    parts = map(shared_by_arrow, column.chunks)
    return np.concatenate([np.empty(0, numpy_dtype(column.type)), *parts])


def texts(column: pa.ChunkedArray) -> Text:
    """View a column of strings as one text; copy it only if it has several chunks."""
    parts = [text_of_strings(chunk) for chunk in column.chunks]
    return parts[0] if len(parts) == 1 else Text.concatenated([Text.of([]), *parts])


def _valid(name: str) -> str:
    """Replace what is not UTF-8, for other programs; the key is still that of the true name."""
    return name.encode("utf-8", "surrogateescape").decode(errors="replace")


def _array(values: NDArray[Any] | Text) -> pa.Array:
    if not isinstance(values, Text):
        return shared_with_arrow(values)
    small = values.bound[-1] <= MOST_SMALL_TEXT
    array = pa.StringArray if small else pa.LargeStringArray
    bound = pa.py_buffer(values.bound.astype(np.int32 if small else np.int64, copy=False))
    found = array.from_buffers(len(values), bound, pa.py_buffer(values.text))
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        return _array(Text.of([_valid(name) for name in values]))
    return found


def _digest(table: pa.Table, about: Mapping[str, Any]) -> str:
    """Hash the metadata, then the name, the type and the values of each column."""
    digest = sha256(json.dumps(about, sort_keys=True).encode())
    for name, column in zip(table.column_names, table.columns, strict=True):
        digest.update(f"{name} {column.type} ".encode())
        if is_text(column.type):
            names = texts(column)
            digest.update(names.bound.data)
            digest.update(names.text.data)
        else:
            for chunk in column.chunks:
                digest.update(shared_by_arrow(chunk).data)
    return digest.hexdigest()
