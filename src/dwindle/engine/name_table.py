"""The names of live features; those of other features are forgotten."""

import math
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.interrupts import Held
from dwindle._base.threads import Worker
from dwindle.engine.short_names import shortened
from dwindle.engine.table_kernels import LAST_SIX, ONE, SIX, BloomFilter, home_shift
from dwindle.features.hash_mixer import GOLDEN, random_mixer
from dwindle.features.names import Text, cut, spelled
from dwindle.jit.compile import kernel
from dwindle.jit.numbers import uint64

DIGITS = 19  # a decimal of so many digits always fits into 64 bits
PENDING = 1024  # names, of 32 bytes on average, that a kernel may leave to be written down
ZERO = ord("0")
BATCHES = 2  # that may wait for their names to be read, and more while most of their names are new,
MOST_NEW = 1 << 21  # up to so many new ones
FEW = 2**14  # names that take no longer to read than to hand to another thread
SLACK = 1.5  # the ratio of names kept to names needed at which the others are forgotten


class PendingNames(NamedTuple):
    """Names that a kernel leaves to be written down; ``filled`` counts them and their bytes."""

    filled: NDArray[np.int64]
    key: NDArray[np.uint64]
    size: NDArray[np.int64]
    text: NDArray[np.uint8]

    @classmethod
    def room_for(cls, n: int) -> "PendingNames":
        """Make room for n names."""
        key, size, text = np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(32 * n, np.uint8)
        return cls(np.zeros(2, np.int64), key, size, text)


class UnreadNames(NamedTuple):
    """New features of a batch, whose names are those at the places ``where`` of ``names``."""

    key: NDArray[np.uint64]
    names: Sequence[str]
    where: NDArray[np.int64]

    def among(self, live: BloomFilter) -> "UnreadNames":
        """Return those of live features."""
        kept = _among(live, self.key)
        return UnreadNames(self.key[kept], self.names, self.where[kept])


