"""What a log holds: the examples of a group, packed into bytes, to the bit.

A record is a header in JSON and, after its length, plain arrays in little-endian order: where each
example starts, keys, values, labels, importances, bases if there are any, and the name of each
distinct feature. It holds what the parser made of a request, and labels as the learner takes them:
so replaying it depends neither on parsers nor on how columns or labels were understood.
"""

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.formats.tables.distinct import distinct
from dwindle.features.batch import Batch
from dwindle.features.names import NamesView, Spelled, Text, spelled

_LENGTH = struct.Struct("<I")


class Named(NamedTuple):
    """A batch, and the names of its distinct features: ``code`` says which each feature has."""

    batch: Batch
    names: Spelled
    code: NDArray[np.int32]


def named(batch: Batch) -> Named:
    """Spell the name of each distinct feature of a batch; one without names has its key."""
    first, code = distinct(batch.key)
    known = batch.names
    if known is None:
        known = [*map(str, batch.key.tolist())]
    return Named(batch, spelled(known, first), code)


def packed(named: Named, about: Mapping[str, Any] | None = None) -> bytes:
    """Pack examples that have labels, and JSON ``about`` the group, into a record."""
    batch, (bound, text), code = named
    assert batch.label is not None
    arrays = [
        batch.start.astype("<i8", copy=False),
        batch.key.astype("<u8", copy=False),
        batch.x.astype("<f4", copy=False),
        batch.label.astype("<f4", copy=False),
        batch.importances().astype("<f4", copy=False),
        *([] if batch.base is None else [batch.base.astype("<f4", copy=False)]),
        bound.astype("<i8", copy=False),
        code.astype("<i4", copy=False),
        text,
    ]
    counts = [batch.n_examples, len(batch.key), len(bound) - 1, len(text), batch.base is not None]
    header = orjson.dumps({"counts": counts} | ({"about": about} if about else {}))
    parts = [_LENGTH.pack(len(header)), header]
    return b"".join([*parts, *(np.ascontiguousarray(each).tobytes() for each in arrays)])


def unpacked(record: bytes) -> tuple[Batch, dict[str, Any]]:
    """Return the examples of a record, and what it says about the group."""
    try:
        return _unpacked(record)
    except (struct.error, KeyError, IndexError, TypeError, ValueError) as error:
        raise DataError(f"a record cannot be read: {error}") from None


def _unpacked(record: bytes) -> tuple[Batch, dict[str, Any]]:
    [size] = _LENGTH.unpack_from(record)
    at = _LENGTH.size + size
    header = orjson.loads(record[_LENGTH.size : at])
    n, n_features, n_words, n_bytes, has_base = header["counts"]
    kinds = [("<i8", n + 1), ("<u8", n_features), ("<f4", n_features), ("<f4", n), ("<f4", n)]
    kinds += [("<f4", n)] * has_base
    kinds += [("<i8", n_words + 1), ("<i4", n_features), ("u1", n_bytes)]
    arrays = []
    for kind, length in kinds:
        # A copy: kernels are compiled for arrays that may be written, and a record is not aligned.
        arrays.append(np.frombuffer(record, kind, length, at).copy())
        at += arrays[-1].nbytes
    *rows, bound, code, text = arrays
    start, key, x, label, importance, *bases = rows
    names = NamesView(Text(bound, text), code.astype(np.int64))
    batch = Batch(start, key, x, label, importance, bases[0] if bases else None, names)
    return batch, header.get("about", {})
