"""What the paper's section 6 says, as data, and what of it our results say too.

Verdicts are of the medians over the seeds; the page tells their rules.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from experiments import words
from experiments.data import SETS
from experiments.measures import (
    BUDGETS,
    LASSO,
    RESTED,
    ROUNDING,
    SUBGRADIENT,
    THETA_IS_G,
    TRUNCATION,
    Cell,
    Line,
    Results,
    Spread,
    curves,
    dense_losses,
    distance,
    fewest,
    gains,
    left,
    lines,
    mean_level,
    ratio,
    rcv1,
    sparsified,
    spread,
)

HOLDS, STRONGER, DIFFERS = "holds", "holds more strongly", "differs"
POINT = 0.01  # of a share, an accuracy or an AUC: what we call the same
ALMOST_ALL = 0.9  # of the cases
SOME = 2  # cases at least


class Row(NamedTuple):
    """A line of table 1."""

    set: str
    features: int
    train: int
    test: int
    task: str


TABLE_1 = (
    *(Row(s.name, s.features, s.train, s.test, s.task) for s in SETS.values()),
    Row("rcv1", 38_853, 781_265, 23_149, "classification"),
    Row("Big_Ads", 3_000_000_000, 26_000_000, 2_700_000, "classification"),
)
UCI = tuple(SETS)

# The shares of features that the paper removes, and what else it gives numbers for.
REMOVED_AT_LEAST = 0.90
REMOVED_AD_RANDOM = 0.71
REMOVED_AD_RANDOM_MORE = 0.914
REMOVED_AD = 0.834
REMOVED_RCV1 = 0.75
AD_ACCURACY = (0.965, 0.959, 0.954)  # dense, sparse, and sparser
RATIO = 0.98
SPAMBASE = (0.89, {1: 76, 10: 25, 20: 25})  # an AUC, and the features that reach it
AD_ROUNDED = (0.94, {1: 322, 10: 13, 20: 7})


class Found(NamedTuple):
    """Our numbers on a claim, in words, and the verdict."""

    here: str
    verdict: str


class Claim(NamedTuple):
    """A statement of the paper's, and how to find ours. There is none where data are missing."""

    key: str
    section: str  # of the page
    about: str
    says: str
    find: Callable[[Results], Found | None]
    rule: str  # when it holds, and when more strongly


def verdict(holds: bool, strongly: bool = False) -> str:
    """The word for it."""
    if not holds:
        return DIFFERS
    return STRONGER if strongly else HOLDS


# Figures 1 and 2


def _removed(
    runs: Sequence[dict[str, object]], paper: float, model: str = "sparse"
) -> Found | None:
    """More strongly is: at most half the features left."""
    here = left(runs, model)
    if here is None:
        return None
    holds = 1 - here.median >= paper - POINT
    return Found(words.percent(complement(here)), verdict(holds, here.median <= (1 - paper) / 2))


def complement(share: Spread) -> Spread:
    """What is removed, of what is left."""
    return Spread(1 - share.median, 1 - share.most, 1 - share.least)


def removed_random(results: Results, model: str = "sparse") -> Found | None:
    """On all sets but ad."""
    known = {
        name: 1 - here.median
        for name in UCI
        if name != "ad" and (here := left(sparsified(results, name, 1000), model))
    }
    if not known:
        return None
    enough = sum(share > REMOVED_AT_LEAST for share in known.values())
    low, high = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    text = (
        f"on {enough} of {len(known)} sets; "
        f"from {known[low]:.1%} ({low}) to {known[high]:.1%} ({high})"
    ).replace("%", " %")
    strongly = known[low] >= 1 - (1 - REMOVED_AT_LEAST) / 2
    return Found(text, verdict(enough == len(known), strongly))


def ad_accuracy(results: Results) -> Found | None:
    """Without gravity, and with the gravities of both tolerances."""
    sparse, sparser = (sparsified(results, "ad", 1000, tolerance) for tolerance in (0.01, 0.013))
    here = [
        spread(run[model]["test"] for run in runs)
        for runs, model in ((sparse, "dense"), (sparse, "sparse"), (sparser, "sparse"))
    ]
    known = [each for each in here if each]
    if len(known) < len(here):
        return None
    gaps = [each.median - paper for each, paper in zip(known, AD_ACCURACY, strict=True)]
    text = ", ".join(words.percent(each) for each in known)
    return Found(text, verdict(min(gaps) >= -POINT, min(gaps) > POINT))


def more_with_random(results: Results) -> Found | None:
    """Sets of which a larger share is removed once random features are there."""
    known = {}
    for name in UCI:
        alone, among = (left(sparsified(results, name, random)) for random in (0, 1000))
        if alone and among:
            known[name] = among.median < alone.median
    if not known:
        return None
    more = sum(known.values())
    text = f"on {more} of {len(known)} sets"
    return Found(text, verdict(more > len(known) / 2, more == len(known)))