class NameTable:
    """Names by key. A key without a name goes by its number, which is the name of a column.

    A name that is not in the default namespace begins with its namespace and a NUL. All names are
    in one text, so that each takes its bytes and 12 more.

    Names are read late, and by a thread of their own: where many features die young, most names
    are never needed, and learning does not wait for the others. A sweep reads the names of earlier
    batches; without one, a batch waits for its names to be read until `BATCHES` others followed,
    or until there are `MOST_NEW` new names if it has more new ones than others.

    Beyond ``most`` bytes, long names are `shortened`, from then on.
    """

    def __init__(self, most: float = math.inf) -> None:
        self.most, self.shortens = most, False
        self._key = _Growing(np.uint64)
        self._size = _Growing(np.uint32)
        self._text = _Growing(np.uint8)
        self._unread: list[list[UnreadNames]] = []  # batch by batch
        self._aside = Worker()
        self._lock = Lock()  # held while names are looked up
        self.pending = PendingNames.room_for(PENDING)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys that have a name: those of all live features, and some others."""
        with self._lock, Held():
            self._aside.wait()
            self._read(self._unread)
            self._unread = []
            self._write_pending()
            return self._key.filled

    def enter(self, keys: NDArray[Any], names: Sequence[str], where: NDArray[np.int64]) -> None:
        """Remember the names at the places ``where`` of a batch, for keys that have none yet."""
        if len(where):
            own = keys[where].astype(np.uint64, copy=False)
            new = UnreadNames(own, names, where.copy())
            if not hasattr(names, "spelled"):  # a list, for instance, which may change until then
                names = tuple(names[k] for k in where.tolist())
                new = UnreadNames(new.key, names, np.arange(len(names)))
            if self._unread and self._unread[-1][-1].names is names:
                self._unread[-1].append(new)
            else:
                self._unread.append([new])
            while len(self._unread) > BATCHES and self._is_due(self._unread[:1]):
                first = [self._unread.pop(0)]
                self._do(_count(first), self._read, first)

    def _is_due(self, first: list[list[UnreadNames]]) -> bool:
        """Whether the names of the first batch are to be read before a sweep has been there."""
        are_few = 2 * _count(first) < len(first[0][0].names)
        return are_few or _count(self._unread) > MOST_NEW

    def sweep(self, live: BloomFilter, n_live: int) -> None:
        """Forget the names of keys that are not among the ``live`` ones."""
        if self.pending.filled[0]:
            self._aside.wait()
            self._write_pending()
        old, self._unread = self._unread[:-1], self._unread[-1:]
        self._unread = [[each.among(live) for each in batch] for batch in self._unread]
        n = _count(old) + len(self._key.filled)
        if old or n > SLACK * n_live:
            self._do(n, self._swept, old, live, n_live)

    def _do(self, n: int, work: Callable[..., None], *given: Any) -> None:
        """Do the work on n names at once if they are few, else in the other thread."""
        if n < FEW and self._aside.idle:
            work(*given)
        else:
            self._aside.do(work, *given)

    def _swept(self, unread: list[list[UnreadNames]], live: BloomFilter, n_live: int) -> None:
        self._read([[each.among(live) for each in batch] for batch in unread])
        if len(self._key.filled) > SLACK * n_live:
            self._keep(_among(live, self._key.filled))
        if len(self._key.filled) > SLACK * n_live:
            key = self._key.filled  # features that came and went several times have several names
            self._keep(_places(key, key, random_mixer()) == np.arange(len(key)))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget all other names."""
        n, n_bytes = _close_up(self._key.filled, self._size.filled, self._text.filled, kept)
        self._key.truncate(n)
        self._size.truncate(n)
        self._text.truncate(n_bytes)

    def _read(self, unread: list[list[UnreadNames]]) -> None:
        for batch in unread:
            for key, names, where in batch:
                self._write(key, *spelled(names, where))

    def expect(self, n: int) -> None:
        """Make room for n pending names."""
        n_names, n_bytes = self.pending.filled.tolist()
        if n_names + n > len(self.pending.key) or 2 * n_bytes > len(self.pending.text):
            self._aside.wait()
            self._write_pending()
        if n > len(self.pending.key):
            self.pending = PendingNames.room_for(2 * n)

    def _write_pending(self) -> None:
        n, n_bytes = self.pending.filled.tolist()
        if n:
            bound = np.zeros(n + 1, np.int64)
            np.cumsum(self.pending.size[:n], out=bound[1:])
            self._write(self.pending.key[:n], bound, self.pending.text[:n_bytes])
            self.pending.filled[:] = 0

    def _write(
        self, key: NDArray[np.uint64], bound: NDArray[np.int64], text: NDArray[np.uint8]
    ) -> None:
        kept = _has_text(key, bound, text)
        size = np.diff(bound).astype(np.uint32)
        if not kept.all():
            text = text[np.repeat(kept, size)]
            key, size = key[kept], size[kept]
        if self.shortens:
            size, text = shortened(key, size, text)
        for all_of, more in ((self._key, key), (self._size, size), (self._text, text)):
            all_of.append(more)
        if len(self._text.filled) > self.most and not self.shortens:
            self.shortens = True
            size, text = shortened(self._key.filled, self._size.filled, self._text.filled)
            self._size, self._text = _Growing(np.uint32), _Growing(np.uint8)
            self._size.append(size)
            self._text.append(text)

    def places(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return where the name of each key is, until another one enters; -1 for those without."""
        found: NDArray[np.int64] = _places(self.keys, np.ascontiguousarray(keys), random_mixer())
        return found

    def of(self, keys: NDArray[np.uint64], place: NDArray[np.int64] | None = None) -> Text:
        """Return the name of each key, which is at this place if that was asked for before."""
        place = self.places(keys) if place is None else place
        has_none = np.flatnonzero(place < 0)
        numbers = Text.of_numbers(keys[has_none])
        size, text = self._size.filled, self._text.filled
        if len(has_none):
            place[has_none] = len(size) + np.arange(len(has_none))
            size = np.concatenate([size, np.diff(numbers.bound).astype(np.uint32)])
            text = np.concatenate([text, numbers.text])
        end = np.cumsum(size, dtype=np.int64)
        length = size[place].astype(np.int64)
        begin = end[place]
        begin -= length
        return Text(*cut(text, begin, length))


def _count(unread: list[list[UnreadNames]]) -> int:
    return sum(len(each.key) for batch in unread for each in batch)


class _Growing:
    """An array that is appended to: it doubles when it is full."""

    def __init__(self, kind: Any) -> None:
        self._room = np.empty(0, kind)
        self._used = 0

    @property
    def filled(self) -> NDArray[Any]:
        """The elements appended so far."""
        return self._room[: self._used]

    def append(self, more: NDArray[Any]) -> None:
        needed = self._used + len(more)
        if needed > len(self._room):
            larger = np.empty(max(needed, 2 * len(self._room)), self._room.dtype)
            larger[: self._used] = self.filled
            self._room = larger
        self._room[self._used : needed] = more
        self._used = needed

    def truncate(self, n: int) -> None:
        """Keep only the first n."""
        self._used = n


@kernel
def _has_text(key: Any, bound: Any, text: Any) -> Any:
    """Tell which names must be kept: all but those that are their own keys, in decimal."""
    kept = np.ones(len(key), np.bool_)
    for w in range(len(key)):
        n = bound[w + 1] - bound[w]
        if n == 0 or n > DIGITS or (text[bound[w]] == ZERO and n > 1):
            continue
        number = uint64(0)
        for i in range(bound[w], bound[w + 1]):
            digit = uint64(text[i]) - uint64(ZERO)
            if digit > uint64(9):
                break
            number = number * uint64(10) + digit
        else:
            kept[w] = number != key[w]
    return kept


@kernel
def _among(live: Any, key: Any) -> Any:
    """Tell which keys are in a Bloom filter; some may be found there that are not live."""
    shift = home_shift(len(live.bits) * 64)
    found = np.empty(len(key), np.bool_)
    for k in range(len(key)):
        h = (((key[k] + ONE) ^ live.salt) * GOLDEN) >> shift
        found[k] = (live.bits[h >> SIX] >> (h & LAST_SIX)) & ONE
    return found


@kernel
def _places(known: Any, keys: Any, mixer: Any) -> Any:
    """Find each of ``keys`` among the ``known`` ones: its first place, or -1."""
    n_places = 2
    while n_places < 2 * len(known):
        n_places *= 2
    shift, mask = home_shift(n_places), uint64(n_places - 1)
    index = np.zeros(n_places, np.uint32)  # places plus one, by open addressing
    for k in range(len(known)):
        j = (known[k] * mixer) >> shift
        while index[j] != 0 and known[index[j] - 1] != known[k]:
            j = (j + ONE) & mask
        if index[j] == 0:
            index[j] = k + 1
    found = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        j = (keys[k] * mixer) >> shift
        while index[j] != 0 and known[index[j] - 1] != keys[k]:
            j = (j + ONE) & mask
        found[k] = np.int64(index[j]) - 1
    return found


@kernel
def _close_up(key: Any, size: Any, text: Any, kept: Any) -> tuple[int, int]:
    """Move the names that are kept to the front; return their number and their bytes."""
    n, to, begin = 0, 0, 0
    for w in range(len(kept)):
        end = begin + size[w]
        if kept[w]:
            key[n] = key[w]
            size[n] = size[w]
            n += 1
            if to < begin:
                for i in range(begin, end):
                    text[to + i - begin] = text[i]
            to += end - begin
        begin = end
    return n, to
