"""Tables as examples: wide ones have a column for each feature, list ones a list in each row.

What columns and JSON have in common is here too: features as numbers of distinct names, of which
each is hashed once, and the products of groups of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwindle.batch import Batch
from dwindle.errors import DataError
from dwindle.formats.block import BadLine, Parsed
from dwindle.formats.distinct import distinct
from dwindle.formats.keys import DEFAULT_SEED, key_of_name, mix
from dwindle.formats.scan import text_kernel
from dwindle.formats.spans import Lazy
from dwindle.formats.vw import MOST_PRODUCTS
from dwindle.hashing import LARGEST
from dwindle.names import Spelled, decoded, spelled

Interactions = tuple[tuple[str, ...], ...]

MOST_ROWS = 1 << 16  # of a batch: more would only wait in memory

LIST_SCHEMA = pa.schema(
    [
        pa.field("label", pa.float32(), nullable=False),
        pa.field("importance", pa.float32(), nullable=False),
        pa.field("base", pa.float32()),
        pa.field("key", pa.list_(pa.field("item", pa.uint64(), nullable=False)), nullable=False),
        pa.field("x", pa.list_(pa.field("item", pa.float32(), nullable=False)), nullable=False),
        pa.field("name", pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        pa.field("tag", pa.string()),
    ]
)


# Features as numbers of distinct names


class Words(NamedTuple):
    """The distinct features of a batch: name and key of each, and which of ``groups`` it is in."""

    name: Sequence[Any]  # str, or what str() makes the name of
    key: NDArray[np.uint64]
    group: NDArray[np.int32]
    groups: Sequence[str]


class Rows(NamedTuple):
    """Examples whose features are words: those of row i are from ``start[i]`` to ``start[i+1]``."""

    line: NDArray[np.int64]
    label: NDArray[np.float32]
    importance: NDArray[np.float32]
    start: NDArray[np.int64]
    word: NDArray[np.int32]
    x: NDArray[np.float32]

    def only(self, good: NDArray[np.bool_]) -> "Rows":
        """The rows that are good."""
        size = np.diff(self.start)
        features = np.repeat(good, size)
        return Rows(
            self.line[good],
            self.label[good],
            self.importance[good],
            starts(size[good]),
            self.word[features],
            self.x[features],
        )

    def without_zeros(self) -> "Rows":
        """The same rows without the features whose value is 0."""
        kept = self.x != 0
        if kept.all():
            return self
        start = starts(kept)[self.start]
        return self._replace(start=start, word=self.word[kept], x=self.x[kept])


class Names(Lazy):
    r"""The names of features, made when asked for.

    Feature k is the word ``place[k]``, or, if that is -1 - row, the product of the words
    ``factor[row]`` (-1 for no third one), which is called ``group*group\0name*name``.
    """

    def __init__(self, words: Words, place: NDArray[np.int32], factor: NDArray[np.int32]) -> None:
        self._words = words
        self._place = place
        self._factor = factor

    def __len__(self) -> int:
        return len(self._place)

    def spelled(self, where: NDArray[np.int64]) -> Spelled:
        """The names at these places as one text; those that Arrow has, without a string of each."""
        place, name = self._place[where], self._words.name
        if not isinstance(name, pa.Array) or (place < 0).any():
            return spelled([self._at(k) for k in where.tolist()], np.arange(len(where)))
        found = name.take(shared_with_arrow(place)).cast(pa.large_string())
        _, bound, text = found.buffers()
        begin = found.offset
        bounds = np.frombuffer(bound, np.int64)[begin : begin + len(found) + 1]
        return bounds - bounds[0], np.frombuffer(text or b"", np.uint8)[bounds[0] : bounds[-1]]

    def _at(self, k: int) -> str:
        place = int(self._place[k])
        if place >= 0 and isinstance(self._words.name, pa.Array):
            return decoded(*self.spelled(np.array([k])))[0]
        if place >= 0:
            return str(self._words.name[place])
        factors = [int(word) for word in self._factor[-1 - place] if word >= 0]
        groups = [self._words.groups[self._words.group[word]] for word in factors]
        names = [str(self._words.name[word]).rpartition("\0")[2] for word in factors]
        return "*".join(groups) + "\0" + "*".join(names)


NO_FACTORS = np.empty((0, 3), np.int32)


def starts(size: NDArray[Any]) -> NDArray[np.int64]:
    """Where rows of these sizes start, and where the last ends."""
    start = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=start[1:])
    return start


def single(wide: NDArray[Any]) -> NDArray[np.float32]:
    """The numbers in single precision, rounded as text is: first to double precision."""
    if wide.dtype == np.float32:
        return wide
    with np.errstate(over="ignore"):
        return wide.astype(np.float64, copy=False).astype(np.float32)


def not_finite(value: float, missing: str) -> str:
    """What a number is that single precision cannot hold, and what to write instead."""
    if np.isnan(value):
        return f"is nan: write {missing} for a missing value"
    if np.isinf(value):
        return f"is {value}: write a finite number"
    return f"is {value}, too large for single precision: write a number below 3.4e38 in size"


def finished(
    rows: Rows,
    words: Words,
    source: str,
    faults: Mapping[int, str],
    interactions: Interactions,
    tags: Sequence[str] | None = None,
) -> Parsed:
    """What was parsed: the rows with their products; ``faults`` is what is wrong with which line.

    ``tags`` are of the rows given, of which those with a product too large are left out.
    """
    faults = dict(faults)
    if not interactions or not len(rows.line):
        names = Names(words, rows.word, NO_FACTORS)
        batch = Batch(
            rows.start,
            words.key[rows.word],
            rows.x,
            rows.label,
            rows.importance,
            names=names,
        )
        return Parsed(batch, rows.line, _listed(source, faults), tags, source)
    crossed = sorted({group for groups in interactions for group in groups})
    crossings = np.full((len(interactions), 3), -1, np.int64)
    for c, groups in enumerate(interactions):
        crossings[c, : len(groups)] = [crossed.index(group) for group in groups]
    place_of = {group: j for j, group in enumerate(crossed)}
    group_of = np.array([place_of.get(group, -1) for group in words.groups], np.int32)
    group = group_of[words.group]
    n_products = _n_products(rows, group, crossings)
    crowded = n_products > MOST_PRODUCTS
    what = np.where(crowded, len(interactions), -1)
    product = Products.room_for(rows, int(n_products[~crowded].sum()))
    longest = int(np.diff(rows.start).max())
    member, bound = np.empty(longest, np.int64), np.zeros(len(crossed) + 1, np.int64)
    n, k = _cross(
        rows.start, rows.word, rows.x, words.key, group, crossings, member, bound, product, what
    )
    for i in np.flatnonzero(what >= 0):
        faults[int(rows.line[i])] = _too_much(interactions, int(what[i]))
    good = what < 0
    batch = Batch(
        product.start[: n + 1],
        product.key[:k],
        product.x[:k],
        rows.label[good],
        rows.importance[good],
        names=Names(words, product.place[:k], product.factor),
    )
    if tags is not None:
        tags = [tags[int(i)] for i in np.flatnonzero(good)]
    return Parsed(batch, rows.line[good], _listed(source, faults), tags, source)


def _listed(source: str, faults: Mapping[int, str]) -> list[BadLine]:
    return [BadLine(source, line, faults[line]) for line in sorted(faults)]


def _too_much(interactions: Interactions, what: int) -> str:
    if what == len(interactions):
        return (
            f"the interactions make more than {MOST_PRODUCTS} products of this row: "
            "leave one of them out, or split the row"
        )
    return (
        f"a product of the interaction {'*'.join(interactions[what])} is too large "
        "for single precision: scale its values down"
    )


# Products


class Products(NamedTuple):
    """The arrays that `_cross` fills: rows with their products; see `Names` for the last two."""

    start: NDArray[np.int64]
    key: NDArray[np.uint64]
    x: NDArray[np.float32]
    place: NDArray[np.int32]
    factor: NDArray[np.int32]

    @classmethod
    def room_for(cls, rows: Rows, n_products: int) -> "Products":
        """Space for the rows and so many products."""
        n = len(rows.x) + n_products
        return cls(
            np.zeros(len(rows.line) + 1, np.int64),
            np.empty(n, np.uint64),
            np.empty(n, np.float32),
            np.empty(n, np.int32),
            np.empty((n_products + 1, 3), np.int32),  # one more, for a product that is dropped
        )


def _n_products(
    rows: Rows, group: NDArray[np.int32], crossings: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How many products each row has: of r factors out of n features, n (n+1) ... (n+r-1) / r!."""
    row = np.repeat(np.arange(len(rows.line)), np.diff(rows.start))
    total = np.zeros(len(rows.line))
    for crossing in crossings:
        count = np.ones(len(rows.line))
        for j, r in Counter(crossing[crossing >= 0].tolist()).items():
            n = np.bincount(row[group[rows.word] == j], minlength=len(rows.line)).astype(np.float64)
            for factor in range(r):
                count *= (n + factor) / (factor + 1)
        total += np.rint(count)
    return total


