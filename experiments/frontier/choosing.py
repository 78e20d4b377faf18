"""What to choose: how far each method is behind the best model of its size, and what follows."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from experiments.frontier.measures import (
    BUDGETED,
    Model,
    Results,
    best,
    models,
    reference,
    standard_error,
    ways,
)
from experiments.frontier.searching import WITHIN
from experiments.frontier.ways import LANES, NAMES
from experiments.tables import table

TRUNCATED = ("plain-rest", "tg-rest")  # truncated gradient at its smallest, by either update
UNCOOLED = {"plain-rest": "plain", "tg-rest": "tg"}

CHOICE = """\
## What to choose

The reference is the best AUC of FTRL-Proximal, dwindle's or Vowpal Wabbit's, whichever is better. A model *matches* it if its AUC is at most {within} lower.
Each column sets a size: the number of weights of the smallest FTRL model that matches the reference. Each cell is the AUC of the method's best model of at most that size, minus that of the best method; *alike* means within one standard error:"""
UNTUNED = """\
`dwindle train` without options has its own size. Beside it is the best of all other models on this page with no more weights, though their settings were looked for and most made more passes:"""


def parts(results: Results) -> Iterator[str | list[str]]:
    """The part of the page."""
    yield CHOICE.format(within=WITHIN)
    yield _behind_table(results)
    yield UNTUNED
    yield _untuned(results)
    if beaten := _beaten(results):
        yield beaten
    yield _choice(results)


class Behind(NamedTuple):
    """How far the best small model of a method is behind that of the best method."""

    gap: float | None  # none: it has no model so small
    error: float

    @property
    def alike(self) -> bool:
        """Whether that is within a standard error."""
        return self.gap is not None and self.gap <= self.error

    def __str__(self) -> str:
        """Such as -0.0017."""
        return (
            "alike" if self.alike else "none so small" if self.gap is None else f"-{self.gap:.4f}"
        )


def _behind(results: Results, name: str) -> dict[str, Behind]:
    """All methods on a set, at the size of the smallest FTRL model that matches."""
    most, error = reference(results, name).weights, standard_error(results, name)
    small = {way: best(models(results, name, way), most) for way in ways(results, name)}
    top = max(model.auc for model in small.values() if model)
    return {way: Behind(top - it.auc if it else None, error) for way, it in small.items()}


def _behind_table(results: Results) -> list[str]:
    """Each method: how far behind the best model of the same size, on each set."""
    sets = names(results)
    behind = {name: _behind(results, name) for name in sets}
    lines = []
    for way in ways(results):
        cells = [behind[name].get(way) for name in sets]
        n = sum(cell is not None and cell.alike for cell in cells)
        of = sum(cell is not None for cell in cells)
        words = ["" if cell is None else str(cell) for cell in cells]
        lines.append((n, (NAMES[way], *words, f"{n} of {of}")))
    lines.sort(key=lambda each: -each[0])
    heads = [f"{name}, {count(reference(results, name).weights)} weights" for name in sets]
    errors = ("*standard error*", *(f"*{standard_error(results, name):.4f}*" for name in sets), "")
    return table(("method", *heads, "alike on"), [*(line for _, line in lines), errors])


class Automatic(NamedTuple):
    """A model that was told nothing, and the best of all others that is no larger."""

    model: Model
    way: str
    other: Model
    behind: Behind


def _automatic(results: Results, name: str) -> Automatic:
    [auto] = models(results, name, "auto")
    others = {
        way: best(models(results, name, way), auto.weights)
        for way in ways(results, name)
        if way not in LANES
    }
    way, other = max(
        ((way, model) for way, model in others.items() if model), key=lambda each: each[1].auc
    )
    behind = Behind(other.auc - auto.auc, standard_error(results, name))
    return Automatic(auto, way, other, behind)


def _untuned(results: Results) -> list[str]:
    """The automatic choice on each set, beside the best of all others that is no larger."""
    lines = []
    for name in names(results):
        auto, way, other, behind = _automatic(results, name)
        lines.append(
            (
                *(name, f"{auto.auc:.4f}", count(auto.weights)),
                *(NAMES[way], f"{other.auc:.4f}", count(other.weights), str(behind)),
            )
        )
    head = ("set", "automatic, AUC", "weights", "the best that is no larger", "AUC", "weights")
    return table((*head, "automatic is"), lines)


