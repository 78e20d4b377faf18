"""``dwindle train``: the face of `dwindle.runs.train.train`."""

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dwindle.algorithm.by_name import (
    LOSSES,
    SHRINKAGES,
    UPDATES,
    loss_called,
    schedule_of,
    shrinkage_called,
    update_called,
)
from dwindle.cli.options import asked_to_stop, data, features, reading, told_in_one_line
from dwindle.cli.report import Report, screen

# Which options make up which setting: on --resume, those not given are the checkpoint's.
GROUPS = {
    "loss": ("loss",),
    "shrinkage": ("shrinkage", "gravity", "truncate_every", "threshold"),
    "update": ("update",),
    "learning_rate": ("learning_rate", "power_t", "pass_decay"),
    "max_live": ("max_live", "memory"),
    "passes": ("passes",),
    "cooldown": ("cooldown",),
    "holdout": ("holdout",),
    "patience": ("patience",),
    "reading": ("interactions", "ignore", "label_column", "weight_column"),
}
BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@click.command(name="train")
@data
@features
@click.option("--model", "-m", required=True, help="The file to write.")
@click.option(
    "--loss", type=click.Choice(list(LOSSES)), default="auto", show_default=True,
    help="auto looks at the labels: two classes are logistic, else squared.",
)  # fmt: skip
@click.option(
    "--shrinkage", type=click.Choice(list(SHRINKAGES)),
    default="truncation", show_default=True, help="How weights are pulled to zero.",
)  # fmt: skip
@click.option("--gravity", "-g", default=0.0, show_default=True, help="How strong the pull is.")
@click.option(
    "--truncate-every", "-K", default=1, show_default=True, help="Pull at every K-th example."
)
@click.option("--threshold", type=float, help="Pull only weights up to this.  [default: all]")
@click.option(
    "--max-live", type=click.IntRange(1), metavar="N",
    help="A budget: never more than N live features. Those worth least go.",
)  # fmt: skip
@click.option(
    "--memory", metavar="2GB",
    help="The same, as the memory of the whole run: --max-live is worked out from it.",
)  # fmt: skip
@click.option(
    "--update", type=click.Choice(list(UPDATES)), default="adaptive", show_default=True,
    help="A rate for each feature, or the paper's one rate for all; or FTRL-Proximal or dual "
    "averaging, whose gravity weighs against the sum of all gradients.",
)  # fmt: skip
@click.option(
    "--learning-rate", type=float, help="The learning rate.  [default: 0.6 if adaptive, else 0.3]"
)
@click.option("--power-t", default=0.0, show_default=True, help="The rate falls as 1/i^power.")
@click.option(
    "--passes", type=click.IntRange(1), default=1, show_default=True, help="Over the data."
)
@click.option("--pass-decay", default=1.0, show_default=True, help="Of the rate, after each pass.")
@click.option(
    "--cooldown", type=click.IntRange(0), default=0, show_default=True,
    help="Steps at the end in which gravity goes on without examples: it clears away what the last "
    "ones brought.",
)  # fmt: skip
@click.option(
    "--holdout", metavar="N|FILE",
    help="Measure after each pass on every N-th example, which is not learned from, or on a file; "
    "write the model of the best pass.",
)  # fmt: skip
@click.option(
    "--patience", type=click.IntRange(1), default=3, show_default=True,
    help="End when the holdout loss was not smaller for N passes in a row. It often falls again "
    "after one or two that were worse, and waiting costs only time: the best pass is kept.",
)  # fmt: skip
@click.option(
    "--keep", type=click.IntRange(0), help="Keep exactly the N heaviest features at the end."
)
@click.option(
    "--checkpoint-every", metavar="60s|N", help="Seconds, or examples, between checkpoints."
)
@click.option("--resume", is_flag=True, help="Go on from MODEL.checkpoint, if there is one.")
@click.option("--json", "as_json", is_flag=True, help="Progress and summary as JSON lines.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@click.pass_context
@told_in_one_line
def command(ctx: click.Context, *, as_json: bool, quiet: bool, **settings: Any) -> None:
    """Learn a sparse model from DATA: files, folders, globs, or - for standard input.

    Reads VW text, svmlight, CSV, TSV, JSON lines, Parquet and Arrow, compressed with gz, zst, bz2
    or xz or not. The table on the terminal measures every figure before learning.

    \b
    Example:
      dwindle train train.vw --gravity 1e-6 --model ads.parquet
    """
    from dwindle.runs.train import Interrupted, train

    paths, model = settings.pop("data"), settings.pop("model")
    resume = settings.pop("resume")
    training = _training(settings)
    if resume:
        _complete(training, ctx, Path(model + ".checkpoint"), quiet=quiet)
    stop = asked_to_stop()
    try:
        with screen(bar=not (as_json or quiet)) as shown:
            report = Report(shown, as_json=as_json, quiet=quiet)
            summary = train(
                paths,
                model,
                training,
                resume=resume,
                on_row=report.row,
                on_batch=shown.place,
                on_pass=report.measured,
                on_note=report.note,
                stopping=lambda: bool(stop),
            )
    except Interrupted as interrupted:
        told = (
            f"{interrupted.checkpoint} is written: repeat the command with --resume to go on"
            if interrupted.checkpoint
            else "nothing was learned yet"
        )
        click.echo(f"dwindle: stopped; {told}", err=True)
        sys.exit(128 + stop[0])
    report.summary(summary, model)


def _training(settings: dict[str, Any]) -> Any:
    from dwindle.runs.train import TrainSettings

    shrinkage = ("shrinkage", "gravity", "truncate_every", "threshold")
    schedule = ("learning_rate", "power_t", "pass_decay")
    how = reading(settings)
    update = update_called(settings.pop("update"))
    return TrainSettings(
        loss=loss_called(settings.pop("loss")),
        shrinkage=shrinkage_called(*(settings.pop(name) for name in shrinkage)),
        update=update,
        learning_rate=schedule_of(update, *(settings.pop(name) for name in schedule)),
        holdout=_number_or_file(settings.pop("holdout")),
        max_live=_max_live(settings.pop("max_live"), settings.pop("memory")),
        checkpoint_every=_interval(settings.pop("checkpoint_every")),
        reading=how,
        **settings,
    )


def _max_live(max_live: int | None, memory: str | None) -> int | None:
    if memory is None:
        return max_live
    if max_live is not None:
        raise click.BadParameter("--memory stands for --max-live: give one of them")
    from dwindle.engine.budget import features_within

    try:
        n_bytes = int(float(memory[:-2]) * BYTES[memory[-2:].upper()])
    except (KeyError, ValueError, OverflowError):
        raise click.BadParameter(
            f"--memory: expected a size like 500MB or 2GB, got {memory!r}"
        ) from None
    return features_within(n_bytes)


def _number_or_file(text: str | None) -> int | str | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return text


def _interval(text: str | None) -> Any:
    """``60s`` or a number of examples, as a question that is asked after each batch."""
    if text is None:
        return None
    try:
        if text.endswith("s"):
            pause = float(text[:-1])
            return lambda seconds, _examples: seconds >= pause
        count = int(text)
    except ValueError:
        raise click.BadParameter(
            f"--checkpoint-every: expected seconds like 60s or a number of examples, got {text!r}"
        ) from None
    return lambda _seconds, examples: examples >= count


def _complete(training: Any, ctx: click.Context, checkpoint: Path, *, quiet: bool) -> None:
    """Take from the checkpoint the settings that the command line does not give."""
    if not checkpoint.exists():
        if not quiet:
            click.echo(f"dwindle: nothing to resume ({checkpoint}): beginning anew", err=True)
        return
    from dwindle.data.options import as_before
    from dwindle.model.checkpoint import load_checkpoint

    learner, metadata = load_checkpoint(checkpoint)
    there = {
        "loss": learner.loss,
        "shrinkage": learner.shrinkage,
        "update": learner.update,
        "learning_rate": learner.schedule,
        "max_live": learner.max_live,
        "passes": metadata["passes"],
        "cooldown": metadata["cooldown"],
        "holdout": metadata["holdout"],
        "patience": metadata["patience"],
        "reading": as_before(metadata["reading"], training.reading),
    }
    for name, options in GROUPS.items():
        given = [ctx.get_parameter_source(option) for option in options]
        if ParameterSource.COMMANDLINE not in given:
            setattr(training, name, there[name])
