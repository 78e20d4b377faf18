"""Where data comes from: files, folders, globs and pipes, found once and opened one by one."""

import glob
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from dwindle._base import remote
from dwindle._base.errors import DataError
from dwindle._base.remote import is_remote
from dwindle.data.compression import PEEK, decompressed, first_bytes, split_extension
from dwindle.data.formats.registry import Format, by_extension, by_first_line, named
from dwindle.data.options import LONGEST_LINE, ReadOptions
from dwindle.data.pipes import Arriving, arriving, piped
from dwindle.data.rows import Query, Rows, Stream, is_stream, rows_of

STDIN = "-"
SMALL = 1 << 16  # bytes


class Position(NamedTuple):
    """How far a run has come, in bytes of its files as they are on disk."""

    examples: int
    done: int
    total: int | None
    pass_number: int = 1
    passes: int = 1


class Sources(tuple[str, ...]):  # noqa: SLOT001  (a tuple has no room for slots)
    """The files and pipes that paths, globs and folders name; ``given`` are the paths as given."""

    given: tuple[str, ...] = ()


class Slice(str):  # noqa: SLOT000  (it has two attributes)
    """Whole lines of a file that is not compressed: its path, and the bytes that they are."""

    begin: int
    end: int

    @classmethod
    def of(cls, path: str, begin: int, end: int) -> "Slice":
        """Make the slice from the byte ``begin`` to before ``end``."""
        found = cls(path)
        found.begin, found.end = begin, end
        return found


Given = Any  # a path, or what has ``__arrow_c_stream__``


def sources(paths: Given | Iterable[Given]) -> Sources:
    """Expand globs and folders, in the order of their names; expanded paths are taken as they are.

    To ask several things about the same paths, expand them first, once.
    """
    if isinstance(paths, Sources):
        return paths
    is_one = isinstance(paths, str | os.PathLike) or is_stream(paths)
    several: Any = [paths] if is_one else paths
    given = tuple(Stream.of(path) if is_stream(path) else os.fspath(path) for path in several)
    files = Sources(file for path in given for file in _files(path))
    files.given = given
    return files


def _files(path: str) -> list[str]:
    """List the files and pipes that a path names."""
    if (rows := rows_of(path)) is not None:
        return [rows]
    if is_remote(path):
        return remote.listed(path)
    if Path(path).is_dir():
        inside = sorted(str(p) for p in Path(path).rglob("*") if p.is_file())
        found = [name for name in inside if not Path(name).name.startswith(".")]
        if not found:
            raise DataError(f"{path}: the folder has no files")
        return found
    if path == STDIN or Path(path).exists():  # a file, or a named pipe as /dev/fd/63
        return [path]
    if matches := sorted(glob.glob(path)):  # noqa: PTH207  (a glob may be absolute)
        return [file for each in matches for file in _files(each)]
    raise DataError(f"{path}: no such file or folder")


def once_only(paths: Iterable[Given]) -> bool:
    """Tell whether some of the data comes from a pipe, which can be read only once."""
    return any(map(_once_only, sources(paths)))


def _once_only(path: str) -> bool:
    if isinstance(path, Rows):
        return path.once_only
    return path == STDIN or not (is_remote(path) or Path(path).is_file())


def may_differ(paths: Iterable[Given]) -> bool:
    """Tell whether some of the data is a query, whose rows may come in another order next time."""
    return any(isinstance(path, Query) for path in sources(paths))


def size(paths: Iterable[Given]) -> int | None:
    """Add up the bytes of all files; None if there is a pipe among them."""
    files = sources(paths)
    if once_only(files) or any(isinstance(path, Rows) for path in files):
        return None
    found = [_size(path) for path in files]
    return None if None in found else sum(n for n in found if n is not None)


def _size(path: str) -> int | None:
    if isinstance(path, Slice):
        return path.end - path.begin
    return remote.size(path) if is_remote(path) else Path(path).stat().st_size


