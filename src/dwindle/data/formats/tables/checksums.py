"""Checksums of a stream that is written and read in parts, so that no changed byte goes unnoticed.

They stand after the stream, where its readers do not look: for each part where it ends and the
XXH3 of its bytes, eight bytes each; then the number of parts, the XXH3 of all that, and `MAGIC`.
"""

import io
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from dwindle._base.errors import DataError

MAGIC = b"dwindle1"
NUMBER = np.dtype("<u8")
_TAIL = 2 * NUMBER.itemsize + len(MAGIC)  # bytes: the number of parts, a checksum, and `MAGIC`


class Summing(io.RawIOBase):
    """Passes bytes on to a file, which closing it leaves open, and sums them up part by part."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._sum = xxhash.xxh3_64()
        self._end = 0
        self._parts: list[tuple[int, int]] = []

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Write some bytes of the present part."""
        self._file.write(data)
        self._sum.update(data)
        self._end += len(data)
        return len(data)

    def end_part(self) -> None:
        """End the present part."""
        self._parts.append((self._end, self._sum.intdigest()))
        self._sum.reset()

    def parts(self) -> NDArray[np.uint64]:
        """Return where each part ends, and its checksum."""
        return np.array(self._parts, NUMBER).reshape(-1, 2)

    def write_checksums(self) -> None:
        """Write the checksums of all parts after them."""
        table = self.parts().tobytes() + NUMBER.type(len(self._parts)).tobytes()
        self._file.write(table + NUMBER.type(_sum(table)).tobytes() + MAGIC)


class Summed:
    """Bytes that were written in parts, each of which is checked before it is read."""

    def __init__(self, data: Any, parts: NDArray[np.uint64], source: str) -> None:
        self._data, self._parts, self._source = data, parts, source
        self._done = 0

    def check_part(self) -> None:
        """Check that the next part is as it was written; after the last one, do nothing."""
        if self._done < len(self._parts):
            begin = int(self._parts[self._done - 1, 0]) if self._done else 0
            end, expected = self._parts[self._done].tolist()
            if _sum(self._data[begin:end]) != expected:
                raise DataError(
                    f"{self._source}: is damaged: bytes {begin} to {end} are not those that were "
                    "written, as their checksum says: make it again"
                )
            self._done += 1


def checksums_of(data: NDArray[np.uint8], source: str) -> NDArray[np.uint64] | None:
    """Read the checksums at the end of a file; None if there are none."""
    if data[-len(MAGIC) :].tobytes() != MAGIC:
        return None
    tail = data[-_TAIL : -len(MAGIC)].tobytes()
    n, expected = np.frombuffer(tail, NUMBER).tolist() if len(tail) == 16 else (-1, 0)
    begin = len(data) - _TAIL - 2 * NUMBER.itemsize * n
    if not (0 <= n <= len(data) and begin >= 0):
        raise DataError(f"{source}: is damaged: its checksums are not those that were written")
    table = data[begin : len(data) - _TAIL + NUMBER.itemsize].tobytes()
    parts = np.frombuffer(table, NUMBER)[:-1].reshape(-1, 2)
    ends = parts[:, 0]
    if _sum(table) != expected or (ends[1:] < ends[:-1]).any() or [*ends, 0][n - 1] != begin:
        raise DataError(f"{source}: is damaged: its checksums are not those that were written")
    return parts


def _sum(data: Any) -> int:
    return xxhash.xxh3_64_intdigest(data)
