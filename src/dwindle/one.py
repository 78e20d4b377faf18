"""One example at a time: a dict goes through the kernels in one call, without a loop in Python.

The key of a name is a hash of its UTF-8, which CPython has at hand. So compiled code walks through
the dict by CPython's own functions and hashes each name where it stands. For 70 features that
takes 3 us. A Python dict from names to keys took 40, and it would remember what the table forgets.

What is not everyday, a strange value or a table that is full, is left to `Learner.learn`.
"""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numba import float64, intc, intp, types

from dwindle import kernels, sketch
from dwindle._jit import Kernel, direct, helper, locked_kernel, prefetch
from dwindle.formats.keys import DEFAULT_SEED, key_of_name
from dwindle.formats.scan import EQUALS, byte
from dwindle.kernels import GOLDEN, ONE, home_shift

# Of CPython's API: an object is known by its address.
_external: Any = types.ExternalFunction
_next = _external("PyDict_Next", intc(intp, intp, intp, intp))
_type = _external("PyObject_Type", intp(intp))
_let_go = _external("Py_DecRef", types.void(intp))
_utf8 = _external("PyUnicode_AsUTF8AndSize", intp(intp, intp))
_float = _external("PyFloat_AsDouble", float64(intp))
_error = _external("PyErr_Occurred", intp())
_clear_error = _external("PyErr_Clear", types.void())

DICTS = frozenset({dict, Counter, defaultdict})  # whose items are as the walk finds them
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

_HERE = Path(__file__).parent
_FILES = [
    _HERE / f"{name}.py"
    for name in ("kernels", "sketch", "hashing", "formats/scan", "formats/keys", "formats/numerals")
]

_learn = helper(kernels.learn.function)
_predict = helper(kernels.predict.function)
_observe = helper(sketch.observe)


@helper
def _read(  # noqa: C901 - one walk over the dict
    features: int,
    ints_at: int,
    ints: Any,
    joined_at: int,
    joined: Any,
    kinds: Any,
    hashes: Any,
    x: Any,
    places: Any,
    cells: Any,
) -> int:
    """The features of the dict at an address stand in ``hashes[KEY]`` and ``x``; returns how many.

    The name of feature k is ``places[LENGTH, k]`` bytes at the address ``places[TEXT, k]``. If some
    item is not an everyday name and value, or there is no room for it, it returns -1. The cache
    lines of its cells are asked for, because what `kernels.learn` asks for are those of examples
    ahead.
    """
    n, full = 0, 0
    shift = home_shift(len(cells))
    ints[NEXT] = 0
    while _next(features, ints_at, ints_at + 8 * NAME, ints_at + 8 * VALUE) != 0:
        name, value = ints[NAME], ints[VALUE]
        kind = _type(name)
        _let_go(kind)
        text = _utf8(name, ints_at + 8 * SIZE) if kind == kinds[0] else 0
        length = ints[SIZE]
        kind = _type(value)
        _let_go(kind)
        v = 1.0
        if kind == kinds[0]:
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
            known = False
            for k in range(1, len(kinds)):
                if kind == kinds[k]:
                    known = True
                    break
            v = _float(value) if known else np.nan
            if v == -1.0 and _error() != 0:  # an integer beyond all floats
                v = np.nan
        if text == 0 or not abs(v) <= EXACT or n == len(x):
            _clear_error()
            return -1
        x[n] = v
        if x[n] != 0.0:
            key = key_of_name(text, 0, length, DEFAULT_SEED, -1)
            prefetch(cells, ((key + ONE) * GOLDEN) >> shift)
            hashes[KEY, n] = key
            places[TEXT, n] = text
            places[LENGTH, n] = length
            n += 1
    ints[START] = 0
    ints[START + 1] = n
    return n


