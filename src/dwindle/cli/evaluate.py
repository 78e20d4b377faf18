"""``dwindle evaluate``: the command of `dwindle.runs.evaluate.evaluate`."""

import json
from collections.abc import Iterator
from typing import Any

import click

from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import as_json, data, reading
from dwindle.cli.output import for_json
from dwindle.cli.report import Watching, screen


@click.command(name="evaluate")
@click.argument("model")
@data
@as_json("the figures")
@one_line_errors
def command(model: str, *, as_json: bool, **settings: Any) -> None:
    """Print how good MODEL is on the labelled examples of DATA.

    \b
    Example:
      dwindle evaluate ads.parquet test.vw
    """
    from dwindle.runs.evaluate import evaluate

    paths, skip_bad = settings.pop("data"), settings.pop("skip_bad")
    with screen(bar=not as_json) as shown:
        found = evaluate(
            model, paths, reading(settings), skip_bad=skip_bad, observer=Watching(shown)
        )
    if as_json:
        click.echo(json.dumps(for_json(found)))
        return
    click.echo("\n".join(_lines(found)))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """Format the figures in the words of the training's summary."""
    yield f"examples      {found['examples']:,}"
    logistic = found["loss_name"] == "Logistic"
    also = ", the log loss" if logistic else ""
    yield f"loss          {found['loss']:.6f} {found['loss_name'].lower()}{also}"
    if "log_loss" in found and not logistic:
        yield f"log loss      {found['log_loss']:.6f}"
    yield f"constant      {found['best_constant_loss']:.6f} is the best constant's loss"
    if "accuracy" in found:
        yield f"accuracy      {found['accuracy']:.6f}"
        area = f"{found['auc']:.6f}" if found["auc"] == found["auc"] else "none: one class only"
        yield f"AUC           {area}"
    if "coverage" in found:
        yield f"coverage      {found['coverage']:.6f} of the labels are at or below the prediction"
    if "rmse" in found:
        yield f"RMSE          {found['rmse']:.6f}"
    yield f"kept          {counted(found['kept'], 'feature')}"
    if found["skipped"]:
        yield f"skipped       {counted(found['skipped'], 'bad line')}"
