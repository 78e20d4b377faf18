"""``dwindle generate``: the command of `dwindle.datasets.ads`."""

import json

import click

from dwindle._base.text import counted
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import as_json, quiet
from dwindle.cli.output import written_to
from dwindle.cli.terminal import screen


@click.command(name="generate")
@click.argument("what", type=click.Choice(["ads"]))
@click.option(
    "--examples", "-n", type=click.IntRange(1), default=1000, show_default=True, help="How many."
)
@click.option(
    "--first", type=click.IntRange(0), default=0, show_default=True,
    help="Begin with this example: what comes after those that were trained on is for testing.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True,
    help="Random seed.",
)  # fmt: skip
@click.option("--output", "-o", default="-", help="File to write; - is standard output.")
@as_json("the closing line")
@quiet
@one_line_errors
def command(
    what: str,
    *,
    examples: int,
    first: int,
    seed: int,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write examples of a task whose answer is known, as VW text, as many as are wanted.

    ads: two ads were shown for a query, and which was clicked? Learned with --interactions q*a,
    most features come only once, and in 26 million examples there are 3 billion: as in the paper's
    largest experiment. The closing line tells the Bayes error, that of the planted weights.

    \b
    Example:
      dwindle generate ads --examples 5000 --output clicks.vw
      dwindle train clicks.vw --interactions q*a --gravity 1e-4 --model clicks.parquet
      dwindle generate ads --examples 1000 --first 5000 --output unseen.vw
      dwindle evaluate clicks.parquet unseen.vw
    """
    from dwindle.data.sources import Position
    from dwindle.datasets.ads import GENERATED

    log = GENERATED[what](seed)
    size = done = 0
    with screen(bar=output != "-" and not (as_json or quiet)) as shown, written_to(output) as out:
        for text in log.text(examples, first):
            out.write(text)
            size += len(text)
            done += text.count(b"\n")
            shown.place(Position(done, size, None))
        out.flush()
    error = log.least_errors / examples
    if as_json:
        told = {"examples": examples, "first": first, "seed": seed, "bytes_out": size}
        click.echo(json.dumps(told | {"bayes_error": error}), err=True)
    elif not quiet:
        click.echo(
            f"{counted(examples, 'example')}, written in {size:,} bytes; "
            f"Bayes error {error:.2%}: the least that any model can reach",
            err=True,
        )