def format_by_name(path: str) -> str | None:
    """Tell a file's format by its extension, not counting that of its compression."""
    return by_extension(split_extension(path)[0])


def needs_parsing(paths: Iterable[Given], options: ReadOptions) -> bool:
    """Tell whether some file is text, far away, or the answer of a database.

    Parquet and Arrow files that are here are read about as fast as a cache.
    """
    if any(is_remote(path) or isinstance(path, Rows) for path in sources(paths)):
        return True
    formats = {options.format or format_by_name(path) for path in sources(paths)}
    return any(name is None or named(name).is_text for name in formats)


class Opened(NamedTuple):
    """A file opened for reading."""

    path: str
    name: str  # what messages call it
    file: BinaryIO  # its content, decompressed
    tell: Callable[[], int]  # counts the bytes read so far, compressed as they are
    clock: Callable[[], Arriving] | None = None  # of a pipe that is not compressed
    small: bool = False  # so that threads would take longer to start than it takes to read


def name_of(path: str) -> str:
    """Return what messages call a file or a pipe."""
    if isinstance(path, Rows):
        return path.shown
    return "stdin" if path == STDIN else remote.shown(path)


@contextmanager
def opened(path: str) -> Iterator[Opened]:
    """Open a file or a pipe, compressed or not."""
    with ExitStack() as stack:
        raw: Any = sys.stdin.buffer
        small = False
        begin = path.begin if isinstance(path, Slice) else 0
        if is_remote(path):
            raw = stack.enter_context(remote.opened(path, begin))
        elif path != STDIN:
            raw = stack.enter_context(open(path, "rb", PEEK))  # noqa: PTH123  (may be a pipe)
            found = os.fstat(raw.fileno())
            small = stat.S_ISREG(found.st_mode) and found.st_size <= SMALL
            if begin:
                raw.seek(begin)
        if isinstance(path, Slice):
            raw = io.BufferedReader(_Beginning(raw, path.end - begin), PEEK)
        raw = piped(raw)
        head, clock = first_bytes(raw), arriving(raw)
        whole = _put_back(head, raw, waits=clock is None)
        file = stack.enter_context(closing(decompressed(head, whole)))
        clock = clock if file is whole else None
        yield Opened(path, name_of(path), file, whole.tell, clock, small)


def with_format(source: Opened, options: ReadOptions) -> tuple[Format, Opened]:
    """Find a file's format: the one asked for, or that of its name, or that of its first line."""
    name = options.format or format_by_name(source.path)
    name = name or ("csv" if options.delimiter or options.header else None)
    if name is not None:
        return named(name), source
    line = source.file.readline(LONGEST_LINE)
    file = cast("BinaryIO", _put_back(line, source.file, waits=source.clock is None))
    return by_first_line(line, source.path), source._replace(file=file)


def _put_back(head: bytes, file: BinaryIO, *, waits: bool) -> io.BufferedReader:
    return io.BufferedReader(_Joined(head, file, waits=waits), PEEK)


class _Beginning(io.RawIOBase):
    """The next bytes of a file, so many."""

    def __init__(self, file: BinaryIO, n: int) -> None:
        self._file, self._left = cast("io.BufferedReader", file), n

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= n
        return n


class _Joined(io.RawIOBase):
    """Bytes already read, followed by the rest of their file; it can `tell` in a pipe too.

    Unless it ``waits`` to fill the buffer, a read returns what is there, at least a byte.
    """

    def __init__(self, head: bytes, rest: BinaryIO, *, waits: bool) -> None:
        self._head, self._rest, self._waits = head, cast("io.BufferedReader", rest), waits
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = min(len(self._head), len(buffer))
        if n:
            buffer[:n] = self._head[:n]
            self._head = self._head[n:]
        elif self._waits:
            n = self._rest.readinto(buffer)
        else:  # not by readinto1, which reads on though it holds some bytes
            some = self._rest.read1(len(buffer))
            n = len(some)
            buffer[:n] = some
        self._done += n
        return n

    def tell(self) -> int:
        return self._done
