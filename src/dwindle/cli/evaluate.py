"""``dwindle evaluate``: the command of `dwindle.runs.evaluate.evaluate`."""

import json
import math
from collections.abc import Iterator
from typing import Any

import click

from dwindle._base.text import counted
from dwindle.cli.class_report import of_several
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, allow_unknown, as_json, data, keep, reading, threshold
from dwindle.cli.output import for_json
from dwindle.cli.terminal import Watching, screen, weighed
from dwindle.runs.metrics import BINS, METRICS

FEW = 0.1  # share of a class below which accuracy says little
ONE_CLASS = "one class only"


@click.command(name="evaluate")
@click.argument("model", type=FILE)
@data
@allow_unknown
@threshold
@keep
@as_json("the figures")
@one_line_errors
def command(model: str, *, threshold: float, as_json: bool, **settings: Any) -> None:
    """Print how good MODEL is on the labelled examples of DATA.

    Two classes: loss, AUC, average precision, Brier score, calibration error, and accuracy,
    precision, recall and F1 at the threshold. Several classes: loss, log loss, accuracy, which
    classes are taken for which, and precision, recall and F1 of each. Numbers: RMSE, MAE and r2.
    An example of importance 2 counts as two.

    \b
    Example:
      dwindle evaluate ads.parquet test.vw
      dwindle evaluate ads.parquet test.vw --threshold 0.2 --json
      dwindle evaluate path.parquet test.vw --keep 100
    """
    from dwindle.runs.evaluate import evaluate

    paths, skip_bad, keep = (settings.pop(name) for name in ("data", "skip_bad", "keep"))
    with screen(bar=not as_json) as shown:
        found = evaluate(
            model,
            paths,
            reading(settings),
            threshold=threshold,
            skip_bad=skip_bad,
            keep=keep,
            observer=Watching(shown),
        )
    if as_json:
        click.echo(json.dumps(for_json(found)))
        return
    click.echo("\n".join(of_several(found) if "confusion" in found else _lines(found)))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """Format the figures in the words of the training's summary."""
    share = found.get("positive_share")
    of_them = "" if share is None else f", {share:.2%} positive"
    yield f"examples      {found['examples']:,}{of_them}"
    logistic = found["loss_name"] == "Logistic"
    also = ", the log loss" if logistic else ""
    yield f"loss          {found['loss']:.6f} {found['loss_name'].lower()}{also}"
    yield f"constant      {found['best_constant_loss']:.6f} is the best constant's loss"
    yield from weighed(found)
    if "log_loss" in found and not logistic:
        yield f"log loss      {found['log_loss']:.6f}"
    if share is not None:
        yield from _of_classes(found)
    if "coverage" in found:
        yield f"coverage      {found['coverage']:.6f} of labels are at most the prediction"
    for name in ("rmse", "mae", "r2"):
        if name in found:
            yield f"{METRICS[name].title:13} {_number(found[name], 'all labels are the same')}"
    yield f"kept          {counted(found['kept'], 'feature')}"
    if found["skipped"]:
        yield f"skipped       {counted(found['skipped'], 'bad line')}"
    if share is not None and not FEW < share < 1 - FEW:
        yield f"\n{share:.2%} positive: accuracy says little here."
        choose = "; choose a --threshold" if "best_f1" in found else ""
        yield f"Look at PR-AUC, precision and recall{choose}."


def _of_classes(found: dict[str, Any]) -> Iterator[str]:
    """Format what does not depend on the threshold, then what does."""
    share = found["positive_share"]
    yield f"AUC           {_number(found['auc'], ONE_CLASS)}"
    guessed = f", by chance {share:.6f}" if 0 < share < 1 else ""
    area = _number(found["average_precision"], "no positives")
    yield f"PR-AUC        {area} average precision{guessed}"
    if "brier_score" in found:
        yield f"Brier score   {found['brier_score']:.6f}"
        yield f"calibration   {found['calibration_error']:.6f} expected error, {BINS} bins"
    if "best_f1" in found:
        yield f"\nat --threshold {found['threshold']:g}"
    commoner = f"the commoner class has {found['majority_accuracy']:.6f}"
    yield f"accuracy      {found['accuracy']:.6f}, {commoner}"
    yield f"precision     {_number(found['precision'], 'nothing is told positive')}"
    yield f"recall        {_number(found['recall'], 'no positives')}"
    best = found.get("best_f1", math.nan)
    told = "" if math.isnan(best) else f", best {best:.6f} at {found['best_f1_threshold']:.4g}"
    yield f"F1            {_number(found['f1'], 'no positives')}{told}"
    yield ""


def _number(value: float, why_not: str) -> str:
    return f"none: {why_not}" if math.isnan(value) else f"{value:.6f}"
