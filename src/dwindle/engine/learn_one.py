"""The fast path for one example: a dict goes through a kernel in a single call.

The key of a name is a hash of its UTF-8, which CPython keeps in the string. So compiled code walks
through the dict by CPython's own C functions and hashes each name in place: 2 us for 70 features.
(A Python dict from names to keys took 40 us, and would remember what the table forgets.)

Examples that are not of the usual kind, by an unusual value for instance, are left to
`Learner.learn`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from dwindle._base.dispatch import by_class
from dwindle._base.system import has_known_object_layout
from dwindle._base.text import EQUALS
from dwindle.algorithm.losses import accepted_labels
from dwindle.algorithm.shrinkage import is_late
from dwindle.engine import cardinality, kernels
from dwindle.engine.label_scale import (
    MEAN,
    SQUARES,
    LabelScale,
    N,
    deviation,
    standard,
    with_label,
)
from dwindle.engine.table_kernels import ONE, home_of
from dwindle.features.xxh64 import key_in_memory
from dwindle.jit.compile import Kernel, helper, in_class, kernel, teach
from dwindle.jit.interpreted import JIT
from dwindle.jit.intrinsics import byte, c_function, double, prefetch, word
from dwindle.jit.numbers import float64
from dwindle.jit.packed_args import pack, signature, unpack

# CPython's C functions, which take the addresses of objects.
_next = c_function("PyDict_Next", "intc", "intp", "intp", "intp", "intp")
_utf8 = c_function("PyUnicode_AsUTF8AndSize", "intp", "intp", "intp")
_float = c_function("PyFloat_AsDouble", "float64", "intp")
_error = c_function("PyErr_Occurred", "intp")
_clear_error = c_function("PyErr_Clear", "void")
TYPE = object.__basicsize__ - 8  # offset of an object's type: the last field of its header
FLOAT = float.__basicsize__ - 8  # offset of the number in a float

# Dicts that PyDict_Next may walk: none without a compiler, or in an unusual build of Python.
DICTS = frozenset({dict, Counter, defaultdict} if JIT and has_known_object_layout() else ())
KINDS = (
    *(str, float, int, bool, np.bool_, np.float64, np.float32),
    *(np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8),
)
NUMBERS = frozenset(KINDS[1:])
EXACT = 2**53  # up to here every integer is exact in double precision
JOINED = 2**14  # bytes for all the ``name=text`` of an example
N_LABELS = 64  # labels that are remembered as accepted by the loss

NEXT, NAME, VALUE, SIZE, START = range(5)  # elements of ``ints``; CPython writes the first four
LABEL, IMPORTANCE, BASE = range(3)  # elements of ``floats``
KEY, SLOT = range(2)  # rows of ``hashes``
TEXT, LENGTH, FRESH = range(3)  # rows of ``places``
# Outcomes of `learn_one`.
DIVERGED, LEARNED, LEARNED_AND_FULL, LEARNED_AND_CROWDED, NO_ROOM, UNLEARNED, UNUSUAL = range(7)
CROWDED = (LEARNED_AND_CROWDED, UNLEARNED)

_learn = helper(kernels.learn.function)
_predict = helper(kernels.predict.function)
_observe = helper(cardinality.observe)


class Workspace(NamedTuple):
    """The fixed arguments of `learn_one` and `predict_one`."""

    cells: Any
    mixer: int
    capacity: int
    counts: Any  # of the table: features in it, and the most there ever were
    position: Any
    pulled: Any
    rate: Any
    n_steps: int  # before the clock's window
    size: float
    pending: Any  # names for the name table
    register: Any  # of the counter of distinct features
    moments: Any  # of the labels, see `label_scale`
    centred: bool
    parts: Any  # of the learner, as `Parts`
    ints: Any
    joined: Any
    kinds: Any
    hashes: Any
    x: Any
    shares: Any
    places: Any
    floats: Any
    prediction: Any


@by_class
def learn_example(parts: Any, work: Any, n: int) -> Any:
    """Learn from the n features in the workspace; return as `kernels.learn` does."""


@by_class
def predict_example(parts: Any, work: Any, n: int) -> Any:
    """Predict for the n features in the workspace."""


class Parts(NamedTuple):
    """What a learner is made of beside its table and clock."""

    bias: Any
    constant: float
    normalize: bool
    loss: Any
    shrinkage: Any
    update: Any

    def learn_example(self, work: Any, n: int) -> Any:
        return _learn(
            0, work.ints[START:], work.hashes[KEY][:n], work.x, work.floats[LABEL:IMPORTANCE],
            work.floats[IMPORTANCE:BASE], work.floats[BASE:], work.n_steps, work.position[0],
            work.rate, work.pulled, work.size, work.cells, work.mixer,
            work.capacity - work.counts[0], self.bias, self.constant, self.normalize, self.loss,
            self.shrinkage, self.update, work.hashes[SLOT], work.places[FRESH], work.prediction,
        )  # fmt: skip

    def predict_example(self, work: Any, n: int) -> Any:
        at = work.position[0]
        size = work.rate[at] if is_late(self.shrinkage) else work.size
        _predict(
            work.ints[START:], work.hashes[KEY][:n], work.x, work.floats[BASE:], work.pulled[at],
            size, work.n_steps + at, work.cells, work.mixer, self.bias, self.constant,
            self.normalize, self.shrinkage, self.update, work.prediction,
        )  # fmt: skip
        return work.prediction[0]


teach(learn_example, predict_example, forceinline=True)  # they take the whole workspace


# Of a workspace: the arrays that others may replace, then all of it in bytes, as kernels take it,
# and itself, which keeps its arrays alive.
Packed = tuple[Any, Any, Any, Any, Any, bytes, Workspace]


@helper
def _number(value: int, kinds: Any) -> float:
    """Convert the object at an address to a number; NaN if it is of none of the known kinds."""
    kind = word(value + TYPE)
    for k in range(1, len(kinds)):
        if kind == kinds[k]:
            v = _float(value)
            return np.nan if v == -1.0 and _error() != 0 else v  # an integer beyond all floats
    return np.nan


@helper
def _read(features: int, work: Any) -> int:
    """Read the dict at an address into ``hashes[KEY]`` and ``x``; return its number of features.

    The name of feature k is ``places[LENGTH, k]`` bytes at the address ``places[TEXT, k]``. Return
    -1 if some item is not a usual name and value, or does not fit. Prefetch the features' cells,
    as `kernels.learn` prefetches only those of later examples.
    """
    ints, joined, kinds, cells = work.ints, work.joined, work.kinds, work.cells
    hashes, x, places = work.hashes, work.x, work.places
    ints_at, joined_at = ints.ctypes.data, joined.ctypes.data
    n, full = 0, 8  # see `key_in_memory`
    mix, shift = home_of(cells, work.mixer)
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
            prefetch(cells, ((key + ONE) * mix) >> shift)
            hashes[KEY, n] = key
            places[TEXT, n] = text
            places[LENGTH, n] = length
            n += 1
    ints[START] = 0
    ints[START + 1] = n
    return n


@helper
def _standardize(floats: Any, moments: Any, centred: bool) -> tuple[float, float, float]:
    """Put the label in standard units, if labels are to be; return the moments with it."""
    if len(moments) == 0:
        return 0.0, 0.0, 0.0
    y = float64(floats[LABEL])
    n, mean, squares = with_label(
        moments[N], moments[MEAN], moments[SQUARES], y, floats[IMPORTANCE], centred
    )
    floats[LABEL] = standard(n, mean, squares, y)
    return n, mean, squares


@helper
def _set(moments: Any, values: tuple[float, float, float]) -> None:
    """Set the moments of the labels."""
    if len(moments) > 0:
        moments[N], moments[MEAN], moments[SQUARES] = values


@helper
def _own_unit(moments: Any, p: float) -> float:
    """Return a prediction in the labels' own unit."""
    if len(moments) == 0:
        return p
    return moments[MEAN] + deviation(moments[N], moments[SQUARES]) * p


