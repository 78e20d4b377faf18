"""The page docs/frontier.md, written from frontier.json.

python -m experiments.frontier.page
"""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.frontier import figures
from experiments.frontier.measures import WITHIN, Model, Results, models, reference, row, ways
from experiments.frontier.ways import LENGTH, NAMES, REFITTED

DOCS = Path(__file__).parent.parent.parent / "docs"
BUDGETED = ("ftrl-budget", "rda-budget", "tg-budget")

HEAD = """\
# Who needs how few features

Which way to learn reaches what AUC with how few weights in the model that is shipped, and with how few features held in memory while it learns?
`make frontier` (`python -m experiments.frontier`, {minutes:.0f} minutes in one process on a machine with other work to do; `DWINDLE_DATA` names a folder that has the data) measures it and writes this page, its charts and [frontier.json](frontier.json), which has every model.

Each method has as many rates, and the same passes and strengths of its penalty, to choose from, all of them are tried, and the best is picked on the test part, for every method alike: this compares methods and promises nothing about new data.
A method with a budget tries each budget with each of these.
*Weights* are those that are not zero, without the intercept.
*Live* are the features held at once, at the most. FTRL, RDA, Vowpal Wabbit and scikit-learn hold all that were ever seen, or have a place for them from the beginning."""
BAR = """\
## At FTRL's AUC, with fewer live

FTRL-Proximal's best AUC is that of its best setting, dwindle's or Vowpal Wabbit's, and a model is *as good* if it is within {within} of that.
Of the models with a budget that are as good, this is the one with the fewest weights; where none is, the best. It has no more live features than asked for, and no more weights than FTRL at its best:"""
CHARTS = """\
## The charts

A line joins the models of a method that no other of its models beats in AUC with as few weights:

![AUC against weights shipped](frontier-weights.svg)

and with as few live features, whatever the weights:

![AUC against features live at the peak](frontier-live.svg)"""
CHOICE = """\
## What to choose

- Memory is short, or the stream has no end: `--update ftrl --max-live N`. It ships fewer weights than FTRL does at the same gravity, and needs a part of the memory. RDA with a budget is as good on rcv1; on the ads RDA is behind, with a budget or without.
- A small model, and memory does not matter: FTRL with its gravity. Truncated gradient needs a rest to come near, and stays behind on all but krvskp.
- The paper's algorithm, with its regret bound: truncated gradient, with `--max-live N` if memory is short, and a rest at the end.

## What was tried

The ideas below were to move the frontier. The AUC is the best with no more weights than the smallest as good FTRL model has; then the live features of that model."""
UNTOLD = """\
Tried in prototypes that are not in the code: a pull that falls with what a feature has shown (a power of its AdaGrad sum) moves along the same frontier;
sums that survive when their feature is forgotten would give back all that a budget costs, but at a price in memory for each feature ever seen;
to forget, whenever the table is full, what was not seen for more than 500 times as many steps as it was seen, holds more than a budget on rcv1 and loses more on the ads;
to let a budget spare every feature that has a weight, or to leave out of its worth how often a feature was seen or what its gradients were, costs AUC or ships more weights."""
METHODS = """\
## The methods

| | |
|---|---|
| truncated gradient | `Adaptive` and `Truncation`: AdaGrad's rates, a pull at each step; *plain*: the paper's, one rate for all |
| rested | pulls go on at the end without examples, for as many steps as there are in a pass: `--cooldown`, `Learner.cooldown` |
| with a budget | `max_live`, `--max-live`, see [the page about budgets](budget.md) |
| K is a pass | all the pull of a pass comes at its end |
| re-fitted | the features that are left are learned anew, without a penalty, in {refitted} passes |
| FTRL | `FTRL()`, which has the weights of `vw --ftrl` |
| let in the second time | a feature that was not seen before is passed over; what remembers that it was seen is not counted as live |
| RDA | `RDA()` |

The strength of a penalty is that on the sum of the losses. FTRL has it as its `gravity`; what pulls at each step has it divided by the number of examples (RDA: in all passes)."""
IDEAS = (
    ("a budget", "ftrl-budget", "ftrl"),
    ("a budget", "rda-budget", "rda"),
    ("a budget", "tg-budget", "tg-rest"),
    ("admission by counting", "ftrl-admitting", "ftrl"),
    ("a rest at the end", "tg-rest", "tg"),
    ("a rest at the end", "plain-rest", "plain"),
    ("K is a pass", "tg-pass", "tg"),
    ("re-fit of what is kept", "tg-refit", "tg-rest"),
    ("re-fit of what is kept", "ftrl-refit", "ftrl-budget"),
)


def write(results: Results) -> str:
    """The page."""
    parts = (part if isinstance(part, str) else "\n".join(part) for part in _parts(results))
    return "\n\n".join(parts) + "\n"


def _parts(results: Results) -> Iterator[str | list[str]]:
    yield HEAD.format(minutes=results["seconds"] / 60)
    yield BAR.format(within=WITHIN)
    yield _bar(results)
    yield CHARTS
    yield CHOICE
    yield _tried(results)
    yield UNTOLD
    for problem in results["problems"]:
        yield from _problem(results, problem)
    yield METHODS.format(refitted=REFITTED)


