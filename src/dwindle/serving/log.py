"""The write-ahead log: checksummed records, appended and made durable before they are answered.

A file is a segment: a magic word with its number, then records, each a mark, its length, its
number, a checksum and the bytes. The checksum is seeded by the numbers of segment and record, so
that no other record passes for it. A group of requests is one record and one ``fsync``: what
follows a damaged record therefore was written after that one had been durable, which tells a
damaged disk from a write that was cut short.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import xxhash

from dwindle._base.errors import DataError
from dwindle._base.system import sync_folder

MAGIC = b"dwindle log 1 "
_FIRST = struct.Struct(f"<{len(MAGIC)}sQ")
_HEAD = struct.Struct("<4sIQQ")  # mark, length, the record's number in its segment, checksum
MARK = b"\xd1rec"

FSYNC, SYSTEM, NONE = "fsync", "os", "none"
DURABILITIES = (FSYNC, SYSTEM, NONE)


class Log:
    """A segment that is appended to."""

    def __init__(self, path: Path, number: int, durability: str = FSYNC) -> None:
        self.path, self.number = path, number
        self.size = self.records = 0
        self._durability = durability
        self._file = -1
        if durability == NONE:
            return
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        try:
            self._write(_FIRST.pack(MAGIC, number))
            if durability == FSYNC:
                os.fsync(self._file)
                sync_folder(path.parent)
        except OSError:
            self.close()
            raise

    @classmethod
    def going_on(cls, path: Path, number: int, found: "Records", durability: str) -> "Log":
        """Append to a segment that was read, after its last good record."""
        log = cls(path, number, NONE)
        log._durability, log.size, log.records = durability, found.good, found.n
        if durability != NONE:
            log._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        return log

    def append(self, record: bytes) -> None:
        """Write a record and make it as durable as was asked for, before anybody is answered."""
        if self._durability != NONE:
            seal = _checksum(record, self.number, self.records)
            self._write(_HEAD.pack(MARK, len(record), self.records, seal) + record)
            if self._durability == FSYNC:
                _sync(self._file)
        self.size += _HEAD.size + len(record)
        self.records += 1

    def _write(self, text: bytes) -> None:
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


_sync = getattr(os, "fdatasync", os.fsync)


def _checksum(record: bytes, number: int, place: int) -> int:
    return xxhash.xxh3_64_intdigest(record, (number << 32) + place)


class Torn(NamedTuple):
    """Where a segment stops making sense, why, and whether whole records follow."""

    at: int
    why: str
    goes_on: bool


class Records:
    """The records of a segment in order; after them, how many there were and what is torn."""

    def __init__(self, path: Path, number: int) -> None:
        self.path, self.number = path, number
        self.n = 0
        self.good = 0  # bytes up to the end of the last good record
        self.torn: Torn | None = None

    def __iter__(self) -> Iterator[bytes]:
        text = self.path.read_bytes()
        if len(text) < _FIRST.size or text[: len(MAGIC)] != MAGIC:
            if MAGIC.startswith(text[: len(MAGIC)]):  # it was being created
                self.torn = Torn(0, "its beginning is cut short", goes_on=False)
                return
            raise DataError(f"{self.path}: not a log of dwindle, or of a newer one")
        [_, number] = _FIRST.unpack_from(text)
        if number != self.number:
            raise DataError(f"{self.path}: is segment {number}: it was renamed")
        self.good = _FIRST.size
        while self.good < len(text):
            record, why = self._at(text, self.good)
            if record is None:
                self.torn = Torn(self.good, why, self._goes_on(text))
                return
            yield record
            self.good += _HEAD.size + len(record)
            self.n += 1

    def _at(self, text: bytes, at: int, *, later: bool = False) -> tuple[bytes | None, str]:
        """Return the next record, or a ``later`` one, if it begins here; else None and why not."""
        if len(text) < at + _HEAD.size:
            return None, "a record is cut short"
        mark, length, place, seal = _HEAD.unpack_from(text, at)
        begin = at + _HEAD.size
        if mark != MARK or (place <= self.n if later else place != self.n):
            return None, "there is no record"
        if len(text) < begin + length:
            return None, "a record is cut short"
        record = text[begin : begin + length]
        if _checksum(record, self.number, place) != seal:
            return None, "the checksum of a record does not match"
        return record, ""

    def _goes_on(self, text: bytes) -> bool:
        """Tell whether a whole later record follows the damage."""
        at = text.find(MARK, self.good + 1)
        while at >= 0:
            if self._at(text, at, later=True)[0] is not None:
                return True
            at = text.find(MARK, at + 1)
        return False
