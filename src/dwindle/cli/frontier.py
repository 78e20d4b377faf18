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
    lanes: Sequence[Any] = s.frontier
    if len(lanes) < 2:
        return
    title = TITLES[s.choice.metric]
    yield ""
    yield from table(lanes, s.choice.metric)
    yield f"chosen        {_reason(s.choice, title)}"
    yield "              --keep N chooses by size, --dense keeps all features"


def table(lanes: Sequence[Any], metric: str) -> Iterator[str]:
    """Show the gravities, one a line."""
    ranks = not any(math.isnan(lane.auc) for lane in lanes)
    yield f"  gravity   features       loss{'     AUC' if ranks else ''}   late {TITLES[metric]}"
    for lane in lanes:
        auc = f"  {lane.auc:.4f}" if ranks else ""
        line = f"{lane.gravity:9.4g} {lane.kept:10,} {lane.loss:10.6f}{auc}"
        line = f"{line} {lane.judged:10.4f}"
        yield click.style(f"{line}  <- chosen", bold=True) if lane.chosen else line


def _reason(choice: Any, title: str) -> str:
    """Say by which rule a lane was chosen."""
    if choice.keep is not None:
        return f"the best {title} {LATE} with at most {counted(choice.keep, 'feature')}"
    if choice.metric == "auc":
        tolerance = 0.002 if choice.tolerance is None else choice.tolerance
        return f"the fewest features with an AUC {LATE} within {tolerance:g} of the best"
    share = 0.01 if choice.tolerance is None else choice.tolerance
    return f"the fewest features with a loss {LATE} within {share:.2%} of the best"
