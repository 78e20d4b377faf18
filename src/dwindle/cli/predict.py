"""``dwindle predict``: the command of `Model.predict` over a stream."""

from collections.abc import Sequence
from typing import Any

import click

from dwindle._base.errors import SettingError
from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import allow_unknown, data, reading
from dwindle.cli.output import written_to
from dwindle.cli.report import Watching, screen


@click.command(name="predict")
@click.argument("model")
@data
@allow_unknown
@click.option("--output", "-o", default="-", help="File to write; - is standard output.")
@click.option(
    "--proba",
    is_flag=True,
    help="Print the probability of the positive class, or of each of several.",
)
@click.option(
    "--label",
    is_flag=True,
    help="Print the class, as labelled in the data; several classes need not be told.",
)
@click.option("--tags", is_flag=True, help="Append the example's tag to each line.")
@one_line_errors
def command(
    model: str, *, output: str, proba: bool, label: bool, tags: bool, **settings: Any
) -> None:
    """Print one prediction a line for the examples of DATA, in their order.

    It is the score, or of several classes the class. With --proba there is a number for each of
    several classes, in the order in which `dwindle inspect` lists them.

    \b
    Example:
      dwindle predict ads.parquet test.vw --proba
    """
    from dwindle._base.files import check_apart
    from dwindle.data.sources import sources
    from dwindle.runs.predict import predict

    paths, skip_bad = settings.pop("data"), settings.pop("skip_bad")
    if proba and label:
        raise SettingError("--proba and --label exclude each other: give one of them")
    kind = "probability" if proba else "label" if label else None
    skipped = 0
    if output != "-":
        check_apart(output, [model, *sources(paths)])
    with screen(bar=output != "-") as shown:
        parts = predict(
            model, paths, reading(settings), kind=kind, skip_bad=skip_bad, observer=Watching(shown)
        )
        with written_to(output) as out:
            for part in parts:
                skipped += part.skipped
                out.write(text_of(part.prediction, part.tags if tags else None))
                out.flush()  # who sends lines one by one waits for the answer
    if skipped:
        click.echo(f"dwindle: skipped {counted(skipped, 'bad line')}", err=True)


def text_of(prediction: Any, tags: Sequence[str] | None) -> Any:
    """Format each prediction on a line, followed by its tag if it has one."""
    import numpy as np

    from dwindle.data.text.decimals import lines

    if prediction.dtype.kind == "U":
        shown = prediction.tolist()
    elif prediction.ndim == 1 and tags is None:
        return lines(prediction)
    else:
        numbers = lines(prediction.ravel()).tobytes().decode().splitlines()
        shown = [" ".join(row) for row in np.reshape(numbers, (len(prediction), -1))]
    if tags is None:
        return "".join(f"{p}\n" for p in shown).encode()
    tagged = (f"{p} {tag}\n" if tag else f"{p}\n" for p, tag in zip(shown, tags, strict=True))
    return "".join(tagged).encode("utf-8", "surrogateescape")
