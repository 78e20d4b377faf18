"""``dwindle convert``: the command of `dwindle.runs.convert.convert`."""

import json
from typing import Any

import click

from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, as_json, data, features, quiet, reading
from dwindle.cli.terminal import Watching, screen


@click.command(name="convert")
@data
@click.argument("out", type=FILE)
@features
@click.option(
    "--to", type=click.Choice(["arrow", "svmlight", "vw"]),
    help="The format of OUT.  [default: by its extension]",
)  # fmt: skip
@as_json("the closing line")
@quiet
@one_line_errors
def command(out: str, *, to: str | None, as_json: bool, quiet: bool, **settings: Any) -> None:
    """Write the examples of DATA to OUT as Arrow, svmlight or VW text.

    OUT is read as the same examples, to the bit, and an Arrow file without parsing. Text is
    compressed if OUT ends in .gz, .zst, .bz2 or .xz. With - it goes to standard output.

    \b
    Example:
      dwindle convert train.vw train.arrow
      dwindle convert train.vw test.vw both.vw.gz
    """
    from dwindle.runs.convert import convert

    paths, skip_bad = settings.pop("data"), settings.pop("skip_bad")
    with screen(bar=False) as shown:
        observer = Watching(shown)
        done = convert(paths, out, reading(settings), to=to, skip_bad=skip_bad, observer=observer)
    if as_json:
        click.echo(json.dumps(done._asdict()), err=True)
    elif not quiet:
        of = "" if done.bytes_in is None else f" of {done.bytes_in:,} bytes"
        left_out = f", {counted(done.skipped, 'bad line')} left out" if done.skipped else ""
        click.echo(
            f"{counted(done.examples, 'example')}, {counted(done.features, 'feature')}{of}, "
            f"written in {done.bytes_out:,} bytes{left_out}",
            err=True,
        )
