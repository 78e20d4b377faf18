"""``dwindle explain``: the command of `dwindle.runs.explain.explain`."""

import json
from collections.abc import Iterator
from typing import Any

import click

from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, allow_unknown, as_json, data, id_column, keep, reading
from dwindle.cli.terminal import Watching, screen

INTERCEPT = "(intercept)"


@click.command(name="explain")
@click.argument("model", type=FILE)
@data
@allow_unknown
@click.option(
    "--n", type=click.IntRange(1), default=5, show_default=True,
    help="How many examples to explain, from the first.",
)  # fmt: skip
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True,
    help="How many features of each to show.",
)  # fmt: skip
@id_column
@keep
@as_json("a line for each example, with all its features,")
@one_line_errors
def command(model: str, *, n: int, top: int, as_json: bool, **settings: Any) -> None:
    """Show what each feature adds to the prediction of MODEL for the first examples of DATA.

    The numbers of an example add up to its score. Of several classes it is the score of the class
    that is predicted.

    \b
    Example:
      dwindle explain ads.parquet test.vw --n 2
    """
    from dwindle.runs.explain import explain

    paths = settings.pop("data")
    with screen(bar=False) as shown:
        how: dict[str, Any] = {"n": n, "observer": Watching(shown)}
        how |= {name: settings.pop(name) for name in ("skip_bad", "keep")}
        found = explain(model, paths, reading(settings), **how)
        if as_json:
            for each in found:
                click.echo(json.dumps(_fields(each)))
            return
        from dwindle.cli.weight_bars import Output, plain, show

        out = Output()
        for k, each in enumerate(found):
            if k:
                click.echo()
            click.echo(plain("  ".join(_heading(each)), out.encoding))
            show(_rows(each.explanation, top), out)


def _heading(each: Any) -> Iterator[str]:
    """Say which example it is, and what is predicted."""
    yield each.place
    if each.id:
        yield each.id
    yield f"score {each.explanation.prediction:.6g}"
    if each.probability is not None:
        yield f"probability {each.probability:.6f}"
    if each.label is not None:
        yield f"label {_spelled(each.label)}"


def _rows(explanation: Any, top: int) -> list[tuple[str, float]]:
    """List the largest contributions, the sum of the others, and the intercept."""
    every = list(explanation.contributions.items())
    rest = every[top:]
    others = [(f"({counted(len(rest), 'other')})", sum(value for _, value in rest))] if rest else []
    return [*every[:top], *others, (INTERCEPT, explanation.intercept)]


def _fields(each: Any) -> dict[str, Any]:
    """Return all that is known of an example, whole."""
    said: dict[str, Any] = each._asdict()
    explanation: dict[str, Any] = said.pop("explanation")._asdict()
    return said | {"score": explanation.pop("prediction")} | explanation


def _spelled(label: Any) -> str:
    from dwindle.data.formats.block import spelled_label

    return spelled_label(label)
