"""The page docs/reproduction.md, written from results.json.

python -m experiments.page
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from experiments import figures
from experiments.claims import CLAIMS, Claim
from experiments.findings import DIFFERS, HOLDS, POINT, STRONGER, Found
from experiments.measures import Results
from experiments.paper_says import TABLE_1
from experiments.tables import BELOW, Text, table

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results.json"
PAGE = ROOT / "docs" / "reproduction.md"
FIGURES = ROOT / "docs" / "reproduction"

# Why a claim differs here, by its key: a sentence or two.
LATELY = """\
Whatever they are worth, the features of the last examples are alive: each was moved by a step that gravity has not yet had the time to undo.
Of features that come in 5 % of the examples, half were seen within the last 14.
The paper does not tell how it read the weights at the end; a rest, or a larger K (figure 3), removes what it removed."""
LATEST = """\
With θ = ∞ and K = 10 what the last ten examples brought is still there at the end, a few dozen features, so with few features allowed there is no good model among these.
Rounding removes what is small, the sub-gradient is rounded at the end, and Lasso has no last example; with a rest at the end truncated gradient does as well."""
REASONS: dict[str, str] = {
    "removed-random-alone": LATELY,
    "removed-ad-random-alone": LATELY,
    "removed-ad-alone": LATELY,
    "rounding-k": """\
Both gain much. Truncated gradient gains more here because with K = 1 it has the more to lose: what the last examples brought stays alive in it (figure 1), while rounding removes what is small.""",
    "rounding-ad": """\
Features fall steeply from K = 1, but from one threshold to the next their number changes by factors, so that the fewest with a given AUC is a matter of where the thresholds lie.""",
    "theta-infinite": """\
A finite θ leaves large weights alone, so gravity can be strong enough to clear away at once what the last K examples brought, and takes nothing from the good ones; without a rest, θ = ∞ cannot have both.""",
    "competitive": LATEST,
    "lasso-sparse": LATEST,
}
UNKNOWN = "We do not know why."

HEADINGS = {
    "figure-1": "Figure 1: features left",
    "figure-2": "Figure 2: AUC with gravity and without",
    "figure-3": "Figure 3: K in truncated gradient",
    "figure-4": "Figure 4: K in rounding",
    "figure-5": "Figure 5: θ",
    "figure-6": "Figure 6: other algorithms",
    "figure-7-beyond": "Beyond the paper: algorithms that came later",
}
DONE = {
    "figure-1": """\
On each set, {folds}-fold cross validation over the training part chooses rate, its decay from pass to pass, and the number of passes, first without gravity.
Then it chooses the setting with the fewest features whose accuracy is at most 1 % below that, or whose squared loss is at most 1 % above.
Both are learned on the whole training part and measured on the test part, with K = 1 and θ = ∞.
All of it is done twice, the second time with 1000 random binary features, each 1 in 5 % of the examples.

What the weights are after the last example is not what they are worth: an example moves the weight of each of its features by one step, and with K = 1 gravity takes some 1/g examples to undo a step that was not deserved.
So cross-validation may also choose a *rest*: gravity goes on without examples for as many steps as there are examples, at the rate that the next pass would have had, which is small.
The paper has no such rest, and does not tell how it read the weights at the end.
So every claim stands here twice: with the rest, and *without*, as the same search finds it if it may choose Algorithm 1 and nothing else.

On rcv1 cross-validation has 5 folds, and tries one pass and up to three, with a decay of 0.5.

Bars are medians over the seeds, whiskers go from the least to the most.""",
    "figure-2": """\
The same models as in figure 1, on the sets with two classes.
The ratio is the test AUC of the sparse model over that of the dense one.""",
    "figure-3": """\
Truncated gradient with θ = ∞ on eight sets with 1000 random features, for 12 gravities over three and a half decades (24 on ad and spambase, for which the paper counts features).
For each of them, {curve_folds}-fold cross-validation on the training part chooses the rate and the number of passes with the highest AUC (the decay is 0.8), and a run ends with one more pull, which section 3 of the paper writes into the last update: there is no longer rest in figures 3 to 7.
Each line is the best AUC with at most so many features, the median over the seeds, and the band goes from the least to the most.
Dots are the models themselves, of all seeds.
The best is picked on the test set, for every method alike: the curves compare methods and promise nothing about new data.""",
    "figure-4": """\