def auc_ratio(results: Results) -> Found | None:
    """Over all sets, with and without random features."""
    known = ratios(results)
    if not known:
        return None
    high = sum(each.median >= RATIO for each in known.values())
    low, random = min(known, key=lambda key: known[key].median)
    where = f"{low}{' with random features' if random else ''}"
    text = (
        f"in {high} of {len(known)} cases; the least is {known[low, random].median:.3f} ({where})"
    )
    return Found(text, verdict(high > len(known) / 2, high == len(known)))


def auc_better(results: Results) -> Found | None:
    """How often sparse models have the larger AUC."""
    known = ratios(results)
    if not known:
        return None
    better = sum(each.median > 1 + POINT / 10 for each in known.values())
    text = f"by more than a thousandth in {better} of {len(known)} cases"
    return Found(text, verdict(better >= SOME, better > len(known) / 2))


def ratios(results: Results) -> dict[tuple[str, int], Spread]:
    """The ratio of test AUCs of each set that has two classes, with and without random features."""
    cases = {
        (name, random): sparsified(results, name, random) for name in UCI for random in (0, 1000)
    } | {("rcv1", 0): rcv1_runs(results)}
    return {case: known for case, runs in cases.items() if (known := ratio(runs))}


def rcv1_runs(results: Results) -> list[dict[str, object]]:
    """The runs on rcv1 that figures show: several passes if there are, as on the other sets."""
    return rcv1(results, "several") or rcv1(results, "one")


# Figures 3 and 4


def _larger_k(results: Results, method: str) -> dict[Cell, float]:
    return {
        (f"{name}, K = {every}", n): gain
        for every in (10, 20)
        for (name, n), gain in gains(results, Line(method, every), [Line(method, 1)]).items()
    }


def truncation_k(results: Results) -> Found | None:
    """At each number of features, on each set."""
    return _not_worse(_larger_k(results, "truncation"))


def _not_worse(known: dict[Cell, float]) -> Found | None:
    if not known:
        return None
    fine = sum(gain >= -POINT for gain in known.values())
    mean = math.fsum(known.values()) / len(known)
    text = (
        f"in {fine} of {len(known)} cases no more than {POINT} lower; "
        f"on average {words.signed(mean)}"
    )
    return Found(text, verdict(fine >= ALMOST_ALL * len(known), mean > POINT))


def rounding_k(results: Results) -> Found | None:
    """The mean gain of a larger K in both methods."""
    truncation, rounding = (_larger_k(results, method) for method in ("truncation", "rounding"))
    if not truncation or not rounding:
        return None
    mine, theirs = (math.fsum(each.values()) / len(each) for each in (truncation, rounding))
    text = f"{words.signed(theirs)} for rounding, {words.signed(mine)} for truncated gradient"
    return Found(text, verdict(theirs > max(mine, 0)))


def _fewest(
    results: Results, name: str, method: str, paper: tuple[float, dict[int, int]]
) -> Found | None:
    """Held if a larger K saves at least half the paper's factor, more strongly if twice that."""
    auc, numbers = paper
    here = {
        every: spread(
            fewest(points, auc) for points in curves(results, name, Line(method, every)).values()
        )
        for every in numbers
    }
    known = {every: each for every, each in here.items() if each}
    if len(known) < len(numbers):
        return None
    text = ", ".join(words.count(each) for each in known.values())
    shares = [
        (known[1].median / known[every].median) / (numbers[1] / numbers[every])
        if math.isfinite(known[every].median)
        else 0.0
        for every in numbers
        if every != 1
    ]
    return Found(text, verdict(min(shares) >= 0.5, min(shares) > 2))


def spambase_rested(results: Results) -> Found | None:
    """Against the paper's number for K = 10."""
    auc, numbers = SPAMBASE
    known = curves(results, "spambase", RESTED)
    here = spread(fewest(points, auc) for points in known.values())
    if here is None:
        return None
    return Found(
        words.count(here), verdict(here.median <= numbers[10], here.median <= numbers[10] / 2)
    )


# Figure 5


def like_rounding(results: Results) -> Found | None:
    """The mean difference to rounding's AUC, for each theta."""
    known = {
        line: here
        for line in lines(results, "figure-5")
        if line != ROUNDING and (here := distance(results, line, ROUNDING))
    }
    if THETA_IS_G not in known:
        return None
    nearest = min(known.values(), key=lambda each: each.median)
    mine = known[THETA_IS_G]
    others = min(
        (each.median for line, each in known.items() if line != THETA_IS_G), default=math.inf
    )
    text = f"{words.auc(mine)} apart; of all θ the nearest is {nearest.median:.3f} apart"
    return Found(text, verdict(mine.median <= max(others, POINT)))