@locked_kernel(*_FILES)
def learn_one(
    features: int,
    label: float,
    importance: float,
    ints_at: int,
    ints: Any,
    joined_at: int,
    joined: Any,
    kinds: Any,
    hashes: Any,
    x: Any,
    places: Any,
    floats: Any,
    prediction: Any,
    late: Any,
    register: Any,
    n_steps: int,
    at: int,
    rate: Any,
    pulled: Any,
    size: float,
    cells: Any,
    room: int,
    bias: Any,
    constant: float,
    scaled: bool,
    loss: Any,
    shrinkage: Any,
    update: Any,
) -> tuple[int, int, int, float]:
    """`kernels.learn` on the example of a dict; new keys go to ``late`` and ``register`` too.

    Returns 1 if it was learned from, 0 if its prediction is not finite, or -1, everything being as
    it was, if this is no everyday example; then the clock's ``at``, how many keys were new, and the
    prediction.
    """
    if not (abs(label) <= EXACT and 0.0 <= importance <= EXACT):
        return -1, at, 0, 0.0
    n = _read(features, ints_at, ints, joined_at, joined, kinds, hashes, x, places, cells)
    n_late, n_bytes = late.waiting
    if n < 0 or n_late + n > len(late.key) or (n_bytes + places[LENGTH][:n].sum() > len(late.text)):
        return -1, at, 0, 0.0
    floats[LABEL], floats[IMPORTANCE] = label, importance
    done, then, n_fresh = _learn(
        0, ints[START:], hashes[KEY][:n], x, floats[LABEL:IMPORTANCE], floats[IMPORTANCE:BASE],
        floats[BASE:], n_steps, at, rate, pulled, size, cells, room, bias, constant, scaled,
        loss, shrinkage, update, hashes[SLOT], places[FRESH], prediction,
    )  # fmt: skip
    if done == 0 and then == at:
        return -1, at, 0, 0.0
    for f in range(n_fresh):
        k = places[FRESH, f]
        late.key[n_late + f] = hashes[KEY, k]
        late.size[n_late + f] = places[LENGTH, k]
        for i in range(places[LENGTH, k]):
            late.text[n_bytes + i] = byte(places[TEXT, k] + i)
        n_bytes += places[LENGTH, k]
    if n_fresh > 0:
        _observe(register, late.key[n_late : n_late + n_fresh])
        late.waiting[0], late.waiting[1] = n_late + n_fresh, n_bytes
    return done, then, n_fresh, prediction[0]


@locked_kernel(*_FILES)
def predict_one(
    features: int,
    ints_at: int,
    ints: Any,
    joined_at: int,
    joined: Any,
    kinds: Any,
    hashes: Any,
    x: Any,
    places: Any,
    floats: Any,
    prediction: Any,
    now: float,
    size: float,
    n_steps: int,
    cells: Any,
    bias: Any,
    constant: float,
    scaled: bool,
    shrinkage: Any,
    update: Any,
) -> tuple[bool, float]:
    """Whether the dict is an everyday example, and if so what `kernels.predict` says of it."""
    n = _read(features, ints_at, ints, joined_at, joined, kinds, hashes, x, places, cells)
    if n < 0:
        return False, 0.0
    _predict(
        ints[START:], hashes[KEY][:n], x, floats[BASE:], now, size, n_steps, cells, bias,
        constant, scaled, shrinkage, update, prediction,
    )  # fmt: skip
    return True, prediction[0]


class One:
    """The arrays that an example needs, and the kernels for it. ``fitting`` labels fit the loss.

    Nothing in the arrays outlasts a call, and the kernels keep the interpreter's lock: so threads
    may share them, and a copy of the learner makes its own.
    """

    def __init__(self, loss: Any, shrinkage: Any, update: Any) -> None:
        self._of = loss, shrinkage, update
        self.learn: Any = self._first("learn", learn_one, loss, shrinkage, update)
        self.predict: Any = self._first("predict", predict_one, shrinkage, update)
        self._accepts = getattr(loss, "accepts", None)
        self.fitting: set[float] = set()
        self.make_room(64)

    def __reduce__(self) -> Any:
        return One, self._of

    def _first(self, name: str, kernel: Kernel, *ingredients: Any) -> Any:
        """What the attribute of this name is until it is called: then, the code for such calls."""

        def first(*args: Any) -> Any:
            found = direct(kernel.of(*ingredients), *args)
            setattr(self, name, found)
            return found(*args)

        return first

    def make_room(self, n: int) -> None:
        """For n features."""
        ints, joined = np.zeros(START + 2, np.int64), np.empty(JOINED, np.uint8)
        self.arrays = (
            ints.ctypes.data,
            ints,
            joined.ctypes.data,
            joined,
            np.array([id(kind) for kind in KINDS], np.int64),
            np.empty((2, n), np.uint64),
            np.empty(n, np.float32),
            np.empty((3, n), np.int64),
            np.zeros(3, np.float32),
            np.zeros(1),
        )
        self.room = n

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
