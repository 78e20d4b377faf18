"""The page docs/reproduction.md, written from results.json.

python -m experiments.page
"""

import json
from collections import Counter
from itertools import groupby
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
The features of the last examples are alive whether they matter or not: each was moved by a step that gravity has not yet had time to undo.
Of features that occur in 5 % of the examples, half were seen within the last 14 examples.
The paper does not say how it read the weights at the end. With a cooldown, or a larger K (figure 3), as much is removed as in the paper."""
LATEST = """\
With θ = ∞ and K = 10, the features of the last ten examples are still alive at the end, a few dozen of them. So none of these models is good *and* has few features.
Rounding removes small weights, sub-gradient is rounded at the end, and Lasso has no last example. With a cooldown, truncated gradient does as well as they do."""
REASONS: dict[str, str] = {
    "removed-random-alone": LATELY,
    "removed-ad-random-alone": LATELY,
    "removed-ad-alone": LATELY,
    "rounding-k": """\
Both gain much. Truncated gradient gains more here because it is worse at K = 1: the features of the last examples stay alive (figure 1), while rounding removes small weights.""",
    "rounding-ad": """\
The number of features falls steeply from K = 1, but it changes by factors from one threshold to the next, so the fewest features at a given AUC depend on which thresholds are tried.""",
    "theta-infinite": """\
A finite θ leaves large weights alone, so gravity can be strong enough to remove the features of the last K examples at once without shrinking the useful ones. With θ = ∞, that takes a cooldown.""",
    "competitive": LATEST,
    "lasso-sparse": LATEST,
}
UNKNOWN = "We do not know why."

HEADINGS = {
    "figure-1": "Figure 1: share of features left",
    "figure-2": "Figure 2: AUC with and without gravity",
    "figure-3": "Figure 3: truncated gradient with several K",
    "figure-4": "Figure 4: rounding with several K",
    "figure-5": "Figure 5: the threshold θ",
    "figure-6": "Figure 6: other algorithms",
    "figure-7-beyond": "Beyond the paper: later algorithms",
}
DONE = {
    "figure-1": """\
On each data set, {folds}-fold cross-validation on the training part first chooses the learning rate, its decay from pass to pass, and the number of passes, without gravity (*dense*).
Then it chooses the setting with the fewest features whose accuracy is at most 1 % lower, or whose squared loss is at most 1 % higher (*sparse*).
Both models are then trained on the whole training part and measured on the test part, with K = 1 and θ = ∞.
All of this is done twice: with the data as it is, and with 1000 random binary features added, each 1 in 5 % of the examples.

Right after the last example, weights are not yet settled: an example moves the weight of each of its features by one step, and with K = 1 gravity needs about 1/g examples to undo a step that was only noise.
So cross-validation may also choose a *cooldown*: pulls go on without examples, for as many steps as there are examples, at the (small) learning rate of the next pass.
The paper has no cooldown, and does not say how it read the weights at the end.
So every claim is tested twice: with cooldown allowed, and *without cooldown*, where the same search is restricted to Algorithm 1 as published.

On rcv1, cross-validation has 5 folds and tries one pass, and up to three, with a decay of 0.5.

Bars are medians over the seeds; whiskers show the smallest and the largest value.""",
    "figure-2": """\
The same models as in figure 1, on the data sets with two classes.
The ratio is the sparse model's test AUC divided by the dense model's.""",
    "figure-3": """\
Truncated gradient with θ = ∞ on eight data sets with 1000 random features, for 12 gravities over three and a half orders of magnitude (24 on ad and spambase, for which the paper gives numbers of features).
For each gravity, {curve_folds}-fold cross-validation on the training part chooses the learning rate and the number of passes with the highest AUC (the decay is 0.8). A run ends with one more pull, which section 3 of the paper includes in the last update; there is no longer cooldown in figures 3 to 7, except where a line says so.
A line shows the best AUC with at most so many features: the median over the seeds, with a band from the smallest to the largest value.
Dots are the models of all seeds.
The best model is selected on the test set, for every method alike: the curves compare methods and do not predict performance on new data.""",
    "figure-4": """\
The same for rounding, with several thresholds θ in place of gravities.""",
    "figure-5": """\
Truncated gradient with K = 10 for several θ, and rounding with K = 10.
The differences and means below are averaged over the numbers of features (evenly on the logarithmic axis) and over the data sets.""",
    "figure-6": """\
