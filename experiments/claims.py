"""The 18 claims of the paper's section 6: what it says, how to compute ours, when they agree."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from experiments import findings
from experiments.findings import DIFFERS, METHODS, ROUNDINGS, Found
from experiments.measures import Results, of_seed
from experiments.paper_says import (
    AD_ROUNDED,
    REMOVED_AD,
    REMOVED_AD_RANDOM,
    REMOVED_AD_RANDOM_MORE,
    REMOVED_RCV1,
    SPAMBASE,
)
from experiments.variants import Variant

SHARE = (
    "at most a point below the paper's share, by no empty model; "
    "more strongly if at most half as many features are left as in the paper"
)
FACTOR = (
    "a larger K saves at least half the paper's factor, more strongly if more than twice that; "
    "where there is no K: at most the paper's fewest, more strongly if at most half"
)


class Claim(NamedTuple):
    """A statement of the paper, and a function that computes ours: None where data are missing."""

    key: str
    section: str  # of the page
    about: str
    says: str
    find: Callable[[Results, Variant], Found | None]
    rule: str  # when it holds, and when more strongly
    of_sparsity: bool = False  # so that a control has to stand beside it


class Judged(NamedTuple):
    """What is found, and in how many of the seeds the claim holds by itself."""

    found: Found
    holding: int
    seeds: int

    @property
    def verdict(self) -> str:
        """The verdict on the medians, and the spread over the seeds."""
        return f"{self.found.verdict} ({self.holding} of {self.seeds})"


def judged(claim: Claim, results: Results, variant: Variant) -> Judged | None:
    """The verdict on a claim for a variant; None where it cannot be tested."""
    found = claim.find(results, variant)
    if found is None:
        return None
    each = [claim.find(of_seed(results, seed), variant) for seed in results["about"]["seeds"]]
    known = [one for one in each if one is not None]
    return Judged(found, sum(one.verdict != DIFFERS for one in known), len(known))


def _removed(
    name: str, paper: float, random: int = 0, tolerance: float = 0.01
) -> Callable[[Results, Variant], Found | None]:
    return partial(findings.removed, name=name, paper=paper, random=random, tolerance=tolerance)


CLAIMS = (
    Claim(
        "removed-random",
        "figure-1",
        "removed with 1000 random features",
        "more than 90 % on every UCI set but ad",
        findings.removed_random,
        "more than 90 % on every set, by no empty model; more strongly if at least 95 %",
        of_sparsity=True,
    ),
    Claim(
        "removed-ad-random",
        "figure-1",
        "removed from ad with random features",
        "71 %",
        _removed("ad", REMOVED_AD_RANDOM, 1000),
        SHARE,
        of_sparsity=True,
    ),
    Claim(
        "removed-ad-random-more",
        "figure-1",
        "removed from ad with random features, at a tolerance of 1.3 %",
        "91.4 %",
        _removed("ad", REMOVED_AD_RANDOM_MORE, 1000, 0.013),
        SHARE,
        of_sparsity=True,
    ),
    Claim(
        "ad-accuracy",
        "figure-1",
        "test accuracy on ad: dense, at a tolerance of 1 %, of 1.3 %",
        "96.5 %, 95.9 %, 95.4 %",
        findings.ad_accuracy,
        "none more than a point below the paper's; more strongly if all are more than a point above",
    ),
    Claim(
        "removed-ad",
        "figure-1",
        "removed from ad without random features",
        "83.4 %",
        _removed("ad", REMOVED_AD),
        SHARE,
        of_sparsity=True,
    ),
    Claim(
        "more-with-random",
        "figure-1",
        "more is removed when there are useless features",
        "a larger share with random features than without, as a tendency",
        findings.more_with_random,
        "on more than half the sets; more strongly if on all",
        of_sparsity=True,
    ),
    Claim(
        "removed-rcv1",
        "figure-1",
        "removed from rcv1",
        "more than 75 %, passes not given",
        _removed("rcv1", REMOVED_RCV1),
        SHARE,
        of_sparsity=True,
    ),
    Claim(
        "auc-ratio",
        "figure-2",
        "AUC with gravity over AUC without",
        "often above 0.98",
        findings.auc_ratio,
        "at least 0.98 in more than half the cases; more strongly if in all",
    ),
    Claim(
        "auc-better",
        "figure-2",
        "the sparse model has the larger AUC",
        "in some cases, slightly",
        findings.auc_better,
        "by more than 0.001 in two cases or more; more strongly if in more than half",
    ),
    Claim(
        "truncation-k",
        "figure-3",
        "AUC with K = 10 or 20 against K = 1",
        "at least as good",
        findings.truncation_k,
        "with at most 10, 30, 100 and 300 features on each set, no more than a point lower in 90 % of the cases; more strongly if more than a point higher on average",
    ),
    Claim(
        "spambase-k",
        "figure-3",
        "features for an AUC of 0.89 on spambase, with K = 1, 10, 20",
        "76, 25, 25",
        partial(findings.features_for, name="spambase", methods=METHODS, paper=SPAMBASE),
        FACTOR,
        of_sparsity=True,
    ),
    Claim(
        "rounding-k",
        "figure-4",
        "gain in AUC from K = 1 to K = 10 or 20",
        "more for rounding than for truncated gradient",
        findings.rounding_k,
        "a larger K adds something for rounding, and more than for truncated gradient, on average over sets and numbers of features",
    ),
    Claim(
        "rounding-ad",
        "figure-4",
        "features for an AUC of 0.94 on ad by rounding, with K = 1, 10, 20",
        "322, 13, 7",
        partial(findings.features_for, name="ad", methods=ROUNDINGS, paper=AD_ROUNDED),
        FACTOR,
        of_sparsity=True,
    ),
    Claim(
        "theta-g",
        "figure-5",
        "truncation with θ = g against rounding",
        "similar",
        findings.like_rounding,
        "at most a point apart on average",
    ),
    Claim(
        "theta-infinite",
        "figure-5",
        "mean AUC with θ = ∞",
        "θ = ∞ is recommended",
        findings.infinite_theta,
        "no finite θ has a higher mean; more strongly if all are more than a point lower",
    ),
    Claim(
        "competitive",
        "figure-6",
        "truncated gradient against the better of rounding and sub-gradient",
        "as good everywhere, clearly better in places",
        findings.competitive,
        "with at most 10, 30 and 100 features on each set, no more than a point lower in 90 % of the cases and more than a point higher in two or more; more strongly if more than a point higher on average",
    ),
    Claim(
        "lasso-sparse",
        "figure-6",
        "truncated gradient against Lasso, with at most 10 or 30 features",
        "often similar",
        findings.like_lasso,
        "at most two points apart in more than half the cases; more strongly if in all",
    ),
    Claim(
        "lasso-dense",
        "figure-6",
        "AUC lost from the best to the densest model",
        "Lasso overfits, truncated gradient less",
        findings.lasso_overfits,
        "Lasso loses more on more than half the sets and a point more on average, both up to the same number of features; more strongly if on all sets",
    ),
)