def _bar(results: Results) -> list[str]:
    """For each problem, FTRL and the best with a budget."""
    lines = []
    for problem in results["problems"]:
        name, distinct = problem["name"], _distinct(results, problem["name"])
        beside = reference(results, name)
        way, model = _nearest(results, name)
        asked = "" if problem["peak"] is None else f"{100 * problem['peak']:.0f} %"
        lines.append(
            (
                *(name, f"{distinct:,.0f}", f"{beside.best:.4f}"),
                *(_count(beside.at_best), _count(beside.weights)),
                *(NAMES[way], f"{model.auc:.4f}", _count(model.weights)),
                *(f"{_count(model.live)} ({_share(model.live, distinct)})", asked),
                "yes" if model.auc >= beside.floor else f"{beside.floor - model.auc:.4f} short",
            )
        )
    head = (
        *("", "distinct features", "FTRL's best AUC", "its weights"),
        "its fewest weights as good",
        *("with a budget", "AUC", "weights", "live", "live, asked for", "as good"),
    )
    return _table(head, lines)


def _nearest(results: Results, name: str) -> tuple[str, Model]:
    """The way and model with a budget: that of the fewest weights if any is as good, or the best."""
    beside, distinct = reference(results, name), _distinct(results, name)
    [asked] = [each["peak"] or 1.0 for each in results["problems"] if each["name"] == name]
    known = [
        (way, model)
        for way in ways(results, name)
        if way in BUDGETED
        for model in models(results, name, way)
        if model.weights <= beside.at_best and model.live <= asked * distinct
    ]
    good = [each for each in known if each[1].auc >= beside.floor]
    if good:
        return min(good, key=lambda each: each[1].weights)
    return max(known, key=lambda each: each[1].auc)


def _tried(results: Results) -> list[str]:
    """Each idea, with and without it, on each problem."""
    names = [problem["name"] for problem in results["problems"]]
    lines = [
        (
            idea,
            NAMES[way],
            *(_with_and_without(results, name, way, base) for name in names),
        )
        for idea, way, base in IDEAS
    ]
    return _table(("idea", "", *names), lines)


def _with_and_without(results: Results, name: str, way: str, base: str) -> str:
    """Such as 0.9812 at 25,000 live; without 0.9815 at 83,399."""
    if not {way, base} <= set(ways(results, name)):
        return ""
    words = []
    for each in (way, base):
        beside = reference(results, name)
        small = [m for m in models(results, name, each) if m.weights <= beside.weights]
        best = max(small, key=lambda model: model.auc, default=None)
        words.append("none so small" if best is None else f"{best.auc:.4f} ({_count(best.live)})")
    return f"{words[0]}, without {words[1]}"


def _problem(results: Results, problem: dict[str, Any]) -> Iterator[str | list[str]]:
    name, distinct = problem["name"], _distinct(results, problem["name"])
    run = next(run for run in results["runs"] if run["problem"] == name)
    seeds = f", {len(problem['seeds'])} seeds" if len(problem["seeds"]) > 1 else ""
    rates = problem["in_units"]
    units = (
        f" ({_listed(rates)} for what divides a feature by its largest value: `Adaptive` and VW's own rule)"
        if rates
        else ""
    ) + f", times {LENGTH} for `Adaptive`, which divides a step by the length of its example"
    yield f"## {name}"
    yield (
        f"{ABOUT.get(name, RANDOMS)} {run['train']:,} examples to learn from and {run['test']:,} to test on, {distinct:,.0f} distinct features{seeds}; "
        f"rates {_listed(problem['rates'])}{units}, passes {_listed(problem['passes'])}, strengths {_listed(problem['strengths'])}, budgets {_listed(f'{100 * share:g} %' for share in problem['shares'])}."
    )
    lines = []
    for way in ways(results, name):
        found = row(results, name, way)
        share = "" if math.isinf(found.live) else f" ({_share(found.live, distinct)})"
        lines.append(
            (
                *(NAMES[way], f"{found.best:.4f}", f"{found.small:.4f}"),
                *(_count(found.weights), _count(found.live) + share),
            )
        )
    yield _table(
        (
            "",
            "best AUC",
            "with no more weights than FTRL",
            "fewest weights as good",
            "fewest live as good, with no more weights",
        ),
        lines,
    )


ABOUT = {
    "rcv1": "Documents on CCAT against the rest.",
    "a9a": "Who earns more than 50,000 dollars.",
    "ads": "A generated log of clicks, `dwindle generate ads`, with the products of the words of query and ads, of which most come once.",
}
RANDOMS = "The paper's set with 1,000 random features."


def _distinct(results: Results, name: str) -> float:
    return fmean(run["distinct"] for run in results["runs"] if run["problem"] == name)


def _count(n: float) -> str:
    return "never" if math.isinf(n) else f"{n:,.0f}"


def _share(n: float, distinct: float) -> str:
    return f"{100 * n / distinct:.0f} %"


def _listed(values: Any) -> str:
    words = [value if isinstance(value, str) else f"{value:g}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(line)} |" for line in (head, rule, *lines)]


if __name__ == "__main__":
    found = json.loads((DOCS / "frontier.json").read_text())
    figures.draw(found, DOCS)
    (DOCS / "frontier.md").write_text(write(found))
