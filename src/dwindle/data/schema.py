"""The kinds of a table's columns: said by the user, kept by a model, or decided once in a run.

Imports neither Arrow nor Numba, so that the command line can check options at no cost.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple

from dwindle._base.errors import DataError, SettingError

SHOWN = 20  # names of columns in a message
EMPTY = "it had no values"
TOLD = "as told"  # why a column that the user named is of its kind
NONE: Mapping[Any, str] = MappingProxyType({})


class Kind(StrEnum):
    """What the cells of a column are; true and false are numbers."""

    NUMBER = "number"  # the feature `column`
    CATEGORY = "category"  # the feature `column=value`
    TEXT = "text"  # a feature for each word
    DATE = "date"  # a feature for each part, as `column.hour=13`
    OBJECT = "object"  # a feature for each member, in the namespace that the column names
    DROP = "drop"  # no feature: the column is not read


SAID = tuple(kind for kind in Kind if kind is not Kind.OBJECT)  # what a user can say
OPTIONS = {Kind.NUMBER: "--numeric", Kind.CATEGORY: "--categorical"}  # others are named by kind

Say = Callable[[str, Kind], str]  # how to say that a column is of a kind


def in_options(name: str, kind: Kind) -> str:
    """Say on the command line that a column is of a kind."""
    return f"{OPTIONS.get(kind, f'--{kind}')} {name}"


def in_python(name: str, kind: Kind) -> str:
    """Say in Python that a column is of a kind."""
    return f"columns={{{name!r}: {kind.value!r}}}"


class Column(NamedTuple):
    """A column, its kind, and in words how that was decided."""

    name: str
    kind: Kind
    why: str


@dataclass(frozen=True)
class Schema:
    """The columns of the data that a model was trained on, in the order in which they were met.

    >>> schema = Schema((Column("zip", Kind.CATEGORY, "numbers with leading zeros"),))
    >>> Schema.from_json(schema.to_json()) == schema, schema.kind("zip").value, schema.kind("x")
    (True, 'category', None)
    """

    columns: tuple[Column, ...] = ()

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def kind(self, name: str) -> Kind | None:
        """Return the kind of a column, None if there is none of this name."""
        return next((column.kind for column in self.columns if column.name == name), None)

    def united(self, other: "Schema") -> "Schema":
        """Return the columns of both; refuse a column that is of two kinds.

        A column that had no values in one is of the kind that it has in the other.
        """
        found = {column.name: column for column in self.columns}
        for column in other.columns:
            before = found.get(column.name, column)
            if before.why == EMPTY:
                found[column.name] = column
            elif before.kind is column.kind or column.why == EMPTY:
                found[column.name] = before
            else:
                raise DataError(
                    f"column {column.name!r} is {_taken(column)} in one and {_taken(before)} in "
                    "another: say which when training"
                )
        return Schema(tuple(found.values()))

    def to_json(self) -> list[dict[str, str]]:
        """Return what a model's metadata keeps."""
        return [{"name": c.name, "kind": c.kind.value, "why": c.why} for c in self.columns]

    @classmethod
    def from_json(cls, kept: Sequence[Mapping[str, str]]) -> "Schema":
        """Read what `to_json` wrote."""
        return cls(tuple(Column(c["name"], Kind(c["kind"]), c["why"]) for c in kept))


def _taken(column: Column) -> str:
    kind = "left out" if column.kind is Kind.DROP else f"a {column.kind}"
    return f"{kind} ({column.why})"


