"""The page docs/frontier.md, written from frontier.json.

python -m experiments.frontier.page
"""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from experiments.frontier.measures import WITHIN, Results, models, reference, row, ways
from experiments.frontier.ways import NAMES, REFITTED

DOCS = Path(__file__).parent.parent.parent / "docs"
BUDGETED = ("ftrl-budget", "rda-budget", "tg-budget")

HEAD = """\
# Who needs how few features

Which way to learn reaches what AUC with how few weights in the model that is shipped, and with how few features held in memory while it learns?
`make frontier` (`python -m experiments.frontier`, {minutes:.0f} minutes in one process, `DWINDLE_DATA` names a folder that has the data) measures it and writes this page, its charts and [frontier.json](frontier.json), which has every model.

Each method has the same rates, passes and strengths of its penalty to choose from, all of them are tried, and the best is picked on the test part, for every method alike: this compares methods and promises nothing about new data.
A method with a budget tries each budget with each of these.
*Live* are the features held at once, at the most: all that were ever seen for FTRL, RDA, Vowpal Wabbit and scikit-learn, whose models grow with what they see or have a place for it from the beginning.
Counts the same for all: weights that are not zero, without the intercept."""
CHARTS = """\
## The charts

A line joins the models of a method that no other of its models beats, in AUC with as few weights:

![AUC against weights shipped](frontier-weights.svg)

and with as few live features, whatever the weights:

![AUC against features live at the peak](frontier-live.svg)"""
METHODS = """\
## The methods

| | |
|---|---|
| truncated gradient | `Adaptive` and `Truncation`: AdaGrad's rates, a pull at each step; *plain*: the paper's, one rate for all |
| rested | pulls go on at the end without examples, for as many steps as there were in a pass: `--rest`, `Learner.rest` |
| with a budget | `max_live`, `--max-live`: truncated gradient raises its gravity until it fits; FTRL and RDA forget first what has no weight and was seen seldom and long ago |
| K is a pass | all the pull of a pass comes at its end |
| re-fitted | the features that are left are learned anew, without a penalty, in {refitted} passes |
| FTRL | `Ftrl(patience=inf)`, which has the weights of `vw --ftrl`; *forgetting*: `Ftrl()`, as a sweep finds that a feature is not seen any more |
| let in the second time | a feature that was not seen before is passed over; what remembers that it was seen is not counted as live |
| RDA | `Rda(patience=inf)` |

The strength of a penalty is that on the sum of the losses. FTRL has it as its `gravity`; what pulls at each step has it divided by the number of examples (RDA: in all passes)."""


def write(results: Results) -> str:
    """The page."""
    return (
        "\n\n".join(
            "\n".join(part) if not isinstance(part, str) else part for part in _parts(results)
        )
        + "\n"
    )


def _parts(results: Results) -> Iterator[str | list[str]]:
    yield HEAD.format(minutes=results["seconds"] / 60)
    yield "## Where FTRL is, with fewer live"
    yield (
        f"FTRL-Proximal's best AUC is that of its best setting, dwindle's or Vowpal Wabbit's. A model is *as good* if it is within {WITHIN} of that. "
        "Of the models of each method that are as good and have no more weights than the smallest FTRL model that is, this is the one with the fewest live features:"
    )
    yield _bar(results)
    yield CHARTS
    for problem in results["problems"]:
        yield from _problem(results, problem)
    yield METHODS.format(refitted=REFITTED)


def _bar(results: Results) -> list[str]:
    """For each problem, FTRL and the best with a budget."""
    lines = []
    for problem in results["problems"]:
        name, distinct = problem["name"], _distinct(results, problem["name"])
        beside = reference(results, name)
        known = [
            (model.live, model.weights, model.auc, way)
            for way in ways(results, name)
            if way in BUDGETED
            for model in models(results, name, way)
            if model.auc >= beside.floor and model.weights <= beside.weights
        ]
        asked = "" if problem["peak"] is None else f"{100 * problem['peak']:.0f} %"
        first = (name, f"{distinct:,.0f}", f"{beside.best:.4f}", _count(beside.weights), asked)
        if known:
            live, weights, auc, way = min(known)
            last = (
                NAMES[way],
                f"{auc:.4f}",
                _count(weights),
                f"{_count(live)} ({_share(live, distinct)})",
            )
        else:
            last = ("none", "", "", "")
        lines.append((*first, *last))
    head = (
        "",
        "distinct features",
        "FTRL's best AUC",
        "its fewest weights as good",
        "live, asked for",
        "as good with a budget",
        "AUC",
        "weights",
        "live",
    )
    return _table(head, lines)


def _problem(results: Results, problem: dict[str, Any]) -> Iterator[str | list[str]]:
    name, distinct = problem["name"], _distinct(results, problem["name"])
    run = next(run for run in results["runs"] if run["problem"] == name)
    seeds = f", {len(problem['seeds'])} seeds" if len(problem["seeds"]) > 1 else ""
    yield f"## {name}"
    yield (
        f"{ABOUT.get(name, RANDOMS)} {run['train']:,} examples to learn from and {run['test']:,} to test on, {distinct:,.0f} distinct features{seeds}; "
        f"rates {_listed(problem['rates'])}, passes {_listed(problem['passes'])}, strengths {_listed(problem['strengths'])}, budgets {_listed(f'{100 * share:g} %' for share in problem['shares'])}."
    )
    lines = []
    for way in ways(results, name):
        found = row(results, name, way)
        share = "" if math.isinf(found.live) else f" ({_share(found.live, distinct)})"
        lines.append(
            (NAMES[way], f"{found.best:.4f}", _count(found.weights), _count(found.live) + share)
        )
    yield _table(
        (
            "",
            "best AUC",
            "fewest weights as good as FTRL",
            "fewest live with that, and no more weights than FTRL",
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
    (DOCS / "frontier.md").write_text(write(json.loads((DOCS / "frontier.json").read_text())))