The same for rounding, where the threshold θ is varied.""",
    "figure-5": """\
Truncated gradient with K = 10 for several θ, and rounding with K = 10.
The difference and the mean below are over all numbers of features, evenly on the logarithmic axis, and over the sets.""",
    "figure-6": """\
Truncated gradient (K = 10, θ = ∞), rounding and sub-gradient (K = 10), and two batch algorithms of scikit-learn along their own paths of up to 22 strengths: Lasso on the labels as numbers, -1 and 1, and logistic regression with an L1 penalty, which the paper does not have.
Sub-gradient's weights swing around zero by one pull and are never zero, so at the end those within one pull of it are rounded away, after its rate and passes were chosen.
The line *rested* is truncated gradient again, with a rest at the end as in figure 1.""",
    "figure-7-beyond": """\
Truncated gradient on the same axes as what came after the paper: dwindle's adaptive update, Vowpal Wabbit's FTRL-proximal and its `--l1`, and L1 logistic regression in batch.
The paper says nothing about these, so there is no verdict.
Vowpal Wabbit's rule, rate and passes (1, 3 or 10, without a decay) are chosen by the same folds, but once for each set, without a penalty, and not at each strength as dwindle's are: that would take it hours.
In return its curves have up to 22 points, and dwindle's 12.""",
}
PLURALS = {STRONGER: "hold more strongly", HOLDS: "hold", DIFFERS: "differ"}

Verdicts = list[tuple[Claim, Found]]