@text_kernel
def _cross(  # noqa: C901, PLR0912 - only a kernel may write
    start: Any,
    word: Any,
    x: Any,
    key: Any,
    group: Any,
    crossings: Any,
    member: Any,
    bound: Any,
    product: Any,
    what: Any,
) -> tuple[int, int]:
    """The rows with their products stand in ``product``, except those with something in ``what``.

    There stands of a row the interaction that has a product too large, or -1. Returns how many
    rows and features there are.
    """
    n, k, row = 0, 0, 0
    for i in range(len(what)):
        if what[i] >= 0:
            continue
        own, row_before = k, row
        m = 0
        for j in range(len(bound) - 1):
            for f in range(start[i], start[i + 1]):
                if group[word[f]] == j:
                    member[m] = f
                    m += 1
            bound[j + 1] = m
        for f in range(start[i], start[i + 1]):
            product.key[k] = key[word[f]]
            product.x[k] = x[f]
            product.place[k] = word[f]
            k += 1
        for c in range(len(crossings)):
            a, b, d = crossings[c, 0], crossings[c, 1], crossings[c, 2]
            for u in range(bound[a], bound[a + 1]):
                for v in range(u if b == a else bound[b], bound[b + 1]):
                    lowest, highest = 0, 1
                    if d >= 0:
                        lowest = v if d == b else u if d == a else bound[d]
                        highest = bound[d + 1]
                    for w in range(lowest, highest):
                        one, two = word[member[u]], word[member[v]]
                        mixed = mix(key[one], key[two])
                        value = x[member[u]] * x[member[v]]
                        product.factor[row, 0] = one
                        product.factor[row, 1] = two
                        product.factor[row, 2] = -1
                        if d >= 0:
                            three = word[member[w]]
                            mixed = mix(mixed, key[three])
                            value *= x[member[w]]
                            product.factor[row, 2] = three
                        if value != 0.0:
                            product.key[k] = mixed
                            product.x[k] = value
                            product.place[k] = -1 - row
                            k += 1
                            row += 1
                        if what[i] < 0 and not np.isfinite(value):
                            what[i] = c
        if what[i] >= 0:
            k, row = own, row_before
        else:
            n += 1
            product.start[n] = k
    return n, k


