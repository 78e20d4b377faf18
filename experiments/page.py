"""The page docs/reproduction.md, written from results.json.

python -m experiments.page
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from experiments import figures
from experiments.claims import CLAIMS, Claim, Judged, judged
from experiments.findings import (
    DIFFERS,
    HOLDS,
    POINT,
    STRONGER,
    enough_removed,
    median_peak,
    worst_tests,
)
from experiments.measures import Results, at_an_edge
from experiments.paper_says import REMOVED_AT_LEAST, TABLE_1
from experiments.runs import SAMPLES
from experiments.tables import BELOW, Text, table
from experiments.variants import (
    ALONE,
    BESIDE,
    COOLDOWN,
    HARD,
    SECTION5,
    SOFT,
    VARIANTS,
    Variant,
)

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results.json"
PAGE = ROOT / "docs" / "reproduction.md"
FIGURES = ROOT / "docs" / "reproduction"

# Why a claim differs here, by its key: a sentence or two.
LATELY = """\
The features of the last examples that were mistaken are alive whether they matter or not: each was moved by a step that gravity has not yet had time to undo. With the clipped squared loss an example that is predicted well beyond its label moves nothing, so this is few features where few examples are mistaken (mushroom, wbc), and many where many are (spambase, magic04, krvskp).
Section 5's order pulls right after the step, by all that was owed, and leaves fewer. The paper does not say which of the two its experiments ran, nor how it read the weights at the end."""
LATEST = """\
With θ = ∞ and K = 10, the features of the last ten examples are still alive at the end, a few dozen of them, so that few of these models are good *and* have few features.
Rounding removes small weights, sub-gradient is rounded at the end, and Lasso has no last example. With a cooldown, truncated gradient does as well as they do."""
LATE_K = """\
With section 5's formula a visit less than K steps after a feature's time stamp pulls nothing, so at any moment many features are unpulled and a larger K leaves more, while the paper's numbers fall as K grows. Those of Algorithm 1 scatter widely between seeds: from one gravity to the next the number of features changes by factors, so the fewest at a given AUC depend on which gravities are tried."""
REASONS: dict[str, str] = {
    "removed-random": LATELY,
    "removed-ad-random": LATELY,
    "removed-ad-random-more": LATELY,
    "removed-ad": LATELY,
    "removed-rcv1": LATELY,
    "spambase-k": LATE_K,
    "rounding-k": """\
Both gain much. Which gains more depends on how bad it is at K = 1: truncated gradient keeps the features of the last examples there, rounding removes small weights.""",
    "theta-g": """\
With θ = g a weight is pulled only while it is smaller than one pull at a rate of 1; where rates are larger or smaller than that, it is not rounding by the same threshold.""",
    "theta-infinite": """\
A finite θ leaves large weights alone, so gravity can be strong enough to remove the features of the last K examples at once without shrinking the useful ones. With θ = ∞, that takes a cooldown.""",
    "competitive": LATEST,
    "lasso-sparse": LATEST,
}
UNKNOWN = "We do not know why."

