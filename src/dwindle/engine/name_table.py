"""The names of live features, and of no others."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from dwindle._base.interrupts import Held
from dwindle._base.threads import Worker
from dwindle.engine.kernels import GOLDEN, LAST_SIX, ONE, SIX, Living, home_shift
from dwindle.features.names import Text, cut, spelled
from dwindle.jit.compile import kernel

DIGITS = 19  # as many as every number of 64 bits may have
LATE = 1024  # names, of 32 bytes each, that may wait until many are written down at once
ZERO = ord("0")
BATCHES = 2  # whose names wait
FEW = 2**14  # names that take no longer to spell than to hand to another thread
SLACK = 1.5  # names that are remembered, to those that are needed, before the others are forgotten


class Late(NamedTuple):
    """Names that a kernel leaves to be written down: how many are ``waiting``, and their bytes."""

    waiting: NDArray[np.int64]
    key: NDArray[np.uint64]
    size: NDArray[np.int64]
    text: NDArray[np.uint8]

    @classmethod
    def room_for(cls, n: int) -> "Late":
        """Space for n names."""
        key, size, text = np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(32 * n, np.uint8)
        return cls(np.zeros(2, np.int64), key, size, text)


class Waiting(NamedTuple):
    """New features of a batch, whose names stand in the batch at the places ``where``."""

    key: NDArray[np.uint64]
    names: Sequence[str]
    where: NDArray[np.int64]

    def among(self, living: Living) -> "Waiting":
        """Those that live."""
        kept = _among(living, self.key)
        return Waiting(self.key[kept], self.names, self.where[kept])


class Names:
    """Names by key. A key without a name is called by its number, which for a column is its name.

    A name is the feature's, with its namespace and a NUL before it unless that is the default one.
    All of them stand in one text, so that a name costs its bytes and 12 more.

    Names are spelled late and on a thread of their own: where many features die young, most need
    not be, and learning does not wait for the others. A sweep looks after the names of earlier
    batches; without one, so many batches wait.
    """

    def __init__(self) -> None:
        self._key = _Growing(np.uint64)
        self._size = _Growing(np.uint32)
        self._text = _Growing(np.uint8)
        self._waiting: list[list[Waiting]] = []  # batch by batch
        self._aside = Worker()
        self._lock = Lock()  # for who asks
        self.late = Late.room_for(LATE)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The keys that have a name, those of all live features and some others."""
        with self._lock, Held():
            self._aside.wait()
            self._write_down_waiting(self._waiting)
            self._waiting = []
            self._write_down_late()
            return self._key.filled

    def enter(self, keys: NDArray[Any], names: Sequence[str], where: NDArray[np.int64]) -> None:
        """Remember the names at the places ``where`` of a batch, for keys that have none yet."""
        if len(where):
            new = Waiting(keys[where].astype(np.uint64), names, where.copy())
            if not hasattr(names, "spelled"):  # a list, say, that may be another when they are read
                those = tuple(names[k] for k in where.tolist())
                new = Waiting(new.key, those, np.arange(len(those)))
                names = those
            if self._waiting and self._waiting[-1][-1].names is names:
                self._waiting[-1].append(new)
            else:
                self._waiting.append([new])
            if len(self._waiting) > BATCHES:
                first = [self._waiting.pop(0)]
                self._do(_count(first), self._write_down_waiting, first)

    def sweep(self, living: Living, n_living: int) -> None:
        """Forget names of keys that are not among the ``living``."""
        if self.late.waiting[0]:
            self._aside.wait()
            self._write_down_late()
        old, self._waiting = self._waiting[:-1], self._waiting[-1:]
        self._waiting = [[each.among(living) for each in batch] for batch in self._waiting]
        n = _count(old) + len(self._key.filled)
        if old or n > SLACK * n_living:
            self._do(n, self._swept, old, living, n_living)

    def _do(self, n: int, work: Callable[..., None], *given: Any) -> None:
        """Here and now if it is about few names, else by the other thread."""
        if n < FEW and self._aside.idle:
            work(*given)
        else:
            self._aside.do(work, *given)

    def _swept(self, waiting: list[list[Waiting]], living: Living, n_living: int) -> None:
        self._write_down_waiting([[each.among(living) for each in batch] for batch in waiting])
        if len(self._key.filled) > SLACK * n_living:
            self._keep(_among(living, self._key.filled))
        if len(self._key.filled) > SLACK * n_living:
            key = self._key.filled  # some that came and went have their names many times
            self._keep(_places(key, key) == np.arange(len(key)))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget all other names."""
        n, n_bytes = _close_up(self._key.filled, self._size.filled, self._text.filled, kept)
        self._key.cut(n)
        self._size.cut(n)
        self._text.cut(n_bytes)

    def _write_down_waiting(self, waiting: list[list[Waiting]]) -> None:
        for batch in waiting:
            for key, names, where in batch:
                self._write_down(key, *spelled(names, where))

    def expect(self, n: int) -> None:
        """There is room for so many late names."""
        waiting, n_bytes = self.late.waiting.tolist()
        if waiting + n > len(self.late.key) or 2 * n_bytes > len(self.late.text):
            self._aside.wait()
            self._write_down_late()
        if n > len(self.late.key):
            self.late = Late.room_for(2 * n)

    def _write_down_late(self) -> None:
        n, n_bytes = self.late.waiting.tolist()
        if n:
            bound = np.zeros(n + 1, np.int64)
            np.cumsum(self.late.size[:n], out=bound[1:])
            self._write_down(self.late.key[:n], bound, self.late.text[:n_bytes])
            self.late.waiting[:] = 0

    def _write_down(
        self, key: NDArray[np.uint64], bound: NDArray[np.int64], text: NDArray[np.uint8]
    ) -> None:
        kept = _has_text(key, bound, text)
        size = np.diff(bound).astype(np.uint32)
        if not kept.all():
            text = text[np.repeat(kept, size)]
            key, size = key[kept], size[kept]
        for all_of, more in ((self._key, key), (self._size, size), (self._text, text)):
            all_of.append(more)

    def of(self, keys: NDArray[np.uint64]) -> Text:
        """The name of each key."""
        place = _places(self.keys, np.ascontiguousarray(keys))
        has_none = np.flatnonzero(place < 0)
        numbers = Text.of([str(key) for key in keys[has_none].tolist()])
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


def _count(waiting: list[list[Waiting]]) -> int:
    return sum(len(each.key) for batch in waiting for each in batch)


class _Growing:
    """An array that is appended to: it doubles when it is full."""

    def __init__(self, kind: Any) -> None:
        self._room = np.empty(0, kind)
        self._used = 0

    @property
    def filled(self) -> NDArray[Any]:
        """What was appended."""
        return self._room[: self._used]

    def append(self, more: NDArray[Any]) -> None:
        needed = self._used + len(more)
        if needed > len(self._room):
            larger = np.empty(max(needed, 2 * len(self._room)), self._room.dtype)
            larger[: self._used] = self.filled
            self._room = larger
        self._room[self._used : needed] = more
        self._used = needed

    def cut(self, n: int) -> None:
        """Only the first n of them are left."""
        self._used = n


@kernel
def _has_text(key: Any, bound: Any, text: Any) -> Any:
    """Which names must be remembered: all but those that are their own keys, in decimal."""
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
def _among(living: Any, key: Any) -> Any:
    """Which of these keys are living; of those that are not, it says so of some."""
    shift = home_shift(len(living.bits) * 64)
    found = np.empty(len(key), np.bool_)
    for k in range(len(key)):
        h = (((key[k] + ONE) ^ living.salt) * GOLDEN) >> shift
        found[k] = (living.bits[h >> SIX] >> (h & LAST_SIX)) & ONE
    return found


@kernel
def _places(known: Any, keys: Any) -> Any:
    """Where each of these keys first is among the known ones; -1 if it is not."""
    n_places = 2
    while n_places < 2 * len(known):
        n_places *= 2
    shift, mask = home_shift(n_places), uint64(n_places - 1)
    index = np.zeros(n_places, np.uint32)  # their places plus one, by open addressing
    for k in range(len(known)):
        j = (known[k] * GOLDEN) >> shift
        while index[j] != 0 and known[index[j] - 1] != known[k]:
            j = (j + ONE) & mask
        if index[j] == 0:
            index[j] = k + 1
    found = np.empty(len(keys), np.int64)
    for k in range(len(keys)):
        j = (keys[k] * GOLDEN) >> shift
        while index[j] != 0 and known[index[j] - 1] != keys[k]:
            j = (j + ONE) & mask
        found[k] = np.int64(index[j]) - 1
    return found


@kernel
def _close_up(key: Any, size: Any, text: Any, kept: Any) -> tuple[int, int]:
    """The names that are kept stand at the front; returns how many they are, and their bytes."""
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
