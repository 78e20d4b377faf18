"""How the gravities that were learned at once are shown: a line for each, and which was chosen."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dwindle._base.text import counted

LATE, HELD = "over the last quarter", "on the holdout"  # the examples by which is chosen
TITLES = {"auc": "AUC", "loss": "loss"}


def frontier(s: Any) -> Iterator[str]:
    """Show the gravities of a run's summary, if there were several, and say which was chosen."""
    held = s.best_pass is not None
    if s.class_frontiers:
        yield ""
        yield from class_table(s.class_frontiers, s.choice.metric, held=held)
    elif len(s.frontier) > 1:
        yield ""
        yield from table(s.frontier, s.choice.metric, held=held)
    else:
        return
    yield f"chosen        {_reason(s.choice, HELD if held else LATE)}"
    yield "              --keep N chooses by size, --dense keeps all features"


def table(lanes: Sequence[Any], metric: str, *, held: bool = False) -> Iterator[str]:
    """Show the gravities, one a line, from the most features to the fewest.

    They were judged by the last part of the examples or, if it is ``held``, by a holdout.
    """
    shown = sorted(lanes, key=lambda lane: -lane.kept)
    heading, *rows = _rows(shown, metric, held)
    yield heading
    for lane, row in zip(shown, rows, strict=True):
        yield f"{row} chosen" if lane.chosen else row


def class_table(
    frontiers: dict[Any, Sequence[Any]], metric: str, *, held: bool = False
) -> Iterator[str]:
    """Show the gravity that was chosen for each of several classes."""
    chosen = [next(lane for lane in lanes if lane.chosen) for lanes in frontiers.values()]
    names = ["class", *map(str, frontiers)]
    width = max(map(len, names))
    for name, row in zip(names, _rows(chosen, metric, held), strict=True):
        yield f"{name:{width}}{row}"


def _rows(lanes: Sequence[Any], metric: str, held: bool) -> Iterator[str]:
    """Format lanes, after a heading."""
    told = any(lane.evidence for lane in lanes)
    ranks = not any(math.isnan(lane.auc) for lane in lanes)
    yield (
        f" gravity{' evidence' if told else ''}  features     loss"
        f"{'     AUC' if ranks else ''} {'held' if held else 'late'} {TITLES[metric]}"
    )
    for lane in lanes:
        evidence = f"{lane.evidence:9.3g}" if told else ""
        auc = f"  {lane.auc:.4f}" if ranks else ""
        figures = f"{lane.kept:10,} {lane.loss:#8.4g}{auc} {lane.judged:#8.4g}"
        yield f"{lane.gravity:8.3g}{evidence}{figures}"


def _reason(choice: Any, where: str) -> str:
    """Say by which rule a lane was chosen."""
    if choice.keep is not None:
        most = counted(choice.keep, "feature")
        return f"the best {TITLES[choice.metric]} {where} with at most {most}"
    if choice.metric == "auc":
        tolerance = 0.002 if choice.tolerance is None else choice.tolerance
        return f"the fewest features with an AUC {where} within {tolerance:g} of the best"
    share = 0.01 if choice.tolerance is None else choice.tolerance
    return f"the fewest features with a loss {where} within {share:.2%} of the best"