@text_kernel
def _keys(
    text: int,
    offset: Any,
    seed: Any,
    key: Any,
) -> None:
    """``key[w]`` is the key of the name from ``offset[w]`` to ``offset[w + 1]``."""
    for w in range(len(key)):
        key[w] = key_of_name(text, offset[w], offset[w + 1], seed[w], -1)


def keys_of(
    names: pa.LargeStringArray, seed: NDArray[np.uint64] | None = None
) -> NDArray[np.uint64]:
    """`hashing.key_of` each name in the namespace of this seed, by default the default one."""
    key = np.empty(len(names), np.uint64)
    seed = np.full(len(names), DEFAULT_SEED) if seed is None else seed
    if len(names):
        _, offsets, text = names.buffers()
        offset = np.frombuffer(offsets, np.int64)[names.offset :]
        offset.flags.writeable = False  # to Numba a writable array is another type
        _keys(text.address if text else 0, offset, seed, key)
    return key


# Wide tables


class Roles(NamedTuple):
    """What the columns of a wide table are."""

    label: str
    weight: str | None
    features: list[str]


def roles(
    columns: Sequence[str],
    source: str,
    label_column: str,
    weight_column: str | None = None,
    interactions: Interactions = (),
    ignore: Iterable[str] = (),
) -> Roles:
    """What these columns are, if each that is spoken of is there."""
    for name, n in Counter(columns).items():
        if n > 1:
            raise DataError(f"{source}: {n} columns are named {name!r}: rename all but one")
    features = [c for c in columns if c not in {label_column, weight_column} and c not in ignore]
    wanted = [("the label", label_column)]
    wanted += [("the weight", weight_column)] if weight_column is not None else []
    wanted += [("a column to ignore", name) for name in sorted(ignore)]
    wanted += [("an interaction", name) for names in interactions for name in names]
    for role, name in wanted:
        if name not in columns:
            there = ", ".join(map(repr, columns))
            raise DataError(f"{source}: no column {name!r} for {role}; the columns are {there}")
    for names in interactions:
        if len(names) not in {2, 3}:
            raise ValueError(f"an interaction is of 2 or 3 columns, got {names!r}")
        for name in names:
            if name not in features:
                role = "ignored" if name in ignore else "the label or the weight"
                raise DataError(
                    f"{source}: the interaction {'*'.join(names)} is of column {name!r}, "
                    f"which is {role}: interactions are of features"
                )
    return Roles(label_column, weight_column, features)


