"""``dwindle import``: the command of `dwindle.model.vw_import.import_vw`."""

import click

from dwindle._base.text import counted
from dwindle.algorithm.settings import LOSSES
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, model_file, quiet


@click.command(name="import")
@click.argument("text", type=FILE)
@model_file
@click.option(
    "--loss",
    type=click.Choice(list(LOSSES)),
    help="Loss that it was trained with, which VW does not write.  [default: by link and labels]",
)
@quiet
@one_line_errors
def command(text: str, *, model: str, loss: str | None, quiet: bool) -> None:
    """Make a model of TEXT, which Vowpal Wabbit wrote with --invert_hash.

    Its scores are those of VW, before VW clips them to the labels that it saw.

    \b
    Example:
      vw -d train.vw --invert_hash weights.txt
      dwindle import weights.txt --model ads.parquet
    """
    from dwindle._base.files import check_apart
    from dwindle.model.vw_import import import_vw

    check_apart(model, [text])
    found = import_vw(text, loss)
    size = found.save(model)
    if not quiet:
        told = f"{counted(len(found), 'feature')} with loss {type(found.loss).__name__}"
        click.echo(f"{told}, written in {size:,} bytes", err=True)