def listed(names: Sequence[str]) -> str:
    """List names in a message, the first few if there are many."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more or "none"


def checked_kinds(columns: Mapping[str, Any] | None) -> dict[str, Kind]:
    """Check a mapping from names or patterns of columns to kinds.

    >>> checked_kinds({"zip": "category"})
    {'zip': <Kind.CATEGORY: 'category'>}
    """
    kinds = {}
    for name, kind in (columns or {}).items():
        if kind not in SAID:
            known = ", ".join(SAID)
            raise SettingError(f"columns: {name!r} is of kind {kind!r}: expected one of {known}")
        kinds[name] = Kind(kind)
    return kinds


class ColumnKinds:
    """The kinds of the columns of a run, each decided once for all its files.

    A model's ``remembered`` schema decides alone: columns that it does not have are not read, and
    data that has none of its columns is refused unless ``allow_unknown`` (None if nobody is asked).
    Without one, what the user ``said`` decides (a mapping from names or patterns to kinds), and
    else the first cells of the column. ``note`` is told, once each, what the user should know, and
    which of the ``names`` of columns or namespaces were not in the data. ``say`` is how the user
    can say what a column is, None if there is no way.
    """

    def __init__(
        self,
        said: Mapping[str, Any] | None = None,
        remembered: Schema | None = None,
        note: Callable[[str], None] | None = None,
        *,
        allow_unknown: bool | None = None,
        names: Collection[str] = (),
        say: Say | None = in_python,
    ) -> None:
        self.remembered = remembered
        self._is_python, self._say = say is in_python, None if remembered else say
        self._said = {} if remembered else checked_kinds(said)
        self._tell = note or (lambda _text: None)
        self._notes: dict[str, bool] = {}  # whether each was told
        self._allow_unknown = allow_unknown
        self._found = {column.name: column for column in remembered or ()}
        self._undecided: dict[str, None] = {}
        self._tables: dict[str, None] = {}  # names of columns, of all tables so far
        self._sources: set[str] = set()  # of these tables
        self.unseen = frozenset(names)
        self._lock = RLock()

    def go_on(self, known: Schema) -> None:
        """Go on with the columns that were met before; others may still be met."""
        with self._lock:
            self._found |= {column.name: column for column in known}
            self._tables |= dict.fromkeys(column.name for column in known)

    @property
    def is_used(self) -> bool:
        """Whether any column was met."""
        return bool(self._found or self._undecided)

    def note(self, text: str) -> None:
        """Keep what the user should know, until `tell`; once only."""
        with self._lock:
            self._notes.setdefault(text, False)

    def tell(self) -> None:
        """Tell the notes made so far: reading goes on in threads of its own, which do not print."""
        with self._lock:
            new = [text for text, told in self._notes.items() if not told]
            self._notes |= dict.fromkeys(new, True)
        for text in new:
            self._tell(text)

    def said(self, name: str) -> Kind | None:
        """Return the kind that the user gave a column: by its name, else by the first pattern."""
        if name in self._said:
            return self._said[name]
        return next((k for pattern, k in self._said.items() if fnmatchcase(name, pattern)), None)

    def column(self, name: str) -> Column | None:
        """Return what is known of a column; None if it is still to be decided."""
        return self._found.get(name)

    def advice(self, name: str, kind: Kind, words: str) -> str:
        """Say in these words, with {} for how, that a column can be of another kind, if it can."""
        return "" if self._say is None else words.replace("{}", self._say(name, kind))

    def decide(
        self, name: str, kind: Kind, why: str, note: str = "", others: Mapping[Kind, str] = NONE
    ) -> Column:
        """Decide what a column is, unless it is decided.

        The note says what speaks against it, and ``others`` what other kinds would do.
        """
        with self._lock:
            before = self._found.get(name)
            if before is None:
                self._undecided.pop(name, None)
                self._found[name] = Column(name, kind, why)
        if before is None and note:
            hints = [self.advice(name, other, f"{{}} {does}") for other, does in others.items()]
            self.note(f"{note} ({', '.join(hints)})" if any(hints) else note)
        return self._found[name]

    def features(
        self, columns: Sequence[str], source: str, roles: Collection[str | None]
    ) -> list[str]:
        """List the columns of a table that are features; ``roles`` are its label and weight."""
        there = [name for name in columns if name not in roles]
        if self.remembered is None:
            self._meet(there, source, [name for name in columns if name in roles])
        else:
            self._compare(there, source, self.remembered)
            there = [name for name in there if name in self._found]
        return [name for name in there if self._kind(name) is not Kind.DROP]

    def leave_out(self, name: str, why: str) -> None:
        """Leave out a column that is no feature, unless the user said what it is."""
        if self.said(name) is None:
            note = f"column {name!r}: {why}: left out" if self.remembered is None else ""
            self.decide(name, Kind.DROP, why, note, {Kind.NUMBER: "reads it all the same"})

    def seen(self, names: Collection[str]) -> None:
        """Remember that columns or namespaces of these names were in the data."""
        with self._lock:
            self.unseen -= set(names)

    def tell_unseen(self) -> None:
        """Note, at the end of the data, which names were not in it."""
        for name in sorted(self.unseen):
            self.note(f"no namespace {name!r} in the data: it is neither dropped nor multiplied")
        self.tell()

    def _kind(self, name: str) -> Kind | None:
        column = self._found.get(name)
        return None if column is None else column.kind

    def _meet(self, columns: Sequence[str], source: str, roles: Sequence[str]) -> None:
        """Take notice of the columns of a table to learn from."""
        with self._lock:
            if not self._tables:
                self._check_said(columns, source, roles)
            elif source not in self._sources:  # else another pass, or more members of its objects
                dropped = {
                    column.name for column in self._found.values() if column.kind is Kind.DROP
                }
                there = {*columns, *dropped}
                missing = [name for name in self._tables if name not in there]
                new = [name for name in columns if name not in self._tables]
                if missing:
                    self.note(f"{source}: lacks {listed(missing)}, which files before it have")
                if new:
                    self.note(f"{source}: has {listed(new)}, which files before it lack")
            self._sources.add(source)
            for name in columns:
                self._tables[name] = None
                said = self.said(name)
                if said is not None:
                    self.decide(name, said, TOLD)
                elif name not in self._found:
                    self._undecided[name] = None

    def _compare(self, columns: Sequence[str], source: str, schema: Schema) -> None:
        """Tell which of the model's columns a table lacks, and which of its own are not read."""
        wanted = [column.name for column in schema if column.kind is not Kind.DROP]
        there = set(columns)
        missing = [name for name in wanted if name not in there]
        if wanted and len(missing) == len(wanted) and not self._allow_unknown:
            ask = "" if self._allow_unknown is None else " (--allow-unknown goes on all the same)"
            raise DataError(
                f"{source}: has none of the columns that the model was trained on "
                f"({listed(wanted)}); its columns are {listed(columns)}: is it the right file?{ask}"
            )
        if missing:
            self.note(f"{source}: lacks {listed(missing)}, which the model was trained on")
        if new := [name for name in columns if name not in self._found]:
            self.note(f"{source}: has {listed(new)}, which the model does not know: not read")

    def _check_said(self, columns: Sequence[str], source: str, roles: Sequence[str]) -> None:
        for said in self._said:
            if said not in columns and not any(fnmatchcase(name, said) for name in columns):
                if said in roles:
                    raise DataError(
                        f"{source}: column {said!r} is the label, the weight or the name of rows, "
                        "and so no feature: what kind it is need not be said"
                    )
                raise DataError(f"{source}: no column {said!r}; the columns are {listed(columns)}")

    def contradicts(self, column: Column, got: str) -> str:
        """Say what was expected in a column, and why, and what was found instead."""
        advice = f"write a {column.kind} or nothing"
        if not self._is_python:
            advice += ", or skip such lines with --skip-bad"
        advice += self.advice(column.name, Kind.CATEGORY, ", or read categories with {}")
        return (
            f"column {column.name!r}: expected a {column.kind} ({column.why}), got {got}: {advice}"
        )

    def schema(self) -> Schema | None:
        """Return the columns met so far; None if there was no table.

        A column that never had a value is left out from then on.
        """
        with self._lock:
            empty = [Column(name, Kind.DROP, EMPTY) for name in self._undecided]
            found = (*self._found.values(), *empty)
        return Schema(found) if found else None