def write(results: Results) -> str:
    """The text of the page."""
    verdicts = [(claim, found) for claim in CLAIMS if (found := claim.find(results))]
    parts = [
        _beginning(results["about"]),
        _summary(verdicts),
        _table_1(results),
        *(_figure(results, name, verdicts) for name in figures.names(results)),
        _differences(results),
        _rules(verdicts),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _beginning(about: dict[str, Any]) -> Text:
    seeds = len(about["seeds"])
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    tried = {name: ", ".join(f"{v:g}" for v in values) for name, values in about["grid"].items()}
    return [
        "# The paper's experiments again",
        "",
        "Section 6 of *Sparse Online Learning via Truncated Gradient* (Langford, Li and Zhang, 2008), run with dwindle.",
        "Every number and figure on this page is written from [`experiments/results.json`](../experiments/results.json), and a test compares the two.",
        "",
        "```sh",
        "make paper         # runs all of it and writes this page",
        "make paper-quick   # the same in small: one seed, few sets, nothing on this page changes",
        "DWINDLE_DATA=~/data make paper   # data from a folder, and not from the net",
        "```",
        "",
        *(["This is a quick run, in small.", ""] if about["quick"] else []),
        f"It took {_time(about['wall_seconds'])} ({_time(about['seconds'])} of processor time) for {_seeds(seeds)}, each with its own shuffle, split and random features.",
        *([about["note"]] if "note" in about else []),
        f"Classes are learned with the logistic loss and numbers with the squared loss, by the paper's one rate for all features; for figures 1 and 2, cross-validation has {about['folds']} folds and tries what [`dwindle tune`](tuning.md) does by itself:",
        "",
        f"- rates of {tried['learning_rate']} times 1 / mean |x|^2, multiplied by {tried['pass_decay']} after each pass;",
        f"- gravities of {tried['gravity']} times the one with which no weight would leave zero;",
        f"- passes: {tried['passes']}, as many as stay within {about['most']:,} examples;",
        "- at the end one pull, or a rest, gravity alone for as many steps as there are examples: see [figure 1](#figure-1-features-left).",
        "",
        f"Versions: {versions}.",
        "",
        f"Numbers are the median over {_seeds(seeds)}, and in brackets the least and the most."
        if seeds > 1
        else "Numbers are those of one seed.",
    ]


def _seeds(n: int) -> str:
    return "one seed" if n == 1 else f"{n} seeds"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _summary(verdicts: Verdicts) -> Text:
    words_of = Counter(found.verdict for _, found in verdicts)
    counted = ", ".join(
        f"{words_of[word]} {plural}" for word, plural in PLURALS.items() if words_of[word]
    )
    return [
        "## What holds",
        "",
        f"Of {len(verdicts)} claims of the paper's: {counted}.",
        "",
        "The verdicts are computed by [`experiments/findings.py`](../experiments/findings.py) from the medians over the seeds; [the rules](#the-rules) are below.",
        "",
        *table(
            ("claim", "the paper says", "here", "verdict"),
            (
                (
                    f"[{claim.about}](#{_anchor(claim.section)})",
                    claim.says,
                    found.here,
                    found.verdict,
                )
                for claim, found in verdicts
            ),
        ),
    ]


def _anchor(section: str) -> str:
    """How GitHub names a heading."""
    kept = "".join(c for c in HEADINGS[section].lower() if c.isalnum() or c in " -")
    return kept.replace(" ", "-")


def _table_1(results: Results) -> Text:
    known = {row["set"]: row for row in results["sets"]}
    rows = []
    for row in TABLE_1:
        here = known.get(row.set)
        counts = ("features", "train", "test")
        cells = [f"{getattr(row, name):,}" for name in counts]
        ours = [f"{here[name]:,}" for name in counts] if here else ["", "", ""]
        source = here["source"] if here else "private" if row.set == "Big_Ads" else ""
        pairs = [cell for pair in zip(cells, ours, strict=True) for cell in pair]
        rows.append((row.set, row.task, *pairs, source))
    head = ("set", "task", "features", "here", "train", "here", "test", "here", "ours is from")
    return [
        "## Table 1: the data",
        "",
        "The paper's numbers first, ours beside them.",
        "",
        *table(head, rows),
    ]


def _figure(results: Results, name: str, verdicts: Verdicts) -> Text:
    mine = [(claim, found) for claim, found in verdicts if claim.section == name]
    yield f"## {HEADINGS[name]}"
    yield ""
    yield DONE[name].format(**results["about"])
    yield ""
    yield f"![{HEADINGS[name]}](reproduction/{name}.svg)"
    if mine:
        yield ""
        yield from table(
            ("", "the paper says", "here", "verdict"),
            ((claim.about, claim.says, found.here, found.verdict) for claim, found in mine),
        )
    for claim, found in mine:
        if found.verdict == DIFFERS:
            yield ""
            yield f"Where it differs, *{claim.about}*:"
            yield REASONS.get(claim.key, UNKNOWN)
    for more in BELOW[name](results):
        yield ""
        yield from more


def _differences(results: Results) -> Text:
    known = {row["set"]: row for row in results["sets"]}
    yield "## What we do otherwise, and why"
    yield ""
    yield "- The paper does not tell its split into training and test, so each seed shuffles the examples and splits them into parts of the paper's sizes."
    yield "- The paper shows one run without error bars; we show how far the seeds are apart."
    if "ad" in known:
        yield f"- The ad set of UCI has {known['ad']['features']:,} features, the constant counted, and not the paper's 1,411; how the paper came to these is not told."
    if "rcv1" in known:
        rcv = known["rcv1"]
        yield f"- On rcv1 we learn from {rcv['train']:,} documents with {rcv['features']:,} unstemmed tokens, and not from 781,265 documents with 38,853: these are what can be had freely."
    yield "- Big_Ads is the authors' own and not public; [three billion features](big-ads.md) of ads that are generated stand in for it, on a page of their own."


def _rules(verdicts: Verdicts) -> Text:
    """When each claim holds."""
    yield "## The rules"
    yield ""
    yield f"A point is {POINT}, of a share, an accuracy or an AUC. A claim holds if:"
    yield ""
    for rule in dict.fromkeys(claim.rule for claim, _ in verdicts):
        about = "; ".join(claim.about for claim, _ in verdicts if claim.rule == rule)
        yield f"- *{about}*: {rule}."


def main() -> None:
    """Write the page and its figures from the results."""
    results = json.loads(RESULTS.read_text())
    figures.draw(results, FIGURES)
    PAGE.write_text(write(results))


if __name__ == "__main__":
    main()