Truncated gradient (K = 10, θ = ∞), rounding and sub-gradient (K = 10), and two batch algorithms of scikit-learn with up to 22 penalty strengths each: Lasso, with the labels -1 and 1 as numbers, and logistic regression with an L1 penalty, which is not in the paper.
Sub-gradient's weights oscillate around zero and are never exactly zero, so weights within one pull of zero are rounded to zero at the end, after its learning rate and passes have been chosen.
The line *with cooldown* is truncated gradient again, with a cooldown as in figure 1.""",
    "figure-7-beyond": """\
Truncated gradient beside algorithms that are newer than the paper: dwindle's adaptive update, Vowpal Wabbit's FTRL-Proximal and its `--l1`, and L1 logistic regression in batch.
The paper says nothing about these, so there is no verdict.
Vowpal Wabbit's update rule, learning rate and passes (1, 3 or 10, without decay) are chosen on the same folds, but once per data set, without a penalty, and not for each penalty strength as dwindle's are: that would take hours.
In return, its curves have up to 22 points and dwindle's 12.""",
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
        "# Reproducing the paper",
        "",
        "Section 6 of *Sparse Online Learning via Truncated Gradient* (Langford, Li and Zhang, JMLR 10, 2009), repeated with dwindle.",
        "Every number and figure on this page is generated from [`experiments/results.json`](../experiments/results.json); a test compares the two.",
        "",
        "```sh",
        "make paper         # runs everything and writes this page",
        "make paper-quick   # a reduced run: one seed, few data sets; leaves this page alone",
        "DWINDLE_DATA=~/data make paper   # takes the data from a folder instead of downloading it",
        "```",
        "",
        *(["This is a quick run, with reduced data.", ""] if about["quick"] else []),
        f"The run took {_time(about['wall_seconds'])} ({_time(about['seconds'])} of processor time) for {_seeds(seeds)}, each with its own shuffle, split and random features.",
        *(["These times are sums over several runs."] if "note" in about else []),
        f"Classification uses the logistic loss and regression the squared loss, both with the plain update (the paper's one learning rate for all features). For figures 1 and 2, cross-validation has {about['folds']} folds and tries all combinations of what [`dwindle tune`](tuning.md) begins with:",
        "",
        f"- learning rates: {tried['learning_rate']} times 1 / mean |x|^2, multiplied by {tried['pass_decay']} after each pass;",
        f"- gravities: {tried['gravity']} times the one at which all weights stay zero;",
        f"- passes: {tried['passes']}, as many as stay within {about['most']:,} examples;",
        "- cooldown at the end: one pull, or as many as there are examples; see [figure 1](#figure-1-share-of-features-left).",
        "",
        f"Versions: {versions}.",
        "",
        f"Numbers are medians over {_seeds(seeds)}; in brackets are the smallest and the largest value."
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
        "## Which claims hold",
        "",
        f"Of {len(verdicts)} claims of the paper, {counted}.",
        "",
        "[`experiments/findings.py`](../experiments/findings.py) computes the verdicts from the medians over the seeds, by [these rules](#the-rules).",
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
    """Return the anchor of a section's heading, as hosted Markdown names it."""
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
    head = ("set", "task", "features", "here", "train", "here", "test", "here", "source")
    return [
        "## Table 1: the data",
        "",
        "The paper's numbers, each with ours to its right.",
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
    differing = [claim for claim, found in mine if found.verdict == DIFFERS]
    for reason, claims in groupby(differing, _reason):
        yield ""
        yield f"Why it differs, *{'; '.join(claim.about for claim in claims)}*:"
        yield reason if reason is not None and reason in REASONS.values() else UNKNOWN
    for more in BELOW[name](results):
        yield ""
        yield from more


def _reason(claim: Claim) -> str:
    """Return why a claim differs, or its own key if that is not known."""
    return REASONS.get(claim.key, claim.key)


def _differences(results: Results) -> Text:
    known = {row["set"]: row for row in results["sets"]}
    yield "## What we do differently, and why"
    yield ""
    yield "- The paper does not give its split into training and test sets, so each seed shuffles the examples and splits them into parts of the paper's sizes."
    yield "- The paper shows one run without error bars; we show the range over the seeds."
    if "ad" in known:
        yield f"- The ad set of UCI has {known['ad']['features']:,} features including the constant, not the paper's 1,411; the paper does not say how it selected them."
    if "rcv1" in known:
        rcv = known["rcv1"]
        yield f"- On rcv1 we learn from {rcv['train']:,} documents with {rcv['features']:,} unstemmed tokens instead of 781,265 documents with 38,853, because that is what is freely available."
    yield "- Big_Ads is not public; [three billion features](big-ads.md) repeats that experiment with generated ads."


def _rules(verdicts: Verdicts) -> Text:
    """When each claim holds."""
    yield "## The rules"
    yield ""
    yield f"A point is {POINT} of a share, an accuracy or an AUC. A claim holds if:"
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
