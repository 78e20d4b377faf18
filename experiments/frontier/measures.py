"""What is read off the models: frontiers, and who is where FTRL-Proximal is, with how much less.

The best is picked on the test part, for every method alike: this compares methods and promises
nothing about new data. With several seeds, a setting's model is the mean of its models.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

WITHIN = 0.0005  # of FTRL's best AUC
REFERENCES = ("ftrl", "vw-ftrl")
CHANCE = 0.5  # the AUC of a model without features

Results = dict[str, Any]


class Model(NamedTuple):
    """What a setting gives, the mean over the seeds."""

    auc: float
    weights: float
    live: float
    setting: Any


class Reference(NamedTuple):
    """FTRL-Proximal at its best, ours and that of Vowpal Wabbit alike."""

    best: float  # AUC
    at_best: float  # the weights of that model
    floor: float  # as good as that
    weights: float  # the fewest with which it is as good


class Row(NamedTuple):
    """A method next to the reference; infinite where it is never as good."""

    way: str
    best: float  # AUC
    small: float  # AUC, with no more weights than FTRL
    weights: float  # the fewest with an AUC as good as FTRL's
    live: float  # the fewest live with that, and no more weights than FTRL


def models(results: Results, name: str, way: str) -> list[Model]:
    """One for each setting of a way on a problem."""
    found = defaultdict(list)
    for run in results["runs"]:
        if (run["problem"], run["way"]) == (name, way):
            for setting, point in run["points"]:
                found[tuple(setting)].append(point)
    return [
        Model(fmean(auc), fmean(weights), fmean(live), setting)
        for setting, points in found.items()
        for auc, weights, live, _ in [zip(*points, strict=True)]
    ]


def ways(results: Results, name: str | None = None) -> list[str]:
    """Those that were measured, in their order."""
    return list(
        dict.fromkeys(run["way"] for run in results["runs"] if name in {None, run["problem"]})
    )


def reference(results: Results, name: str) -> Reference:
    """FTRL's best AUC, and the fewest weights with which it comes near."""
    known = [model for way in REFERENCES for model in models(results, name, way)]
    best = max(known, key=lambda model: model.auc)
    floor = best.auc - WITHIN
    return Reference(best.auc, best.weights, floor, fewest(known, "weights", floor))


def row(results: Results, name: str, way: str) -> Row:
    """A method next to FTRL."""
    known, beside = models(results, name, way), reference(results, name)
    small = [model for model in known if model.weights <= beside.weights]
    return Row(
        way,
        max(model.auc for model in known),
        max((model.auc for model in small), default=CHANCE),
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