HEADINGS = {
    "figure-1": "Figure 1: share of features left",
    "figure-live": "Live features while it learns",
    "figure-2": "Figure 2: AUC with and without gravity",
    "figure-3": "Figure 3: truncated gradient with several K",
    "figure-4": "Figure 4: rounding with several K",
    "figure-5": "Figure 5: the threshold θ",
    "figure-6": "Figure 6: other algorithms",
    "figure-7-beyond": "Beyond the paper: later algorithms",
}
DONE = {
    "figure-1": """\
On each data set, cross-validation on the training part ({folds[0]} folds, {folds[1]} on sets of a thousand examples and more) first chooses the learning rate, its decay from pass to pass, and the number of passes, without gravity (*dense*).
Then, for each way of truncating, it chooses the setting with the fewest features whose accuracy is at most 1 % lower, or whose squared loss is at most 1 % higher. A model without features is never chosen, though where most labels are alike it would be good enough.
All models are then trained on the whole training part and measured on the test part. All of this is done twice: with the data as it is, and with 1000 random binary features added, each 1 in 5 % of the examples.

- *Algorithm 1 alone*: K = 1, θ = ∞, and the weights are those that it would predict the next example with.
- *section 5's order*: the same with the lazy formula of section 5 read literally, which pulls after the step, by what was owed (`--order after`).
- *with cooldown*: Algorithm 1, then as many pulls without examples as there are examples. The paper has none.
- *control*: no gravity while learning, and one threshold at the end, soft (what is beyond it is pulled by as much) or hard (it is left alone), chosen by the same cross-validation. The paper's section 3.1 says why this is no answer: it saves no memory while it learns. Where the control removes as much, the share removed is no merit of truncated gradient's; see [the live features](#live-features-while-it-learns).

The loss is the paper's: squared, its predictions normalised and clipped to [0, 1] (`--paper`). The columns *logistic loss* have that instead, without normalising. The last column is `dwindle train` without any option, in one pass; it is held to no margin.

Markers are medians over the seeds; whiskers show the smallest and the largest value.""",
    "figure-live": """\
The paper's point is memory: features that are truncated while it learns need not be stored. The models of figure 1 with 1000 random features, as the share of all features whose weight is not zero, at {samples} moments of the run on the whole training part; the median over the seeds. The control holds everything until its threshold at the end, and so does a model with cooldown until then hold what Algorithm 1 does with its setting.""",
    "figure-2": """\
The same models as in figure 1, on the data sets with two classes.
The ratio is the sparse model's test AUC divided by the dense model's. An arrow points to what is below the axis.""",
    "figure-3": """\
Truncated gradient with θ = ∞ and the paper's loss on eight data sets with 1000 random features, for {strengths} gravities over three and a half orders of magnitude (twice as many on ad and spambase, for which the paper gives numbers of features; its numbers are the stars).
For each gravity, {curve_folds}-fold cross-validation on the training part chooses the learning rate and the number of passes with the highest AUC (the decay is 0.8); rates go on until the best has a worse one on both sides. A run ends with one more pull, as Algorithm 1 has before it predicts; there is no longer cooldown in figures 3 to 7, except where a line says so.
A line shows the best AUC with at most so many features: the median over the seeds, and for the first line the range from the least to the most of them. What is above the axes is marked by a triangle where the line comes into sight.
The best model is selected on the test set, for every method alike: the curves compare methods and do not predict performance on new data.""",
    "figure-4": """\
The same for rounding, with several thresholds θ in place of gravities.""",
    "figure-5": """\
Truncated gradient with K = 10 for several θ, and rounding with K = 10.
The differences and means below are averaged over the numbers of features (evenly on the logarithmic axis) and over the data sets.""",
    "figure-6": """\
Truncated gradient (K = 10, θ = ∞), rounding and sub-gradient (K = 10), and Lasso of scikit-learn with up to 22 penalty strengths, with the labels -1 and 1 as numbers.
Sub-gradient's weights oscillate around zero and are never exactly zero, so weights within the pull of the last step are rounded to zero at the end.
The line *with cooldown* is truncated gradient again, with a cooldown as in figure 1; the last line is the control, which has no gravity and a soft threshold at the end.
Here a line joins the median models, strength by strength, and not the best so far: where it turns up again to the right, more features are worse.""",
    "figure-7-beyond": """\
Truncated gradient with cooldown beside algorithms that are newer than the paper: dwindle's adaptive update, with and without cooldown and with the logistic loss, Vowpal Wabbit's FTRL-Proximal and its `--l1`, and L1 logistic regression in batch.
The paper says nothing about these, so there is no verdict.
Vowpal Wabbit's update rule, learning rate and passes (1, 3 or 10, without decay) are chosen on folds of the training part, but once per data set, without a penalty, and not for each penalty strength as dwindle's are: that would take hours.
In return, its curves have up to 22 points and dwindle's {strengths}.""",
}
COUNTED = {  # one, and several
    STRONGER: ("holds more strongly", "hold more strongly"),
    HOLDS: ("holds", "hold"),
    DIFFERS: ("differs", "differ"),
}

Verdicts = list[tuple[Claim, dict[Variant, Judged]]]


