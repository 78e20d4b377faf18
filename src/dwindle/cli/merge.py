"""``dwindle merge``: the command of `dwindle.model.merge.merge`."""

import json

import click

from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, as_json, model_file, quiet


@click.command(name="merge")
@click.argument("models", nargs=-1, required=True, type=FILE)
@model_file
@click.option(
    "--keep", type=click.IntRange(0), help="Keep only the N heaviest features, of each class."
)
@as_json("the closing line")
@quiet
@one_line_errors
def command(
    models: tuple[str, ...], *, model: str, keep: int | None, as_json: bool, quiet: bool
) -> None:
    """Write one model that is the mean of MODELS.

    They were trained on parts of the data, with the same loss and the same kinds of features. Each
    counts by the importance of its examples; a feature that it did not keep counts as 0.

    \b
    Example:
      dwindle merge monday.parquet tuesday.parquet --model week.parquet --keep 1000
    """
    from dwindle.model.merge import merge

    done = merge(models, model, keep=keep)
    if as_json:
        click.echo(json.dumps(done._asdict()))
    elif not quiet:
        classes = f" of {done.classes} classes" if done.classes else ""
        kept = counted(done.kept, "weight" if classes else "feature") + classes
        click.echo(
            f"{counted(done.parts, 'model')} of {counted(done.examples, 'example')}: "
            f"{kept} kept, written in {done.model_bytes:,} bytes",
            err=True,
        )
