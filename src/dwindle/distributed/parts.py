"""Parts: what shards tell, as files, and what several of them tell together."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle._base.files import Place
from dwindle._base.packing import packed, unpacked
from dwindle.distributed.telling import Told
from dwindle.engine.cardinality import DistinctCounter
from dwindle.jit.compile import kernel
from dwindle.model.storage import numbers, read, write
from dwindle.runs.progress import Progress
from dwindle.runs.train import SHOWN

KIND = "part"


@kernel
def _add(key_a: Any, a: Any, key_b: Any, b: Any, key: Any, rows: Any) -> int:
    """Add rows of sorted keys; of the last column, take the larger. Return the number of rows."""
    i = j = n = 0
    last = rows.shape[1] - 1
    while i < len(key_a) or j < len(key_b):
        from_a = j == len(key_b) or (i < len(key_a) and key_a[i] <= key_b[j])
        from_b = i == len(key_a) or (j < len(key_b) and key_b[j] <= key_a[i])
        if from_a and from_b:
            key[n] = key_a[i]
            for c in range(last):
                rows[n, c] = a[i, c] + b[j, c]
            rows[n, last] = max(a[i, last], b[j, last])
        elif from_a:
            key[n] = key_a[i]
            for c in range(last + 1):
                rows[n, c] = a[i, c]
        else:
            key[n] = key_b[j]
            for c in range(last + 1):
                rows[n, c] = b[j, c]
        i += from_a
        j += from_b
        n += 1
    return n


def added(a: Told, b: Told) -> Told:
    """Return what two tell together: the union of their features, their rows added up.

    >>> one, two = np.array([1, 3], np.uint64), np.array([3], np.uint64)
    >>> added(Told(one, np.ones((2, 2)), {}), Told(two, np.full((1, 2), 5.0), {})).rows.tolist()
    [[1.0, 1.0], [6.0, 5.0]]
    """
    most = len(a.mark) + len(b.mark)
    mark: NDArray[np.uint64] = np.empty(most, np.uint64)
    rows = np.empty((most, a.rows.shape[1]))
    n = _add(a.mark, a.rows, b.mark, b.rows, mark, rows)
    return Told(mark[:n], rows[:n], {name: a.sums[name] + b.sums[name] for name in a.sums})


def without(everything: Told, own: Told) -> Told:
    """Return what all but one tell, given what all and that one do.

    >>> one, two = np.array([1, 3], np.uint64), np.array([3], np.uint64)
    >>> both = Told(one, np.array([[1.0, 1.0], [6.0, 5.0]]), {})
    >>> without(both, Told(two, np.full((1, 2), 5.0), {})).rows.tolist()
    [[1.0, 1.0], [1.0, 5.0]]
    """
    rows = -own.rows
    rows[:, -1] = 0.0
    left = added(everything, Told(own.mark, rows, {name: -v for name, v in own.sums.items()}))
    some = left.rows[:, :-1].any(axis=1)  # told by somebody else
    return left._replace(mark=left.mark[some], rows=left.rows[some])


class Part(NamedTuple):
    """What shards tell of one learner, or of that of each class, and of the examples they saw."""

    told: list[Told]
    progress: Progress
    register: list[NDArray[np.uint8]]  # of the features seen: see `DistinctCounter`
    peak: int  # the most features that a shard had at once
    fewest: int  # examples of a shard
    bad_lines: list[str]

    def plus(self, other: "Part") -> "Part":
        """Return what both tell together; ``other`` comes after this one."""
        self.progress.absorb(other.progress)
        return Part(
            [added(a, b) for a, b in zip(self.told, other.told, strict=True)],
            self.progress,
            [np.maximum(a, b) for a, b in zip(self.register, other.register, strict=True)],
            max(self.peak, other.peak),
            min(self.fewest, other.fewest),
            [*self.bad_lines, *other.bad_lines][:SHOWN],
        )


def save_part(path: Place, part: Part) -> None:
    """Write a part to a file, whole or not at all."""
    columns = {"mark": np.concatenate([each.mark for each in part.told])}
    rows = np.concatenate([each.rows for each in part.told])
    used = np.flatnonzero(rows.any(axis=0))  # others are of features that are centred, say
    columns |= {f"row{c}": np.ascontiguousarray(rows[:, c]) for c in used.tolist()}
    sums = [
        {name: [list(array.shape), packed(array)] for name, array in each.sums.items()}
        for each in part.told
    ]
    metadata = {
        "width": rows.shape[1],
        "told": [len(each.mark) for each in part.told],
        "sums": sums,
        "progress": part.progress.state(),
        "register": [packed(each) for each in part.register],
        "peak": part.peak,
        "fewest": part.fewest,
        "bad_lines": part.bad_lines,
    }
    write(path, KIND, columns, {"settings": {}, "metadata": metadata})


def load_part(path: Place, progress: Progress) -> Part:
    """Read a part; ``progress`` is a new one of the run's loss."""
    table, about = read(path, KIND)
    said = about["metadata"]
    mark = numbers(table["mark"])
    rows = np.zeros((len(mark), said["width"]))
    for name in table.column_names[1:]:
        rows[:, int(name.removeprefix("row"))] = numbers(table[name])
    bounds = np.cumsum([0, *said["told"]])
    if bounds[-1] != len(mark):
        raise DataError(f"{path}: has {len(mark):,} features, not {bounds[-1]:,}")
    told = []
    for k, sums in enumerate(said["sums"]):
        own = slice(bounds[k], bounds[k + 1])
        found = {
            name: unpacked(text, name, np.zeros(shape)) for name, (shape, text) in sums.items()
        }
        told.append(Told(mark[own], rows[own], found))
    progress.restore(said["progress"])
    register = [DistinctCounter.unpacked(text).register for text in said["register"]]
    return Part(told, progress, register, said["peak"], said["fewest"], said["bad_lines"])


def figures(part: Part) -> dict[str, Any]:
    """Return a part in a few numbers."""
    progress = part.progress
    return {
        "examples": progress.examples,
        "loss": progress.total,
        "weight": progress.weight,
        "told": sum(len(each.mark) for each in part.told),
        "fewest": part.fewest,
    }
