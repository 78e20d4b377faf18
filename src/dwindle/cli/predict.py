"""``dwindle predict``: the command of `Model.predict` over a stream."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from dwindle._base.errors import SettingError
from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, allow_unknown, data, id_column, keep, reading, threshold
from dwindle.cli.output import written_to
from dwindle.cli.terminal import Watching, screen

TABLES = {
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
OTHERS = (".xlsx", ".xls", ".ods", ".json", ".arrow", ".feather")  # tables that are not written


@click.command(name="predict")
@click.argument("model", type=FILE)
@data
@allow_unknown
@click.option(
    "--output",
    "-o",
    default="-",
    help="File to write; a table if it ends in .csv, .tsv, .parquet or .jsonl; - is stdout.",
)
@click.option(
    "--output-format",
    type=click.Choice(["text", "csv", "tsv", "jsonl", "parquet"]),
    help="Lines of text, or a table.  [default: by the extension of the output]",
)
@click.option(
    "--proba",
    is_flag=True,
    help="Print the probability of the positive class, or of each of several.",
)
@click.option(
    "--label",
    is_flag=True,
    help="Print the class, as labelled in the data. With several classes that is the default.",
)
@click.option("--tags", is_flag=True, help="Append the example's tag to each line.")
@id_column
@threshold
@keep
@one_line_errors
def command(model: str, *, output: str, output_format: str | None, **settings: Any) -> None:
    """Print one prediction a line for the examples of DATA, in their order.

    It is the score, or of several classes the class. With --proba there is a number for each of
    several classes, in the order in which `dwindle inspect` lists them. A table has a column for
    each: id, score, probability and label, or the prediction of a number.

    Lines that come slowly through a pipe are answered one by one.

    \b
    Example:
      dwindle predict ads.parquet test.vw --proba
      dwindle predict ads.parquet test.vw --output scores.csv
      dwindle predict path.parquet test.vw --keep 100
    """
    from dwindle._base.files import check_apart
    from dwindle.data.compression import compressed, split_extension
    from dwindle.data.sources import sources

    paths = settings.pop("data")
    if output != "-":
        check_apart(output, [model, *sources(paths)])
    extension, compression = split_extension(output)
    if output_format is None and extension in OTHERS:
        raise SettingError(
            f"{output}: a table is written as .csv, .tsv, .parquet or .jsonl: name it so, or say "
            "--output-format"
        )
    form = output_format or TABLES.get(extension, "text")
    with screen(bar=output != "-") as shown:
        how: dict[str, Any] = {
            "threshold": settings.pop("threshold"),
            "keep": settings.pop("keep"),
            "skip_bad": settings.pop("skip_bad"),
            "observer": Watching(shown),
        }
        predicting = _lines if form == "text" else _rows
        write = predicting(model, paths, settings, how, form)
        with written_to(output) as file, compressed(compression, file) as out:
            skipped = write(out)
    if skipped:
        click.echo(f"dwindle: skipped {counted(skipped, 'bad line')}", err=True)


def _lines(
    model: str, paths: Any, options: dict[str, Any], how: dict[str, Any], _form: str
) -> Callable[[Any], int]:
    """Return what writes predictions line by line; it returns how many lines were skipped."""
    from dwindle.runs.metrics import HALF
    from dwindle.runs.predict import predict

    proba, label = options.pop("proba"), options.pop("label")
    if proba and label:
        raise SettingError("--proba and --label exclude each other: give one of them")
    if how["threshold"] != HALF and not label:
        raise SettingError("--threshold decides on labels: give --label, or write a table")
    kind = "probability" if proba else "label" if label else None
    tags = options.pop("tags") or options["id_column"] is not None
    parts = predict(model, paths, reading(options), kind=kind, **how)

    def write(out: Any) -> int:
        skipped = 0
        for part in parts:
            skipped += part.skipped
            out.write(text_of(part.prediction, part.tags if tags else None))
            _answer(out)
        return skipped

    return write


def _rows(
    model: str, paths: Any, options: dict[str, Any], how: dict[str, Any], form: str
) -> Callable[[Any], int]:
    """Return what writes a table; it returns how many lines were skipped."""
    from dwindle.runs.prediction_table import WRITERS, predict_table

    for name in ("proba", "label", "tags"):
        if options.pop(name):
            raise SettingError(f"--{name} is for lines of text: a table has a column for each")
    parts = predict_table(model, paths, reading(options), **how)

    def write(out: Any) -> int:
        skipped = 0
        with WRITERS[form](out) as add:
            for part in parts:
                skipped += part.skipped
                add(part.table)
                _answer(out)
        return skipped

    return write


def _answer(out: Any) -> None:
    """Hand on what is written: who sends lines one by one waits for the answer."""
    if out is sys.stdout.buffer:
        out.flush()


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
