"""Print the result of a search."""

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from dwindle._base.text import counted
from dwindle.cli import terminal
from dwindle.cli.output import for_json
from dwindle.cli.signals import StopSignals
from dwindle.runs.metrics import METRICS

ROWS = 15  # at most, of the table
OWN = ("model", "tolerance", "picture")  # options that are another thing in ``dwindle train``


class Report(terminal.Report):
    """The frontier and the chosen setting, then the training's summary."""

    def __init__(
        self,
        screen: Any,
        stop: StopSignals,
        options: Mapping[str, Any],
        *,
        as_json: bool,
        quiet: bool,
    ) -> None:
        super().__init__(screen, stop, as_json=as_json, quiet=quiet)
        self.options = options

    def row(self, row: Any) -> None:
        """Say nothing: the table of the training that ends a search is of no interest."""

    def best(self, found: Any) -> None:
        """Show what the search would choose so far."""
        if not (self.as_json or self.quiet):
            self.screen.line(f"best so far   {_told(found, found.chosen)}")

    def found(self, found: Any) -> None:
        """Show what the search found."""
        command = command_line(found.chosen.setting, self.options)
        if self.as_json:
            for score in found.scores:
                click.echo(json.dumps(_fields(score)))
            told = {"metric": found.metric, "bound": found.bound, "command": command}
            told |= {"dense": _fields(found.dense), "chosen": _fields(found.chosen)}
            click.echo(json.dumps(told))
        elif not self.quiet:
            choice = _choice(found, self.options["tolerance"])
            for line in (*table(found), "", *choice, f"command       {command}"):
                self.screen.line(line)


def command_line(setting: Any, options: Mapping[str, Any]) -> str:
    """Write the ``dwindle train`` that makes the same model: what is not the default is said."""
    from dwindle.cli.train import command as train

    words = ["dwindle", "train", *options["data"], "--model", options["model"]]
    given = {name: value for name, value in options.items() if name not in OWN}
    chosen = given | setting._asdict()
    for each in train.params:
        value = chosen.get(each.name or "")
        if not isinstance(each, click.Option) or value in (None, (), each.default):
            continue
        option, *no_option = each.opts[0], *each.secondary_opts
        for part in value if isinstance(value, tuple) else (_joined(value),):
            if isinstance(part, bool):
                words += [option] if part else no_option
            else:
                words += [option, str(part)]
    return shlex.join(words)


def _joined(value: Any) -> Any:
    """Write classes, or their weights, as their options take them; another value stays as it is."""
    if isinstance(value, dict):
        return ",".join(f"{name}={weight}" for name, weight in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else value


def table(found: Any) -> Iterator[str]:
    """Format the frontier, and the best setting without gravity, which may lie behind it."""
    shown = _thinned(found)
    other = "accuracy" if found.metric == "auc" else "auc"
    others = [other] if not math.isnan(found.dense.metric(other)) else []
    settings = [score.setting._asdict() for score in found.scores]
    varied = [name for name in settings[0] if len({each[name] for each in settings}) > 1]
    names = [
        "kept",
        f"{METRICS[found.metric].title} ± error",
        *(METRICS[name].title for name in others),
    ]
    rows = [[*names, *(name.replace("_", "-") for name in varied), ""]]
    for score in shown:
        mark = " chosen" if score == found.chosen else " dense" if score == found.dense else ""
        metric = f"{_number(score.metric(found.metric))} ± {_number(score.spread)}"
        setting = (getattr(score.setting, name) for name in varied)
        rows.append(
            [
                f"{score.kept:,.1f}".removesuffix(".0"),
                metric,
                *(_number(score.metric(name)) for name in others),
                *map(_value, setting),
                mark,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *row, mark in rows:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=False))
        yield f"{'  '.join(cells)}{mark}"


def _thinned(found: Any) -> Sequence[Any]:
    """Thin the frontier to as many rows as fit, the chosen one among them; sparsest first."""
    marked = [found.chosen, found.dense]
    frontier = [score for score in found.frontier() if score not in marked]
    room = ROWS - len(marked)
    if len(frontier) > room:
        frontier = [frontier[k * (len(frontier) - 1) // (room - 1)] for k in range(room)]
    distinct = {id(score): score for score in (*frontier, *marked)}
    return sorted(distinct.values(), key=lambda score: score.kept)


def _choice(found: Any, tolerance: str | None) -> Iterator[str]:
    yield f"dense         {_told(found, found.dense)}: the best without gravity"
    if found.bound is not None:
        title = METRICS[found.metric].title
        why = "about as good as the best" if tolerance is None else f"{tolerance} worse"
        yield f"bound         {title} {_number(found.bound)}: {why}"
    yield f"chosen        {_told(found, found.chosen)}"


def _told(found: Any, score: Any) -> str:
    """Say how good a score is, and how many features or, of several classes, weights it keeps."""
    metric = f"{METRICS[found.metric].title} {_number(score.metric(found.metric))}"
    return f"{metric}, {counted(score.kept, 'weight' if found.classes > 2 else 'feature')}"


def _fields(score: Any) -> dict[str, Any]:
    fields = score._asdict()
    return for_json(fields.pop("setting")._asdict() | fields.pop("metrics") | fields)


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.5g}"


def _value(setting: Any) -> str:
    if setting is None:
        return "all"
    return f"{setting:g}" if isinstance(setting, float) else str(setting)
