"""``dwindle vw``: a command line of Vowpal Wabbit, translated and run."""

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from dwindle.cli.errors import one_line_errors


@click.command(
    name="vw",
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": ["-h", "--help"],
    },
)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
@one_line_errors
def command(ctx: click.Context, flags: tuple[str, ...]) -> None:
    """Take FLAGS as Vowpal Wabbit does, and run the commands of dwindle that do the same.

    Says what becomes of each flag, and prints the commands before it runs them; --quiet leaves that
    out. A flag that is not done here is refused, with what to use instead. Without --l1 the model
    is dense, as in VW; it is a file of dwindle, not of VW.

    \b
    Example:
      dwindle vw -d train.vw --loss_function logistic -q ab --passes 3 -c -f ads.model
      dwindle vw -t -i ads.model -d test.vw --link logistic -p probabilities.txt
      dwindle vw train.vw --l1 1e-6 --invert_hash weights.txt
    """
    from dwindle.cli.vw_translation import translated

    with TemporaryDirectory(prefix="dwindle-") as scratch:
        found = translated(flags, Path(scratch))
        if "--quiet" not in flags:
            for line in found.notes:
                click.echo(f"dwindle: {line}", err=True)
        for words in found.commands:
            if "--quiet" not in flags:
                click.echo(f"$ dwindle {shlex.join(words)}", err=True)
            _run(ctx, words)


def _run(ctx: click.Context, words: list[str]) -> None:
    """Run another command of dwindle, in this process."""
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    own = group.get_command(ctx, words[0])
    assert own is not None
    with own.make_context(words[0], words[1:], parent=ctx.parent, default_map={}) as inner:
        own.invoke(inner)
