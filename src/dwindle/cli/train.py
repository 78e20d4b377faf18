"""``dwindle train``: the face of `dwindle.training.train`."""

import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dwindle.cli.options import LOSSES, data, features, for_json, reading, told_in_one_line
from dwindle.schedules import Schedule
from dwindle.shrinkage import Rounding, Subgradient, Truncation, Unshrunk
from dwindle.updates import Adaptive, Plain

# Which options make up which setting: on --resume, those not given are the checkpoint's.
GROUPS = {
    "loss": ("loss",),
    "shrinkage": ("shrinkage", "gravity", "every", "threshold"),
    "update": ("update",),
    "rate": ("rate", "power", "pass_decay"),
    "passes": ("passes",),
    "holdout": ("holdout",),
    "patience": ("patience",),
    "reading": ("interactions", "ignore", "label_column", "weight_column"),
}


@click.command(name="train")
@data
@features
@click.option("--model", "-m", required=True, help="The file to write.")
@click.option(
    "--loss", type=click.Choice(list(LOSSES)), default="auto", show_default=True,
    help="auto looks at the labels: two classes are logistic, else squared.",
)  # fmt: skip
@click.option(
    "--shrinkage", type=click.Choice(["truncation", "rounding", "subgradient", "none"]),
    default="truncation", show_default=True, help="How weights are pulled to zero.",
)  # fmt: skip
@click.option("--gravity", "-g", default=0.0, show_default=True, help="How strong the pull is.")
@click.option("--every", "-K", default=1, show_default=True, help="Pull at every K-th example.")
@click.option("--threshold", type=float, help="Pull only weights up to this.  [default: all]")
@click.option(
    "--update", type=click.Choice(["adaptive", "plain"]), default="adaptive", show_default=True,
    help="A rate for each feature, or the paper's one rate for all.",
)  # fmt: skip
@click.option("--rate", default=0.3, show_default=True, help="The learning rate.")
@click.option("--power", default=0.0, show_default=True, help="The rate falls as 1/i^power.")
@click.option(
    "--passes", type=click.IntRange(1), default=1, show_default=True, help="Over the data."
)
@click.option("--pass-decay", default=1.0, show_default=True, help="Of the rate, after each pass.")
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
      dwindle train train.vw --gravity 1e-5 --model ads.parquet
    """
    from dwindle.training import Interrupted, train

    paths, model = settings.pop("data"), settings.pop("model")
    resume = settings.pop("resume")
    training = _training(settings)
    if resume:
        _complete(training, ctx, Path(model + ".checkpoint"), quiet=quiet)
    asked_to_stop: list[int] = []

    def stop(number: int, _frame: Any) -> None:
        asked_to_stop.append(number)
        signal.signal(number, signal.SIG_DFL)  # who asks twice does not want to wait

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    report = _Report(as_json=as_json, quiet=quiet)
    try:
        summary = train(
            paths,
            model,
            training,
            resume=resume,
            on_row=report.row,
            on_pass=report.measured,
            on_note=report.note,
            stopping=lambda: bool(asked_to_stop),
        )
    except Interrupted as interrupted:
        told = (
            f"{interrupted.checkpoint} is written: repeat the command with --resume to go on"
            if interrupted.checkpoint
            else "nothing was learned yet"
        )
        click.echo(f"dwindle: stopped; {told}", err=True)
        sys.exit(128 + asked_to_stop[0])
    report.summary(summary, model)


def _training(settings: dict[str, Any]) -> Any:
    from dwindle.training import Training

    threshold = settings.pop("threshold")
    gravity, every, kind = (settings.pop(name) for name in ("gravity", "every", "shrinkage"))
    if kind == "rounding" and threshold is None:
        raise click.UsageError("--shrinkage rounding needs --threshold")
    shrinkage = {
        "truncation": lambda: Truncation(
            gravity, float("inf") if threshold is None else threshold, every
        ),
        "rounding": lambda: Rounding(threshold, every),
        "subgradient": lambda: Subgradient(gravity, every),
        "none": Unshrunk,
    }[kind]()
    how = reading(settings)
    return Training(
        loss=LOSSES[settings.pop("loss")],
        shrinkage=shrinkage,
        update=Plain() if settings.pop("update") == "plain" else Adaptive(),
        rate=Schedule(
            settings.pop("rate"), settings.pop("power"), pass_decay=settings.pop("pass_decay")
        ),
        holdout=_number_or_file(settings.pop("holdout")),
        checkpoint_every=_interval(settings.pop("checkpoint_every")),
        reading=how,
        **settings,
    )


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
    from dwindle.model import load_checkpoint
    from dwindle.stream import as_before

    learner, facts = load_checkpoint(checkpoint)
    there = {
        "loss": learner.loss,
        "shrinkage": learner.shrinkage,
        "update": learner.update,
        "rate": learner.schedule,
        "passes": facts["passes"],
        "holdout": facts["holdout"],
        "patience": facts["patience"],
        "reading": as_before(facts["reading"], training.reading),
    }
    for name, options in GROUPS.items():
        given = [ctx.get_parameter_source(option) for option in options]
        if ParameterSource.COMMANDLINE not in given:
            setattr(training, name, there[name])


class _Report:
    """The table while it goes on, and the summary."""

    HEADINGS = ("examples", "loss", "since last", "AUC", "alive", "seen")

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.begun = False

    def row(self, row: Any) -> None:
        """One line of the table."""
        if self.as_json:
            click.echo(json.dumps(for_json(row._asdict())))
        elif not self.quiet:
            if not self.begun:
                click.echo(
                    "{:>12} {:>10} {:>10} {:>8} {:>11} {:>12}".format(*self.HEADINGS), err=True
                )
                self.begun = True
            auc = f"{row.auc:8.4f}" if row.auc == row.auc else " " * 8
            click.echo(
                f"{row.examples:12,} {row.loss:10.4f} {row.since_last:10.4f} {auc} "
                f"{row.alive:11,} {'~' + format(row.seen, ','):>12}",
                err=True,
            )

    def measured(self, row: Any) -> None:
        """How good the model was after a pass."""
        if self.as_json:
            fields = row._asdict()
            click.echo(json.dumps(for_json({"pass": fields.pop("number")} | fields)))
        elif not self.quiet:
            auc = f", AUC {row.holdout_auc:.4f}" if row.holdout_auc == row.holdout_auc else ""
            best = ", best so far" if row.best else ""
            click.echo(
                f"pass {row.number}: holdout loss {row.holdout_loss:.4f}{auc}{best}", err=True
            )

    def note(self, text: str) -> None:
        """What the user should know though the run goes on."""
        if not self.quiet:
            click.echo(f"dwindle: {text}", err=True)

    def summary(self, summary: Any, model: str) -> None:
        """What the run came to."""
        if self.as_json:
            click.echo(json.dumps(for_json(asdict(summary))))
        if self.as_json or self.quiet:
            return
        s = summary
        share = s.kept / s.seen if s.seen else 0.0
        mapping = ", ".join(f"{label} is {sign:+g}" for label, sign in s.labels.items())
        lines = [
            "",
            f"kept          {s.kept:,} of ~{s.seen:,} features ({share:.2%})",
            f"alive         {s.peak_live:,} features at the peak",
            f"loss          {s.loss:.6f} {s.loss_name.lower()}",
            f"constant      {s.best_constant_loss:.6f} is the best constant's loss",
            *([f"AUC           {s.auc:.4f}"] if s.auc == s.auc else []),
            *([f"holdout       {_holdout(s)}"] if s.best_pass else []),
            *([f"labels        {mapping}"] if mapping else []),
            f"time          {s.seconds:.2f} s, {s.examples_per_second:,.0f} examples a second",
            f"memory        {s.peak_memory_bytes / 1e6:,.0f} MB at the peak",
            f"model         {model}, {s.model_bytes:,} bytes",
        ]
        if s.skipped:
            lines.append(f"skipped       {s.skipped:,} bad lines, such as")
            lines += [f"              {line}" for line in s.bad_lines]
        click.echo("\n".join(lines), err=True)


def _holdout(s: Any) -> str:
    auc = "" if s.holdout_auc is None else f", AUC {s.holdout_auc:.4f}"
    return f"{s.holdout_loss:.6f} after pass {s.best_pass}, the best of {s.passes}{auc}"