@helper
def _outcome(done: int, n_fresh: int) -> int:
    """Tell whether the example was learned from, and whether keys crowd."""
    if done == 0:
        return UNLEARNED if n_fresh < 0 else DIVERGED
    return LEARNED_AND_CROWDED if n_fresh < 0 else LEARNED


@kernel(nogil=False)
def learn_one(features: int, label: float, importance: float, packed: Any) -> tuple[int, float]:
    """Learn from the dict at an address; return the outcome and the prediction.

    The clock's position and the table's counts are changed in the workspace, so nothing is lost if
    an interrupt follows the call. Names of new features go to ``pending``, their keys also to
    ``register``; after LEARNED_AND_FULL the pending names should be written down, and after
    LEARNED_AND_CROWDED the table's cells should be spread. So they must after UNLEARNED, which has
    given cells to some features, and learned nothing.

    UNUSUAL leaves everything as it was. So does NO_ROOM, when the table may have no room for the
    example or the clock's window is used up: then the second number is that of its features.
    """
    work = unpack(packed)
    if not (abs(label) <= EXACT and 0.0 <= importance <= EXACT):
        return UNUSUAL, 0.0
    n = _read(features, work)
    pending, hashes, places, floats = work.pending, work.hashes, work.places, work.floats
    n_names, n_bytes = pending.filled
    if n < 0 or n_names + n > len(pending.key):
        return UNUSUAL, 0.0
    if n_bytes + places[LENGTH][:n].sum() > len(pending.text):
        return UNUSUAL, 0.0
    floats[LABEL], floats[IMPORTANCE] = label, importance
    moments = _standardize(floats, work.moments, work.centred)
    at, used = work.position[0], work.counts[0]
    done, then, n_fresh = learn_example(work.parts, work, n)
    if done == 0 and then == at and n_fresh >= 0:
        return NO_ROOM, float(n)
    outcome = _outcome(done, n_fresh)
    n_fresh = max(n_fresh, ~n_fresh)
    for f in range(n_fresh):
        k = places[FRESH, f]
        pending.key[n_names + f] = hashes[KEY, k]
        pending.size[n_names + f] = places[LENGTH, k]
        for i in range(places[LENGTH, k]):
            pending.text[n_bytes + i] = byte(places[TEXT, k] + i)
        n_bytes += places[LENGTH, k]
    work.position[0] = then
    if n_fresh > 0:
        _observe(work.register, pending.key[n_names : n_names + n_fresh])
        n_names += n_fresh
        pending.filled[0], pending.filled[1] = n_names, n_bytes
        work.counts[0] = used + n_fresh
        work.counts[1] = max(used + n_fresh, work.counts[1])
        full = n_names + len(work.x) > len(pending.key) or 2 * n_bytes > len(pending.text)
        if full and outcome == LEARNED:
            outcome = LEARNED_AND_FULL
    if outcome == UNLEARNED:
        return outcome, 0.0
    p = _own_unit(work.moments, work.prediction[0])
    _set(work.moments, moments)
    return outcome, p


