"""``dwindle predict``: the face of `Model.predict` over a stream."""

import sys
from typing import Any

import click

from dwindle.cli.options import data, reading, told_in_one_line
from dwindle.cli.report import screen


@click.command(name="predict")
@click.argument("model")
@data
@click.option("--output", "-o", default="-", help="Where to, standard output if not said.")
@click.option("--proba", is_flag=True, help="The chance of the positive class.")
@click.option("--label", is_flag=True, help="The class, as the data spells it.")
@click.option("--tags", is_flag=True, help="Each prediction followed by the example's tag.")
@told_in_one_line
def command(
    model: str, *, output: str, proba: bool, label: bool, tags: bool, **settings: Any
) -> None:
    """Print one prediction a line for the examples of DATA, in their order.

    \b
    Example:
      dwindle predict ads.parquet test.vw --proba
    """
    from dwindle.predicting import predict

    paths, skip_bad = settings.pop("data"), settings.pop("skip_bad")
    kind = "probability" if proba else "label" if label else "score"
    skipped = 0
    with screen(bar=output != "-") as shown:
        parts = predict(
            model, paths, reading(settings), kind=kind, skip_bad=skip_bad, on_batch=shown.place
        )
        with click.open_file(output, "w") as out:
            for part in parts:
                skipped += part.skipped
                numbers = [f"{p:.9g}" for p in part.prediction]
                if tags and part.tags is not None:
                    numbers = [
                        f"{p} {tag}" if tag else p
                        for p, tag in zip(numbers, part.tags, strict=True)
                    ]
                out.write("".join(f"{line}\n" for line in numbers))
    if skipped:
        click.echo(f"dwindle: skipped {skipped:,} bad lines", err=True)
    sys.stdout.flush()