def _beaten(results: Results) -> str:
    """Say where another of its eight models is smaller than the automatic choice, and better."""
    cases = []
    for name in names(results):
        [auto] = models(results, name, "auto")
        better = [
            lane
            for lane in models(results, name, "auto-path")
            if lane.auc > auto.auc and 0 < lane.weights < auto.weights
        ]
        if better:
            lane = max(better, key=lambda lane: lane.auc)
            cases.append(
                f"on {name}, where the choice has an AUC of {auto.auc:.4f} with {count(auto.weights)} weights"
                f"{_by_seed(results, name)}, another has {lane.auc:.4f} with {count(lane.weights)}"
            )
    if not cases:
        return ""
    return (
        f"The choice is not always the best of its own eight models: {'; '.join(cases)}. "
        "It is made by predictions while learning, without the test part; why it differs there was not examined."
    )


def _by_seed(results: Results, name: str) -> str:
    """The weights of each seed, where they differ by more than a factor of 2."""
    [(_, points)] = next(
        run["points"] for run in results["runs"] if (run["problem"], run["way"]) == (name, "auto")
    )
    weights = sorted(point[1] for point in points)
    if weights[-1] <= 2 * weights[0]:
        return ""
    return f" (the mean of {', '.join(map(count, weights[:-1]))} and {count(weights[-1])}, by the seed)"


def answer(results: Results) -> str:
    """Say in short which methods are as good as the best at equal size, and on how many sets."""
    sets = names(results)
    behind = {name: _behind(results, name) for name in sets}

    def alike(*those: str) -> str:
        """Such as 3 of 5; if two updates differ, such as 3 of 5 (plain) and 2 of 5 (adaptive)."""
        told = []
        for way in those:
            cells = [behind[name][way] for name in sets if way in behind[name]]
            told.append(f"{sum(cell.alike for cell in cells)} of {len(cells)}")
        if len(set(told)) == 1:
            return told[0] + (" by either update" if len(told) > 1 else "")
        return " and ".join(f"{each} ({NAMES[way]})" for each, way in zip(told, those, strict=True))

    untuned = sum(_automatic(results, name).behind.alike for name in sets)
    return (
        f"In short: at equal size, FTRL-Proximal is as good as the best method, within a standard error, on {alike('ftrl')} sets, and that of Vowpal Wabbit on {alike('vw-ftrl')}; "
        f"truncated gradient with a cooldown on {alike(*TRUNCATED)}, and without one on {alike(*UNCOOLED.values())}. "
        f"`dwindle train` without options has a size of its own, and is as good as the best of that size on {untuned} of {len(sets)}."
    )


def _choice(results: Results) -> list[str]:
    """Advice that follows from the tables."""
    sets = names(results)
    behind = {name: _behind(results, name) for name in sets}

    def cells(way: str) -> dict[str, Behind]:
        return {name: behind[name][way] for name in sets if way in behind[name]}

    def told(way: str) -> str:
        """Such as: FTRL is alike on 4 of 5 sets (rcv1 -0.0017)."""
        known = cells(way)
        short = [f"{name} {cell}" for name, cell in known.items() if not cell.alike]
        text = f"{NAMES[way]}: alike on {len(known) - len(short)} of {len(known)}"
        return f"{text} ({', '.join(short)})" if short else text

    def worth(way: str) -> tuple[float, ...]:
        known = cells(way).values()
        alike = sum(cell.alike for cell in known)
        return -alike / len(known), -alike, sum(cell.gap or 0.0 for cell in known)

    def ranked(*those: str) -> str:
        """The methods of those that were measured, the one that is alike on most sets first."""
        return "; ".join(told(way) for way in sorted(filter(cells, those), key=worth))

    untuned = sum(_automatic(results, name).behind.alike for name in sets)
    return [
        f"- If you want a small model and memory does not matter: {ranked(*TRUNCATED, 'ftrl', 'rda')}.",
        f"- If memory is short, or the stream never ends, set `--max-live N`: {ranked(*BUDGETED)}.",
        f"- If you want the paper's algorithm, give it a cooldown for a small model. Without one, {ranked(*UNCOOLED.values())}: the features of the last examples are alive, whatever they are worth.",
        f"- If you do not want to tune: `dwindle train` without options, in one pass, is alike on {untuned} of {len(sets)} with the best of its size.",
    ]


def names(results: Results) -> list[str]:
    """The sets."""
    return [problem["name"] for problem in results["problems"]]


def count(n: float) -> str:
    """Such as 17,443."""
    return "never" if math.isinf(n) else f"{n:,.0f}"
