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
# Accuracy against model size

Which method reaches which AUC, with how few weights in the finished model, and with how few features in memory while it learns?
`make frontier` (`python -m experiments.frontier`; {minutes:.0f} minutes in one process; `DWINDLE_DATA` names a folder with the data) measures this and writes the page, its charts and [frontier.json](frontier.json), which lists every model.

Every method gets the same number of learning rates, the same passes and the same penalty strengths, and all combinations are tried. A method with a budget also tries each budget with each of them.
The best model is selected on the test set, for every method alike: the page compares methods and does not predict performance on new data.

- *Weights* are the non-zero weights of the finished model, without the intercept.
- *Live* is the largest number of features held in memory at once. FTRL, RDA, Vowpal Wabbit and scikit-learn hold all features ever seen, or reserve room for them at the start."""
BAR = """\
## FTRL's AUC with fewer live features

The reference is the best AUC of FTRL-Proximal, dwindle's or Vowpal Wabbit's, whichever is better. A model *matches* it if its AUC is at most {within} lower.
The table shows, among models with a budget that match FTRL, the one with the fewest weights; if none does, the one with the highest AUC. Only models count that have no more weights than FTRL's best model, and no more live features than the target:"""
CHARTS = """\
## The charts

A line joins those models of a method that none of its other models beats in both AUC and weights:

![AUC against weights shipped](frontier-weights.svg)

and in both AUC and live features, whatever the weights:

![AUC against features live at the peak](frontier-live.svg)"""
CHOICE = """\
## What to choose

- If memory is short, or the stream never ends: `--update ftrl --max-live N`. It gives fewer weights than FTRL at the same gravity, in a fraction of the memory. RDA with a budget is as good on rcv1; on the ads, RDA is behind, with or without a budget.
- If you want a small model and memory does not matter: FTRL, with gravity. Truncated gradient comes near with a cooldown, and stays behind on all sets but krvskp, where scikit-learn has the smallest model that matches.
- If you want the paper's algorithm: truncated gradient with a cooldown, and `--max-live N` if memory is short.

On the ads this is unfair to truncated gradient: its best is at the largest learning rate and the smallest strength that were tried, so that it may be better than is shown. With other settings it is not behind on [all of the ads](big-ads.md).

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
| truncated gradient | `Adaptive` and `Truncation`: AdaGrad's learning rates, a pull at each step; *plain*: the paper's update, one rate for all features |
| with cooldown | pulls go on at the end without examples, for as many steps as a pass has: `--cooldown`, `Learner.cooldown` |
| with a budget | `max_live`, `--max-live`: see [more features than memory](budget.md) |
| K is a pass | all the pull of a pass comes at its end |
| re-fitted | the features that are left are trained again, without a penalty, in {refitted} passes |
| FTRL | `FTRL()`, which gives the weights of `vw --ftrl` |
| from the second time on | a feature is ignored the first time it is seen; remembering that it was seen does not count as live |
| RDA | `RDA()` |

The penalty strength applies to the sum of the losses. FTRL takes it as its `gravity`; methods that pull at each step take it divided by the number of examples (RDA: of all passes)."""
IDEAS = (
    ("a budget", "ftrl-budget", "ftrl"),
    ("a budget", "rda-budget", "rda"),
    ("a budget", "tg-budget", "tg-rest"),
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
        *("set", "distinct features", "FTRL's best AUC", "its weights"),
        "fewest weights that match",
        *("with a budget", "AUC", "weights", "live", "target", "matches"),
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
    return _table(("idea", "method", *names), lines)


def _with_and_without(results: Results, name: str, way: str, base: str) -> str:
    """Such as 0.9812 at 25,000 live; without 0.9815 at 83,399."""
    if not {way, base} <= set(ways(results, name)):
        return ""
    words = []
    for each in (way, base):
        beside = reference(results, name)
        small = [m for m in models(results, name, each) if m.weights <= beside.weights]
        best = max(small, key=lambda model: model.auc, default=None)
        words.append("no small model" if best is None else f"{best.auc:.4f} ({_count(best.live)})")
    return f"{words[0]}, without {words[1]}"


def _problem(results: Results, problem: dict[str, Any]) -> Iterator[str | list[str]]:
    name, distinct = problem["name"], _distinct(results, problem["name"])
    run = next(run for run in results["runs"] if run["problem"] == name)
    seeds = f", {len(problem['seeds'])} seeds" if len(problem["seeds"]) > 1 else ""
    rates = problem["in_units"]
    units = (
        f" ({_listed(rates)} for updates that divide a feature by a unit of its own: `Adaptive` and VW's default)"
        if rates
        else ""
    ) + f", times {LENGTH} for `Adaptive`, which divides a step by the length of its example"
    yield f"## {name}"
    yield (
        f"{ABOUT.get(name, RANDOMS)} {run['train']:,} training and {run['test']:,} test examples, {distinct:,.0f} distinct features{seeds}. "
        f"Learning rates {_listed(problem['rates'])}{units}, passes {_listed(problem['passes'])}, strengths {_listed(problem['strengths'])}, budgets {_listed(f'{100 * share:g} %' for share in problem['shares'])}."
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
            "method",
            "best AUC",
            "best AUC with no more weights than FTRL",
            "fewest weights that match",
            "fewest live that match, with no more weights",
        ),
        lines,
    )


ABOUT = {
    "rcv1": "News stories, topic CCAT against all others.",
    "a9a": "Census data: who earns more than 50,000 dollars.",
    "ads": "A generated click log (`dwindle generate ads`) with the interactions of query and ad words, most of which occur once.",
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
