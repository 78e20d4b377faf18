"""One example at a time: a dict goes through the kernels in one call, without a loop in Python.

The key of a name is a hash of its UTF-8, which CPython has at hand. So compiled code walks through
the dict by CPython's own functions and hashes each name where it stands. For 70 features that
takes 2 us. A Python dict from names to keys took 40, and it would remember what the table forgets.

What is not everyday, a strange value say, is left to `Learner.learn`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64, intc, intp, typeof, types

from dwindle._base.system import has_known_object_layout
from dwindle._base.text import EQUALS
from dwindle.engine import cardinality, kernels
from dwindle.engine.kernels import GOLDEN, ONE, home_shift
from dwindle.features.xxh64 import key_in_memory
from dwindle.jit.compile import Kernel, helper, kernel
from dwindle.jit.intrinsics import byte, double, prefetch, word
from dwindle.jit.packed_args import Standing, laid, taken

_typeof: Any = typeof
_tuple: Any = types.Tuple

# Of CPython's API: an object is known by its address.
_external: Any = types.ExternalFunction
_next = _external("PyDict_Next", intc(intp, intp, intp, intp))
_utf8 = _external("PyUnicode_AsUTF8AndSize", intp(intp, intp))
_float = _external("PyFloat_AsDouble", float64(intp))
_error = _external("PyErr_Occurred", intp())
_clear_error = _external("PyErr_Clear", types.void())
TYPE = object.__basicsize__ - 8  # where its type stands in an object: that ends what all have
FLOAT = float.__basicsize__ - 8  # and the number in a float

# Dicts whose items are as the walk finds them; none in a Python whose objects look different.
DICTS = frozenset({dict, Counter, defaultdict} if has_known_object_layout() else ())
KINDS = (
    *(str, float, int, bool, np.bool_, np.float64, np.float32),
    *(np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8),
)
NUMBERS = frozenset(KINDS[1:])
EXACT = 2**53  # up to here an integer is the same in double precision
JOINED = 2**14  # bytes of all ``name=text`` of an example
FITTING = 64  # labels remembered as fitting the loss

NEXT, NAME, VALUE, SIZE, START = range(5)  # places in ``ints``; CPython writes to the first four
LABEL, IMPORTANCE, BASE = range(3)  # in ``floats``
KEY, SLOT = range(2)  # in ``hashes``
TEXT, LENGTH, FRESH = range(3)  # in ``places``
DIVERGED, LEARNED, LEARNED_AND_FULL, STUCK, STRANGE = range(5)  # what became of an example

LEARNS_FROM = int64, float64, float64, int64, int64, int64  # what is given beside the desk
PREDICTS_FROM = int64, int64
Given = tuple[Any, ...]
Learned = tuple[int, int, int, int, float]
Predicted = tuple[bool, float]

_learn = helper(kernels.learn.function)
_predict = helper(kernels.predict.function)
_observe = helper(cardinality.observe)


class Desk(NamedTuple):
    """All that an example is learned with: first what changes while the learning goes on."""

    cells: Any
    capacity: int
    pulled: Any
    rate: Any
    n_steps: int
    size: float
    late: Any
    register: Any
    bias: Any
    constant: float
    normalize: bool
    loss: Any
    shrinkage: Any
    update: Any
    ints: Any
    joined: Any
    kinds: Any
    hashes: Any
    x: Any
    places: Any
    floats: Any
    prediction: Any


@helper
def _number(value: int, kinds: Any) -> float:
    """The number that an object is, NaN if it is none of the known kinds."""
    kind = word(value + TYPE)
    for k in range(1, len(kinds)):
        if kind == kinds[k]:
            v = _float(value)
            return np.nan if v == -1.0 and _error() != 0 else v  # an integer beyond all floats
    return np.nan


@helper
def _read(features: int, desk: Any) -> int:
    """The features of the dict at an address stand in ``hashes[KEY]`` and ``x``; returns how many.

    The name of feature k is ``places[LENGTH, k]`` bytes at the address ``places[TEXT, k]``. If some
    item is not an everyday name and value, or there is no room for it, it returns -1. The cache
    lines of its cells are asked for, because what `kernels.learn` asks for are those of examples
    ahead.
    """
    ints, joined, kinds, cells = desk.ints, desk.joined, desk.kinds, desk.cells
    hashes, x, places = desk.hashes, desk.x, desk.places
    ints_at, joined_at = ints.ctypes.data, joined.ctypes.data
    n, full = 0, 8  # see `key_in_memory`
    shift = home_shift(len(cells))
    text_kind, float_kind = kinds[0], kinds[1]
    ints[NEXT] = 0
    while _next(features, ints_at, ints_at + 8 * NAME, ints_at + 8 * VALUE) != 0:
        name, value = ints[NAME], ints[VALUE]
        text = _utf8(name, ints_at + 8 * SIZE) if word(name + TYPE) == text_kind else 0
        length = ints[SIZE]
        kind = word(value + TYPE)
        if kind == float_kind:
            v = double(value + FLOAT)
        elif kind == text_kind:
            v = 1.0
            other = _utf8(value, ints_at + 8 * SIZE)
            end = full + length + 1 + ints[SIZE]
            if text == 0 or other == 0 or end > len(joined):
                text = 0
            else:
                for i in range(length):
                    joined[full + i] = byte(text + i)
                joined[full + length] = EQUALS
                for i in range(ints[SIZE]):
                    joined[full + length + 1 + i] = byte(other + i)
                text, length, full = joined_at + full, end - full, end
        else:
            v = _number(value, kinds)
        if text == 0 or not abs(v) <= EXACT or n == len(x):
            _clear_error()
            return -1
        x[n] = v
        if x[n] != 0.0:
            key = key_in_memory(text, length)
            prefetch(cells, ((key + ONE) * GOLDEN) >> shift)
            hashes[KEY, n] = key
            places[TEXT, n] = text
            places[LENGTH, n] = length
            n += 1
    ints[START] = 0
    ints[START + 1] = n
    return n


@kernel(nogil=False)
def learn_one(given: Any) -> tuple[int, int, int, int, float]:
    """`kernels.learn` on the example of a dict; new keys go to ``late`` and ``register`` too.

    Returns what became of it, then the clock's ``at``, how many cells of the table are used and
    how many ever were, and the prediction. After LEARNED_AND_FULL the late names should be written
    down. A STRANGE example leaves everything as it was, and so does one that is STUCK, for which
    the table may have no room or the clock is spent: then instead of the prediction there is the
    number of its features.
    """
    features, label, importance, at, used, peak, standing = given
    desk = taken(standing)
    if not (abs(label) <= EXACT and 0.0 <= importance <= EXACT):
        return STRANGE, at, used, peak, 0.0
    n = _read(features, desk)
    late, hashes, places, floats = desk.late, desk.hashes, desk.places, desk.floats
    n_late, n_bytes = late.waiting
    if n < 0 or n_late + n > len(late.key) or (n_bytes + places[LENGTH][:n].sum() > len(late.text)):
        return STRANGE, at, used, peak, 0.0
    floats[LABEL], floats[IMPORTANCE] = label, importance
    done, then, n_fresh = _learn(
        0, desk.ints[START:], hashes[KEY][:n], desk.x, floats[LABEL:IMPORTANCE],
        floats[IMPORTANCE:BASE], floats[BASE:], desk.n_steps, at, desk.rate, desk.pulled, desk.size,
        desk.cells, desk.capacity - used, desk.bias, desk.constant, desk.normalize, desk.loss,
        desk.shrinkage, desk.update, hashes[SLOT], places[FRESH], desk.prediction,
    )  # fmt: skip
    if done == 0 and then == at:
        return STUCK, at, used, peak, float(n)
    for f in range(n_fresh):
        k = places[FRESH, f]
        late.key[n_late + f] = hashes[KEY, k]
        late.size[n_late + f] = places[LENGTH, k]
        for i in range(places[LENGTH, k]):
            late.text[n_bytes + i] = byte(places[TEXT, k] + i)
        n_bytes += places[LENGTH, k]
    became = LEARNED if done == 1 else DIVERGED
    if n_fresh > 0:
        _observe(desk.register, late.key[n_late : n_late + n_fresh])
        n_late += n_fresh
        late.waiting[0], late.waiting[1] = n_late, n_bytes
        used += n_fresh
        full = n_late + len(desk.x) > len(late.key) or 2 * n_bytes > len(late.text)
        if full and became == LEARNED:
            became = LEARNED_AND_FULL
    return became, then, used, max(used, peak), desk.prediction[0]


@kernel(nogil=False)
def predict_one(given: Any) -> tuple[bool, float]:
    """Whether the dict is an everyday example, and if so what `kernels.predict` says of it."""
    features, at, standing = given
    desk = taken(standing)
    n = _read(features, desk)
    if n < 0:
        return False, 0.0
    _predict(
        desk.ints[START:], desk.hashes[KEY][:n], desk.x, desk.floats[BASE:], desk.pulled[at],
        desk.size, desk.n_steps + at, desk.cells, desk.bias, desk.constant, desk.normalize,
        desk.shrinkage, desk.update, desk.prediction,
    )  # fmt: skip
    return True, desk.prediction[0]


def asked(code: Callable[[Given], Any]) -> Any:
    """Code that is called as ``it[given]``.

    Python takes an interrupt where a call ends, but not where a lookup does. So what the code tells
    is kept if it is stored in the same statement. It takes less time than a call, too.
    """
    return type("Asked", (), {"__getitem__": staticmethod(code)})()


class Laid(NamedTuple):
    """A desk as kernels find it, in ``words``. It keeps alive what they point to."""

    desk: Desk
    words: bytes


class One:
    """The desk for an example, and the kernels for it. ``fitting`` labels fit the loss.

    What an example leaves on the desk does not outlast its call, and the kernels keep the
    interpreter's lock: so threads may share it.
    """

    def __init__(self, made_of: tuple[Any, ...]) -> None:
        self._made_of = made_of
        self._laid: Laid | None = None
        self.learn: Mapping[Given, Learned] | None = None  # until there is code for it
        self.predict: Mapping[Given, Predicted] | None = None
        self._accepts = getattr(made_of[-3], "accepts", None)
        self.fitting: set[float] = set()
        self.make_room(64)

    def able_to_learn(self, clock: Any, table: Any) -> Mapping[Given, Learned]:
        """There is code for ``learn``, which is returned."""
        self.learn = self._asked(learn_one, LEARNS_FROM, clock, table)
        return self.learn

    def able_to_predict(self, clock: Any, table: Any) -> Mapping[Given, Predicted]:
        """There is code for ``predict``, which is returned."""
        self.predict = self._asked(predict_one, PREDICTS_FROM, clock, table)
        return self.predict

    def _asked(self, kernel: Kernel, kinds: tuple[Any, ...], clock: Any, table: Any) -> Any:
        made: Any = kernel.of(*self._made_of[-3:])
        desk = Standing(_typeof(self.laid(clock, table).desk))
        return asked(made.compile((_tuple((*kinds, desk)),)))

    def make_room(self, n: int) -> None:
        """For n features."""
        self._scratch = (
            np.zeros(START + 2, np.int64),
            np.empty(JOINED, np.uint8),
            np.array([id(kind) for kind in KINDS], np.uint64),
            np.empty((2, n), np.uint64),
            np.empty(n, np.float32),
            np.empty((3, n), np.int64),
            np.zeros(3, np.float32),
            np.zeros(1),
        )
        self.room = n
        self._laid = None

    def laid(self, clock: Any, table: Any) -> Laid:
        """The desk with this clock and table, laid anew if some array is another than before.

        It is looked at last and without a call, at which another thread might go on and change it.
        """
        while True:
            found = self._laid
            if found is not None:
                desk = found.desk
                if (
                    desk.pulled is clock.pulled
                    and desk.cells is table.cells
                    and desk.late is table.names.late
                    and desk.register is table.seen.register
                ):
                    return found
            self._laid = self._lay(clock, table)

    def _lay(self, clock: Any, table: Any) -> Laid:
        desk = Desk(
            *(table.cells, table.capacity, clock.pulled, clock.rate, clock.before, clock.size),
            *(table.names.late, table.seen.register, *self._made_of, *self._scratch),
        )
        return Laid(desk, laid(desk))

    def fits(self, label: float) -> bool:
        """Whether the loss is defined for the label."""
        if label in self.fitting:
            return True
        if not abs(label) <= EXACT:
            return False
        if self._accepts is not None and not self._accepts(np.array([label], np.float32)).all():
            return False
        if len(self.fitting) >= FITTING:
            self.fitting.clear()
        self.fitting.add(label)
        return True
