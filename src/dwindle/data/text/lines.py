"""Text in blocks of whole lines, parsed on several threads, in the order of the file."""

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from dwindle._base.system import cores
from dwindle._base.threads import ordered_map
from dwindle.data.buffers import Memory
from dwindle.data.formats.block import Block, Parsed
from dwindle.data.options import BLOCK, ReadOptions
from dwindle.data.sources import Opened
from dwindle.data.text.scan import last_line, size_of


def parsed_lines(
    parse: Callable[..., Parsed], source: Opened, options: ReadOptions
) -> Iterator[Parsed]:
    """Parse a file of lines, a block at a time."""
    part = partial(parse, interactions=options.interactions, ignore=options.dropped)
    return parsed_blocks(part, blocks_of(source, options), options)


def parsed_blocks(
    parse: Callable[[Block], Parsed], found: Iterator[Block], options: ReadOptions
) -> Iterator[Parsed]:
    """Parse blocks on several threads, in their order."""

    def parse_block(block: Block) -> Parsed:
        return parse(block)._replace(source=block.source, end=block.end)

    # By default one core is left for learning.
    n_threads = options.threads or max(1, min(2, cores() - 1))
    return ordered_map(parse_block, found, n_threads)


def blocks_of(source: Opened, options: ReadOptions) -> Iterator[Block]:
    """Cut a file into blocks that know how far they reach."""
    found = blocks(source.file, source.name, options.block_size)
    return (block._replace(end=source.tell()) for block in found)


def blocks(file: BinaryIO, source: str, size: int = BLOCK) -> Iterator[Block]:
    """Cut a file into blocks of whole lines, of at most ``size`` bytes or of one line."""
    memory = Memory()
    rest, line = b"", 1
    while True:
        text = memory.empty(len(rest) + size, np.uint8)
        text[: len(rest)] = np.frombuffer(rest, np.uint8)
        end = _fill(text, len(rest), file)
        if end == len(rest):
            break
        whole = last_line(text[len(rest) : end])
        if whole:  # else the line is longer than a block: read on to its end
            whole += len(rest)
            bounds = size_of(text[:whole])
            yield Block(text[:whole], source, line, memory=memory, size=bounds)
            line += bounds.lines - 1
        rest = text[whole:end].tobytes()  # a copy, so that the memory can be used again
    if rest:
        yield Block(np.frombuffer(rest, np.uint8), source, line, memory=memory)


def _fill(buffer: NDArray[np.uint8], at: int, file: BinaryIO) -> int:
    """Read into the buffer from ``at`` on, until it is full or the file ends; return where."""
    while at < len(buffer):
        n = cast("io.BufferedReader", file).readinto(buffer[at:].data)
        if not n:
            break
        at += n
    return at