def write(results: Results) -> str:
    """The text of the page."""
    found = [(claim, _by_variant(claim, results)) for claim in CLAIMS]
    verdicts = [(claim, by_variant) for claim, by_variant in found if by_variant]
    parts = [
        _beginning(results),
        _summary(results, verdicts),
        _how(results),
        _table_1(results),
        *(_figure(results, name, verdicts) for name in figures.names(results)),
        _differences(results),
        _rules(verdicts),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _by_variant(claim: Claim, results: Results) -> dict[Variant, Judged]:
    each = {variant: judged(claim, results, variant) for variant in (*VARIANTS, *BESIDE)}
    return {variant: one for variant, one in each.items() if one is not None}


def _beginning(results: Results) -> Text:
    about = results["about"]
    return [
        "# Reproducing the paper",
        "",
        "Section 6 of *Sparse Online Learning via Truncated Gradient* (Langford, Li and Zhang, JMLR 10, 2009), repeated with dwindle.",
        "Every number and figure on this page is generated from [`experiments/results.json`](../experiments/results.json); a test compares the two.",
        *(["This is a quick run, with reduced data."] if about["quick"] else []),
        f"Numbers are medians over {_of_figures(results)}; in brackets are the smallest and the largest value."
        if len(about["seeds"]) > 1
        else "Numbers are those of one seed.",
    ]


def _how(results: Results) -> Text:
    """How it is run, and where settings are looked for."""
    about = results["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    decays = ", ".join(f"{value:g}" for value in about["pass_decay"])
    return [
        "## How it is run",
        "",
        "```sh",
        "make paper         # runs everything and writes this page",
        "make paper-quick   # a reduced run: one seed, few data sets; leaves this page alone",
        "DWINDLE_DATA=~/data make paper   # takes the data from a folder instead of downloading it",
        "```",
        "",
        f"The run took {_time(about['seconds'])} of processor time for {_seeds(len(about['seeds']))}, each with its own shuffle, split and random features.",
        *([about["note"]] if "note" in about else []),
        "The algorithm is the paper's, with its plain update (one learning rate for all features) and its loss; the logistic loss stands beside it.",
        "",
        "Settings are looked for step by step and not on a grid: around whatever is chosen, the next larger and the next smaller value of each setting are tried too, until both are known to be no better. So no learning rate and no gravity that was chosen is the largest or the smallest that was tried.",
        "",
        "- learning rates: steps of a factor of 4, from 1 / mean |x|^2;",
        "- gravities: steps of a factor of 2, from the one at which all weights stay zero;",
        f"- the decay of the rate by each pass: {decays};",
        f"- passes: {_listed(map(str, about['passes']))}{_most(about['most'])}.",
        "",
        *_edges(results),
        "",
        f"Versions: {versions}.",
    ]


def _most(most: dict[str, int]) -> str:
    """Of how many examples so many passes may be."""
    told: list[str] = []
    for n, those in groupby(most, most.__getitem__):
        many = "" if told else " examples in all"
        be = "are " if not told else ""
        told.append(f"{_listed(those)} passes {be}at most {n:,}{many}")
    return f", as long as {', and '.join(told)}" if told else ""


def _of_figures(results: Results) -> str:
    """The seeds of each figure."""
    sparse, curved = (
        len({each["seed"] for each in results[part]}) for part in ("sparsified", "curves")
    )
    if sparse == curved or not curved:
        return _seeds(sparse)
    return f"{_seeds(sparse)} in figures 1 and 2, and over {curved} in figures 3 to 7"


def _listed(words: Iterable[str]) -> str:
    each = list(words)
    return each[0] if len(each) == 1 else f"{', '.join(each[:-1])} and {each[-1]}"


def _seeds(n: int) -> str:
    return "one seed" if n == 1 else f"{n} seeds"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"


def _summary(results: Results, verdicts: Verdicts) -> Text:
    yield "## Which claims hold"
    yield ""
    yield " ".join(_in_short(results, verdicts))
    yield ""
    yield "For each variant, of the claims that it can be tested on:"
    yield ""
    for variant in VARIANTS:
        words_of = Counter(each[variant].found.verdict for _, each in verdicts if variant in each)
        if words_of:
            counted = ", ".join(
                f"{words_of[word]} {forms[words_of[word] > 1]}"
                for word, forms in COUNTED.items()
                if words_of[word]
            )
            yield f"- {variant.title}: of {sum(words_of.values())} claims, {counted}."
    yield ""
    yield "[`experiments/findings.py`](../experiments/findings.py) computes the verdicts from the medians over the seeds, by [these rules](#the-rules). In brackets: in how many of the seeds the claim holds, each taken by itself. A claim can hold in every seed and still differ by the medians, if it holds on other sets in each seed. An empty cell is a claim that the variant has no part in."
    yield ""
    yield from table(
        ("claim", "the paper says", *(variant.title for variant in VARIANTS)),
        (
            (
                f"[{claim.about}](#{_anchor(HEADINGS[claim.section])})",
                claim.says,
                *(each[v].verdict if v in each else "" for v in VARIANTS),
            )
            for claim, each in verdicts
        ),
    )


def _in_short(results: Results, verdicts: Verdicts) -> Text:
    """What came of it, in a few sentences."""

    def held(variant: Variant) -> tuple[int, int]:
        found = [each[variant].found.verdict for _, each in verdicts if variant in each]
        return sum(verdict != DIFFERS for verdict in found), len(found)

    n, of = held(ALONE)
    yield f"In short: Algorithm 1 as printed bears out {n} of the paper's {len(CLAIMS)} claims{'' if of == len(CLAIMS) else f', of {of} that are tested here'}."
    n, of = held(COOLDOWN)
    if of:
        worse = worst_tests(results, COOLDOWN)
        yield f"With extra pulls after the last example (a *cooldown*, which the paper does not have) {n} of {of} hold{', but small models can then predict worse' if worse else ''}."
        if worse:
            yield f"The two worst cases, by the share of test examples that are right: {_listed(worse)}."
    enough = {
        variant: known
        for variant in (ALONE, COOLDOWN, SOFT, HARD)
        if (known := enough_removed(results, variant))
    }
    peaks = {variant: median_peak(results, variant) for variant in (ALONE, SOFT)}
    if len(enough) == 4 and all(peaks.values()):
        yield (
            f"No gravity at all and one threshold at the end removes more than {100 * REMOVED_AT_LEAST:.0f} % of the features on {enough[SOFT][0]} of {enough[SOFT][1]} sets with a soft threshold and on {enough[HARD][0]} with a hard one "
            f"(Algorithm 1 on {enough[ALONE][0]}, with a cooldown on {enough[COOLDOWN][0]}), but needs nearly all features in memory: {100 * peaks[SOFT]:.1f} % of them at the peak, where Algorithm 1 needs {100 * peaks[ALONE]:.1f} % (medians over the sets)."
        )


def _edges(results: Results) -> Text:
    """Say whether any setting chosen is at an end of what was tried."""
    found = at_an_edge(results)
    if not found:
        n = sum(
            "tried" in (one or {})
            for run in results["sparsified"]
            for one in run["models"].values()
        )
        n += sum("tried" in point for curve in results["curves"] for point in curve["points"])
        return [
            f"Of {n:,} models whose settings were searched like this, none has a learning rate or gravity at an end of what was tried."
        ]
    return ["At an end of what was tried:", "", *(f"- {one}" for one in found)]


def _anchor(heading: str) -> str:
    """The link to a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


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
    yield DONE[name].format(**results["about"], samples=SAMPLES)
    yield ""
    yield f"![{HEADINGS[name]}](reproduction/{name}.svg)"
    if mine:
        yield ""
        yield from table(
            ("", "the paper says", "", "here", "verdict"),
            (
                (
                    claim.about if at == 0 else "",
                    claim.says if at == 0 else "",
                    variant.title,
                    one.found.here,
                    one.verdict,
                )
                for claim, found in mine
                for at, (variant, one) in enumerate(found.items())
            ),
        )
    differing = [claim for claim, found in mine if _differs(found)]
    for reason, claims in groupby(differing, _reason):
        yield ""
        yield f"Why it differs, *{'; '.join(claim.about for claim in claims)}*:"
        yield reason if reason is not None and reason in REASONS.values() else UNKNOWN
    for more in BELOW[name](results):
        yield ""
        yield from more


def _differs(found: dict[Variant, Judged]) -> bool:
    """Whether Algorithm 1 alone, or section 5's order, does not do what the paper says."""
    return any(found[v].found.verdict == DIFFERS for v in (ALONE, SECTION5) if v in found)


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
