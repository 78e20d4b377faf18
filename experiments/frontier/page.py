"""The page docs/frontier.md, written from frontier.json.

python -m experiments.frontier.page
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.frontier import choosing, figures
from experiments.frontier.choosing import count, names
from experiments.frontier.measures import (
    BUDGETED,
    Model,
    Results,
    best,
    models,
    reference,
    row,
    standard_error,
    ways,
)
from experiments.frontier.problems import DECAYS
from experiments.frontier.searching import DIGITS
from experiments.frontier.ways import LANES, NAMES, REFITTED
from experiments.tables import table

DOCS = Path(__file__).parent.parent.parent / "docs"
HEAD = """\
# Accuracy against model size

Which method reaches which AUC, with how few weights in the finished model, and with how few features in memory while it learns?
{answer}

`make frontier` (`python -m experiments.frontier`) measures this and writes the page, its charts and [frontier.json](frontier.json), which lists every model. `DWINDLE_DATA` names a folder with the data. Its parts took {minutes:.0f} minutes altogether, on {cores} cores; stopped, it goes on from what is finished.{note}

Every method looks for its settings in the same way: around whatever model is shown below, the next larger and the next smaller learning rate and penalty strength (steps of a factor of 2) are tried too, and the next more and fewer passes and decay of the rate by each pass ({decays}; FTRL and RDA have a decay of their own), until all of them are known. {edges}
The best model is selected on the test set, for every method alike: the page compares methods and does not predict performance on new data. Models whose AUC differs by less than its standard error on the test set are called *alike*. Of models whose AUC is equal to {digits} digits, one is shown for which larger and smaller rates and strengths were tried, and of those the best.

- *Weights* are the non-zero weights of the finished model, without the intercept.
- *Automatic* is `dwindle train` without options, in one pass: nothing was looked for. Its other line has all eight models of that same run.
- *Live* is the largest number of features held in memory at once. FTRL, RDA, Vowpal Wabbit and scikit-learn hold all features ever seen, or reserve room for them at the start.

A line joins those models of a method that none of its other models beats in both AUC and weights. Models in the grey are alike, those less than 0.0002 behind are drawn at the top, and an arrow points to models further below:

![AUC against weights](frontier-weights.svg)"""
BAR = """\
## With less memory

The table shows, among models with a budget that match FTRL, the one with the fewest weights; if none does, the one with the highest AUC. Only models count that have no more weights than FTRL's best model, and no more live features than the target:"""
LIVE = """\
Where features are many, AUC against what is held in memory, whatever the weights:

![AUC against features live at the peak](frontier-live.svg)"""
TRIED = """\
## Ideas that were tried

Each cell has the best AUC of a model with no more weights than the smallest FTRL model that matches, and in brackets that model's live features; then the same without the idea."""
UNTOLD = """\
Tried in prototypes that are not in the code:

- a pull that decreases with what a feature has shown (a power of its AdaGrad sum): moves along the same frontier;
- gradient sums that survive when their feature is forgotten: would recover everything a budget costs, at a price in memory for each feature ever seen;
- forgetting, whenever the table is full, what was not seen for more than 500 times as many steps as it was seen: holds more than a budget on rcv1 and loses more on the ads;
- a budget that spares every feature with a weight, or whose measure of worth ignores how often a feature was seen or how large its gradients were: costs AUC or gives more weights."""
METHODS = """\
## The methods

| name | what it is |
|---|---|
| truncated gradient | `Truncation`, a pull at each step. *Plain*: with `Plain`, the paper's update, one rate for all features; *adaptive*: with `Adaptive`, AdaGrad's rates in units of each feature |
| with cooldown | pulls go on at the end without examples, for as many steps as a pass has: `--cooldown`, `Learner.cooldown` |
| with a budget | `max_live`, `--max-live`: see [more features than memory](budget.md) |
| K is a pass | all the pull of a pass comes at its end |
| re-fitted | the features that are left are trained again, without a penalty, in {refitted} passes |
| FTRL | `FTRL()`, in units of each feature and with lengths, which `vw --ftrl` does not have: see [FTRL-Proximal](ftrl.md#how-it-differs-from-mcmahans-ftrl) |
| from the second time on | a feature is ignored the first time it is seen; remembering that it was seen does not count as live |
| RDA | `RDA()` |
| VW --ftrl | `vw --ftrl`, with the rate `--ftrl_alpha` |
| VW --l1 | `vw --l1` with its default update, which divides a feature by its largest value; *--sgd*: with one learning rate for all features |

The penalty strength applies to the sum of the losses. FTRL takes it as its `gravity`; methods that pull at each step take it divided by the number of examples (RDA: of all passes)."""
IDEAS = (
    ("a budget", "ftrl-budget", "ftrl"),
    ("a budget", "rda-budget", "rda"),
    ("a budget", "tg-budget", "tg-rest"),
    ("a budget", "plain-budget", "plain-rest"),
    ("admission by counting", "ftrl-admitting", "ftrl"),
    ("a cooldown", "tg-rest", "tg"),
    ("a cooldown", "plain-rest", "plain"),
    ("K is a pass", "tg-pass", "tg"),
    ("re-fitting", "tg-refit", "tg-rest"),
    ("re-fitting", "ftrl-refit", "ftrl-budget"),
)