def infinite_theta(results: Results) -> Found | None:
    """The mean of the best AUC over all numbers of features, for each theta."""
    known = {
        line: here
        for line in lines(results, "figure-5")
        if line != ROUNDING and (here := mean_level(results, line))
    }
    mine = known.pop(TRUNCATION, None)
    if mine is None or not known:
        return None
    rival = max(known, key=lambda line: known[line].median)
    gap = mine.median - known[rival].median
    text = (
        f"{words.auc(mine)}; the best finite one, {words.theta(rival)}, {words.auc(known[rival])}"
    )
    return Found(text, verdict(gap >= 0, gap > POINT))


# Figure 6


def competitive(results: Results, mine: Line = TRUNCATION) -> Found | None:
    """Against the better of rounding and sub-gradient."""
    known = gains(results, mine, [ROUNDING, SUBGRADIENT], BUDGETS[:3])
    found = _not_worse(known)
    if found is None:
        return None
    better = sum(gain > POINT for gain in known.values())
    text = f"{found.here}; in {better} more than {POINT} higher"
    return Found(text, found.verdict if better >= SOME else DIFFERS)


def like_lasso(results: Results, mine: Line = TRUNCATION) -> Found | None:
    """With few features."""
    known = gains(results, mine, [LASSO], BUDGETS[:2])
    if not known:
        return None
    alike = sum(abs(gain) <= 2 * POINT for gain in known.values())
    text = f"in {alike} of {len(known)} cases at most {2 * POINT} apart"
    return Found(text, verdict(alike > len(known) / 2, alike == len(known)))


def lasso_overfits(results: Results) -> Found | None:
    """What the densest model loses to the best one of its curve, both lines cut at the same."""
    both = dense_losses(results, LASSO, TRUNCATION)
    if not both:
        return None
    more = sum(theirs > ours for theirs, ours in both.values())
    theirs, ours = (math.fsum(each) / len(both) for each in zip(*both.values(), strict=True))
    text = (
        f"{theirs:.3f} lost by Lasso, {ours:.3f} by truncated gradient; "
        f"Lasso loses more on {more} of {len(both)} sets"
    )
    holds = theirs - ours > POINT and more > len(both) / 2
    return Found(text, verdict(holds, more == len(both)))


