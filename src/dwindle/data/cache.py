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

from dwindle._base.errors import DataError
from dwindle._base.system import drop_pages
from dwindle._base.threads import Worker, prefetch
from dwindle.data.formats.block import BadLine, Parsed
from dwindle.data.formats.tables.checksums import Summed, Summing
from dwindle.data.formats.tables.lists import LIST_SCHEMA, from_arrow, to_arrow
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
            columns = to_arrow(parsed._replace(tags=None), checked=False).columns
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


class CachedExamples:
    """Examples for several passes: parsed in the first one, then read from a cache.

    ``source`` parses them. If there is no room for a cache, it is called for each pass, and
    ``note`` is told; if they can be read only ``once``, that is an error.
    """

    def __init__(
        self, source: Callable[[], Iterator[Parsed]], note: Callable[[str], None], *, once: bool
    ) -> None:
        self._source, self._note, self._once = source, note, once
        self._cache: Cache | None = None
        self._finished = False

    def parsed(self) -> Iterator[Parsed]:
        """Yield all examples, filling the cache the first time."""
        if self._finished:
            yield from self.again()
            return
        for item in self._source():
            self.add(item)
            yield item
        self.finish()

    def again(self) -> Iterator[Parsed]:
        """Yield all examples: from the cache, if there is one."""
        return self._source() if self._cache is None else prefetch(self._cache.read())

    def add(self, item: Parsed) -> None:
        """Add a batch that another source parsed."""
        if not self._finished:
            self._cache = self._cache or Cache()
            self._cache.add(item)
            self._check(self._cache)

    def finish(self) -> None:
        """Declare the cache complete; calling it again does nothing."""
        if self._finished:
            return
        self._finished = True
        self._cache = self._cache or Cache()
        self._cache.finish()
        why = self._check(self._cache)
        if why is not None:
            self.close()
            self._note(
                f"{why}: the data is parsed again in each pass (set TMPDIR to use another folder)"
            )

    def _check(self, cache: Cache) -> str | None:
        """Return why there is no cache, or None; raise it if the data cannot be read again."""
        if cache.fault is None:
            return None
        why = f"no room for a cache of the data in the temporary folder ({cache.fault})"
        if self._once:
            raise DataError(f"{why}, and a pipe can be read only once: set TMPDIR, or use a file")
        return why

    def close(self) -> None:
        """Delete the cache."""
        if self._cache is not None:
            self._cache.close()
            self._cache = None
