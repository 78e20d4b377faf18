"""Arrays as text, for JSON."""

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError


def packed(array: NDArray[Any]) -> str:
    """Write an array as text, for `unpacked`: zeros take next to nothing."""
    return base64.b64encode(zlib.compress(array.tobytes(), 1)).decode()


def unpacked(text: Any, name: str, like: NDArray[Any]) -> NDArray[Any]:
    """Read what `packed` wrote of an array of the type and the shape of ``like``.

    What earlier versions wrote may not be compressed. No more is decompressed than is needed.
    """
    raw = _decoded(text)
    whole = _decompressed(raw, like.nbytes)
    if len(whole) != like.nbytes:
        whole = raw
    if len(whole) != like.nbytes:
        raise DataError(f"{name}: expected {like.nbytes:,} bytes, packed as text")
    return np.frombuffer(whole, like.dtype).reshape(like.shape).copy()


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        return b""


def _decompressed(raw: bytes, most: int) -> bytes:
    """Decompress at most so many bytes; b"" if there are more, or if they are not compressed."""
    try:
        inflate = zlib.decompressobj()
        found = inflate.decompress(raw, most + 1)
    except zlib.error:
        return b""
    return found if inflate.eof else b""
