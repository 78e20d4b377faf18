"""Where each way looks for its settings: until each model on the page has neighbours all around.

The places are rates and strengths, each a factor of 2 apart, passes and the decay of a rate by each
pass. Passes end where our patience does; a decay of 1 is none.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

from experiments.climbing import Ladder, Place, climb
from experiments.frontier.problems import DECAYS, Problem, rows
from experiments.frontier.ways import LANES, OURS, THEIRS, Point, Setting, lanes, measuring

WITHIN = 0.0005  # of FTRL's best AUC
STEP = 1.05  # numbers of weights nearer than by this factor are alike
DIGITS = 4  # of an AUC that count
FINER = 2**0.25  # from one strength to the next, where a factor of 2 makes too much of a difference
THEIR_RATES = {"vw-ftrl": 0.3, "vw-l1": 0.3}


Known = dict[Place, list[Point]]
Ladders = tuple[Ladder, ...]


class Target(NamedTuple):
    """What a model is measured by: FTRL's, once that is known."""

    floor: float  # an AUC that is as good
    weights: float  # the fewest with which it is that good


def searched(
    problem: Problem, name: str, target: Target | None, before: Sequence[Any] = ()
) -> dict[str, Any]:
    """Every setting that a way has tried, its models for all seeds, and what was left open.

    What was found before is known, and not measured again.
    """
    if name in LANES:
        return {"points": _in_lanes(problem, chosen=name == "auto"), "open": []}
    shares = problem.shares if name in OURS and OURS[name].budget else (None,)
    points: list[Any] = []
    left: list[Any] = []
    with ExitStack() as stack:
        measures = [stack.enter_context(measuring(problem, seed, name)) for seed in problem.seeds]
        for share in shares:
            made = _search(problem, name, share, measures, target, before)
            points += made[0]
            left += made[1]
    return {"points": points, "open": left}


def _search(
    problem: Problem,
    name: str,
    share: float | None,
    measures: list[Any],
    target: Target | None,
    before: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    known = {Setting(*setting): [Point(*point) for point in points] for setting, points in before}

    def setting_at(ladders: Ladders, place: Place) -> Setting:
        rate, strength, passes, decay = (
            ladder.value(step) for ladder, step in zip(ladders, place, strict=True)
        )
        return Setting(rate, int(passes), strength, decay if passes > 1 else 1.0, share)

    def measure(ladders: Ladders, place: Place) -> list[Point]:
        setting = setting_at(ladders, place)
        if setting not in known:
            known[setting] = [each(setting) for each in measures]
        return known[setting]

    middle = len(problem.passes) // 2
    starts = [(rate, strength, middle, 0) for rate, strength in product((-2, 0, 2), (-3, 0, 3))]
    ladders, picked = ladders_of(problem, name), partial(picks, target=target)
    found = climb(ladders, starts, partial(measure, ladders), picked, problem.most)
    left = [setting_at(ladders, place) for place in found.open]
    if problem.fine:
        [place] = sized(found.known, lambda _: True, target)
        ladders, picked = finer(setting_at(ladders, place)), partial(sized, target=target)
        found = climb(ladders, [(0, 0, 0, 0)], partial(measure, ladders), picked, problem.most)
        left += [setting_at(ladders, place) for place in found.open]
    return list(known.items()), left


def ladders_of(problem: Problem, name: str) -> Ladders:
    """Rates, strengths, passes and decays of a way."""
    known = rows(problem, problem.seeds[0])
    if name in THEIRS:
        rate, decays = THEIR_RATES.get(name, 1 / known.squares), name != "vw-ftrl"
    else:
        rate, decays = OURS[name].rate(known), OURS[name].decays
    several = len(problem.passes) > 1 or problem.passes[0] > 1
    return (
        Ladder(rate),
        Ladder(1.0),
        Ladder(listed=tuple(map(float, problem.passes))),
        Ladder(listed=DECAYS if decays and several else DECAYS[:1]),
    )


def finer(setting: Setting) -> Ladders:
    """The same around a setting, with strengths that are nearer to each other."""
    return (
        Ladder(setting.learning_rate),
        Ladder(setting.strength, FINER),
        Ladder(listed=(float(setting.passes),)),
        Ladder(listed=(setting.pass_decay,)),
    )


def picks(known: Known, inside: Callable[[Place], bool], target: Target | None) -> Iterator[Place]:
    """The best model, the smallest that is as good as FTRL, and the best that is as small.

    Where none is so small yet, the smallest of all: until there is one, or none can be.
    """
    auc = {place: fmean(point.auc for point in points) for place, points in known.items()}
    size = {place: fmean(point.weights for point in points) for place, points in known.items()}

    def best(places: list[Place]) -> Place:
        return max(places, key=lambda place: (round(auc[place], DIGITS), inside(place), auc[place]))

    def smallness(place: Place) -> tuple[int, bool]:
        return round(math.log(size[place] + 1, STEP)), not inside(place)

    top = best(list(known))
    yield top
    floor, weights = target or (auc[top] - WITHIN, size[top])
    good = [place for place in known if auc[place] >= floor]
    if good:
        yield min(good, key=smallness)
    for most in (weights, weights / 4):
        small = [place for place in known if 0 < size[place] <= most]
        yield best(small) if small else min(filter(size.get, known), key=smallness, default=top)


def sized(known: Known, inside: Callable[[Place], bool], target: Target | None) -> Iterator[Place]:
    """Of these, the one that a size decides: the best as small as FTRL, or FTRL's smallest."""
    top, *others, small, _ = picks(known, inside, target)
    yield small if target else [*others, top][0]


def _in_lanes(problem: Problem, *, chosen: bool) -> list[Any]:
    """The models of the lanes that were chosen, or of all, as if a gravity were a setting."""
    by_seed = [lanes(problem, seed) for seed in problem.seeds]
    if chosen:
        points = [point for each in by_seed for _, point, it in each if it]
        return [(Setting(0.0, 1, 0.0), points)]
    return [
        (Setting(0.0, 1, lane[0][0]), [point for _, point, _ in lane])
        for lane in zip(*by_seed, strict=True)
    ]
