"""``dwindle evaluate``: the face of `dwindle.predicting.evaluate`."""

import json
from typing import Any

import click

from dwindle.cli.options import data, for_json, reading, told_in_one_line
from dwindle.cli.report import screen


@click.command(name="evaluate")
@click.argument("model")
@data
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@told_in_one_line
def command(model: str, *, as_json: bool, **settings: Any) -> None:
    """Print how good MODEL is on the labelled examples of DATA.

    \b
    Example:
      dwindle evaluate ads.parquet test.vw
    """
    from dwindle.predicting import evaluate

    paths, skip_bad = settings.pop("data"), settings.pop("skip_bad")
    with screen(bar=not as_json) as shown:
        found = evaluate(model, paths, reading(settings), skip_bad=skip_bad, on_batch=shown.place)
    if as_json:
        click.echo(json.dumps(for_json(found)))
        return
    for name, value in found.items():
        number = f"{value:,}" if isinstance(value, int) else f"{value:.6f}"
        click.echo(f"{name.replace('_', ' '):<20} {number:>14}")
