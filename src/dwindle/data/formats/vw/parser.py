"""The parser of Vowpal Wabbit's text format; unlike VW, it refuses what it would misread.

    [label [importance [base]]] ['tag] |namespace[:scale] feature[:value] ... |namespace ...

A kernel reads a block in one walk, straight into the arrays of a batch. For a line that it cannot
read, it notes where it stopped and why; Python makes the message afterwards.
"""

import re

import numpy as np
import xxhash
from numpy.typing import NDArray

from dwindle._base.errors import SettingError
from dwindle.data.buffers import Memory
from dwindle.data.formats.block import BadLine, Block, Parsed
from dwindle.data.formats.interactions import MOST_PRODUCTS, Crowded
from dwindle.data.formats.vw.errors import BLANK, why
from dwindle.data.formats.vw.kernel import Members, Output, read
from dwindle.data.formats.vw.names import VWNames, VWTags
from dwindle.data.formats.vw.namespaces import MOST_SEEN, SEEN_SIZE, Plan
from dwindle.data.text.errors import listed, room_for, unsure_numbers
from dwindle.data.text.numbers import known_numbers
from dwindle.data.text.scan import ROOM_FOR_STOPS, UNSURE, opened
from dwindle.data.text.side_by_side import LANES, SIZE
from dwindle.features.batch import Batch


def parse(
    block: Block,
    *,
    interactions: tuple[tuple[str, ...], ...] = (),
    ignore: frozenset[str] = frozenset(),
) -> Parsed:
    r"""Parse a block of VW text.

    ``ignore`` names namespaces to leave out, "" the default one. Each of ``interactions`` names two
    or three namespaces: the products of their features follow an example's own features.

    >>> block = Block(np.frombuffer(b"1 |f a:2 b\n-1 |f: a\n", np.uint8), "data.vw")
    >>> batch, line, bad, tags, *_ = parse(block, interactions=(("f", "f"),))
    >>> [name.replace("\0", "^") for name in batch.names], batch.x.tolist()
    (['f^a', 'f^b', 'f*f^a*a', 'f*f^a*b', 'f*f^b*b'], [2.0, 1.0, 4.0, 2.0, 1.0])
    >>> print(bad[0])
    data.vw:2: scale of nothing in '|f:': write '|f', or a number after ':'
    """
    plan = _plan(interactions, ignore)
    data, begin, size = opened(block)
    text, end = data.ctypes.data, len(data)
    members = Members(
        block.memory.empty(size.separators if interactions else 0, np.int64),
        np.zeros(len(plan.crossed) + 1, np.int64),
    )
    n_products = size.separators if interactions else 0  # a guess
    known = known_numbers({})
    faults = room_for(size.lines)
    lanes = np.zeros(SIZE // 8, np.uint64)
    stops = np.empty(ROOM_FOR_STOPS // 8, np.int64)
    seen = np.zeros(MOST_SEEN * SEEN_SIZE // 8, np.int64)
    rows = _room_for(block.memory, size.lines, size.separators, size.bars, n_products)
    while True:
        n, n_features, n_sections, n_found, n_faults, has_base, has_tag = read(
            *(text, begin, end, size.odd, known.ctypes.data, plan, rows, faults, members),
            *(each.ctypes.data for each in (lanes, seen, stops)),
        )
        none_known = len(known) == 1
        unsure = none_known and (faults.what[:n_faults] == UNSURE).any()
        if not unsure and n_found <= n_products:
            break
        if unsure:
            known = unsure_numbers(data, faults, n_faults)
        if n_found > n_products:
            if n_found > MOST_PRODUCTS and n > 1:
                raise Crowded(n_found)
            n_products = n_found
            del rows  # so that its memory is given out again
            rows = _room_for(block.memory, size.lines, size.separators, size.bars, n_products)
    batch = Batch(
        rows.start[: n + 1],
        rows.key[:n_features],
        rows.x[:n_features],
        rows.label[:n],
        rows.importance[:n],
        rows.base[:n] if has_base else None,
        VWNames(data, rows.place[:n_features], rows.first[:n_sections], rows.bar, rows.factor),
    )
    bad = [
        BadLine(block.source, block.line + line, why(what, raw, interactions))
        for line, what, raw in listed(data, faults, n_faults)
        if what != BLANK
    ]
    tags = VWTags(data, rows.tag[:n], rows.tag_end[:n]) if has_tag else None
    n_blank = int((faults.what[:n_faults] == BLANK).sum())
    return Parsed(batch, block.line + rows.line[:n], bad, tags, n_blank=n_blank)


def mentions(block: Block, namespace: str) -> bool:
    """Tell whether a block has a namespace of this name."""
    name = re.escape(namespace.encode("utf-8", "surrogateescape"))
    return re.search(rb"\|" + name + rb"(?=[\s:]|$)", block.data.data) is not None


def _plan(interactions: tuple[tuple[str, ...], ...], ignore: frozenset[str]) -> Plan:
    crossed = sorted({name for names in interactions for name in names})
    crossings = np.full((len(interactions), 3), -1, np.int64)
    for c, names in enumerate(interactions):
        if len(names) not in {2, 3}:
            raise SettingError(f"an interaction is of 2 or 3 namespaces, got {names!r}")
        crossings[c, : len(names)] = [crossed.index(name) for name in names]
    return Plan(_seeds(sorted(ignore)), _seeds(crossed), crossings)


def _seeds(names: list[str]) -> NDArray[np.uint64]:
    raw = (name.encode("utf-8", "surrogateescape") for name in names)
    return np.array([xxhash.xxh64_intdigest(name) for name in raw], np.uint64)


def _room_for(
    memory: Memory, n_lines: int, n_features: int, n_sections: int, n_products: int
) -> Output:
    """Allocate arrays for at most so many; pages that are never touched cost no memory."""
    n = n_features + n_products + LANES
    return Output(
        start=memory.empty(n_lines + 1, np.int64),
        label=memory.empty(n_lines, np.float32),
        importance=memory.empty(n_lines, np.float32),
        base=memory.empty(n_lines, np.float32),
        tag=memory.empty(n_lines, np.int64),
        tag_end=memory.empty(n_lines, np.int64),
        line=memory.empty(n_lines, np.int64),
        key=memory.empty(n, np.uint64),
        x=memory.empty(n, np.float32),
        place=memory.empty(n, np.int64),
        first=memory.empty(n_sections, np.int64),
        bar=memory.empty(n_sections, np.int64),
        group=memory.empty(n_sections, np.int64),
        factor=memory.empty(3 * n_products, np.int64).reshape(-1, 3),
    )