def write(results: Results) -> str:
    """The page."""
    parts = (part if isinstance(part, str) else "\n".join(part) for part in _parts(results))
    return "\n\n".join(parts) + "\n"


def _parts(results: Results) -> Iterator[str | list[str]]:
    decays = ", ".join(f"{decay:g}" for decay in DECAYS)
    yield HEAD.format(
        answer=choosing.answer(results),
        minutes=results["seconds"] / 60,
        cores=results["cores"],
        note=f" {results['note']}" if "note" in results else "",
        decays=decays,
        digits=("one", "two", "three", "four")[DIGITS - 1],
        edges=" ".join(_edges(results)),
    )
    yield from choosing.parts(results)
    yield BAR
    yield _bar(results)
    yield LIVE
    yield TRIED
    yield _tried(results)
    yield UNTOLD
    for problem in results["problems"]:
        yield from _problem(results, problem)
    yield METHODS.format(refitted=REFITTED)


def _edges(results: Results) -> Iterator[str]:
    """Say how fine the search was, and whether what is shown has neighbours that were not tried."""
    found = [f"{NAMES[run['way']]} on {run['problem']}" for run in results["runs"] if run["open"]]
    finer = [problem["name"] for problem in results["problems"] if problem["fine"]]
    if finer:
        yield f"Where weights become many times as few from one strength to the next, on {_listed(finer)}, strengths a quarter of a step apart are tried around the models that are compared by their size."
    if found:
        yield f"This was cut short, so that a better model may lie beyond what was tried, for {'; '.join(found)}."
    else:
        yield "So no model below is at an end of what was tried. Passes are no more than are listed, for every method alike: that is a price, not a setting to be found."


def _bar(results: Results) -> list[str]:
    """For each problem, FTRL and the best with a budget."""
    lines = []
    for problem in results["problems"]:
        name, distinct = problem["name"], _distinct(results, problem["name"])
        if not set(BUDGETED) & set(ways(results, name)):
            continue
        beside = reference(results, name)
        way, model = _nearest(results, name)
        asked = "" if problem["peak"] is None else f"{100 * problem['peak']:.0f} %"
        lines.append(
            (
                *(name, f"{distinct:,.0f}", f"{beside.best:.4f}"),
                *(count(beside.at_best), count(beside.weights)),
                *(NAMES[way], f"{model.auc:.4f}", count(model.weights)),
                *(f"{count(model.live)} ({_share(model.live, distinct)})", asked),
                "yes" if model.auc >= beside.floor else f"{beside.floor - model.auc:.1g} short",
            )
        )
    head = (
        *("set", "distinct features", "FTRL's best AUC", "its weights"),
        "fewest weights that match",
        *("with a budget", "AUC", "weights", "live", "target", "matches"),
    )
    return table(head, lines)


