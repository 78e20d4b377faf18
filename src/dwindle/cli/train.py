"""``dwindle train``: the command of `dwindle.runs.train.train`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from click.core import ParameterSource

from dwindle._base.errors import SettingError
from dwindle.algorithm.settings import AUTO, default_of, options_of
from dwindle.cli.errors import one_line_errors
from dwindle.cli.frontier import HELD, LATE, TITLES
from dwindle.cli.options import (
    FILE,
    Command,
    as_json,
    data,
    decorated,
    features,
    model_file,
    n_bytes,
    paper,
    quiet,
    reading,
    setting,
    taken,
)
from dwindle.cli.page import Page
from dwindle.cli.picture import Picture
from dwindle.cli.signals import StopSignals
from dwindle.cli.terminal import Report, screen
from dwindle.runs.observer import Observer, Observers
from dwindle.runs.settings import PAPER, TrainSettings

GOING_ON = ("resume", "start_from", "on", "shards", "run")  # where a run begins and takes place
MANY = ("on", "shards", "run")  # those of them for a run on many machines
STANDS_FOR = {"memory": "max_live", "dense": "gravity"}  # options, and the setting each sets


@click.command(name="train", cls=Command)
@data
@model_file
@decorated(*(setting(TrainSettings, name) for name in options_of(TrainSettings)))
@paper()
@click.option("--dense", is_flag=True, help="Keep all features: no gravity.")
@click.option(
    "--memory",
    metavar="2GB",
    help="Memory of the whole run; --max-live is worked out from it.",
)
@features
@click.option(
    "--start-from",
    metavar="MODEL",
    help="Go on from an earlier model, with its settings unless others are given.",
)
@click.option("--resume", is_flag=True, help="Go on with a stopped run, from MODEL.checkpoint.")
@click.option(
    "--on",
    metavar="WHERE",
    help="Train on many machines: local:8 is eight processes here, dask a Dask cluster here, "
    "dask://HOST:PORT that of a scheduler; ray and ray://HOST:PORT likewise. The same command goes "
    "on with a run that ended early.",
)
@click.option(
    "--shards",
    type=click.IntRange(1),
    metavar="N",
    help="With --on: parts that the data is dealt to, which are learned on their own and mixed "
    "after each pass. Another number is another model.",
)
@click.option(
    "--run",
    metavar="FOLDER",
    help="With --on: a folder or URL that all machines see, for what shards have done. Default: "
    "beside the model, and gone in the end.",
)
@click.option(
    "--picture",
    metavar="FILE",
    help="Plot of the gravities learned at once, as SVG, PNG or PDF by its name.",
)
@click.option(
    "--live",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(0, 65535),
    metavar="[PORT]",
    help="Serve a page on loopback that shows the run as it goes on, and print its address; "
    "without a port, any that is free.",
)
@click.option(
    "--report", type=FILE, metavar="FILE", help="Page about the run and its model, as HTML."
)
@as_json("progress and summary")
@quiet
@click.pass_context
@one_line_errors
def command(ctx: click.Context, *, as_json: bool, quiet: bool, **options: Any) -> None:
    """Learn a sparse model from DATA: files, folders, globs, URLs, or - for standard input.

    DATA may also be a query of DuckDB: "duckdb:SELECT ...", or "duckdb:FILE?SELECT ...".

    Reads VW text, svmlight, CSV, TSV, JSON lines, Parquet and Arrow, plain or compressed with gz,
    zst, bz2 or xz. Every figure in the table on the terminal is measured before learning; from the
    second pass on, of examples that were learned from in an earlier one.

    \b
    Example:
      dwindle train train.vw --model ads.parquet
      dwindle train train.vw --keep 100 --picture sizes.svg --model small.parquet
      dwindle train train.vw --choose-by loss --tolerance 0.05 --model small.parquet
      dwindle train train.vw --report run.html --model ads.parquet
      dwindle train train.vw --path --model path.parquet
      dwindle train train.vw --dense --model all.parquet
      dwindle train train.vw --live 8080 --model ads.parquet
      dwindle train train.vw --gravity 1e-6 --model ads.parquet
      dwindle train train.vw --sigmas 0.25 --model ads.parquet
      dwindle train train.vw --paper --gravity 1e-3 --passes 10 --model paper.parquet
      dwindle train monday.vw tuesday.vw --on local:2 --passes 3 --model ads.parquet
      dwindle train monday.vw --model ads.parquet --save-state
      dwindle train tuesday.vw --start-from ads.parquet --model ads.parquet --save-state
    """
    from dwindle.runs.observer import Stopped

    on_many, train = options["on"] is not None, _trainer(options)
    paths, model = options.pop("data"), options.pop("model")
    picture = Picture(options.pop("picture"), model)
    picture.check(paths)
    page = Page(options.pop("report"), model, paths)
    going_on = {name: options.pop(name) for name in GOING_ON if name in options}
    given = {
        STANDS_FOR.get(name, name)
        for name in ctx.params
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if options.pop("paper"):
        given |= PAPER.keys()
    live = options.pop("live")
    if live is not None and on_many:
        raise SettingError("--live shows a run on one machine: leave it out with --on")
    _put_first(ctx, options)
    settings = _settings(options)
    stop = StopSignals()
    try:
        with screen(bar=not (as_json or quiet)) as shown:
            report = Report(shown, stop, as_json=as_json, quiet=quiet)
            with watched(page.beside(report), live, model) as observer:
                summary = train(paths, model, settings, observer=observer, given=given, **going_on)
    except Stopped as stopped:
        told = "nothing was learned yet"
        if stopped.resume_from and on_many:
            told = "what shards have done is kept: repeat the command to go on"
        elif stopped.resume_from:
            told = f"{stopped.resume_from} is written: repeat the command with --resume to go on"
        click.echo(f"dwindle: stopped; {told}", err=True)
        sys.exit(128 + stop.asked[0])
    report.summary(summary, model)
    page.write(summary)
    if summary.frontier and summary.choice is not None:
        where = HELD if summary.best_pass else f"{LATE}, before learning"
        score = f"{TITLES[summary.choice.metric]} {where}"
        picture.draw(report.note, "plot_lanes", summary.frontier, score)
    elif picture.path is not None:
        report.note("no picture: one gravity was learned; leave out --gravity to learn several")


def _trainer(options: dict[str, Any]) -> Callable[..., Any]:
    """Return what trains on one machine, or on many, for which more has to be imported."""
    if any(options[name] is not None for name in MANY):
        from dwindle.distributed.train import train as train_on_many

        return train_on_many
    from dwindle.runs.train import train

    for name in MANY:
        del options[name]
    return train


@contextmanager
def watched(report: Observer, port: int | None, title: str) -> Iterator[Observer]:
    """Show a run on a page too, if a port is given; 0 is any."""
    if port is None:
        yield report
        return
    try:
        from dwindle.serving.run import LiveObserver
    except ImportError as error:
        raise SettingError(f"--live needs pip install 'dwindle[serve]' ({error})") from None
    live = LiveObserver(title, port, lambda address: report.note(f"watch it at {address}"))
    with live.serving():
        yield Observers(report, live)


def _put_first(ctx: click.Context, options: dict[str, Any]) -> None:
    """Let an option come before the project's default of the setting that it stands for."""
    for name, other in STANDS_FOR.items():
        typed = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and ctx.get_parameter_source(other) is ParameterSource.DEFAULT_MAP:
            options[other] = default_of(TrainSettings, other)


def _settings(options: dict[str, Any]) -> TrainSettings:
    how = reading(options)
    memory = options.pop("memory")
    if memory is not None:
        if options["max_live"] is not None:
            raise SettingError("--memory stands for --max-live: give one of them")
        options["max_live"] = _max_live(memory)
    if options.pop("dense"):
        if options["gravity"] not in (AUTO, 0.0) or options["sigmas"] is not None:
            raise SettingError("--dense is no gravity: leave out --gravity and --sigmas")
        options["gravity"] = 0.0
    found = taken(TrainSettings, options)
    return TrainSettings(**found, reading=how, skip_bad=options.pop("skip_bad"))


def _max_live(memory: str) -> int:
    from dwindle.engine.budget import features_within

    return features_within(n_bytes("--memory", memory))
