"""The kinds of a table's columns: said by the user, kept by a model, or decided once in a run.

Imports neither Arrow nor Numba, so that the command line can check options at no cost.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, NamedTuple

from dwindle._base.errors import DataError, SettingError

TOLD = "as told"  # why a column that the user named is of its kind


class Kind(StrEnum):
    """What the cells of a column are; true and false are numbers."""

    NUMBER = "number"  # the feature `column`
    CATEGORY = "category"  # the feature `column=value`
    TEXT = "text"  # a feature for each word
    DATE = "date"  # a feature for each part, as `column.hour=13`
    DROP = "drop"  # no feature: the column is not read


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

    def to_json(self) -> list[dict[str, str]]:
        """Return what a model's metadata keeps."""
        return [{"name": c.name, "kind": c.kind.value, "why": c.why} for c in self.columns]

    @classmethod
    def from_json(cls, kept: Sequence[Mapping[str, str]]) -> "Schema":
        """Read what `to_json` wrote."""
        return cls(tuple(Column(c["name"], Kind(c["kind"]), c["why"]) for c in kept))


def checked_kinds(columns: Mapping[str, Any] | None) -> dict[str, Kind]:
    """Check a mapping from names or patterns of columns to kinds.

    >>> checked_kinds({"zip": "category"})
    {'zip': <Kind.CATEGORY: 'category'>}
    """
    kinds = {}
    for name, kind in (columns or {}).items():
        if kind not in set(Kind):
            known = ", ".join(Kind)
            raise SettingError(f"columns: {name!r} is of kind {kind!r}: expected one of {known}")
        kinds[name] = Kind(kind)
    return kinds


class ColumnKinds:
    """The kinds of the columns of a run, each decided once for all its files.

    A model's ``remembered`` schema decides alone. Without one, what the user ``said`` decides (a
    mapping from names or patterns to kinds), and else the first cells of the column. ``note`` is
    told what the user should know.
    """

    def __init__(
        self,
        said: Mapping[str, Any] | None = None,
        remembered: Schema | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self.remembered = remembered
        self._said = {} if remembered else checked_kinds(said)
        self._note = note or (lambda _text: None)
        self._found = {column.name: column for column in remembered or ()}
        self._undecided: dict[str, None] = {}
        self._lock = Lock()

    def said(self, name: str) -> Kind | None:
        """Return the kind that the user gave a column: by its name, else by the first pattern."""
        if name in self._said:
            return self._said[name]
        return next((k for pattern, k in self._said.items() if fnmatchcase(name, pattern)), None)

    def column(self, name: str) -> Column | None:
        """Return what is known of a column; None if it is still to be decided."""
        return self._found.get(name)

    def decide(self, name: str, kind: Kind, why: str, note: str = "") -> Column:
        """Decide what a column is, unless it is decided; the note says what speaks against it."""
        with self._lock:
            before = self._found.get(name)
            if before is None:
                self._undecided.pop(name, None)
                self._found[name] = Column(name, kind, why)
        if before is None and note:
            self._note(note)
        return self._found[name]

    def features(
        self, columns: Sequence[str], source: str, roles: Collection[str | None]
    ) -> list[str]:
        """List the columns of a table that are features; ``roles`` are its label and weight."""
        there = [name for name in columns if name not in roles]
        if self.remembered is None:
            self._check_said(there, source)
            for name in there:
                said = self.said(name)
                if said is not None:
                    self.decide(name, said, TOLD)
                elif name not in self._found:
                    self._undecided[name] = None
        else:
            there = [name for name in there if name in self._found]
        return [name for name in there if self._kind(name) is not Kind.DROP]

    def _kind(self, name: str) -> Kind | None:
        column = self._found.get(name)
        return None if column is None else column.kind

    def _check_said(self, columns: Sequence[str], source: str) -> None:
        for said in self._said:
            if said not in columns and not any(fnmatchcase(name, said) for name in columns):
                there = ", ".join(map(repr, columns))
                raise DataError(f"{source}: no column {said!r}; the columns are {there}")

    def contradicts(self, column: Column, got: str) -> str:
        """Say what was expected in a column, and why, and what was found instead."""
        advice = f"write a {column.kind}, or an empty cell for a missing value"
        if self.remembered is None:
            advice += f", or say --categorical {column.name}"
        return (
            f"column {column.name!r}: expected a {column.kind} ({column.why}), got {got}: {advice}"
        )

    def schema(self) -> Schema | None:
        """Return the columns met so far; None if there was no table.

        A column that never had a value is left out from then on.
        """
        empty = [Column(name, Kind.DROP, "it had no values") for name in self._undecided]
        found = (*self._found.values(), *empty)
        return Schema(found) if found else None
