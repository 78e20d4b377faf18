"""What commands print while they run, and the summary of a training run."""

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from typing import Any, Protocol

import click

from dwindle._base.text import counted
from dwindle.cli.frontier import frontier
from dwindle.cli.output import for_json
from dwindle.cli.signals import StopSignals
from dwindle.runs.metrics import beside_loss
from dwindle.runs.observer import Observer, Stopped

EVICTED = {  # what a budget came to
    "gravity": "would have removed the features that were evicted last",
    "absence": "steps unseen, per sighting and unit of squared gradient, led to eviction",
}
WORSE = "worse than the best constant: try another --learning-rate or less --gravity"


class Screen(Protocol):
    """Where lines are printed and progress is shown."""

    @property
    def columns(self) -> int | None:
        """How many columns a terminal has; None if it is none."""

    def line(self, text: str) -> None:
        """Print a line."""

    def place(self, position: Any) -> None:
        """Show how much of the data has been read."""

    def shards(self, done: Any) -> None:
        """Show how many shards are done."""

    def runs(self, done: int, total: int) -> None:
        """Show how many runs are made."""


class Log:
    """Standard error, without a bar."""

    columns = None

    def __init__(self) -> None:
        self._tenths = 0  # of the runs, that were told

    def line(self, text: str) -> None:
        """Print a line."""
        click.echo(text, err=True)

    def place(self, position: Any) -> None:
        """Show nothing: a log has no bar."""

    def shards(self, done: Any) -> None:
        """Print a line for every tenth of the shards of a pass."""
        tenths = 10 * done.done // done.shards
        if done.done and tenths != 10 * (done.done - 1) // done.shards:
            self.line(
                f"pass {done.pass_number}: {done.done:,} of {done.shards:,} shards, "
                f"{done.examples:,} examples, loss {done.mean_loss:.4f}, {done.told:,} told"
            )

    def runs(self, done: int, total: int) -> None:
        """Print a line for every tenth of the runs."""
        tenths = 10 * done // max(total, 1)
        if tenths > self._tenths:
            self.line(f"{done:,} of {total:,} runs")
        self._tenths = tenths


@contextmanager
def screen(*, bar: bool) -> Iterator[Screen]:
    """Standard error, with a bar if that is wanted and it is a terminal that can show one."""
    if bar and sys.stderr.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}:
        from dwindle.cli.progress_bar import Bar

        shown = Bar()
        try:
            yield shown
        finally:
            shown.close()
    else:
        yield Log()