def _nearest(results: Results, name: str) -> tuple[str, Model]:
    """The way and model with a budget: that of the fewest weights if any is as good, or the best."""
    beside, distinct = reference(results, name), _distinct(results, name)
    [asked] = [each["peak"] or 1.0 for each in results["problems"] if each["name"] == name]
    limits = beside.at_best, asked * distinct
    by_way = {way: models(results, name, way) for way in ways(results, name) if way in BUDGETED}
    good = [
        (way, model)
        for way, known in by_way.items()
        for model in known
        if model.auc >= beside.floor and model.weights <= limits[0] and model.live <= limits[1]
    ]
    if good:
        return min(good, key=lambda each: each[1].weights)
    tops = ((way, best(known, *limits)) for way, known in by_way.items())
    return max(((way, model) for way, model in tops if model), key=lambda each: each[1].auc)


def _tried(results: Results) -> list[str]:
    """Each idea, with and without it, on each problem."""
    sets = names(results)
    lines = [
        (idea, NAMES[way], *(_with_and_without(results, name, way, base) for name in sets))
        for idea, way, base in IDEAS
    ]
    return table(("idea", "method", *sets), [line for line in lines if any(line[2:])])


def _with_and_without(results: Results, name: str, way: str, base: str) -> str:
    """Such as 0.9812 at 25,000 live; without 0.9815 at 83,399."""
    if not {way, base} <= set(ways(results, name)):
        return ""
    small = (row(results, name, each).small for each in (way, base))
    words = [f"{m.auc:.4f} ({count(m.live)})" if m else "none so small" for m in small]
    return f"{words[0]}, without {words[1]}"


def _problem(results: Results, problem: dict[str, Any]) -> Iterator[str | list[str]]:
    name, distinct = problem["name"], _distinct(results, problem["name"])
    run = next(run for run in results["runs"] if run["problem"] == name)
    seeds = (
        f", means over {len(problem['seeds'])} seeds (in brackets the least and the most)"
        if len(problem["seeds"]) > 1
        else ""
    )
    yield f"## {name}"
    yield (
        f"{ABOUT.get(name, RANDOMS)} {run['train']:,} training and {run['test']:,} test examples, {distinct:,.0f} distinct features{seeds}. "
        f"The mean length of an example in units of its features, by which the adaptive update divides a step, is {run['length']:g}; the standard error of the best AUC is {standard_error(results, name):.4f}. "
        f"Passes {_listed(problem['passes'])}, budgets {_listed(f'{100 * share:g} %' for share in problem['shares'])}. "
        f"*That size* is at most {count(reference(results, name).weights)} weights, those of the smallest FTRL model that matches."
    )
    lines = []
    for way in ways(results, name):
        found = row(results, name, way)
        share = "" if math.isinf(found.live) else f" ({_share(found.live, distinct)})"
        lines.append(
            (
                *(NAMES[way], _auc(found.best), count(found.best.weights)),
                _auc(found.small) if found.small else "none so small",
                *(count(found.weights), count(found.live) + share),
                "" if way in LANES else _setting(found.best),
            )
        )
    yield table(
        (
            "method",
            "best AUC",
            "its weights",
            "best AUC at that size",
            "fewest weights that match",
            "fewest live that match, at that size",
            "setting of the best",
        ),
        lines,
    )


def _auc(model: Model) -> str:
    """The mean, and what it is the mean of."""
    least, most = model.aucs
    spread = f" ({least:.4f} to {most:.4f})" if least < most else ""
    return f"{model.auc:.4f}{spread}"


def _setting(model: Model) -> str:
    rate, passes, strength, decay, _ = model.setting
    return f"rate {rate:g}, strength {strength:g}, passes {passes}, decay {decay:g}"


ABOUT = {
    "rcv1": "News stories, topic CCAT against all others.",
    "a9a": "Census data: who earns more than 50,000 dollars.",
    "ads": "A generated click log (`dwindle generate ads`) with the interactions of query and ad words, most of which occur once.",
}
RANDOMS = "The paper's set with 1,000 random features."


def _distinct(results: Results, name: str) -> float:
    return fmean(run["distinct"] for run in results["runs"] if run["problem"] == name)


def _share(n: float, distinct: float) -> str:
    return f"{100 * n / distinct:.0f} %"


def _listed(values: Any) -> str:
    words = [value if isinstance(value, str) else f"{value:g}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


if __name__ == "__main__":
    found = json.loads((DOCS / "frontier.json").read_text())
    figures.draw(found, DOCS)
    (DOCS / "frontier.md").write_text(write(found))
