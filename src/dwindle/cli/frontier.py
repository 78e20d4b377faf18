"""How the gravities that were learned at once are shown: a line for each, and which was chosen."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import click

from dwindle._base.text import counted

LATE = "over the last quarter"  # of the examples
TITLES = {"auc": "AUC", "loss": "loss"}


def frontier(s: Any) -> Iterator[str]:
    """Show the gravities of a run's summary, if there were several, and say which was chosen."""
    if s.class_frontiers:
        yield ""
        yield from class_table(s.class_frontiers, s.choice.metric)
    elif len(s.frontier) > 1:
        yield ""
        yield from table(s.frontier, s.choice.metric)
    else:
        return
    yield f"chosen        {_reason(s.choice, TITLES[s.choice.metric])}"
    yield "              --keep N chooses by size, --dense keeps all features"


def table(lanes: Sequence[Any], metric: str) -> Iterator[str]:
    """Show the gravities, one a line, from the most features to the fewest."""
    shown = sorted(lanes, key=lambda lane: -lane.kept)
    heading, *rows = _rows(shown, metric)
    yield heading
    for lane, row in zip(shown, rows, strict=True):
        yield click.style(f"{row}  <- chosen", bold=True) if lane.chosen else row


def class_table(frontiers: dict[Any, Sequence[Any]], metric: str) -> Iterator[str]:
    """Show the gravity that was chosen for each of several classes."""
    chosen = [next(lane for lane in lanes if lane.chosen) for lanes in frontiers.values()]
    names = ["class", *map(str, frontiers)]
    width = max(map(len, names))
    for name, row in zip(names, _rows(chosen, metric), strict=True):
        yield f"{name:{width}}{row}"


def _rows(lanes: Sequence[Any], metric: str) -> Iterator[str]:
    """Format lanes, after a heading."""
    held = any(lane.evidence for lane in lanes)
    ranks = not any(math.isnan(lane.auc) for lane in lanes)
    yield (
        f"  gravity{'  evidence' if held else ''}    features        loss"
        f"{'     AUC' if ranks else ''}   late {TITLES[metric]}"
    )
    for lane in lanes:
        evidence = f"{lane.evidence:10.3g}" if held else ""
        auc = f"  {lane.auc:.4f}" if ranks else ""
        figures = f"{lane.kept:12,} {lane.loss:11.6f}{auc} {lane.judged:10.4f}"
        yield f"{lane.gravity:9.3g}{evidence}{figures}"


def _reason(choice: Any, title: str) -> str:
    """Say by which rule a lane was chosen."""
    if choice.keep is not None:
        return f"the best {title} {LATE} with at most {counted(choice.keep, 'feature')}"
    if choice.metric == "auc":
        tolerance = 0.002 if choice.tolerance is None else choice.tolerance
        return f"the fewest features with an AUC {LATE} within {tolerance:g} of the best"
    share = 0.01 if choice.tolerance is None else choice.tolerance
    return f"the fewest features with a loss {LATE} within {share:.2%} of the best"
