"""``dwindle tune``: the face of `dwindle.runs.tune.tune.tune`."""

import math
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from dwindle._base.errors import SettingError
from dwindle.algorithm.by_name import LOSSES, METRICS, loss_called
from dwindle.cli.options import asked_to_stop, data, features, reading, told_in_one_line
from dwindle.cli.report import screen
from dwindle.cli.tune_report import Report

INSTALL = 'pip install "dwindle[plot]"'


@click.command(name="tune")
@data
@features
@click.option("--model", "-m", required=True, help="The file to write.")
@click.option(
    "--learning-rate", metavar="R,R,...", help="Learning rates to try.  [default: by the data]"
)
@click.option(
    "--pass-decay", metavar="D,D,...", help="Of the rate, after each pass.  [default: 0.5,0.8]"
)
@click.option(
    "--gravity", "-g", metavar="G,G,...",
    help="How strong the pull is; 0 is always tried.  [default: down from where nothing lives]",
)  # fmt: skip
@click.option("--passes", metavar="N,N,...", help="Over the data.  [default: up to 30]")
@click.option("--truncate-every", "-K", metavar="K,K,...", default="1", show_default=True,
              help="Pull at every K-th example.")  # fmt: skip
@click.option(
    "--threshold", metavar="T,T,...", help="Pull only weights up to this.  [default: inf]"
)
@click.option("--update", metavar="U,U", default="adaptive", show_default=True,
              help="adaptive, plain, ftrl or rda, or several.")  # fmt: skip
@click.option(
    "--cooldown", metavar="N,N,...",
    help="Steps at the end without examples.  [default: K, and as many as there are examples]",
)  # fmt: skip
@click.option(
    "--loss", type=click.Choice(list(LOSSES)), default="auto", show_default=True,
    help="auto looks at the labels: two classes are logistic, else squared.",
)  # fmt: skip
@click.option("--folds", default=10, show_default=True, help="The data is cut into.")
@click.option(
    "--metric", type=click.Choice(list(METRICS)),
    help="What is to be good.  [default: accuracy of two classes, else loss]",
)  # fmt: skip
@click.option(
    "--tolerance", metavar="SHARE", default="1%", show_default=True,
    help="How much worse than the best without gravity a sparser model may be.",
)  # fmt: skip
@click.option("--keep", type=click.IntRange(0), help="The best with at most N features.")
@click.option("--jobs", type=click.IntRange(1), help="Runs at a time.  [default: all cores]")
@click.option("--picture", metavar="FILE", help="Of all settings.  [default: MODEL.png]")
@click.option("--no-picture", is_flag=True, help="Draw none.")
@click.option("--json", "as_json", is_flag=True, help="Scores and summary as JSON lines.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@told_in_one_line
def command(*, as_json: bool, quiet: bool, **settings: Any) -> None:
    """Find good settings for DATA by cross-validation, then train with them.

    First the best setting without gravity is looked for, then the sparsest whose metric is within
    the tolerance of it. Lists are separated by commas; what is not given is chosen by looking at
    the data. Stopped, the same command goes on from what is finished.

    \b
    Example:
      dwindle tune train.vw --passes 1,3 --folds 5 --model ads.parquet
    """
    from dwindle.runs.tune.tune import Halted, tune

    given = dict(settings)
    paths, model = settings.pop("data"), settings.pop("model")
    picture = Picture(settings.pop("picture"), model, wanted=not settings.pop("no_picture"))
    picture.check(paths)
    tuning = _tuning(settings)
    talks = not (as_json or quiet)
    stop = asked_to_stop()
    try:
        with screen(bar=talks) as shown:
            report = Report(shown, as_json=as_json, quiet=quiet)
            tuned = tune(
                paths,
                model,
                tuning,
                on_batch=shown.place,
                on_run=shown.runs if talks else lambda _done, _total: None,
                on_found=lambda found: report.found(found, given),
                on_note=report.note,
                stopping=lambda: bool(stop),
            )
    except Halted as halted:
        told = (
            f"{halted.journal} is written: repeat the command to go on"
            if halted.journal
            else "nothing was finished yet"
        )
        click.echo(f"dwindle: stopped; {told}", err=True)
        sys.exit(128 + stop[0])
    report.summary(tuned.summary, model)
    picture.draw(tuned.found, report.note)


def _tuning(settings: dict[str, Any]) -> Any:
    from dwindle.runs.tune.grid import Grid
    from dwindle.runs.tune.tune import TuneSettings

    how = reading(settings)
    kinds = {"truncate_every": int, "passes": int, "cooldown": int, "update": str}
    tried: dict[str, Any] = {}
    for name in Grid._fields:
        if (text := settings.pop(name, None)) is not None:
            tried[name] = _several(name, text, kinds.get(name, float))
    if "threshold" in tried:
        tried["threshold"] = tuple(None if t == math.inf else t for t in tried["threshold"])
    return TuneSettings(
        grid=Grid(**tried),
        loss=loss_called(settings.pop("loss")),
        tolerance=_share(settings.pop("tolerance")),
        reading=how,
        **settings,
    )


def _several(name: str, text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    """The values of a list."""
    try:
        return tuple(kind(part.strip()) for part in text.split(","))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        option = name.replace("_", "-")
        raise SettingError(
            f"--{option}: expected {what} separated by commas, got {text!r}"
        ) from None


def _share(text: str) -> float:
    """``1%`` is 0.01."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise SettingError(f"--tolerance: expected a share like 1% or 0.01, got {text!r}") from None


class Picture:
    """Where the frontier is drawn, if it is."""

    def __init__(self, asked: str | None, model: str, *, wanted: bool) -> None:
        self.asked = asked is not None
        self.model = Path(model)
        self.path = Path(asked or f"{model}.png")
        self.wanted = wanted

    def check(self, paths: Sequence[str]) -> None:
        """Refuse, before any work, what could not be drawn after it."""
        if not self.wanted:
            return
        if self.path.absolute() == self.model.absolute():
            raise SettingError(f"--picture: {self.path} is the model: name another file")
        from dwindle._base.files import check_apart
        from dwindle.data.sources import sources

        check_apart(self.path, sources(paths))
        if self.asked:
            if not self.path.absolute().parent.is_dir():
                raise SettingError(f"--picture: there is no folder {self.path.parent} to write to")
            if not _matplotlib():
                raise SettingError(f"--picture needs matplotlib: {INSTALL}")
            from matplotlib.backend_bases import FigureCanvasBase

            if self.path.suffix[1:] not in FigureCanvasBase.filetypes:
                known = ", ".join(FigureCanvasBase.filetypes)
                raise SettingError(
                    f"--picture: expected a name that ends in one of {known}, got {self.path}"
                )

    def draw(self, found: Any, note: Callable[[str], None]) -> None:
        """Write it, or say why not."""
        if not self.wanted:
            return
        if not _matplotlib():
            note(f"no picture without matplotlib: {INSTALL}")
            return
        import matplotlib as mpl

        mpl.use("Agg")  # no window, whatever there is
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure

        from dwindle._base.files import replacing
        from dwindle.analysis.plots import plot_frontier

        figure = plot_frontier(found)[0].figure
        assert isinstance(figure, Figure)
        with replacing(self.path) as file:
            figure.savefig(file, format=self.path.suffix[1:], dpi=150)
        plt.close(figure)


def _matplotlib() -> bool:
    return find_spec("matplotlib") is not None
