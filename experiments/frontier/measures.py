"""What is read off the models: frontiers, and who is where FTRL-Proximal is, with how much less.

The best is picked on the test part, for every method alike: this compares methods and promises
nothing about new data. With several seeds, a setting's model is the mean of its models.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from experiments.frontier.searching import DIGITS, WITHIN
from experiments.frontier.ways import Setting

REFERENCES = ("ftrl", "vw-ftrl")
BUDGETED = ("ftrl-budget", "rda-budget", "tg-budget", "plain-budget")
FACTOR = 2.02  # from one setting to the next; they have three digits

Results = dict[str, Any]


class Model(NamedTuple):
    """What a setting gives, the mean over the seeds."""

    auc: float
    weights: float
    live: float
    setting: Any
    aucs: tuple[float, float] = (0.0, 0.0)  # the least and the most of the seeds


class Reference(NamedTuple):
    """FTRL-Proximal at its best, ours and that of Vowpal Wabbit alike."""

    best: float  # AUC
    at_best: float  # the weights of the model that is shown as the best
    floor: float  # as good as that
    weights: float  # the fewest with which it is as good


class Row(NamedTuple):
    """A method next to the reference; infinite where it is never as good."""

    way: str
    best: Model
    small: Model | None  # the best with no more weights than FTRL
    weights: float  # the fewest with an AUC as good as FTRL's
    live: float  # the fewest live with that, and no more weights than FTRL


def models(results: Results, name: str, way: str) -> list[Model]:
    """One for each setting of a way on a problem."""
    return [
        Model(fmean(auc), fmean(weights), fmean(live), tuple(setting), (min(auc), max(auc)))
        for run in results["runs"]
        if (run["problem"], run["way"]) == (name, way)
        for setting, points in run["points"]
        for auc, weights, live, _ in [zip(*points, strict=True)]
    ]


def best(known: Sequence[Model], most: float = math.inf, live: float = math.inf) -> Model | None:
    """The best of so many weights; of those with the same digits one that is surrounded."""
    small = [model for model in known if 0 < model.weights <= most and model.live <= live]
    digits = max((round(model.auc, DIGITS) for model in small), default=None)
    alike = [model for model in small if round(model.auc, DIGITS) == digits]
    return max(alike, key=lambda model: (surrounded(model, known), model.auc), default=None)


def surrounded(model: Model, known: Iterable[Model]) -> bool:
    """Whether rates and strengths beside its own, up and down, were tried with all else alike.

    Beside is at most a step away. A rate may have been tried with a strength beside its own, as
    some strengths are less than a step apart.
    """
    own = Setting(*model.setting)
    tried = (Setting(*other.setting) for other in known)
    near = [
        each
        for each in tried
        if each == own._replace(learning_rate=each.learning_rate, strength=each.strength)
    ]
    rates = [
        each.learning_rate
        for each in near
        if own.strength <= each.strength * FACTOR and each.strength <= own.strength * FACTOR
    ]
    strengths = [each.strength for each in near if each.learning_rate == own.learning_rate]
    return _has_beside(own.learning_rate, rates) and _has_beside(own.strength, strengths)


def _has_beside(value: float, others: Sequence[float]) -> bool:
    """Whether there is one at most a step below, and one above."""
    return any(other < value <= other * FACTOR for other in others) and any(
        value < other <= value * FACTOR for other in others
    )


def ways(results: Results, name: str | None = None) -> list[str]:
    """Those that were measured, in their order."""
    return list(
        dict.fromkeys(run["way"] for run in results["runs"] if name in {None, run["problem"]})
    )


def reference(results: Results, name: str) -> Reference:
    """FTRL's best AUC, and the fewest weights with which it comes near."""
    by_way = [models(results, name, way) for way in REFERENCES]
    known = [model for each in by_way for model in each]
    top = max(model.auc for model in known)
    shown = max((model for each in by_way if (model := best(each))), key=lambda model: model.auc)
    floor = top - WITHIN
    return Reference(top, shown.weights, floor, fewest(known, "weights", floor))


def row(results: Results, name: str, way: str) -> Row:
    """A method next to FTRL."""
    known, beside = models(results, name, way), reference(results, name)
    top = best(known)
    assert top is not None, f"{way} has no model with features on {name}"
    small = [model for model in known if model.weights <= beside.weights]
    return Row(
        *(way, top, best(known, beside.weights)),
        fewest(known, "weights", beside.floor),
        fewest(small, "live", beside.floor),
    )


def fewest(known: Iterable[Model], what: str, floor: float) -> float:
    """The fewest weights, or live features, of a model that is so good."""
    return min((getattr(model, what) for model in known if model.auc >= floor), default=math.inf)


def frontier(known: Sequence[Model], what: str) -> list[tuple[float, float]]:
    """The models that none beats in AUC with as few weights, or live features."""
    found: list[tuple[float, float]] = []
    for model in sorted(known, key=lambda model: (getattr(model, what), -model.auc)):
        n = getattr(model, what)
        if n > 0 and (not found or model.auc > found[-1][1]):
            found.append((n, model.auc))
    return found


def standard_error(results: Results, name: str) -> float:
    """Of the best AUC on the test part, a mean over the seeds: Hanley and McNeil (1982)."""
    run = next(run for run in results["runs"] if run["problem"] == name)
    [problem] = [each for each in results["problems"] if each["name"] == name]
    top = max(model.auc for way in ways(results, name) for model in models(results, name, way))
    n, m = run["positive"], run["test"] - run["positive"]
    one, two = top / (2 - top), 2 * top**2 / (1 + top)
    variance = top * (1 - top) + (n - 1) * (one - top**2) + (m - 1) * (two - top**2)
    return math.sqrt(variance / (n * m * len(problem["seeds"])))