def wide(
    table: pa.RecordBatch,
    source: str,
    *,
    label_column: str,
    weight_column: str | None = None,
    interactions: Interactions = (),
    ignore: frozenset[str] = frozenset(),
    line: NDArray[np.int64] | None = None,
    faults: Mapping[int, str] | None = None,
) -> Parsed:
    """The examples of a table that has a column for each feature.

    A numeric or boolean column is a feature named by the column, absent where it is 0 or null. A
    column of strings is the feature ``column=value`` of value 1, absent where it is empty or null.
    A null label makes an example that is not learned from: label 0, importance 0.

    Row i is called ``line[i]``, by default i + 1; ``faults`` says what is already known to be wrong
    with which row, counted from 0.

    >>> columns = {"y": [1, None], "price": [3.5, 0], "color": ["red", ""]}
    >>> table = pa.RecordBatch.from_pydict(columns)
    >>> batch = wide(table, "shop.parquet", label_column="y").batch
    >>> list(batch.names), batch.x.tolist(), batch.start.tolist(), batch.importance.tolist()
    (['price', 'color=red'], [3.5, 1.0], [0, 2, 2], [1.0, 0.0])
    """
    role = roles(table.schema.names, source, label_column, weight_column, interactions, ignore)
    n = table.num_rows
    wrong = dict(faults or {})
    label, importance = _said(table, source, role, wrong)
    word = np.empty((n, len(role.features)), np.int32)
    x = np.empty((n, len(role.features)), np.float32)
    names: list[pa.Array] = [pa.array([], pa.large_string())]
    n_words = 0
    for c, name in enumerate(role.features):
        column = _decoded(table.column(name))
        if pa.types.is_dictionary(column.type):
            distinct, code, x[:, c] = _text(column, name, wrong)
            named = pc.binary_join_element_wise(_large(name), distinct, _large("="))
            word[:, c] = code
            word[:, c] += n_words
        else:
            x[:, c], _ = _numbers(column, source, name, f"column {name!r}", wrong)
            named = pa.array([name], pa.large_string())
            word[:, c] = n_words
        names.append(named)
        n_words += len(named)
    good = np.ones(n, np.bool_)
    good[list(wrong)] = False
    present = x != 0
    present[~good] = False
    line = np.arange(1, n + 1) if line is None else line
    rows = Rows(
        line[good],
        label[good],
        importance[good],
        starts(np.count_nonzero(present, axis=1)[good]),
        word[present],
        x[present],
    )
    every = pa.concat_arrays(names)
    group = np.repeat(np.arange(len(role.features), dtype=np.int32), [len(a) for a in names[1:]])
    words = Words(every, keys_of(every), group, role.features)
    known = {int(line[i]): message for i, message in wrong.items()}
    return finished(rows, words, source, known, interactions)


