"""A cache of parsed examples in a temporary file, so that later passes need not parse again.

The file is an Arrow stream of lists (see `tables.lists.to_arrow`) with the line of each example;
the metadata of each batch says which file the lines are in, and which were bad. The file has no
name, so nothing is left behind however the process ends. TMPDIR chooses its folder. Checksums of
the batches are kept in memory.
"""

import json
import mmap
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa

from dwindle._base.system import drop_pages
from dwindle._base.threads import Worker
from dwindle.data.formats.block import BadLine, Parsed
from dwindle.data.formats.tables.checksums import Summed, Summing
from dwindle.data.formats.tables.lists import LIST_SCHEMA, from_arrow, numbered, to_arrow
from dwindle.features.arrow import shared_by_arrow, shared_with_arrow

LAG = 10  # batches that may still be in use: more than `prefetch` reads ahead
CALLED = "the cache of the data in the temporary folder"
ARRAYS = ("batch", "line", "tags")  # the fields of `Parsed` that are columns, not metadata
_SCHEMA = LIST_SCHEMA.append(pa.field("line", pa.int64(), nullable=False))


class Cache:
    """Batches, written by a worker thread, then read any number of times without copying."""

    def __init__(self) -> None:
        self.fault: Exception | None = None  # why it cannot be written
        self._open = ExitStack()
        try:
            self._file: Any = self._open.enter_context(TemporaryFile())  # noqa: SIM115  (`close` does)
            self._summing = Summing(self._file)
            self._stream = pa.ipc.new_stream(self._summing, _SCHEMA)
        except OSError as fault:
            self.fault = fault
        self._writer = Worker()
        self._open.callback(self._writer.close)

    def add(self, parsed: Parsed) -> None:
        """Write the next batch, which must not change until `finish`."""
        self._writer.do(self._write, parsed)

    def finish(self) -> None:
        """Wait until all is written; unless there is a `fault`, it can then be read."""
        self._writer.wait()
        self._try(self._end)

    def read(self) -> Iterator[Parsed]:
        """Yield all batches in order, as they were but without tags."""
        memory = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        file = pa.BufferReader(pa.py_buffer(memory))
        summed = Summed(memoryview(memory), self._summing.parts(), CALLED)
        summed.check_part()
        done: deque[int] = deque([0], LAG)  # where batches ended, in whole pages
        with pa.ipc.open_stream(file) as batches:
            for table, metadata in batches.iter_batches_with_custom_metadata():
                # Let go of pages that were read: if needed again, they are mapped again.
                if len(done) == LAG and done[1] > done[0]:
                    drop_pages(memory, done[0], done[1] - done[0])
                done.append(file.tell() // mmap.PAGESIZE * mmap.PAGESIZE)
                about = json.loads(metadata["about"])
                about["bad"] = [BadLine(*fault) for fault in about["bad"]]
                line = shared_by_arrow(table.column("line"))
                yield from_arrow(table, about["source"], line)._replace(**about)
                summed.check_part()

    def close(self) -> None:
        """Delete the file."""
        self._open.close()

    def _write(self, parsed: Parsed) -> None:
        def write() -> None:
            about = {f: v for f, v in parsed._asdict().items() if f not in ARRAYS}
            coded = numbered(parsed.batch)
            columns = to_arrow(parsed._replace(tags=None), coded, checked=False).columns
            table = pa.RecordBatch.from_arrays(
                [*columns, shared_with_arrow(parsed.line)], schema=_SCHEMA
            )
            self._stream.write_batch(table, {"about": json.dumps(about)})
            self._summing.end_part()

        self._try(write)

    def _end(self) -> None:
        self._stream.close()
        self._summing.end_part()
        self._file.flush()

    def _try(self, write: Callable[[], object]) -> None:
        """Write, unless that failed before; if it fails now, free the disk space at once."""
        if self.fault is None:
            try:
                write()
            except (OSError, pa.ArrowInvalid) as fault:
                self.fault = fault
                self._file.raw.close()  # without flushing its buffer
