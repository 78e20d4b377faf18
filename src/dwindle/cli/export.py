"""``dwindle export``: the command of `dwindle.model.export.targets.export`."""

import click

from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, keep, quiet
from dwindle.model.export.targets import TARGETS, names


@click.command(name="export")
@click.argument("model", type=FILE)
@click.argument("output", type=FILE)
@click.option(
    "--to",
    type=click.Choice(names()),
    help="What to write.  [default: by extension: .onnx, .sql, .json, .js or .h]",
)
@click.option(
    "--table",
    default="examples",
    show_default=True,
    help="With SQL: table whose rows are scored; of sql-join, its features.",
)
@keep
@quiet
@one_line_errors
def command(
    model: str, output: str, *, to: str | None, table: str, keep: int | None, quiet: bool
) -> None:
    """Write MODEL to OUTPUT for another program, which then predicts the same.

    onnx and sql read the columns of a table; the others take features by the names that
    `dwindle inspect` shows, so that any model can be written. In Python, dwindle.to_sklearn makes a
    scikit-learn pipeline.

    \b
    Example:
      dwindle export shop.parquet shop.onnx
      dwindle export shop.parquet shop.sql --table visits
      dwindle export ads.parquet weights.sql --to sql-join
      dwindle export ads.parquet ads.txt --to vw-names
    """
    from dwindle.model.export.targets import export

    done = export(model, output, to, table=table, keep=keep)
    if not quiet:
        what = next(each.what for each in TARGETS if each.name == done.target)
        classes = f" of {done.classes} classes" if done.classes else ""
        click.echo(
            f"{what}: {counted(done.terms, 'feature')}{classes}, in {done.size:,} bytes", err=True
        )