class Watching(Observer):
    """An observer that moves the bar and prints notes."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def position(self, position: Any) -> None:
        """Move the bar."""
        self.screen.place(position)

    def shards(self, done: Any) -> None:
        """Move the bar."""
        self.screen.shards(done)

    def note(self, text: str) -> None:
        """Print it."""
        self.screen.line(f"dwindle: {text}")


def counts(kept: int, seen: int | None, peak_live: int | None, classes: int = 0) -> Iterator[str]:
    """Say how many features a model kept and, if known, of how many."""
    if classes > 2:
        of = "" if seen is None else f", of ~{counted(seen, 'feature')}"
        yield f"kept          {counted(kept, 'weight')} of {classes} classes{of}"
        if peak_live is not None:
            yield f"alive         {counted(peak_live, 'weight')} at the peak"
        return
    if seen is None:
        yield f"kept          {counted(kept, 'feature')}"
    else:
        share = kept / seen if seen else 0.0
        yield f"kept          {kept:,} of ~{counted(seen, 'feature')} ({share:.2%})"
    if peak_live is not None:
        yield f"alive         {counted(peak_live, 'feature')} at the peak"


def weighed(found: Mapping[str, Any]) -> Iterator[str]:
    """Say what classes weighed in training, if not the same."""
    if weights := found.get("class_weight"):
        each = ", ".join(f"{name}={weight:.4g}" for name, weight in weights.items())
        yield f"class weights {each} in training, which its probabilities suit"


class Report(Watching):
    """The progress table of a run, and its summary; ``stop`` is how it is asked to stop."""

    def __init__(self, screen: Screen, stop: StopSignals, *, as_json: bool, quiet: bool) -> None:
        super().__init__(screen)
        self.stop = stop
        self.as_json = as_json
        self.quiet = quiet
        self.begun = False
        self.told: set[str] = set()

    def row(self, row: Any) -> None:
        """Print a line of the table."""
        if self.as_json:
            click.echo(json.dumps(for_json(row._asdict())))
        elif not self.quiet:
            if not self.begun:
                self.screen.line(row.headings(self.screen.columns))
                self.begun = True
            self.screen.line(row.line(self.screen.columns))

    def classes(self, told: str) -> None:
        """Print which classes there are."""
        if not self.as_json:
            self.note(told)

    def shards(self, done: Any) -> None:
        """Tell how far the shards of a pass have come."""
        if self.as_json:
            fields = done._asdict() | {"loss": done.mean_loss}
            click.echo(json.dumps(for_json({"shards_done": fields.pop("done")} | fields)))
        elif not self.quiet:
            super().shards(done)

    def runs(self, done: int, total: int) -> None:
        """Tell how many runs of a search are made."""
        if not (self.as_json or self.quiet):
            self.screen.runs(done, total)

    def should_stop(self) -> bool:
        """Tell whether a signal came."""
        return bool(self.stop.asked)

    def waiting(self) -> AbstractContextManager[None]:
        """Stop at once when a signal comes."""
        return self.stop.raising(Stopped)

    def pass_ended(self, result: Any) -> None:
        """Print how good the model was after a pass."""
        if self.as_json:
            fields = result._asdict()
            click.echo(json.dumps(for_json({"pass": fields.pop("number")} | fields)))
        elif not self.quiet:
            self.screen.line(str(result))

    def note(self, text: str) -> None:
        """Print what the user should know though the run goes on, once."""
        if not self.quiet and text not in self.told:
            self.told.add(text)
            super().note(text)

    def summary(self, summary: Any, model: str) -> None:
        """Print the summary of the run."""
        if self.as_json:
            click.echo(json.dumps(for_json(_fields(summary))))
        if self.as_json or self.quiet:
            return
        from dwindle.model.describe import mapping_of

        s = summary
        labels, memory = mapping_of(s.labels), s.peak_memory_bytes
        seen = s.seen if s.probes is None else s.probes.seen
        each = " of a worker" if s.shards else ""
        lines = [
            *frontier(s),
            "",
            *counts(s.kept, seen, s.peak_live, len(s.classes)),
            *([] if s.probes is None else [f"probes        {_probed(s.probes)}"]),
            *(
                f"{name:13} {value:.3g} {EVICTED[name]}"
                for name, value in s.eviction_report.items()
            ),
            f"loss          {s.loss:.6f} {s.loss_name.lower()}{_which(s)}",
            f"constant      {s.best_constant_loss:.6f} is the best constant's loss",
            *([f"later half    {s.late_loss:.6f}, which is better"] if _is_better_later(s) else []),
            *(_squared(s) if s.loss_name == "Squared" else []),
            *([f"AUC           {s.auc:.4f}"] if s.auc == s.auc else []),
            *([f"accuracy      {s.accuracy:.4f}"] if s.accuracy == s.accuracy else []),
            *([f"last pass     {_last_pass(s)}"] if s.passes > 1 else []),
            *([f"holdout       {_holdout(s)}"] if s.best_pass else []),
            *([f"labels        {labels}"] if labels else []),
            *([f"shards        {s.shards:,}, mixed after each pass"] if s.shards else []),
            f"time          {_time(s)}",
            *([f"memory        {memory / 1e6:,.0f} MB at the peak{each}"] if memory else []),
            f"model         {model}, {s.model_bytes:,} bytes",
        ]
        if s.skipped:
            lines.append(f"skipped       {counted(s.skipped, 'bad line')}, such as")
            lines += [f"              {line}" for line in s.bad_lines]
        if s.worse_than_constant:
            lines.append(click.style(WORSE, fg="red"))
        click.echo("\n".join(lines), err=True)


def _fields(s: Any) -> dict[str, Any]:
    """Return a summary as JSON has it."""

    def told(lanes: Any) -> list[dict[str, Any]]:
        return [for_json(lane._asdict()) for lane in lanes]

    return asdict(s) | {
        "frontier": told(s.frontier),
        "class_frontiers": {str(name): told(lanes) for name, lanes in s.class_frontiers.items()},
        "choice": None if s.choice is None else s.choice._asdict(),
        "probes": None if s.probes is None else s.probes._asdict(),
    }


def _probed(p: Any) -> str:
    """Say how many probes are kept, and how many features may be by chance as they are."""
    text = f"{p.kept:,} of {counted(p.added, 'random feature')} kept"
    if not p.real:
        return text
    share = p.by_chance / p.real
    return f"{text}: some {p.by_chance:,.0f} of the features kept ({share:.0%}) may tell nothing"


def _which(s: Any) -> str:
    """Say which examples the figures are of, if there are several passes to choose from."""
    return ", in pass 1, before learning" if s.passes > 1 else ""


def _time(s: Any) -> str:
    compiling = f" ({s.seconds_compiling:.1f} s compiling)" if s.seconds_compiling > 0.1 else ""
    rate = s.examples_per_second
    shown = "" if math.isnan(rate) else f", {rate:,.0f} examples a second"
    return f"{s.seconds:.2f} s{compiling}{shown}"


def _squared(s: Any) -> Iterator[str]:
    """Say the error in the labels' unit, and the share of their variance that is explained."""
    yield f"RMSE          {math.sqrt(s.loss):.6f}"
    if s.best_constant_loss:
        yield f"r2            {1 - s.loss / s.best_constant_loss:.6f}"


def _is_better_later(s: Any) -> bool:
    """Whether the model was better than the constant in the later half, if not on the whole."""
    return bool(s.loss > s.best_constant_loss > s.late_loss)


def _last_pass(s: Any) -> str:
    figure = beside_loss(s.last_pass_auc, s.last_pass_accuracy)
    place = f"pass {s.passes} of {s.passes}"
    return f"{s.last_pass_loss:.6f}{figure} while learning, {place} (seen before)"


def _holdout(s: Any) -> str:
    figure = beside_loss(s.holdout_auc, s.holdout_accuracy)
    return f"{s.holdout_loss:.6f} after pass {s.best_pass}, the best of {s.passes}{figure}"