CLAIMS = (
    Claim(
        "removed-random",
        "figure-1",
        "removed with 1000 random features",
        "more than 90 % on every UCI set but ad",
        removed_random,
        "more than 90 % on every set; more strongly if at least 95 %",
    ),
    Claim(
        "removed-random-alone",
        "figure-1",
        "removed with 1000 random features, by Algorithm 1 without a rest",
        "more than 90 % on every UCI set but ad",
        lambda results: removed_random(results, "unrested"),
        "more than 90 % on every set; more strongly if at least 95 %",
    ),
    Claim(
        "removed-ad-random",
        "figure-1",
        "removed from ad with random features",
        "71 %",
        lambda results: _removed(sparsified(results, "ad", 1000), REMOVED_AD_RANDOM),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "removed-ad-random-alone",
        "figure-1",
        "removed from ad with random features, without a rest",
        "71 %",
        lambda results: _removed(sparsified(results, "ad", 1000), REMOVED_AD_RANDOM, "unrested"),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "removed-ad-random-more",
        "figure-1",
        "removed from ad with random features if 1.3 % of accuracy may be lost",
        "91.4 %",
        lambda results: _removed(sparsified(results, "ad", 1000, 0.013), REMOVED_AD_RANDOM_MORE),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "ad-accuracy",
        "figure-1",
        "test accuracy on ad: without gravity, with 1 % lost, with 1.3 % lost",
        "96.5 %, 95.9 %, 95.4 %",
        ad_accuracy,
        "none more than a point below the paper's; more strongly if all are more than a point above",
    ),
    Claim(
        "removed-ad",
        "figure-1",
        "removed from ad as it is",
        "83.4 %",
        lambda results: _removed(sparsified(results, "ad"), REMOVED_AD),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "removed-ad-alone",
        "figure-1",
        "removed from ad as it is, without a rest",
        "83.4 %",
        lambda results: _removed(sparsified(results, "ad"), REMOVED_AD, "unrested"),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "more-with-random",
        "figure-1",
        "more is removed where more is useless",
        "a larger share with random features than without, as a tendency",
        more_with_random,
        "on more than half the sets; more strongly if on all",
    ),
    Claim(
        "removed-rcv1-one",
        "figure-1",
        "removed from rcv1 in one pass",
        "more than 75 %, passes not told",
        lambda results: _removed(rcv1(results, "one"), REMOVED_RCV1),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "removed-rcv1-one-alone",
        "figure-1",
        "removed from rcv1 in one pass, without a rest",
        "more than 75 %, passes not told",
        lambda results: _removed(rcv1(results, "one"), REMOVED_RCV1, "unrested"),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "removed-rcv1-several",
        "figure-1",
        "removed from rcv1 in several passes",
        "more than 75 %, passes not told",
        lambda results: _removed(rcv1(results, "several"), REMOVED_RCV1),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "removed-rcv1-several-alone",
        "figure-1",
        "removed from rcv1 in several passes, without a rest",
        "more than 75 %, passes not told",
        lambda results: _removed(rcv1(results, "several"), REMOVED_RCV1, "unrested"),
        "at most a point below the paper's share; more strongly if at most half of what the paper leaves is left",
    ),
    Claim(
        "auc-ratio",
        "figure-2",
        "AUC with gravity over AUC without",
        "often above 0.98",
        auc_ratio,
        "at least 0.98 in more than half the cases; more strongly if in all",
    ),
    Claim(
        "auc-better",
        "figure-2",
        "the sparse model has the larger AUC",
        "in some cases, slightly",
        auc_better,
        "by more than 0.001 in two cases or more; more strongly if in more than half",
    ),
    Claim(
        "truncation-k",
        "figure-3",
        "AUC with K = 10 or 20 against K = 1",
        "at least as good",
        truncation_k,
        "with at most 10, 30, 100 and 300 features on each set, no more than a point lower in 90 % of the cases; more strongly if more than a point higher on average",
    ),
    Claim(
        "spambase-k",
        "figure-3",
        "features for an AUC of 0.89 on spambase, with K = 1, 10, 20",
        "76, 25, 25",
        lambda results: _fewest(results, "spambase", "truncation", SPAMBASE),
        "a larger K saves at least half the paper's factor; more strongly if more than twice that",
    ),
    Claim(
        "spambase-rested",
        "figure-3",
        "features for an AUC of 0.89 on spambase, with K = 10 and a rest",
        "25, without a rest",
        spambase_rested,
        "at most 25; more strongly if at most 12",
    ),
    Claim(
        "rounding-k",
        "figure-4",
        "what K = 10 or 20 adds to the AUC of K = 1",
        "more for rounding than for truncated gradient",
        rounding_k,
        "a larger K adds something for rounding, and more than for truncated gradient, on average over sets and numbers of features",
    ),
    Claim(
        "rounding-ad",
        "figure-4",
        "features for an AUC of 0.94 on ad by rounding, with K = 1, 10, 20",
        "322, 13, 7",
        lambda results: _fewest(results, "ad", "rounding", AD_ROUNDED),
        "a larger K saves at least half the paper's factor; more strongly if more than twice that",
    ),
    Claim(
        "theta-g",
        "figure-5",
        "truncation with θ = g against rounding",
        "alike",
        like_rounding,
        "at most a point apart, or nearer than any other θ",
    ),
    Claim(
        "theta-infinite",
        "figure-5",
        "mean AUC with θ = ∞",
        "θ = ∞ is the one to use",
        infinite_theta,
        "no finite θ has a higher mean; more strongly if all are more than a point lower",
    ),
    Claim(
        "competitive",
        "figure-6",
        "truncated gradient against the better of rounding and sub-gradient",
        "as good everywhere, clearly better in places",
        competitive,
        "with at most 10, 30 and 100 features on each set, no more than a point lower in 90 % of the cases and more than a point higher in two or more; more strongly if more than a point higher on average",
    ),
    Claim(
        "competitive-rested",
        "figure-6",
        "truncated gradient with a rest against the better of rounding and sub-gradient",
        "as good everywhere, clearly better in places",
        lambda results: competitive(results, RESTED),
        "with at most 10, 30 and 100 features on each set, no more than a point lower in 90 % of the cases and more than a point higher in two or more; more strongly if more than a point higher on average",
    ),
    Claim(
        "lasso-sparse",
        "figure-6",
        "truncated gradient against Lasso, with at most 10 or 30 features",
        "often alike",
        like_lasso,
        "at most two points apart in more than half the cases; more strongly if in all",
    ),
    Claim(
        "lasso-sparse-rested",
        "figure-6",
        "truncated gradient with a rest against Lasso, with at most 10 or 30 features",
        "often alike",
        lambda results: like_lasso(results, RESTED),
        "at most two points apart in more than half the cases; more strongly if in all",
    ),
    Claim(
        "lasso-dense",
        "figure-6",
        "AUC lost from the best to the densest model",
        "Lasso overfits, truncated gradient less",
        lasso_overfits,
        "Lasso loses more on more than half the sets and a point more on average, both up to the same number of features; more strongly if on all sets",
    ),
)
