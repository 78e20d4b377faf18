"""What a model can be exported to: one row for each, saying its name, file and what it can do."""

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dwindle._base.errors import SettingError
from dwindle._base.files import check_apart, replacing

if TYPE_CHECKING:  # so that a command's help need not import Arrow and Numba
    from dwindle.model.classes import ClassModels
    from dwindle.model.export.linear import Linear
    from dwindle.model.model import Model
    from dwindle.model.path import Path as Lanes

Write = Callable[["Linear", str], Iterable[str | bytes]]
_HERE = __name__.rpartition(".")[0]


class Target(NamedTuple):
    """A form in which a model is written for another program."""

    name: str
    extensions: tuple[str, ...]  # of files that are meant without saying so
    takes: str  # "columns" of a table, or "features" by name
    what: str
    module: str
    function: str


TARGETS = (
    Target(
        *("onnx", (".onnx",), "columns", "ONNX graph, an input for each column"),
        *("onnx_graph", "of_columns"),
    ),
    Target(
        *("onnx-features", (), "features", "ONNX graph, names and values as input"),
        *("onnx_graph", "of_features"),
    ),
    Target(
        *("sql", (".sql",), "columns", "SELECT with an expression over columns"),
        *("sql", "expression"),
    ),
    Target("sql-join", (), "features", "table of weights, and a view that joins it", "sql", "join"),
    Target("json", (".json",), "features", "every term and weight as JSON", "script", "as_json"),
    Target(
        *("js", (".js", ".cjs"), "features", "JavaScript function, for browsers and Node"),
        *("script", "javascript"),
    ),
    Target("c", (".h",), "features", "C header", "c", "header"),
    Target("vw-readable", (), "features", "Vowpal Wabbit's readable model", "vw", "readable"),
    Target(
        *("vw-names", (), "features", "Vowpal Wabbit's text with names (invert_hash)"),
        *("vw", "invert_hash"),
    ),
)


def names() -> tuple[str, ...]:
    """List what can be written."""
    return tuple(each.name for each in TARGETS)


def target_for(path: str | os.PathLike[str], to: str | None) -> Target:
    """Find what to write: the one named, or that of the file's extension."""
    if to is not None:
        for each in TARGETS:
            if each.name == to:
                return each
        raise SettingError(f"to must be one of {', '.join(names())}, got {to!r}")
    suffix = Path(path).suffix.lower()
    for each in TARGETS:
        if suffix in each.extensions:
            return each
    known = ", ".join(e for each in TARGETS for e in each.extensions)
    raise SettingError(
        f"{path}: cannot tell what to write from its name, which ends in none of {known}: "
        f"say --to, one of {', '.join(names())}"
    )


class Exported(NamedTuple):
    """What was written."""

    target: str
    terms: int
    classes: int  # 0 if there is one score
    size: int


def export(
    model: "str | os.PathLike[str] | Model | ClassModels | Lanes",
    path: str | os.PathLike[str],
    to: str | None = None,
    *,
    table: str = "examples",
    keep: int | None = None,
) -> Exported:
    """Write a model for another program; the new file replaces ``path`` once whole.

    ``to`` is one of `names`, by default that of the extension. ``table`` is the table that SQL
    reads. Of a path it is the chosen lane or, with ``keep``, the best one of so many features.
    """
    from dwindle.model.export.linear import linear_of  # noqa: PLC0415  (see above)
    from dwindle.model.loading import opened  # noqa: PLC0415  (only some need it)

    target = target_for(path, to)
    if isinstance(model, str | os.PathLike):
        check_apart(path, [model])
    linear = linear_of(opened(model, keep))
    write = getattr(import_module(f"{_HERE}.{target.module}"), target.function)
    with replacing(path) as file:
        for part in write(linear, table):
            file.write(part.encode() if isinstance(part, str) else part)
        size = file.tell()
    return Exported(target.name, len(linear.terms), len(linear.classes or ()), size)
