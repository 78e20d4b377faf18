"""Options for reading data, and the part of them that a model remembers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dwindle._base.errors import SettingError
from dwindle.data.schema import ColumnKinds, Kind, Schema, checked_kinds, in_options

BLOCK = 2**22  # bytes of text parsed at a time: threads wait for each other once for each
LONGEST_LINE = 2**28  # bytes


@dataclass(frozen=True)
class ReadOptions:
    """How to read data; by default the format is found from each file's name or first line.

    ``columns`` says what kind a column of a table is, by its name or a pattern: "number",
    "category", "text", "date", or "drop" to leave out a column or a namespace. ``schema`` is what a
    model remembers of its columns, and then decides alone. Of a text, each run of up to ``ngrams``
    words is a feature, with value 1, or with ``counts`` how often it occurs.
    """

    format: str | None = None
    label_column: str | None = "label"
    weight_column: str | None = None
    id_column: str | None = None  # its cells name the rows; a feature only if learned as one
    labelled: bool = True  # False: tables may lack the label and weight columns
    interactions: tuple[tuple[str, ...], ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    schema: Schema | None = None
    ngrams: int = 1
    counts: bool = False
    allow_unknown: bool | None = None  # predict though the model knows no column or no feature
    delimiter: str | None = None  # between the cells of a CSV file; default ",", or a tab in TSV
    header: tuple[str, ...] = ()  # names of the columns, if the file begins without them
    ahead: bool = True  # read in a thread of its own, ahead of what is asked for
    live: bool = False  # hand on what a pipe holds when no more comes, if only lines decide
    threads: int | None = None  # parser threads; default 2, or 1 on one or two cores
    block_size: int = BLOCK

    def __post_init__(self) -> None:
        if self.ngrams < 1:
            raise SettingError(f"ngrams must be 1 or more, got {self.ngrams}")

    @property
    def dropped(self) -> frozenset[str]:
        """The names of columns or namespaces to leave out."""
        return frozenset(name for name, kind in self.columns.items() if kind == Kind.DROP)


def for_tables(options: ReadOptions) -> list[str]:
    """List the options given that only tables heed, as the command line writes them.

    >>> for_tables(ReadOptions(label_column="y", columns={"zip": "category", "ad": "drop"}))
    ['--label-column y', '--categorical zip']
    """
    usual, kinds = ReadOptions(), checked_kinds(options.columns)
    roles = ("label_column", "weight_column", "id_column")
    said = {name: getattr(options, name) for name in roles}
    found = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in said.items()
        if value not in {None, getattr(usual, name)}
    ]
    return found + [in_options(name, kind) for name, kind in kinds.items() if kind != Kind.DROP]


def kinds_for(options: ReadOptions, note: Callable[[str], None] | None = None) -> ColumnKinds:
    """Begin to decide the kinds of columns, for all that is read with these options."""
    return ColumnKinds(
        options.columns,
        options.schema,
        note,
        allow_unknown=options.allow_unknown,
        say=in_options if options.allow_unknown is None else None,  # or a command that predicts
        names={*options.dropped, *(name for names in options.interactions for name in names)},
    )


def kept_reading(options: ReadOptions) -> dict[str, Any]:
    """Return the options that decide what the features are, as a model's metadata keeps them."""
    return {
        "label_column": options.label_column,
        "weight_column": options.weight_column,
        "interactions": [list(product) for product in options.interactions],
        "columns": {name: kind.value for name, kind in checked_kinds(options.columns).items()},
        "schema": None if options.schema is None else options.schema.to_json(),
        "ngrams": options.ngrams,
        "counts": options.counts,
    }


def as_before(kept: dict[str, Any], options: ReadOptions) -> ReadOptions:
    """Return ``options`` with what `kept_reading` kept, so that the features are the same."""
    dropped = dict.fromkeys(kept.get("ignore", ()), Kind.DROP)  # of files before version 0.2
    schema = kept.get("schema")
    return replace(
        options,
        label_column=kept["label_column"],
        weight_column=kept["weight_column"],
        interactions=tuple(tuple(product) for product in kept["interactions"]),
        columns=kept.get("columns", dropped),
        schema=None if schema is None else Schema.from_json(schema),
        ngrams=kept.get("ngrams", 1),
        counts=kept.get("counts", False),
    )
