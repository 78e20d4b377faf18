"""``dwindle warm-up``: the command of `dwindle.runs.warm_up.warm_up`."""

import click

from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import quiet


@click.command(name="warm-up")
@quiet
@one_line_errors
def command(*, quiet: bool) -> None:
    """Compile what most runs need, so that the first one need not wait.

    Each format, regression, several passes, interactions and single examples. What is compiled is
    kept for this version and this kind of processor.

    \b
    Example:
      RUN pip install dwindle && dwindle warm-up
    """
    from dwindle.runs.warm_up import warm_up

    for done in warm_up():
        if not quiet:
            click.echo(f"{done.name:15} {done.seconds:5.1f} s", err=True)
