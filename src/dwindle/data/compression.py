"""Compression: one row per kind, told by its first bytes when reading, by the name when writing."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa
from isal import igzip
from isal.igzip_lib import IsalError

PEEK = 2**16  # bytes in a buffer; larger reads go past it, without a copy
PACKED = 2**20  # compressed bytes asked for at once: each request takes the interpreter's lock

# What a damaged or truncated file raises.
DAMAGED = (EOFError, OSError, IsalError, lzma.LZMAError, pa.ArrowException)


class Compression(NamedTuple):
    """How files with this extension are recognised, decompressed and written."""

    extension: str
    magic: bytes  # their first bytes
    decompress: Callable[[io.BufferedReader], Any]
    compress: Callable[[Any], AbstractContextManager[Any]]


def _zstd(file: io.BufferedReader) -> io.BufferedReader:
    packed = pa.BufferedInputStream(pa.PythonFile(file, "r"), PACKED)
    stream = pa.CompressedInputStream(packed, "zstd")
    return io.BufferedReader(cast("io.RawIOBase", stream), PEEK)


COMPRESSIONS = (
    Compression(
        ".gz",
        b"\x1f\x8b",
        lambda file: igzip.IGzipFile(fileobj=file),
        lambda file: gzip.GzipFile("", "wb", 6, file, mtime=0),  # the same bytes on any day
    ),
    Compression(
        ".zst",
        b"\x28\xb5\x2f\xfd",
        _zstd,
        lambda file: pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd"),
    ),
    Compression(".bz2", b"BZh", bz2.open, lambda file: bz2.BZ2File(file, "wb")),
    Compression(".xz", b"\xfd7zXZ\x00", lzma.open, lambda file: lzma.LZMAFile(file, "wb")),  # noqa: SIM115  (the caller closes it)
)


def split_extension(path: str) -> tuple[str, Compression | None]:
    """Return the extension of a file's format, and its compression: ``a.vw.gz`` is .vw and gzip."""
    suffixes = Path(path).suffixes
    last = suffixes.pop() if suffixes else ""
    for each in COMPRESSIONS:
        if each.extension == last:
            return suffixes[-1] if suffixes else "", each
    return last, None


def first_bytes(file: io.BufferedReader) -> bytes:
    """Read from the beginning of a file as much as tells its compression: of a pipe, no more."""
    head = b""
    while waiting := [each for each in COMPRESSIONS if each.magic.startswith(head)]:
        more = file.read1(max(len(each.magic) for each in waiting) - len(head))
        head += more
        if not more or any(head == each.magic for each in waiting):
            break
    return head


def decompressed(head: bytes, file: io.BufferedReader) -> BinaryIO:
    """Open the content of a file that begins with ``head``."""
    for each in COMPRESSIONS:
        if head.startswith(each.magic):
            return cast("BinaryIO", each.decompress(file))
    return cast("BinaryIO", file)


def compressed(compression: Compression | None, file: Any) -> AbstractContextManager[Any]:
    """Open a file to write compressed content to, or the file itself."""
    return nullcontext(file) if compression is None else compression.compress(file)
