"""Text in blocks of whole lines, parsed on several threads, in the order of the file."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle._base.system import cores
from dwindle._base.text import NEWLINE
from dwindle._base.threads import check_wanted, ordered_map
from dwindle.data.buffers import Memory
from dwindle.data.formats.block import Block, Parsed
from dwindle.data.formats.interactions import MOST_PRODUCTS, Crowded, in_parts
from dwindle.data.options import BLOCK, LONGEST_LINE, ReadOptions, for_tables
from dwindle.data.pipes import Arriving
from dwindle.data.schema import ColumnKinds
from dwindle.data.sources import Opened
from dwindle.data.text.scan import last_line, size_of

FIRST = 1 << 18  # bytes of the first block: learning begins while more is parsed
# With interactions, a few bytes may make many features. Beyond so many in a batch, one thread waits
# for the other, and memory is cleared and filled that was given back a moment ago.
MOST_FEATURES = 1 << 19
LEAST = 1 << 14  # bytes of a block then


@dataclass
class BlockSize:
    """How many bytes of text make a block: twice as many each time, up to ``most``."""

    next: int
    most: int

    def taken(self) -> int:
        """Return the size of the next block."""
        size = min(self.next, self.most)
        self.next = 2 * size
        return size

    def follow(self, block: Block, parsed: Parsed | Block) -> None:
        """Limit it by what came of a block; a block itself has too many features for a batch."""
        n = len(parsed.batch.key) if isinstance(parsed, Parsed) else MOST_PRODUCTS
        few = len(block.data) * MOST_FEATURES // max(n, 1)
        self.most = min(max(few, LEAST), self.most)


def parsed_lines(
    parse: Callable[..., Parsed],
    source: Opened,
    options: ReadOptions,
    kinds: ColumnKinds,
    mentions: Callable[[Block, str], bool] | None = None,
) -> Iterator[Parsed]:
    """Parse a file of lines, a block at a time; ``mentions`` is for `searched`."""
    idle = for_tables(options) if kinds.remembered is None else []
    if idle:
        kinds.note(f"{source.name}: has no columns: {', '.join(idle)} only says how to read tables")
    part = partial(parse, interactions=options.interactions, ignore=options.dropped)
    size = BlockSize(min(FIRST, options.block_size), options.block_size)
    found = blocks_of(source, options, size)
    if mentions is not None:
        found = searched(found, mentions, kinds)
    follow = size.follow if options.interactions and not source.small else None
    return parsed_blocks(part, found, options, at_once=source.small, follow=follow)


def searched(
    found: Iterator[Block], mentions: Callable[[Block, str], bool], kinds: ColumnKinds
) -> Iterator[Block]:
    """Search blocks for the names of namespaces that the user gave, until each was seen."""
    for block in found:
        if kinds.unseen:
            kinds.seen([name for name in kinds.unseen if mentions(block, name)])
        yield block


def parsed_blocks(
    parse: Callable[[Block], Parsed],
    found: Iterator[Block],
    options: ReadOptions,
    *,
    at_once: bool,
    follow: Callable[[Block, Parsed | Block], None] | None = None,
) -> Iterator[Parsed]:
    """Parse blocks on several threads, in their order; ``at_once``, in this one.

    What comes of the first block is told to ``follow`` before the second one is read.
    """

    def parse_block(block: Block) -> Parsed:
        return parse(block)._replace(source=block.source, end=block.end)

    def parse_at_once(block: Block) -> Parsed | Block:
        try:
            return parse_block(block)
        except Crowded:  # its parts are parsed one by one, when the one before was learned from
            return block

    # By default one core is left for learning.
    n_threads = options.threads or max(1, min(2, cores() - 1))
    read = map(parse_at_once, found) if at_once else ordered_map(parse_at_once, found, n_threads)
    if follow is not None and (first := next(found, None)) is not None:
        parsed_first = parse_at_once(first)
        follow(first, parsed_first)
        read = chain([parsed_first], read)
    for parsed in read:
        if isinstance(parsed, Parsed):
            yield parsed
        else:
            yield from _in_parts(parse_block, parsed)


def _in_parts(parse: Callable[[Block], Parsed], block: Block) -> Iterator[Parsed]:
    """Parse a block in as many parts as it has to be."""
    data = block.data
    bound = [0, *(np.flatnonzero(data == NEWLINE) + 1).tolist()]
    bound += [len(data)] * (bound[-1] < len(data))

    def read(first: int, last: int) -> Parsed:
        part = data[bound[first] : bound[last]]
        return parse(block._replace(data=part, line=block.line + first, size=None))

    return in_parts(read, 0, len(bound) - 1)


def blocks_of(
    source: Opened, options: ReadOptions, size: BlockSize | None = None
) -> Iterator[Block]:
    """Cut a file into blocks that know how far they reach."""
    clock = source.clock if options.live else None
    found = blocks(source.file, source.name, size or options.block_size, clock)
    return (block._replace(end=source.tell()) for block in found)


def blocks(
    file: BinaryIO,
    source: str,
    size: int | BlockSize = BLOCK,
    clock: Callable[[], Arriving] | None = None,
) -> Iterator[Block]:
    """Cut a file into blocks of whole lines, of about ``size`` bytes or of one long line.

    With the ``clock`` of a pipe (see `pipes`), a block ends when it says so.
    """
    memory = Memory()
    sizes = BlockSize(size, size) if isinstance(size, int) else size
    rest, line = b"", 1
    while True:
        check_wanted()
        n = max(sizes.taken(), len(rest))
        # Twice as much of a long line each time, as what was read of it is copied.
        text = memory.empty(len(rest) + n, np.uint8)
        text[: len(rest)] = np.frombuffer(rest, np.uint8)
        end = _fill(text, len(rest), cast("io.BufferedReader", file), clock)
        if end == len(rest):
            break
        whole = last_line(text[len(rest) : end])
        if whole:  # else the line is longer than a block: read on to its end
            whole += len(rest)
            bounds = size_of(text[:whole])
            yield Block(text[:whole], source, line, memory=memory, size=bounds)
            line += bounds.lines - 1
        rest = text[whole:end].tobytes()  # a copy, so that the memory can be used again
        if len(rest) > LONGEST_LINE:
            raise DataError(
                f"{source}:{line}: the line is longer than {LONGEST_LINE:,} bytes: "
                "is the end of a line missing?"
            )
    if rest:
        yield Block(np.frombuffer(rest, np.uint8), source, line, memory=memory)


def _fill(
    buffer: NDArray[np.uint8],
    at: int,
    file: io.BufferedReader,
    clock: Callable[[], Arriving] | None,
) -> int:
    """Read into the buffer from ``at`` on, until it is full or the file ends; return where.

    Of a pipe, read until nothing more comes, at least a byte.
    """
    more = None if clock is None else clock()
    while at < len(buffer):
        if more is None:
            n = file.readinto(buffer[at:].data)
        else:
            some = np.frombuffer(file.read1(len(buffer) - at), np.uint8)
            n = len(some)
            buffer[at : at + n] = some
        at += n
        if not n or (more is not None and not more()):
            break
    return at
