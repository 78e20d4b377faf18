"""Examples in a random order, as far as a window in memory reaches."""

from collections.abc import Iterator, Sequence

import numpy as np

from dwindle.data.formats.block import Parsed, joined

ROWS = 2**14  # examples that are put in order at a time: all at once would be a second copy


def shuffled(parsed: Iterator[Parsed], window: int, seed: Sequence[int]) -> Iterator[Parsed]:
    """Yield the examples of each window in a random order, which depends on ``seed`` alone.

    A window has so many examples that follow one another, the last one fewer, however they are cut
    into blocks.
    """
    number, begin = 0, 0
    for items in _windows(parsed, window):
        end = items[-1].end
        whole = joined(items)
        n = whole.batch.n_examples
        order = np.random.default_rng([*seed, number]).permutation(n)
        for i in range(0, max(n, 1), ROWS):
            some = order[i : i + ROWS]
            yield whole._replace(
                batch=whole.batch.take(some),
                line=whole.line[some],
                tags=None,
                bad=whole.bad if i == 0 else [],
                sources=None if whole.sources is None else whole.sources[some],
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
