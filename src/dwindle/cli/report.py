"""``dwindle report``: the command of `dwindle.analysis.report.report`."""

from pathlib import Path
from typing import Any

import click

from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import FILE, allow_unknown, how_read, id_column, keep, reading, threshold
from dwindle.cli.page import checked
from dwindle.cli.terminal import Watching, screen


@click.command(name="report")
@click.argument("model", type=FILE)
@click.argument("data", nargs=-1, type=FILE)
@click.option(
    "--output", "-o", type=FILE, metavar="FILE",
    help="HTML file to write.  [default: MODEL with the extension .html]",
)  # fmt: skip
@click.option(
    "--top", type=click.IntRange(0), default=1000, show_default=True,
    help="How many weights the page has, from the heaviest.",
)  # fmt: skip
@click.option(
    "--mistakes", type=click.IntRange(0), default=12, show_default=True,
    help="How many of the worst mistakes to show.",
)  # fmt: skip
@how_read
@id_column
@allow_unknown
@threshold
@keep
@one_line_errors
def command(model: str, *, output: str | None, **settings: Any) -> None:
    """Write a page about MODEL and, with DATA, how good it is on these labelled examples.

    One HTML file that opens in any browser, also without a network: settings, learning curve, size
    against score with the chosen gravity, and the weights with search and sort. With DATA: ROC,
    precision and recall, calibration and scores of two classes; the confusion of several; residuals
    of numbers; and the worst mistakes with what each feature added.

    \b
    Example:
      dwindle report ads.parquet
      dwindle report ads.parquet test.vw --output ads.html
      dwindle report path.parquet test.vw --keep 100
    """
    from dwindle._base.files import place_of
    from dwindle.analysis.report import report

    paths = list(settings.pop("data"))
    beside = place_of(model)
    usual = beside.with_name(Path(beside.name).with_suffix(".html").name)
    target = checked(output or str(usual), "--output", model, paths)
    how = {
        name: settings.pop(name) for name in ("top", "mistakes", "threshold", "skip_bad", "keep")
    }
    with screen(bar=True) as shown:
        made = report(model, paths, reading(settings), observer=Watching(shown), **how)
        size = made.save(target)
    click.echo(f"{target}, {size:,} bytes", err=True)