def _large(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _said(
    table: pa.RecordBatch, source: str, role: Roles, faults: dict[int, str]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The label and the importance of each row."""
    what = f"label column {role.label!r}"
    column = _decoded(table.column(role.label))
    if pa.types.is_dictionary(column.type):
        texts = column.drop_null()
        if len(texts):
            raise DataError(
                f"{source}: {what} must hold numbers, got {texts[0].as_py()!r}: "
                "write a number for each label"
            )
        column = pa.nulls(len(column))
    label, unlabeled = _numbers(column, source, role.label, what, faults)
    importance = np.ones(len(label), np.float32)
    if role.weight is not None:
        what = f"weight column {role.weight!r}"
        column = table.column(role.weight)
        importance, missing = _numbers(column, source, role.weight, what, faults)
        importance = np.where(missing, np.float32(1), importance)
        for i in np.flatnonzero(importance < 0):
            faults.setdefault(
                int(i), f"{what} is {importance[i]}: write 0 to learn nothing from the row"
            )
    importance[unlabeled] = 0
    return label, importance


def _decoded(column: pa.Array) -> pa.Array:
    """The column, dictionary-encoded if and only if it holds strings."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type):
        return column.dictionary_decode()
    return column.dictionary_encode() if _is_text(kind) else column


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _text(
    column: pa.DictionaryArray, name: str, faults: dict[int, str]
) -> tuple[pa.Array, NDArray[Any], NDArray[np.bool_]]:
    """The distinct values of a column, which of them each row has, and whether it has one."""
    code = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    distinct = column.dictionary.cast(pa.large_string())
    if len(distinct) > len(code):  # one dictionary may serve many batches
        used, code = np.unique(code, return_inverse=True)
        distinct = distinct.take(pa.array(used))
    elif not len(distinct):
        distinct = pa.array([""], pa.large_string())
    distinct = distinct.fill_null("")
    present = pc.not_equal(distinct, "").to_numpy(zero_copy_only=False)[code]
    if column.indices.null_count:
        present &= column.indices.is_valid().to_numpy(zero_copy_only=False)
    nul = pc.match_substring(distinct, "\0")
    if pc.any(nul).as_py():
        for i in np.flatnonzero(nul.to_numpy(zero_copy_only=False)[code] & present):
            faults.setdefault(int(i), f"column {name!r} holds a NUL character: remove it")
    return distinct, code, present


def _numbers(
    column: pa.Array, source: str, name: str, what: str, faults: dict[int, str]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The numbers of a column, 0 where there is none, and where there is none."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        column = column.cast(pa.uint8())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise DataError(
            f"{source}: column {name!r} is of type {kind}, which is no feature: "
            "make it numbers or strings, or ignore the column"
        )
    missing = np.zeros(len(column), np.bool_)
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        zero = np.zeros(1, column.type.to_pandas_dtype())
        column = column.fill_null(pa.array(zero, column.type)[0])
    given = shared_by_arrow(column)
    number = single(given)
    finite = np.isfinite(number)
    if not finite.all():
        for i in np.flatnonzero(~finite):
            message = not_finite(float(given[i]), "an empty cell or null")
            faults.setdefault(int(i), f"{what} {message}")
        number = np.where(finite, number, np.float32(0))
    return number, missing


# List tables


def is_list_form(schema: pa.Schema) -> bool:
    """Whether a table of this schema is one that `to_arrow` made."""
    return all(
        schema.get_field_index(name) >= 0
        and pa.types.is_list(schema.field(name).type)
        and schema.field(name).type.value_type == LIST_SCHEMA.field(name).type.value_type
        for name in ("key", "x")
    )


def to_arrow(parsed: Parsed, *, checked: bool = True) -> pa.RecordBatch:
    """The examples as a table of `LIST_SCHEMA`; `from_arrow` gives them back, to the bit.

    Neither the numbers nor the faults of lines are kept. Without names, tags or bases, their column
    is null. Examples without a label have label 0 and importance 0. Names that are not UTF-8 raise
    UnicodeEncodeError, unless they are not ``checked``: then only `from_arrow` can read them.
    """
    batch = parsed.batch
    n = batch.n_examples
    offsets = shared_with_arrow(batch.start).cast(pa.int32())
    if batch.label is None:
        label, importance = np.zeros(n, np.float32), np.zeros(n, np.float32)
    else:
        label = batch.label
        importance = np.ones(n, np.float32) if batch.importance is None else batch.importance
    kind = LIST_SCHEMA.field
    keys = shared_with_arrow(batch.key.astype(np.uint64, copy=False))
    columns = [
        shared_with_arrow(label),
        shared_with_arrow(importance),
        pa.nulls(n, pa.float32()) if batch.base is None else shared_with_arrow(batch.base),
        pa.ListArray.from_arrays(offsets, keys, kind("key").type),
        pa.ListArray.from_arrays(offsets, shared_with_arrow(batch.x), kind("x").type),
        pa.nulls(n, kind("name").type),
        pa.nulls(n, pa.string()) if parsed.tags is None else pa.array(parsed.tags, pa.string()),
    ]
    if batch.names is not None:
        first, code = distinct(batch.key)
        words = _strings(spelled(batch.names, first), checked=checked)
        names = pa.DictionaryArray.from_arrays(shared_with_arrow(code), words)
        columns[5] = pa.ListArray.from_arrays(offsets, names)
    return pa.RecordBatch.from_arrays(columns, schema=LIST_SCHEMA)


def _strings(text: Spelled, *, checked: bool) -> pa.Array:
    bound, raw = text
    found = pa.StringArray.from_buffers(
        len(bound) - 1, pa.py_buffer(bound.astype(np.int32)), pa.py_buffer(raw)
    )
    if checked:
        try:
            found.validate(full=True)
        except pa.ArrowInvalid:  # not all of it is UTF-8: say so as for other strings
            return pa.array(decoded(*text), pa.string())
    return found


def from_arrow(table: pa.RecordBatch, source: str, line: NDArray[np.int64] | None = None) -> Parsed:
    """The examples of a table of `LIST_SCHEMA`, whose ``name``, ``tag`` and ``base`` may be absent.

    If all rows are good, keys and values are where Arrow has them, perhaps in a file: they must
    not be written to.
    """
    line = np.arange(1, table.num_rows + 1) if line is None else line
    for name in ("label", "importance", "key", "x"):
        if table.schema.get_field_index(name) < 0:
            raise DataError(
                f"{source}: no column {name!r} beside the lists: convert the data again"
            )
        column = table.column(name)
        if column.null_count or (name in {"key", "x"} and column.flatten().null_count):
            raise DataError(f"{source}: column {name!r} has nulls: convert the data again")
    faults = _list_faults(table, source)
    if faults:
        good = np.ones(table.num_rows, np.bool_)
        good[list(faults)] = False
        bad = _listed(source, {int(line[i]): message for i, message in faults.items()})
        return from_arrow(table.filter(pa.array(good)), source, line[good])._replace(bad=bad)
    n = table.num_rows
    start, key = _list_of(table.column("key"))
    _, x = _list_of(table.column("x"))
    batch = Batch(
        start,
        shared_by_arrow(key),
        shared_by_arrow(x),
        _copied(table.column("label")),
        _copied(table.column("importance")),
    )
    present = {
        name: table.column(name)
        for name in ("base", "name", "tag")
        if name in table.schema.names and table.column(name).null_count < n
    }
    if "base" in present:
        batch = batch._replace(base=_copied(present["base"]))
    if "name" in present:
        batch = batch._replace(names=_list_names(present["name"], source))
    kept = batch.x != 0
    if not kept.all():
        batch = batch._replace(
            start=starts(kept)[start],
            key=batch.key[kept],
            x=batch.x[kept],
            names=batch.names and [batch.names[int(k)] for k in np.flatnonzero(kept)],
        )
    tags = Texts(present["tag"].fill_null("")) if "tag" in present else None
    return Parsed(batch, line, [], tags, source)


class Texts(Lazy):
    """An Arrow array of strings as a sequence of them, each made when asked for."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def _at(self, k: int) -> str:
        return str(self._array[k])


class _Memory:
    """Where an Arrow array has its numbers; they stay there while this is referred to."""

    def __init__(self, array: pa.Array, dtype: type[np.generic]) -> None:
        self._buffer = array.buffers()[1]
        kind = np.dtype(dtype)
        # Not read-only, as Arrow would have it: to Numba that is another type, and the kernel would
        # be compiled again.
        self.__array_interface__ = {
            "version": 3,
            "shape": (len(array),),
            "typestr": kind.str,
            "data": (self._buffer.address + array.offset * kind.itemsize, False),
        }


# NumPy's arrays are Arrow's and the other way round, by their buffers: the usual ways import
# pandas, if it is installed, which takes half a second.


def shared_with_arrow(array: NDArray[Any]) -> pa.Array:
    """The same numbers as Arrow has them, without a copy if they stand side by side."""
    whole = np.ascontiguousarray(array)
    kind = pa.from_numpy_dtype(whole.dtype)
    return pa.Array.from_buffers(kind, len(whole), [None, pa.py_buffer(whole)])


def shared_by_arrow(array: pa.Array) -> NDArray[Any]:
    """The numbers of an array that has no nulls, where Arrow has them."""
    dtype = array.type.to_pandas_dtype()
    return np.asarray(_Memory(array, dtype)) if len(array) else np.empty(0, dtype)


def _copied(column: pa.Array) -> NDArray[np.float32]:
    whole = column.fill_null(0) if column.null_count else column
    return np.array(single(shared_by_arrow(whole)))


def _list_of(column: pa.ListArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Where the lists of a column start in the array of all their items, and that array."""
    offset = shared_by_arrow(column.offsets).astype(np.int64)
    return offset - offset[0], column.values[offset[0] : offset[-1]]


def _list_names(column: pa.ListArray, source: str) -> Names:
    if column.null_count or column.flatten().null_count:
        raise DataError(f"{source}: some features have no name, others do: convert the data again")
    names = _decoded(_list_of(column)[1])
    place = shared_by_arrow(names.indices)
    none = Words(names.dictionary, np.empty(0, np.uint64), np.empty(0, np.int32), ())
    return Names(none, place, NO_FACTORS)


def _list_faults(table: pa.RecordBatch, source: str) -> dict[int, str]:
    """What is wrong with which row of a list table."""
    faults: dict[int, str] = {}
    _numbers(table.column("label"), source, "label", "label", faults)
    importance, _ = _numbers(table.column("importance"), source, "importance", "importance", faults)
    for i in np.flatnonzero(importance < 0):
        faults.setdefault(
            int(i), f"importance is {importance[i]}: write 0 to learn nothing from the row"
        )
    if "base" in table.schema.names and table.column("base").null_count < table.num_rows:
        _numbers(table.column("base"), source, "base", "base", faults)
    start, key = _list_of(table.column("key"))
    start_of_x, x = _list_of(table.column("x"))
    sizes = [("x", start_of_x)]
    if "name" in table.schema.names and table.column("name").null_count == 0:
        sizes.append(("name", _list_of(table.column("name"))[0]))
    n = np.diff(start)
    for name, other in sizes:
        for i in np.flatnonzero(np.diff(other) != n):
            m = int(other[i + 1] - other[i])
            faults.setdefault(int(i), f"there are {n[i]} keys, but {m} items of {name!r}")

    def check(
        start: NDArray[np.int64], wrong: NDArray[np.bool_], message: Callable[[int], str]
    ) -> None:
        if wrong.any():
            for k in np.flatnonzero(wrong):
                i = int(np.searchsorted(start, k, side="right")) - 1
                faults.setdefault(i, message(int(k)))

    value = shared_by_arrow(x)
    check(start_of_x, ~np.isfinite(value), lambda k: f"a value {not_finite(value[k], '0')}")
    check(
        start,
        shared_by_arrow(key) > LARGEST,
        lambda _: f"a key is above {LARGEST}, the largest there is",
    )
    return faults
