"""What our results say of each claim of the paper's, and whether that is what the paper says.

Verdicts are of the medians over the seeds; the page tells their rules.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from experiments import words
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
from experiments.paper_says import AD_ACCURACY, RATIO, REMOVED_AT_LEAST, SPAMBASE, UCI

HOLDS, STRONGER, DIFFERS = "holds", "holds more strongly", "differs"
POINT = 0.01  # of a share, an accuracy or an AUC: what we call the same
ALMOST_ALL = 0.9  # of the cases
SOME = 2  # cases at least


class Found(NamedTuple):
    """Our numbers on a claim, in words, and the verdict."""

    here: str
    verdict: str


def verdict(holds: bool, strongly: bool = False) -> str:
    """The word for it."""
    if not holds:
        return DIFFERS
    return STRONGER if strongly else HOLDS


# Figures 1 and 2


def removed(runs: Sequence[dict[str, object]], paper: float, model: str = "sparse") -> Found | None:
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


def features_for(
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
