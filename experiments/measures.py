"""What is measured on results.json: how many features are left, and how good a curve is.

A *curve* is the points of one method on one set and seed. Its *envelope* is the best AUC with at
most n features, for each n. The best is picked on the test set, for every method alike.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Results = dict[str, Any]
Points = list[dict[str, float]]
Cell = tuple[str, int]  # a set, and how many features are allowed

BUDGETS = (10, 30, 100, 300)
CHANCE = 0.5  # the AUC of a model without features, which every budget allows


class Spread(NamedTuple):
    """The median over seeds, the least and the most."""

    median: float
    least: float
    most: float


class Line(NamedTuple):
    """What a figure draws in one colour. Without K, the method is run in one way only."""

    method: str
    truncate_every: int | None = None
    threshold: float | str | None = None  # None is infinite


TRUNCATION = Line("truncation", 10)
ROUNDING = Line("rounding", 10)
THETA_IS_G = Line("truncation", 10, "g")
SUBGRADIENT = Line("subgradient")
RESTED = Line("rested", 10)
CONTROL = Line("soft")
LASSO = Line("lasso")
L1_LOGISTIC = Line("l1-logistic")
ADAPTIVE = Line("adaptive")
ADAPTIVE_RESTED = Line("adaptive-rested")
FTRL = Line("ftrl")
VW = Line("vw")


def spread(values: Iterable[float]) -> Spread | None:
    """Of the values of all seeds; None if there are none."""
    known = list(values)
    return Spread(statistics.median(known), min(known), max(known)) if known else None


# The features left


def sparsified(
    results: Results,
    name: str,
    random: int = 0,
    family: str = "paper",
    tolerance: float = 0.01,
) -> list[dict[str, Any]]:
    """The runs of a set behind figures 1 and 2, one for each seed."""
    wanted = (name, random, family, tolerance)
    return [
        run
        for run in results["sparsified"]
        if (run["set"], run["random"], run["family"], run["tolerance"]) == wanted
    ]


def models(runs: Sequence[dict[str, Any]], model: str) -> list[dict[str, Any]]:
    """The models of that name, with the features of their sets, of the runs that have one."""
    return [
        run["models"][model] | {"features": run["features"], "dense": run["models"]["dense"]}
        for run in runs
        if run["models"].get(model)
    ]


def left(runs: Sequence[dict[str, Any]], model: str) -> Spread | None:
    """The share of all features that the models keep; the constant is one of them and stays."""
    return spread((one["kept"] + 1) / one["features"] for one in models(runs, model))


def ratio(runs: Sequence[dict[str, Any]], model: str) -> Spread | None:
    """The test AUC of the sparse models over that of the dense; None for a regression."""
    return spread(
        one["test_auc"] / one["dense"]["test_auc"]
        for one in models(runs, model)
        if one["test_auc"] is not None and one["dense"]["test_auc"] is not None
    )


def empty(runs: Sequence[dict[str, Any]], model: str) -> int:
    """How many of the models have no feature."""
    return sum(not one["kept"] for one in models(runs, model))


def live(runs: Sequence[dict[str, Any]], model: str, what: str) -> Spread | None:
    """The most features that lived at once, or their mean over the run, as a share of all."""
    alive = [(one["live"], one["features"]) for one in models(runs, model) if one.get("live")]
    if what == "peak":
        return spread(max(live) / features for live, features in alive)
    return spread(statistics.fmean(live) / features for live, features in alive)


def at_an_edge(results: Results) -> list[str]:
    """Name each setting chosen that is the least or the most that was tried of it."""
    found = []
    for run in results["sparsified"]:
        for model, one in run["models"].items():
            for name, (low, high) in (one or {}).get("tried", {}).items():
                if not low < one["setting"][name] < high:
                    about: tuple[Any, ...] = (run["set"], run["random"], run["family"], run["seed"])
                    found.append(
                        f"{' '.join(map(str, about))} {model}: {name} {one['setting'][name]:g}"
                    )
    for curve in results["curves"]:
        for point in curve["points"]:
            if (
                "tried" in point
                and not point["tried"][0] < point["learning_rate"] < point["tried"][1]
            ):
                about = (curve["set"], curve["seed"], curve["method"], curve["truncate_every"])
                found.append(f"{' '.join(map(str, about))}: rate {point['learning_rate']:g}")
    return found


def of_seed(results: Results, seed: int) -> Results:
    """What one seed says."""
    parts = ("sparsified", "curves")
    return results | {part: [one for one in results[part] if one["seed"] == seed] for part in parts}


# Curves


def curves(results: Results, name: str, line: Line) -> dict[int, Points]:
    """The points of a line on a set, for each seed."""
    return {
        curve["seed"]: curve["points"]
        for curve in results["curves"]
        if (curve["set"], curve["method"]) == (name, line.method)
        and (
            line.truncate_every is None or (curve["truncate_every"], curve["threshold"]) == line[1:]
        )
    }


def sets_with_curves(results: Results) -> list[str]:
    """Their names, in alphabetical order as in the paper."""
    return sorted({curve["set"] for curve in results["curves"]})


def lines(results: Results, figure: str) -> list[Line]:
    """The lines of a figure, as far as there are curves of them."""
    wanted = {
        "figure-3": [Line("truncation", every) for every in (1, 10, 20)],
        "figure-4": [Line("rounding", every) for every in (1, 10, 20)],
        "figure-5": [TRUNCATION, ROUNDING, *_finite_thresholds(results)],
        "figure-6": [TRUNCATION, ROUNDING, SUBGRADIENT, LASSO, RESTED, CONTROL],
        "figure-7-beyond": [RESTED, ADAPTIVE, ADAPTIVE_RESTED, FTRL, VW, L1_LOGISTIC],
    }
    return [
        line
        for line in wanted[figure]
        if any(curves(results, name, line) for name in sets_with_curves(results))
    ]


def _finite_thresholds(results: Results) -> list[Line]:
    """The lines of truncation at K = 10 with each finite theta, theta = g first."""
    known = {
        curve["threshold"]
        for curve in results["curves"]
        if (curve["method"], curve["truncate_every"]) == ("truncation", 10)
    }
    numbers = sorted(theta for theta in known if isinstance(theta, int | float))
    first = [THETA_IS_G] if "g" in known else []
    return first + [Line("truncation", 10, theta) for theta in numbers]


def raw(by_seed: Iterable[Points]) -> list[tuple[float, float]]:
    """Median features and AUC of each strength, from the strongest on, of those that all have."""
    columns = [sorted(points, key=lambda point: -point["strength"]) for points in by_seed]
    return [
        (
            statistics.median(point["kept"] for point in each),
            statistics.median(point["auc"] for point in each),
        )
        for each in zip(*columns, strict=False)
    ]


def envelope(points: Points, budgets: Sequence[int]) -> np.ndarray:
    """The best AUC with at most n features, for each n; nan where no point has so few."""
    return np.array(
        [
            max((point["auc"] for point in points if point["kept"] <= budget), default=math.nan)
            for budget in budgets
        ]
    )


def best(points: Points, budget: int) -> float:
    """The best AUC with at most so many features."""
    return max([CHANCE, *(point["auc"] for point in points if point["kept"] <= budget)])


def fewest(points: Points, auc: float) -> float:
    """The fewest features that reach an AUC; infinite if none do."""
    return min((point["kept"] for point in points if point["auc"] >= auc), default=math.inf)


def grid(results: Results) -> list[int]:
    """Numbers of features from 1 to the most that any curve keeps, evenly on a logarithmic axis."""
    most = max(point["kept"] for curve in results["curves"] for point in curve["points"])
    places = np.geomspace(1, max(most, 2), 48).round().astype(int)
    return [int(n) for n in np.unique(places)]


def together(results: Results, *wanted: Line) -> dict[tuple[str, int], list[Points]]:
    """The curves of several lines side by side, for each set and seed that has them all."""
    found = {}
    for name in sets_with_curves(results):
        known = [curves(results, name, line) for line in wanted]
        for seed in sorted(set.intersection(*(set(each) for each in known))):
            found[name, seed] = [each[seed] for each in known]
    return found


def gains(
    results: Results, line: Line, others: Sequence[Line], budgets: Sequence[int] = BUDGETS
) -> dict[Cell, float]:
    """How much better a line is than the best of others, for each set and number of features.

    It is the difference of the best AUC, the median over the seeds.
    """
    found: dict[Cell, list[float]] = {}
    for (name, _), (mine, *theirs) in together(results, line, *others).items():
        for n in budgets:
            rival = max(best(points, n) for points in theirs)
            found.setdefault((name, n), []).append(best(mine, n) - rival)
    return {cell: statistics.median(values) for cell, values in found.items()}


def mean_best(results: Results, line: Line, budget: int) -> Spread | None:
    """The best AUC with at most so many features: its mean over the sets, spread over seeds."""
    return _over_seeds(
        {key: best(points, budget) for key, [points] in together(results, line).items()}
    )


def mean_level(results: Results, line: Line) -> Spread | None:
    """The mean of the envelope over the grid, and over the sets, spread over seeds."""
    places = grid(results)
    return _over_seeds(
        {
            key: float(_filled(points, places).mean())
            for key, [points] in together(results, line).items()
        }
    )


def distance(results: Results, line: Line, other: Line) -> Spread | None:
    """The mean absolute difference of two envelopes over the grid and the sets."""
    places = grid(results)
    return _over_seeds(
        {
            key: float(abs(_filled(one, places) - _filled(two, places)).mean())
            for key, [one, two] in together(results, line, other).items()
        }
    )


def dense_losses(results: Results, line: Line, other: Line) -> dict[str, tuple[float, float]]:
    """The AUC that the densest model of two lines falls short of their best one, for each set.

    Of both lines, only models with as many features as both reach count. Medians over the seeds.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for (name, _), both in together(results, line, other).items():
        most = min(max(point["kept"] for point in points) for points in both)
        one, two = (_dense_loss(points, most) for points in both)
        found.setdefault(name, []).append((one, two))
    return {
        name: (statistics.median(a for a, _ in each), statistics.median(b for _, b in each))
        for name, each in found.items()
    }


def _dense_loss(points: Points, most: float) -> float:
    known = [point for point in points if point["kept"] <= most]
    densest = max(known, key=lambda point: point["kept"])
    return max(point["auc"] for point in known) - densest["auc"]


def _filled(points: Points, places: Sequence[int]) -> np.ndarray:
    return np.array([best(points, n) for n in places])


def _over_seeds(values: dict[tuple[str, int], float]) -> Spread | None:
    """The mean over the sets, spread over the seeds that have all of them."""
    seeds = {seed for _, seed in values}
    names = {name for name, _ in values}
    return spread(
        statistics.fmean(values[name, seed] for name in sorted(names))
        for seed in sorted(seeds)
        if all((name, seed) in values for name in names)
    )
