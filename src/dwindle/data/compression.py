"""Compression: one row per kind, told by its first bytes when reading, by the name when writing."""

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import xxhash
from isal.igzip_lib import IsalError

from dwindle._base.later import pa
from dwindle._base.remote import shown

PEEK = 2**16  # bytes in a buffer; larger reads go past it, without a copy
PACKED = 2**20  # compressed bytes asked for at once: each request takes the interpreter's lock

_DESCRIPTOR, _HAS_CHECKSUM = 4, 4  # of a zstd frame: a byte after its magic, and a bit of it


def damage() -> tuple[type[Exception], ...]:
    """Return what a damaged or truncated file raises."""
    # If Arrow is not imported, it has raised nothing.
    arrow = getattr(sys.modules.get("pyarrow"), "ArrowException", None)
    return (EOFError, OSError, IsalError, lzma.LZMAError, *([arrow] if arrow else []))


class Compression(NamedTuple):
    """How files with this extension are recognised, decompressed and written."""

    extension: str
    magic: bytes  # their first bytes
    decompress: Callable[[io.BufferedReader], Any]
    compress: Callable[[Any], AbstractContextManager[Any]]


def _gunzip(file: io.BufferedReader) -> Any:
    from isal import igzip  # noqa: PLC0415  (it imports what other text does not need)

    return igzip.IGzipFile(fileobj=file)


def _zstd(file: io.BufferedReader) -> io.BufferedReader:
    packed = pa.BufferedInputStream(pa.PythonFile(file, "r"), PACKED)
    stream = pa.CompressedInputStream(packed, "zstd")
    return io.BufferedReader(cast("io.RawIOBase", stream), PEEK)


class _ZstdFrame(io.RawIOBase):
    """Compresses to one zstd frame with a checksum of its content, which Arrow's own has not.

    A bit of the fifth byte says that the frame ends with the low half of the XXH64 of its content
    (RFC 8878, 3.1.1). Closing it leaves the file open.
    """

    def __init__(self, file: Any) -> None:
        self._file, self._sum, self._done = file, xxhash.xxh64(), 0
        self._stream = pa.CompressedOutputStream(pa.PythonFile(_Write(self._pack), "w"), "zstd")

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write some of the content."""
        self._sum.update(data)
        self._stream.write(data)
        return len(data)

    def close(self) -> None:
        """End the frame."""
        if not self.closed:
            self._stream.close()
            self._file.write(self._sum.intdigest().to_bytes(8, "little")[:4])
        super().close()

    def _pack(self, packed: Any) -> int:
        raw = bytearray(packed)
        if self._done <= _DESCRIPTOR < self._done + len(raw):
            raw[_DESCRIPTOR - self._done] |= _HAS_CHECKSUM
        self._done += len(raw)
        self._file.write(raw)
        return len(raw)


class _Write(io.RawIOBase):
    """A file of which only its method ``write`` is known."""

    def __init__(self, write: Callable[[Any], int]) -> None:
        self.write = write  # type: ignore[method-assign]  # of this object alone

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True


class _Streams(io.RawIOBase):
    """Decompresses streams that follow each other; what is no stream is refused.

    Python's own readers take it for the end, whatever follows. Zeros between and after streams,
    which xz allows, are skipped.
    """

    def __init__(self, file: io.BufferedReader, decompressor: Callable[[], Any]) -> None:
        self._file, self._new = file, decompressor
        self._stream = decompressor()
        self._packed = b""

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Decompress some bytes; 0 at the end of the file."""
        while True:
            if self._stream.eof:
                self._packed = (self._stream.unused_data or self._packed).lstrip(b"\0")
                while not self._packed:
                    more = self._file.read1(PACKED)
                    if not more:
                        return 0
                    self._packed = more.lstrip(b"\0")
                self._stream = self._new()
            elif self._stream.needs_input and not self._packed:
                self._packed = self._file.read1(PACKED)
                if not self._packed:
                    raise EOFError("the end of the compressed data is missing")
            some = self._stream.decompress(self._packed, len(buffer))
            self._packed = b""
            if some:
                buffer[: len(some)] = some
                return len(some)


def _streams(decompressor: Callable[[], Any]) -> Callable[[io.BufferedReader], io.BufferedReader]:
    return lambda file: io.BufferedReader(_Streams(file, decompressor), PEEK)


COMPRESSIONS = (
    Compression(
        ".gz",
        b"\x1f\x8b",
        _gunzip,
        lambda file: gzip.GzipFile("", "wb", 6, file, mtime=0),  # the same bytes on any day
    ),
    Compression(
        ".zst",
        b"\x28\xb5\x2f\xfd",
        _zstd,
        _ZstdFrame,
    ),
    Compression(
        ".bz2", b"BZh", _streams(bz2.BZ2Decompressor), lambda file: bz2.BZ2File(file, "wb")
    ),
    Compression(
        ".xz",
        b"\xfd7zXZ\x00",
        _streams(lzma.LZMADecompressor),
        lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115  (the caller closes it)
    ),
)


def split_extension(path: str) -> tuple[str, Compression | None]:
    """Return the extension of a file's format, and its compression: ``a.vw.gz`` is .vw and gzip."""
    suffixes = Path(shown(path)).suffixes
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
