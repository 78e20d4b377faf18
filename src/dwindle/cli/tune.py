"""``dwindle tune``: the command of `dwindle.runs.tune.tune.tune`."""

import sys
from typing import Any

import click

from dwindle._base.errors import SettingError
from dwindle.algorithm.settings import LearnerSettings, options_of
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import (
    Command,
    as_json,
    data,
    decorated,
    features,
    model_file,
    paper,
    quiet,
    reading,
    separated,
    setting,
    taken,
)
from dwindle.cli.picture import Picture
from dwindle.cli.signals import StopSignals
from dwindle.cli.terminal import screen
from dwindle.cli.tune_report import Report
from dwindle.runs.metrics import goals
from dwindle.runs.settings import RunSettings, TrainSettings

# Settings that may have several values, and what is tried by default.
TRIED = dict.fromkeys(
    ("learning_rate", "pass_decay", "gravity", "passes", "cooldown"), "chosen by the data"
) | {
    "truncate_every": "1",
    "threshold": "all weights",
    "update": "adaptive; plain if the order is after",
    "shrinkage": "truncation",
}
FIXED = [name for name in options_of(LearnerSettings) if name not in {*TRIED, "sigmas"}]


class Metric(click.Choice[str]):
    """A metric, with dashes as options have, or underscores as in Python."""

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """Return its name in Python."""
        return super().convert(value.replace("_", "-"), param, ctx).replace("-", "_")


@click.command(name="tune", cls=Command)
@data
@model_file
@decorated(*(setting(RunSettings, name, several=tried) for name, tried in TRIED.items()))
@decorated(*(setting(LearnerSettings, name) for name in FIXED))
@paper(pass_decay=None, cooldown="0")  # decays are tried
@setting(TrainSettings, "classes")
@setting(TrainSettings, "class_weight")
@click.option("--folds", default=5, show_default=True, help="Number of cross-validation folds.")
@click.option(
    "--metric", type=Metric([name.replace("_", "-") for name in goals()]),
    help="Metric to optimise.  [default: auc for two classes, accuracy for more, else loss]",
)  # fmt: skip
@click.option(
    "--tolerance", metavar="SHARE",
    help="How much worse than the best model without gravity a sparser one may be.  [default: 0.2% "
    "of the best AUC; else 1%, or one standard error over the folds]",
)  # fmt: skip
@click.option(
    "--keep", type=click.IntRange(0), metavar="N",
    help="Choose the best model cut to its N heaviest features, instead of the sparsest.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), help="Runs at a time.  [default: all cores]")
@features
@click.option("--picture", metavar="FILE", help="Plot of all settings.  [default: MODEL.png]")
@click.option("--no-picture", is_flag=True, help="Draw no plot.")
@as_json("scores and summary")
@quiet
@one_line_errors
def command(*, as_json: bool, quiet: bool, **options: Any) -> None:
    """Find good settings for DATA by cross-validation, then train with them.

    First the best setting without gravity is looked for, then the sparsest model whose metric is
    within the tolerance of it. Lists are separated by commas and tried as they are; what is not
    given begins with values that suit the data and grows while the best is at its end. Stopped, the
    same command goes on from what is finished.

    \b
    Example:
      dwindle tune train.vw --passes 1,3 --folds 5 --model ads.parquet
      dwindle tune train.vw --paper --metric accuracy --model paper.parquet
    """
    from dwindle.runs.observer import Stopped
    from dwindle.runs.tune.tune import tune

    given = dict(options)
    paths, model = options.pop("data"), options.pop("model")
    asked, wanted = options.pop("picture"), not options.pop("no_picture")
    picture = Picture(asked, model, f"{model}.png" if wanted else None)
    picture.check(paths)
    settings = _settings(options)
    stop = StopSignals()
    try:
        with screen(bar=not (as_json or quiet)) as shown:
            report = Report(shown, stop, given, as_json=as_json, quiet=quiet)
            tuned = tune(paths, model, settings, observer=report)
    except Stopped as stopped:
        told = (
            f"{stopped.resume_from} is written: repeat the command to go on"
            if stopped.resume_from
            else "nothing was finished yet"
        )
        click.echo(f"dwindle: stopped; {told}", err=True)
        sys.exit(128 + stop.asked[0])
    report.summary(tuned.summary, model)
    picture.draw(report.note, "plot_frontier", tuned.found)


def _settings(options: dict[str, Any]) -> Any:
    from dwindle.runs.tune.grid import Grid
    from dwindle.runs.tune.tune import TuneSettings

    options.pop("paper")
    tried = {name: text for name in TRIED if (text := options.pop(name)) is not None}
    grid: dict[str, Any] = {k: separated(RunSettings, k, text) for k, text in tried.items()}
    fixed = LearnerSettings(**taken(LearnerSettings, options))
    if fixed.order == "after":
        grid.setdefault("update", ("plain",))  # there is no other
    return TuneSettings(
        grid=Grid(**grid),
        fixed=fixed,
        tolerance=_share(options.pop("tolerance")),
        reading=reading(options),
        **options,
    )


def _share(text: str | None) -> float | None:
    """Read a share: ``1%`` is 0.01."""
    if text is None:
        return None
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise SettingError(f"--tolerance: expected a share like 1% or 0.01, got {text!r}") from None
