"""The order in which a search tries its grid: first without gravity, then with it.

What the grid says is tried as it is. A list that was left open begins with a few values around what
suits the data, and grows for as long as the best setting is at an end of it.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dwindle.runs.tune.grid import Grid, Setting
from dwindle.runs.tune.scores import Found, Score, good

MOST_GROWTH = 12  # times that lists grow before the search says that it gives up
ALIKE = 0.99  # of the features without gravity: a weaker gravity would change nothing
OPEN = ("learning_rate", "pass_decay", "passes", "gravity")
Choose = Callable[[list[Score]], Found]


class End(NamedTuple):
    """An end of a list of values: the upper or the lower one."""

    name: str
    up: bool


def explore(
    asked: Grid,
    grid: Grid,
    examples: int,
    measure: Callable[[Iterable[Setting]], list[Score]],
    choose: Choose,
    settle: Callable[[Found], bool],
) -> list[End]:
    """Measure what is asked for, and beyond it where it was left open and the best is at an end.

    ``grid`` is ``asked`` with the open lists begun. ``measure`` returns all scores so far;
    ``settle`` measures more closely what a choice depends on, and returns whether it did. Returns
    the ends at which the chosen setting still is, and beyond which there is more to try: of the
    open lists, and of gravities that were given if all are too strong.
    """
    is_open = {name for name in OPEN if getattr(asked, name) is None}
    dense = grid._replace(gravity=(0.0,))
    if is_open - {"gravity"}:
        dense, scores = _grown(*(dense, is_open - {"gravity"}, examples, measure, choose, settle))
        best = choose(scores).dense.setting
        grid = grid._replace(passes=dense.passes, pass_decay=dense.pass_decay)
        if "learning_rate" in is_open:
            grid = grid._replace(learning_rate=_near(dense, best))
    grid, scores = _grown(grid, is_open - {"passes"}, examples, measure, choose, settle)
    found = choose(scores)
    return [
        end
        for end in _ends(grid, OPEN, found)
        if (end.name in is_open or not getattr(found.chosen.setting, end.name))
        and grid.grown(*end, examples=examples) != grid
    ]


def _grown(
    grid: Grid,
    names: set[str],
    examples: int,
    measure: Callable[[Iterable[Setting]], list[Score]],
    choose: Choose,
    settle: Callable[[Found], bool],
) -> tuple[Grid, list[Score]]:
    """Measure a grid, and let the lists of these names grow until the best is inside them."""
    scores = measure(grid.settings())
    growth = 0
    while growth < MOST_GROWTH:
        found, grown = choose(scores), grid
        for end in _ends(grid, names, found):
            grown = grown.grown(*end, examples=examples)
        if grown == grid:
            if not settle(found):
                break
            scores = measure(())
            continue
        growth += 1
        scores = measure(_near_best(grid, grown, _best(grid, found).setting))
        grid = grown
    return grid, scores


def _near_best(grid: Grid, grown: Grid, best: Setting) -> list[Setting]:
    """List the settings that a grown grid adds, only those that are like the best in the rest.

    They have its learning rate and its pass decay, or a new one, and a gravity within a decade.
    """
    new = {name: {*getattr(grown, name)} - {*getattr(grid, name)} for name in OPEN}

    def is_near(each: Setting) -> bool:
        return all(
            getattr(each, name) in {getattr(best, name), *new[name]}
            for name in ("learning_rate", "pass_decay")
        ) and (
            not best.gravity
            or each.gravity in new["gravity"]
            or best.gravity / 10 <= each.gravity <= best.gravity * 10
        )

    return [each for each in grown.settings() if not each.gravity or is_near(each)]


def _ends(grid: Grid, names: Iterable[str], found: Found) -> list[End]:
    """List the ends of lists at which the best setting is, and is better than those inside."""
    best = _best(grid, found)
    ends = []
    for name in names:
        values = sorted(value for value in getattr(grid, name) if value)
        value = getattr(best.setting, name)
        if name == "gravity":
            if not values or (value <= values[0] and _alike(found, values[0])):
                continue
        elif len(values) < 2 or _as_good_inside(best, found, name, values[1:-1]):
            continue
        if value <= values[0]:
            ends.append(End(name, up=False))
        elif value >= values[-1]:
            ends.append(End(name, up=True))
    return ends


def _best(grid: Grid, found: Found) -> Score:
    """Return the chosen score or, if the grid has no gravity, the best without gravity."""
    return found.chosen if any(grid.gravity or ()) else found.dense


def _as_good_inside(best: Score, found: Found, name: str, inside: list[float]) -> bool:
    """Tell whether a setting with a value inside the list is as good and as sparse."""
    return any(
        good(each, found.metric) >= good(best, found.metric) and each.kept <= best.kept
        for each in found.scores
        if getattr(each.setting, name) in inside
    )


def _alike(found: Found, gravity: float) -> bool:
    """Tell whether models of this gravity keep as many features as without any."""
    kept = [each.kept for each in found.scores if each.setting.gravity == gravity]
    return bool(kept) and min(kept) >= ALIKE * found.dense.kept


def _near(grid: Grid, best: Setting) -> tuple[float, ...]:
    """Return the learning rates around the best without gravity."""
    rates = sorted(grid.learning_rate or ())
    at = rates.index(best.learning_rate or 0.0)
    return tuple(rates[max(at - 1, 0) : at + 2])
