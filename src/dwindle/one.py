"""One example at a time: a dict goes into the kernels' arrays without a loop in Python.

The key of a name is a hash of its UTF-8, which CPython has at hand. So compiled code walks through
the dict by CPython's own functions and hashes each name where it stands. For 70 features that
takes 3 us. A Python dict from names to keys took 40, and it would remember what the table forgets.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import local
from typing import Any

import numpy as np
from numba import float64, intc, intp, types
from numpy.typing import NDArray

from dwindle._jit import compiled_with, direct
from dwindle.batch import Batch, Features
from dwindle.formats.keys import DEFAULT_SEED, key_of_name
from dwindle.formats.scan import EQUALS, byte
from dwindle.names import Spelled, decoded

# Of CPython's API: an object is known by its address.
_external: Any = types.ExternalFunction
_next = _external("PyDict_Next", intc(intp, intp, intp, intp))
_type = _external("PyObject_Type", intp(intp))
_let_go = _external("Py_DecRef", types.void(intp))
_utf8 = _external("PyUnicode_AsUTF8AndSize", intp(intp, intp))
_float = _external("PyFloat_AsDouble", float64(intp))
_clear_error = _external("PyErr_Clear", types.void())

DICTS = frozenset({dict, Counter, defaultdict})  # whose items are as the walk finds them
NUMBERS = (
    *(float, int, bool, np.bool_, np.float64, np.float32),
    *(np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8),
)
KINDS = np.array([id(kind) for kind in (str, *NUMBERS)], np.int64)
EXACT = 2**53  # up to here an integer is the same in double precision
JOINED = 2**14  # bytes of all ``name=text`` of an example
FITTING = 64  # labels remembered as fitting the loss
NEXT, NAME, VALUE, SIZE = range(4)  # what CPython writes to

_FORMATS = Path(__file__).parent / "formats"
_FILES = [_FORMATS / f"{name}.py" for name in ("scan", "keys", "numerals", "../hashing")]


@compiled_with(*_FILES, locked=True)
def _read(
    features: int,
    said_at: int,
    said: Any,
    joined_at: int,
    joined: Any,
    kinds: Any,
    key: Any,
    x: Any,
    text: Any,
    size: Any,
) -> int:
    """The features of the dict at an address stand in ``key`` and ``x``; returns how many.

    The name of feature k is ``size[k]`` bytes at ``text[k]``. If some item is not an everyday name
    and value it returns -1: Python may know what to do, or say what is wrong.
    """
    n, full = 0, 0
    said[NEXT] = 0
    while _next(features, said_at, said_at + 8 * NAME, said_at + 8 * VALUE) != 0:
        name, value = said[NAME], said[VALUE]
        kind = _type(name)
        _let_go(kind)
        begin = _utf8(name, said_at + 8 * SIZE) if kind == kinds[0] else 0
        length = said[SIZE]
        kind = _type(value)
        _let_go(kind)
        v = 1.0
        if kind == kinds[0]:
            other = _utf8(value, said_at + 8 * SIZE)
            end = full + length + 1 + said[SIZE]
            if begin == 0 or other == 0 or end > len(joined):
                begin = 0
            else:
                for i in range(length):
                    joined[full + i] = byte(begin + i)
                joined[full + length] = EQUALS
                for i in range(said[SIZE]):
                    joined[full + length + 1 + i] = byte(other + i)
                begin, length, full = joined_at + full, end - full, end
        else:
            known = False
            for k in range(1, len(kinds)):
                if kind == kinds[k]:
                    known = True
                    break
            v = _float(value) if known else np.nan
        if begin == 0 or not abs(v) <= EXACT:
            _clear_error()
            return -1
        x[n] = v
        if x[n] != 0.0:
            key[n] = key_of_name(begin, 0, length, DEFAULT_SEED, -1)
            text[n] = begin
            size[n] = length
            n += 1
    return n


@compiled_with(*_FILES)
def _spell(where: Any, text: Any, size: Any) -> Any:
    """The names of the features at these places: see `names.Spelled`."""
    bound = np.zeros(len(where) + 1, np.int64)
    for i in range(len(where)):
        bound[i + 1] = bound[i] + size[where[i]]
    out = np.empty(bound[-1], np.uint8)
    for i in range(len(where)):
        for k in range(size[where[i]]):
            out[bound[i] + k] = byte(text[where[i]] + k)
    return bound, out


class One(Sequence[str]):
    """The arrays of one example, filled anew for each; as a sequence, its features' names.

    ``learn`` and ``predict`` are a learner's kernels, for these arrays. ``fitting`` are labels that
    are known to fit its loss.
    """

    def __init__(self, learn: Any, predict: Any) -> None:
        self.learn, self.predict = self._first("learn", learn), self._first("predict", predict)
        self._read, self._spell = self._first("_read", _read), self._first("_spell", _spell)
        self.fitting: set[float] = set()
        self.prediction = np.zeros(1)
        self._start = np.zeros(2, np.int64)
        self._label, self._importance = np.zeros(1, np.float32), np.zeros(1, np.float32)
        self._said, self._joined = np.zeros(4, np.int64), np.empty(JOINED, np.uint8)
        self._features: Features = {}
        self._make_room(64)

    def _first(self, name: str, kernel: Any) -> Callable[..., Any]:
        """What the attribute of this name is until it is called: then, the code for such calls."""

        def first(*args: Any) -> Any:
            found = direct(kernel, *args)
            setattr(self, name, found)
            return found(*args)

        return first

    def _make_room(self, n: int) -> None:
        key, x = np.empty(n, np.uint64), np.empty(n, np.float32)
        base = np.zeros(1, np.float32)
        self.batch = Batch(self._start, key, x, self._label, self._importance, base, self)
        self.slots, self.fresh = np.empty(n, np.uint64), np.empty(n, np.int64)
        self._text, self._size = np.empty(n, np.int64), np.empty(n, np.int64)
        self._arrays = (
            self._said.ctypes.data,
            self._said,
            self._joined.ctypes.data,
            self._joined,
            KINDS,
            key,
            x,
            self._text,
            self._size,
        )

    def takes(self, features: Features) -> bool:
        """Whether the features are everyday ones; then they are the example's."""
        if type(features) not in DICTS:
            return False
        if len(features) > len(self.slots):
            self._make_room(2 * len(features))
        n = self._read(id(features), *self._arrays)
        self._start[1] = n
        self._features = features  # whose names must stay where they are
        return bool(n >= 0)

    def takes_label(self, label: float, importance: float) -> bool:
        """Whether label and importance are everyday numbers; then they are the example's."""
        if type(label) not in NUMBERS or type(importance) not in NUMBERS:
            return False
        if not (-EXACT <= label <= EXACT and 0 <= importance <= EXACT):
            return False
        self._label[0], self._importance[0] = label, importance
        return True

    def fits(self, label: float) -> None:
        """The label need not be looked at again."""
        if len(self.fitting) >= FITTING:
            self.fitting.clear()
        self.fitting.add(label)

    def __len__(self) -> int:
        return int(self._start[1])

    def __getitem__(self, k: Any) -> Any:
        names = decoded(*self.spelled(np.arange(len(self))))
        return names[k]

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """The names of the features at these places, as `Batch.from_dicts` makes them."""
        found: Spelled = self._spell(where, self._text, self._size)
        return found


class Mine(local):
    """An example for each thread, so that several may predict at once."""

    def __init__(self, learn: Any, predict: Any) -> None:
        self.one = One(learn, predict)
        self._kernels = learn, predict

    def __reduce__(self) -> Any:
        return Mine, self._kernels
