"""``dwindle inspect``: the command of `Model.load`."""

import json
import textwrap
from collections.abc import Iterator
from typing import Any

import click

from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.frontier import class_table, table
from dwindle.cli.options import FILE, keep
from dwindle.cli.output import for_json
from dwindle.cli.terminal import counts

# Metadata that is shown in another form, or is for going on.
SHOWN_ELSEWHERE = {
    "labels",
    "reading",
    "columns",
    "label_moments",
    "frontier",
    "frontiers",
    "chosen_by",
    "learning_curve",
}


@click.command(name="inspect")
@click.argument("model", type=FILE)
@click.option(
    "--top", type=click.IntRange(0), default=20, show_default=True, help="How many weights to show."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print everything, with all weights, as JSON."
)
@keep
@one_line_errors
def command(model: str, *, top: int, as_json: bool, keep: int | None) -> None:
    """Show what MODEL kept and what it was made with.

    \b
    Example:
      dwindle inspect ads.parquet --top 10
      dwindle inspect path.parquet --keep 100
    """
    from dwindle.model.describe import settings_of
    from dwindle.model.loading import load_saved, picked

    saved = load_saved(model)
    found = picked(saved, keep, model)
    if as_json:
        said = {
            "settings": found.settings,
            "metadata": for_json(found.metadata),
            **_lanes_for_json(saved),
            "intercept": found.intercept,
            "kept": len(found),
            "weights": found.weights(),
        }
        click.echo(json.dumps(said))
        return
    from dwindle.cli.weight_bars import Output, plain

    out = Output()
    settings = (f"{name:<13} {value}" for name, value in settings_of(found))
    for line in (*settings, "", *_outcome(found)):
        click.echo(_wrapped(plain(line, out.encoding), out))
    for line in _frontier(saved, found, out.encoding):
        click.echo(line)
    members = getattr(found, "members", [found])
    for name, each in zip(getattr(found, "classes", [None]), members, strict=True):
        if name is not None:
            told = f"class {name}: intercept {each.intercept:+.6g}, {counted(len(each), 'feature')}"
            click.echo("\n" + plain(told, out.encoding))
        _heaviest(each, top, out)


def _wrapped(line: str, out: Any) -> str:
    """Break a line that is too long for a terminal, below its value."""
    if not out.is_terminal or len(line) <= out.width:
        return line
    return textwrap.fill(line, out.width, subsequent_indent=" " * 14, drop_whitespace=True)


def _heaviest(model: Any, top: int, out: Any) -> None:
    """Print the heaviest weights of a model, or of one class."""
    from dwindle.cli.weight_bars import show
    from dwindle.features.names import shown

    heaviest = list(zip(map(shown, model.names[:top]), model.weight[:top].tolist(), strict=True))
    if heaviest:
        click.echo()
        show(heaviest, out)
    if len(model) > top:
        click.echo(f"\nand {len(model) - top:,} more: --top {len(model)} shows all")


def _outcome(found: Any) -> Iterator[str]:
    """Say the outcome, in the words of the training's summary."""
    from dwindle.model.describe import told

    metadata = {"seen": None, "peak_live": None} | found.metadata
    classes = len(metadata.get("classes", ()))
    yield from counts(len(found), metadata.pop("seen"), metadata.pop("peak_live"), classes)
    for name, value in metadata.items():
        if value is not None and name not in SHOWN_ELSEWHERE:
            yield f"{name.replace('_', ' '):<13} {told(value)}"
    if found.has_state:
        yield "state         kept: dwindle train --start-from goes on exactly"
    has = found.settings["intercept"]
    if not hasattr(found, "members"):
        yield f"intercept     {f'{found.intercept:+.6g}' if has else 'none'}"


def _frontier(saved: Any, found: Any, encoding: str) -> Iterator[str]:
    """Show the gravities that were learned at once; of a path of several classes, those of each."""
    from dwindle.cli.weight_bars import plain
    from dwindle.model.describe import lanes_in
    from dwindle.model.path import Path

    held = "holdout_loss" in found.metadata
    if isinstance(saved, Path):
        frontiers, members = saved.frontier(), saved.members
        by_class = frontiers if isinstance(frontiers, dict) else {None: frontiers}
        for (name, lanes), member in zip(by_class.items(), members, strict=True):
            yield from ("",) if name is None else ("", plain(f"class {name}", encoding))
            yield from table(lanes, member.judged_by, held=held)
        yield "--keep N picks the best of at most N features"
    elif lanes := found.metadata.get("frontier"):
        yield from ("", *table(lanes_in(lanes), found.metadata["chosen_by"], held=held))
    elif several := found.metadata.get("frontiers"):
        by_class = dict(zip(found.classes, map(lanes_in, several), strict=True))
        lines = class_table(by_class, found.metadata["chosen_by"], held=held)
        yield from ("", *(plain(line, encoding) for line in lines))


def _lanes_for_json(saved: Any) -> dict[str, Any]:
    """Return all lanes of a path, of several classes those of each."""
    from dwindle.model.path import Path

    if not isinstance(saved, Path):
        return {}
    found = saved.frontier()
    if isinstance(found, dict):
        return {"frontier": {str(k): [*map(_fields, lanes)] for k, lanes in found.items()}}
    return {"frontier": [*map(_fields, found)]}


def _fields(lane: Any) -> dict[str, Any]:
    return for_json(lane._asdict())
