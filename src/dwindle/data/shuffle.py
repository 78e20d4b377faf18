"""Examples in a random order, as far as a window in memory reaches."""

from collections.abc import Iterator, Sequence

import numpy as np

from dwindle.data.formats.block import BadLine, Parsed, spelled_label
from dwindle.features.batch import Batch

ROWS = 2**14  # examples that are put in order at a time: all at once would be a second copy


def shuffled(parsed: Iterator[Parsed], window: int, seed: Sequence[int]) -> Iterator[Parsed]:
    """Yield the examples of each window in a random order, which depends on ``seed`` alone.

    A window has so many examples that follow one another, the last one fewer, however they are cut
    into blocks.
    """
    number, begin = 0, 0
    for items in _windows(parsed, window):
        end = items[-1].end
        joined = _joined(items)
        n = joined.batch.n_examples
        order = np.random.default_rng([*seed, number]).permutation(n)
        for i in range(0, max(n, 1), ROWS):
            some = order[i : i + ROWS]
            yield joined._replace(
                batch=joined.batch.take(some),
                line=joined.line[some],
                bad=joined.bad if i == 0 else [],
                sources=None if joined.sources is None else joined.sources[some],
                end=end if i + ROWS >= n else begin + (end - begin) * (i + ROWS) // n,
            )
        number, begin = number + 1, end


def _windows(parsed: Iterator[Parsed], window: int) -> Iterator[list[Parsed]]:
    """Collect what is parsed into lists of ``window`` examples."""
    items: list[Parsed] = []
    room = window
    for item in parsed:
        rest = item
        while rest.batch.n_examples >= room:
            n = rest.batch.n_examples
            yield [*items, rest.rows(0, room)]
            rest = rest.rows(room, n)._replace(bad=[])
            items, room = [], window
        if rest.batch.n_examples or rest.bad:
            items.append(rest)
            room -= rest.batch.n_examples
    if items:
        yield items


def _joined(items: Sequence[Parsed]) -> Parsed:
    """Make one of several, with one numbering of the labels that are text."""
    names: dict[str, int] = {}
    are_text = any(item.label_names is not None for item in items)
    batches = [_renumbered(item, names) if are_text else item.batch for item in items]
    bad: list[BadLine] = [line for item in items for line in item.bad]
    sources = np.repeat(
        np.array([item.source for item in items], object), [len(item.line) for item in items]
    )
    return items[0]._replace(
        batch=Batch.joined(batches),
        line=np.concatenate([item.line for item in items]),
        bad=bad,
        tags=None,
        sources=sources if len({item.source for item in items}) > 1 else None,
        label_names=[*names] if are_text else None,
    )


def _renumbered(item: Parsed, names: dict[str, int]) -> Batch:
    """Number the labels by their place in ``names``, to which new ones are added."""
    label = item.batch.label
    if label is None:
        return item.batch
    if item.label_names is None:
        distinct, code = np.unique(label, return_inverse=True)
        own = [*map(spelled_label, distinct.tolist())]
    else:
        code, own = label.astype(np.int64), list(item.label_names)
    place = np.array([names.setdefault(name, len(names)) for name in own] or [0], np.float32)
    return item.batch._replace(label=place[code])