@kernel(nogil=False)
def predict_one(features: int, packed: Any) -> tuple[bool, float]:
    """Predict for the dict at an address; return if it is usual, and the score."""
    work = unpack(packed)
    n = _read(features, work)
    if n < 0:
        return False, 0.0
    return True, _own_unit(work.moments, predict_example(work.parts, work, n))


class FastPath:
    """The workspace of one learner's `learn_one` and `predict_one`, and their machine code.

    Nothing that an example leaves in the workspace outlasts the call, and the kernels keep the
    interpreter's lock: so threads may share it. What gives that lock up takes its `turn`, in which
    nothing is packed, and who would pack waits.

    ``learn`` and ``predict`` are None until there is machine code; then it is their ``run``.
    """

    def __init__(self, parts: Any, label_scale: LabelScale) -> None:
        self._scale = label_scale.moments, label_scale.centred
        self.parts = parts  # whose methods learn and predict; others may take their place
        self._packed: Packed | None = None
        self._turn = RLock()
        self.learn: Any = None
        self.predict: Any = None
        self._accepts, _ = accepted_labels(parts.loss)
        self.labels: set[float] = set()  # some that the loss accepts
        self.make_room(64)

    def compile_learn(self, clock: Any, table: Any) -> Any:
        """Make ``learn``."""
        self.learn = self._compiled(learn_one, ("int64", "float64", "float64"), clock, table)
        return self.learn

    def compile_predict(self, clock: Any, table: Any) -> Any:
        """Make ``predict``."""
        self.predict = self._compiled(predict_one, ("int64",), clock, table)
        return self.predict

    def _compiled(self, kernel: Kernel, kinds: tuple[str, ...], clock: Any, table: Any) -> Any:
        kind = signature(*kinds, packed=self._workspace(clock, table))
        ingredients = (part for part in self.parts if isinstance(part, tuple))
        return in_class(kernel.of(self.parts, *ingredients).compile(kind))

    def make_room(self, n: int) -> None:
        """Make room for examples of n features."""
        self._scratch = (
            np.zeros(START + 2, np.int64),
            np.empty(JOINED, np.uint8),
            np.array([id(kind) for kind in KINDS], np.uint64),
            np.empty((2, n), np.uint64),
            *(np.empty(n, np.float32), np.empty(n, np.float32)),
            np.empty((3, n), np.int64),
            np.zeros(3, np.float32),
            np.zeros(1),
        )
        self.room = n
        self._packed = None

    def packed(self, clock: Any, table: Any) -> bytes:
        """Return the workspace in bytes, made anew if clock or table have other arrays than before.

        The comparison comes last and calls nothing: at a call another thread might change them.
        """
        while True:
            found = self._packed
            if found is not None:
                position, cells, pending, register, parts, block, _ = found
                if (
                    position is clock.position
                    and cells is table.cells
                    and pending is table.names.pending
                    and register is table.seen.register
                    and parts is self.parts
                ):
                    return block
            with self._turn:
                work = self._workspace(clock, table)
                known = work.position, work.cells, work.pending, work.register, work.parts
                self._packed = (*known, pack(work), work)

    def _workspace(self, clock: Any, table: Any) -> Workspace:
        state: tuple[Any, ...] = (
            *(table.cells, int(table.mixer.view(np.int64)), table.capacity, table.counts),
            *(clock.position, clock.pulled, clock.rate, clock.before, clock.size),
            *(table.names.pending, table.seen.register),
        )
        return Workspace._make((*state, *self._scale, self.parts, *self._scratch))

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let no other thread learn, nor predict one example, meanwhile."""
        with self._turn:
            before, self._packed = self._packed, None
            try:
                yield
            finally:
                self._packed = before

    def accepts(self, label: float) -> bool:
        """Whether the loss is defined for the label."""
        if label in self.labels:
            return True
        if not abs(label) <= EXACT:
            return False
        if self._accepts is not None and not self._accepts(np.array([label], np.float32)).all():
            return False
        if len(self.labels) >= N_LABELS:
            self.labels.clear()
        self.labels.add(label)
        return True
