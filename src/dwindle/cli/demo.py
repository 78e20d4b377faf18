"""``dwindle demo``: the command of `dwindle.datasets.wdbc.run`."""

import json

import click
from rich.console import Console
from rich.table import Table

from dwindle.cli import weight_bars
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import as_json


@click.command(name="demo")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@as_json("the outcomes")
@one_line_errors
def command(seed: int, *, as_json: bool) -> None:
    """The paper's experiment in small, on data that is already here.

    Diagnoses of 569 tumours by 30 measurements, and 1000 random binary features beside them, each
    1 with probability 0.05. Trains with and without truncated gradient and counts what survives.

    \b
    Example:
      dwindle demo --seed 1
    """
    from dwindle.datasets import wdbc

    out = Console()
    outcomes = []
    with Console(stderr=True).status("training"):
        for outcome in wdbc.run(seed):
            outcomes.append(outcome)
            if as_json:
                row = outcome._asdict()
                setting = row.pop("setting")
                click.echo(
                    json.dumps(
                        {"gravity": setting.gravity, "truncate_every": setting.truncate_every} | row
                    )
                )
    if as_json:
        return

    n_real = len(wdbc.wdbc(seed).names) - wdbc.N_RANDOM
    table = Table(title=f"wdbc, {n_real} real features and {wdbc.N_RANDOM} random ones")
    for heading in ("gravity g", "truncate every", "accuracy", "AUC", "kept", "of them random"):
        table.add_column(heading, justify="right")
    for o in outcomes:
        table.add_row(
            f"{o.setting.gravity:g}" if o.setting.gravity else "none",
            f"{o.setting.truncate_every}" if o.setting.gravity else "",
            f"{o.accuracy:.1%}",
            f"{o.auc:.4f}",
            f"{o.kept:,}",
            f"{o.random_kept:,}",
        )
    out.print(table)

    last = outcomes[-1]
    out.print(
        f"\nThe whole model of the last row, {last.kept} weights (positive means malignant):\n"
    )
    weight_bars.show(sorted(last.weights.items(), key=lambda item: -abs(item[1])), out)
