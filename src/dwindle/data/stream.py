"""From paths and pipes to parsed batches, in order, on threads.

Reading and decompressing have a thread of their own, parsing has one or more, and batches come
out in the order of the data: kernels and decompressors release the GIL, so all of it runs beside
the learning. Between the threads there are only short bounded queues.
"""

import bz2
import glob
import io
import lzma
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
from isal.igzip_lib import IsalError
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle._base.system import cores
from dwindle.data.buffers import Memory
from dwindle.data.formats.block import Block, Parsed
from dwindle.data.text.scan import last_line, size_of

Item = TypeVar("Item")

STDIN = "-"
BLOCK = 2**21  # bytes of text a parser gets at once
PEEK = 2**16  # bytes that a buffer holds; what is larger than it is read past it, without a copy
PACKED = 2**20  # bytes of compressed data asked for at once: asking takes the interpreter's lock
DEPTH = 4  # blocks waiting between two threads

LINES = ("vw", "svmlight", "jsonl")  # formats parsed a block of lines at a time
TABLES = ("csv", "tsv", "parquet", "arrow")  # formats that have columns
EXTENSIONS = {
    ".vw": "vw",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_COMPRESSED = {".gz", ".zst", ".bz2", ".xz"}


@dataclass(frozen=True)
class ReadOptions:
    """How data is to be read; the defaults look at the data."""

    format: str | None = None
    label_column: str = "label"
    weight_column: str | None = None
    labelled: bool = True  # else tables need have no column of labels
    interactions: tuple[tuple[str, ...], ...] = ()
    ignore: frozenset[str] = frozenset()
    threads: int | None = None  # that parse: 2, or 1 on one or two cores, where one learns
    block_size: int = BLOCK


def kept_reading(reading: ReadOptions) -> dict[str, Any]:
    """What a model must remember of how its data was read."""
    return {
        "label_column": reading.label_column,
        "weight_column": reading.weight_column,
        "interactions": [list(product) for product in reading.interactions],
        "ignore": sorted(reading.ignore),
    }


def as_before(kept: dict[str, Any], reading: ReadOptions) -> ReadOptions:
    """Read as `kept_reading` says, in the format and with the threads of ``reading``."""
    return replace(
        reading,
        label_column=kept["label_column"],
        weight_column=kept["weight_column"],
        interactions=tuple(tuple(product) for product in kept["interactions"]),
        ignore=frozenset(kept["ignore"]),
    )


def sources(paths: Iterable[str]) -> list[str]:
    """The files that paths name: globs and folders are expanded, in the order of their names."""
    found: list[str] = []
    for path in paths:
        if path == STDIN or Path(path).is_file():
            found.append(path)
        elif Path(path).is_dir():
            inside = sorted(str(p) for p in Path(path).rglob("*") if p.is_file())
            if not inside:
                raise DataError(f"{path}: the folder is empty")
            found += [name for name in inside if not Path(name).name.startswith(".")]
        elif matches := sorted(glob.glob(path)):  # noqa: PTH207  (a glob may be absolute)
            found += matches
        elif Path(path).exists():  # a named pipe, /dev/fd/63
            found.append(path)
        else:
            raise DataError(f"{path}: no such file or folder")
    return found


class Position(NamedTuple):
    """How far a run over data has come, in bytes of its files, compressed as they are."""

    examples: int
    done: int
    total: int | None
    pass_number: int = 1
    passes: int = 1


def size(paths: Iterable[str]) -> int | None:
    """The bytes of all files, or None if there is a pipe among them."""
    files = sources(paths)
    if any(path == STDIN or not Path(path).is_file() for path in files):
        return None
    return sum(Path(path).stat().st_size for path in files)


def once_only(paths: Iterable[str]) -> bool:
    """Whether some of it comes from a pipe."""
    return any(path == STDIN or not Path(path).is_file() for path in sources(paths))


def needs_parsing(paths: Iterable[str], how: ReadOptions) -> bool:
    """Whether some of it is text: tables of Parquet and Arrow are read about as fast as a cache."""
    formats = {how.format or format_by_name(path) for path in sources(paths)}
    return not formats <= {"parquet", "arrow"}


def read(paths: Iterable[str], reading: ReadOptions | None = None) -> Iterator[Parsed]:
    """The examples of all files in order, a batch at a time."""
    how = reading or ReadOptions()
    end = 0
    for path in sources(paths):
        before = end
        for parsed in _file(path, how):
            end = before + parsed.end
            yield parsed._replace(end=end)


def _file(path: str, how: ReadOptions) -> Iterator[Parsed]:
    name = "stdin" if path == STDIN else path
    with ExitStack() as closed:
        if path == STDIN:
            file = cast("io.BufferedReader", sys.stdin.buffer)
        else:
            raw = closed.enter_context(open(path, "rb", PEEK))  # noqa: PTH123  (may be a pipe)
            file = cast("io.BufferedReader", raw)
        try:
            head = file.read(6)
            whole = _put_back(head, file)
            plain = closed.enter_context(closing(_decompressed(head, whole)))
            kind, plain = _format_of(path, plain, how)
            if kind in LINES:
                given = blocks(plain, name, how.block_size)
                ended = (block._replace(end=whole.tell()) for block in given)
                yield from _in_order(_parser(kind, how), ended, how)
            else:
                # Arrow's files are not read through this one and tell their place themselves.
                parts = _table(kind, path, plain, name, how)
                yield from ahead(p._replace(source=name, end=p.end or whole.tell()) for p in parts)
        except (EOFError, OSError, IsalError, lzma.LZMAError, pa.ArrowException) as error:
            raise DataError(f"{name}: cannot be read, or is cut short: {error}") from None


def _parser(kind: str, how: ReadOptions) -> Callable[[Block], Parsed]:
    parse = import_module(f"dwindle.data.formats.{kind}").parse  # only what is asked for

    def parse_block(block: Block) -> Parsed:
        parsed: Parsed = parse(block, interactions=how.interactions, ignore=how.ignore)
        return parsed._replace(source=block.source, end=block.end)

    return parse_block


def _table(kind: str, path: str, file: BinaryIO, name: str, how: ReadOptions) -> Iterator[Parsed]:
    from dwindle.data.formats import csv  # noqa: PLC0415  (import what is asked for)
    from dwindle.data.formats.tables import arrow  # noqa: PLC0415  (import what is asked for)

    columns: dict[str, Any] = {
        "label_column": how.label_column,
        "weight_column": how.weight_column,
        "labelled": how.labelled,
        "interactions": how.interactions,
        "ignore": how.ignore,
    }
    if kind in ("csv", "tsv"):
        return csv.batches(file, name, delimiter="\t" if kind == "tsv" else ",", **columns)
    if path == STDIN:
        raise DataError(f"stdin: {kind} is read from a file, not from a pipe")
    return arrow.batches(path, **columns)


def blocks(file: BinaryIO, source: str, size: int = BLOCK) -> Iterator[Block]:
    """The lines of a file, as many whole ones at a time as fit in ``size`` bytes, at least one."""
    memory = Memory()
    rest, line = b"", 1
    while True:
        text = memory.empty(len(rest) + size, np.uint8)
        text[: len(rest)] = np.frombuffer(rest, np.uint8)
        end = _fill(text, len(rest), file)
        if end == len(rest):
            break
        whole = last_line(text[len(rest) : end])
        if whole:  # else a line longer than a block: go on to its end
            whole += len(rest)
            held = size_of(text[:whole])
            yield Block(text[:whole], source, line, memory=memory, size=held)
            line += held.lines - 1
        rest = text[whole:end].tobytes()  # a copy, so that the text can be used again
    if rest:
        yield Block(np.frombuffer(rest, np.uint8), source, line, memory=memory)


def _fill(buffer: NDArray[np.uint8], at: int, file: BinaryIO) -> int:
    """Read from the file until the buffer is full from ``at`` on, or as far as it goes."""
    while at < len(buffer):
        n = cast("io.BufferedReader", file).readinto(buffer[at:].data)
        if not n:
            break
        at += n
    return at


def _decompressed(head: bytes, file: io.BufferedReader) -> BinaryIO:
    """The file's text, whatever it is compressed with: told by its first bytes, not by its name."""
    if head.startswith(b"\x1f\x8b"):
        from isal import igzip  # noqa: PLC0415  (only when asked for)

        return cast("BinaryIO", igzip.IGzipFile(fileobj=file))
    if head.startswith(b"BZh"):
        return cast("BinaryIO", bz2.open(file))
    if head.startswith(b"\xfd7zXZ\x00"):
        return cast("BinaryIO", lzma.open(file))
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        packed = pa.BufferedInputStream(pa.PythonFile(file, "r"), PACKED)
        stream = pa.CompressedInputStream(packed, "zstd")
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", stream), PEEK))
    return cast("BinaryIO", file)


class _Joined(io.RawIOBase):
    """Bytes already read, and then the rest of their file."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest
        self._done = 0

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from what is at hand."""
        n = min(len(self._head), len(buffer))
        if n:
            buffer[:n] = self._head[:n]
            self._head = self._head[n:]
        else:
            n = cast("io.BufferedReader", self._rest).readinto(buffer)
        self._done += n
        return n

    def tell(self) -> int:
        """How many bytes have been read, of a pipe too."""
        return self._done


def _put_back(head: bytes, file: BinaryIO) -> io.BufferedReader:
    return io.BufferedReader(_Joined(head, file), PEEK)


def _format_of(path: str, file: BinaryIO, how: ReadOptions) -> tuple[str, BinaryIO]:
    """As said, else by the extension, else by a look at the first line; and the file, unread."""
    said = how.format or format_by_name(path)
    if said is not None:
        return said, file
    head = file.readline()
    return _format_by(head, path), _put_back(head, file)


def format_by_name(path: str) -> str | None:
    """What the extension says, that of compression aside."""
    suffixes = [s for s in Path(path).suffixes if s not in _COMPRESSED]
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


def _format_by(head: bytes, path: str) -> str:  # noqa: PLR0911  (a list of signs)
    if not head.strip():
        return "vw"  # nothing at all, or a blank line, which it refuses
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    first = head.strip()
    if first.startswith(b"{"):
        return "jsonl"
    if b"|" in first:
        return "vw"
    tokens = first.split(b"#")[0].split()
    if len(tokens) > 1 and all(token.count(b":") == 1 for token in tokens[1:]):
        return "svmlight"
    if b"\t" in first:
        return "tsv"
    if b"," in first:
        return "csv"
    raise DataError(
        f"{path}: cannot tell the format from its name or its first line: say it with --format, "
        f"one of {', '.join((*LINES, *TABLES))}"
    )


def _in_order(
    parse: Callable[[Block], Parsed], given: Iterator[Block], how: ReadOptions
) -> Iterator[Parsed]:
    """Each block parsed, by several threads, handed over in the order of the blocks."""
    n_threads = how.threads or max(1, min(2, cores() - 1))
    pool = _pool(n_threads)
    pending: deque[Future[Parsed]] = deque()
    with closing(ahead(given)) as ready:
        try:
            for block in ready:
                pending.append(pool.submit(parse, block))
                if len(pending) > n_threads:
                    yield _first(pending)
            while pending:
                yield _first(pending)
        finally:
            _let_go(pool, pending)


def ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """The same items, made by a thread that runs a little ahead."""
    end = object()
    waiting: deque[Future[Any]] = deque()
    maker = _pool(1)
    try:
        while True:
            while len(waiting) < DEPTH:
                waiting.append(maker.submit(next, items, end))
            item = _first(waiting)
            if item is end:
                return
            yield item
    finally:
        _let_go(maker, waiting)


def _first(pending: deque[Future[Item]]) -> Item:
    """What the first comes to; an interrupt leaves it there, to be waited for."""
    wait([pending[0]])
    return pending.popleft().result()


_thread = threading.local()


def _pool(n: int) -> ThreadPoolExecutor:
    """Threads that know that they are of such a pool."""

    def begin() -> None:
        _thread.is_ours = True

    return ThreadPoolExecutor(n, initializer=begin)


def _let_go(pool: ThreadPoolExecutor, pending: Iterable[Future[Any]]) -> None:
    """What has not begun is not done any more, and what has begun is waited for.

    The threads themselves are not joined: a generator that no one finished may be closed by the
    garbage collector, in any thread, also in one that is just starting and holds what `join` needs.
    If it is one of ours, which does what is to be waited for, nothing is waited for.
    """
    for future in pending:
        future.cancel()
    if not hasattr(_thread, "is_ours"):
        wait([future for future in pending if not future.cancelled()])
    pool.shutdown(wait=False)
