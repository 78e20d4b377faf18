"""Each claim of the paper has our number and the verdict on it."""

import pytest

from experiments.claims import CLAIMS, judged
from experiments.findings import DIFFERS, HOLDS, STRONGER
from experiments.measures import (
    CONTROL,
    LASSO,
    RESTED,
    ROUNDING,
    SUBGRADIENT,
    THETA_IS_G,
    TRUNCATION,
    Line,
)
from experiments.variants import ALONE, COOLDOWN, SECTION5, SOFT, VARIANTS
from helpers.experiment_results import line_of, only

FIND = {claim.key: claim.find for claim in CLAIMS}


def run(kept, name="ad", random=0, tolerance=0.01, seed=0, model="alone", **both):
    """A run on 100 features; what is given of both is (dense, sparse)."""
    dense, sparse = ({key: value[k] for key, value in both.items()} for k in (0, 1))
    return {
        "set": name, "random": random, "tolerance": tolerance, "seed": seed, "features": 100,
        "family": "paper",
        "models": {
            "dense": {"kept": 100, "test_auc": None, **dense},
            model: {"kept": kept - 1, "test_auc": None, **sparse},  # the constant is kept too
        },
    }  # fmt: skip


def found(key, results, variant=ALONE):
    return tuple(FIND[key](results, variant))


@pytest.mark.parametrize(
    ("key", "kept", "where", "verdict"),
    [
        ("removed-ad-random", 29, {"random": 1000}, HOLDS),
        ("removed-ad-random", 31, {"random": 1000}, DIFFERS),
        ("removed-ad-random", 14, {"random": 1000}, STRONGER),
        ("removed-ad-random-more", 9, {"random": 1000, "tolerance": 0.013}, HOLDS),
        ("removed-ad", 17, {}, HOLDS),
        ("removed-ad", 40, {}, DIFFERS),
    ],
)
def test_of_ad_as_much_is_removed_as_is_not_kept(key, kept, where, verdict):
    runs = [run(kept + k, seed=k, **where) for k in (-1, 0, 1)]
    removed = 100 - kept
    text = f"{removed}.0 % ({removed - 1}.0 to {removed + 1}.0)"
    assert found(key, only(sparsified=runs)) == (text, verdict)


def test_of_rcv1_more_than_75_percent_is_asked():
    runs = [run(kept, "rcv1") for kept in (20, 22, 24)]
    assert found("removed-rcv1", only(sparsified=runs)) == ("78.0 % (76.0 to 80.0)", HOLDS)
    other = [each | {"family": "logistic"} for each in runs]
    assert FIND["removed-rcv1"](only(sparsified=other), ALONE) is None


def test_each_variant_has_a_verdict_of_its_own_and_an_empty_model_holds_nothing():
    cooled = only(sparsified=[run(10, random=1000, model="cooldown")])
    assert FIND["removed-ad-random"](cooled, ALONE) is None
    assert found("removed-ad-random", cooled, COOLDOWN) == ("90.0 %", STRONGER)
    emptied = only(sparsified=[run(1, random=1000)])
    assert found("removed-ad-random", emptied) == ("99.0 %", DIFFERS)
    both = [run(1, "wpbc", 1000), run(5, "crx", 1000)]
    assert found("removed-random", only(sparsified=both))[0].startswith("on 1 of 1 sets")


def test_a_verdict_says_in_how_many_seeds_the_claim_holds_by_itself():
    runs = [run(kept, random=1000, seed=seed) for seed, kept in enumerate((20, 28, 50))]
    results = only(sparsified=runs) | {"about": {"seeds": [0, 1, 2]}}
    [claim] = [claim for claim in CLAIMS if claim.key == "removed-ad-random"]
    assert judged(claim, results, ALONE).verdict == "holds (2 of 3)"
    assert judged(claim, results, SECTION5) is None


@pytest.mark.parametrize(
    ("kept", "count", "verdict"), [((2, 5), 2, STRONGER), ((2, 9), 2, HOLDS), ((2, 11), 1, DIFFERS)]
)
def test_of_every_set_but_ad_90_percent_are_asked(kept, count, verdict):
    runs = [run(k, name, 1000) for k, name in zip(kept, ("crx", "zoo"), strict=True)]
    text = f"on {count} of 2 sets; from {100 - kept[1]}.0 % (zoo) to 98.0 % (crx)"
    assert found("removed-random", only(sparsified=[*runs, run(50, "ad", 1000)])) == (text, verdict)


@pytest.mark.parametrize(
    ("less", "verdict"), [(0, HOLDS), (0.009, HOLDS), (0.02, DIFFERS), (-0.02, STRONGER)]
)
def test_the_accuracy_on_ad_is_compared_within_a_point(less, verdict):
    dense, sparse, sparser = (paper - less for paper in (0.965, 0.959, 0.954))
    runs = [
        run(9, random=1000, test=(dense, sparse)),
        run(9, random=1000, tolerance=0.013, test=(dense, sparser)),
    ]
    text = ", ".join(f"{100 * each:.1f} %" for each in (dense, sparse, sparser))
    assert found("ad-accuracy", only(sparsified=runs)) == (text, verdict)


def test_more_with_random_counts_the_sets():
    runs = [run(50, "crx"), run(10, "crx", 1000), run(50, "zoo"), run(60, "zoo", 1000)]
    assert found("more-with-random", only(sparsified=runs)) == ("on 1 of 2 sets", DIFFERS)
    assert found("more-with-random", only(sparsified=runs[:2])) == ("on 1 of 1 sets", STRONGER)


def test_ratios_of_auc_are_counted_over_sets_with_two_classes():
    runs = [
        run(9, "crx", test_auc=(0.9, 0.95)),
        run(9, "crx", 1000, test_auc=(1.0, 0.98)),
        run(9, "wbc", 1000, test_auc=(1.0, 0.5)),
        run(9, "zoo"),
    ]
    text = "in 2 of 3 cases; the least is 0.500 (wbc with random features)"
    assert found("auc-ratio", only(sparsified=runs)) == (text, HOLDS)
    text = "by more than a thousandth in {} of {} cases"
    assert found("auc-better", only(sparsified=runs)) == (text.format(1, 3), DIFFERS)
    runs += [run(9, "ad", test_auc=(0.9, 0.91)), run(9, "ad", 1000, test_auc=(0.9, 0.9005))]
    assert found("auc-better", only(sparsified=runs)) == (text.format(2, 5), HOLDS)


@pytest.mark.parametrize(
    ("later", "text", "verdict"),
    [
        (0.795, "in 8 of 8 cases no more than 0.01 lower; on average -0.005", HOLDS),
        (0.7, "in 0 of 8 cases no more than 0.01 lower; on average -0.100", DIFFERS),
        (0.9, "in 8 of 8 cases no more than 0.01 lower; on average +0.100", STRONGER),
    ],
)
def test_a_larger_k_is_compared_at_each_number_of_features(later, text, verdict):
    results = only(
        *(
            line_of(Line("truncation", every), {5: 0.8 if every == 1 else later})
            for every in (1, 10, 20)
        )
    )
    assert found("truncation-k", results) == (text, verdict)


def by_k(method, name, kept, auc):
    """A curve for each K with one model that has this AUC."""
    return only(*(line_of(Line(method, every), {n: auc}, name) for every, n in kept.items()))


@pytest.mark.parametrize(
    ("kept", "text", "verdict"),
    [
        ({1: 60, 10: 30, 20: 30}, "60, 30, 30", HOLDS),
        ({1: 76, 10: 10, 20: 10}, "76, 10, 10", STRONGER),
        ({1: 25, 10: 25, 20: 25}, "25, 25, 25", DIFFERS),
    ],
)
def test_features_for_an_auc_on_spambase_are_the_fewest_that_reach_it(kept, text, verdict):
    assert found("spambase-k", by_k("truncation", "spambase", kept, 0.89)) == (text, verdict)
    unreached = by_k("truncation", "spambase", kept, 0.88)
    assert found("spambase-k", unreached) == ("never, never, never", DIFFERS)


def test_where_there_is_no_k_the_fewest_features_are_compared_with_the_paper_s_fewest():
    cooled, control = (line_of(line, {12: 0.9}, "spambase") for line in (RESTED, CONTROL))
    assert found("spambase-k", only(cooled), COOLDOWN) == ("12", STRONGER)
    assert found("spambase-k", only(control), SOFT) == ("12", STRONGER)
    late = by_k("section5", "spambase", {1: 31, 10: 92, 20: 160}, 0.89)
    assert found("spambase-k", late, SECTION5) == ("31, 92, 160", DIFFERS)


def test_features_for_an_auc_on_ad_are_those_of_rounding():
    kept = {1: 322, 10: 13, 20: 7}
    assert found("rounding-ad", by_k("rounding", "ad", kept, 0.94)) == ("322, 13, 7", HOLDS)


def test_an_auc_that_k_1_never_reaches_is_reached_more_strongly():
    reached = by_k("rounding", "ad", {10: 13, 20: 7}, 0.94)["curves"]
    results = only(line_of(Line("rounding", 1), {5: 0.6}), *reached)
    assert found("rounding-ad", results) == ("never, 13, 7", STRONGER)


def test_the_gain_of_a_larger_k_is_compared_between_both_methods():
    results = only(
        *(
            line_of(Line(method, every), {5: auc if every > 1 else 0.6})
            for method, auc in (("truncation", 0.7), ("rounding", 0.9))
            for every in (1, 10, 20)
        )
    )
    text = "+0.300 for rounding, +0.100 for truncated gradient"
    assert found("rounding-k", results) == (text, HOLDS)


@pytest.mark.parametrize(("near", "verdict"), [(0.605, HOLDS), (0.62, DIFFERS)])
def test_theta_g_is_like_rounding_within_a_point_however_far_others_are(near, verdict):
    results = only(
        line_of(ROUNDING, {1: 0.6}),
        line_of(THETA_IS_G, {1: near}),
        line_of(TRUNCATION, {1: 0.7}),
    )
    text = f"{near - 0.6:.3f} apart; of all θ the nearest is {near - 0.6:.3f} apart"
    assert found("theta-g", results) == (text, verdict)


@pytest.mark.parametrize(
    ("infinite", "verdict"), [(0.9, STRONGER), (0.805, HOLDS), (0.79, DIFFERS)]
)
def test_infinite_theta_is_compared_with_the_best_finite_one(infinite, verdict):
    results = only(
        line_of(TRUNCATION, {1: infinite}),
        line_of(THETA_IS_G, {1: 0.7}),
        line_of(Line("truncation", 10, 0.1), {1: 0.8}),
    )
    text = f"{infinite:.3f}; the best finite one, θ = 0.1, 0.800"
    assert found("theta-infinite", results) == (text, verdict)


@pytest.mark.parametrize(
    ("mine", "text", "verdict"),
    [
        (0.9, "3 of 3 cases no more than 0.01 lower; on average +0.100; in 3 more than", STRONGER),
        (0.8, "3 of 3 cases no more than 0.01 lower; on average +0.000; in 0 more than", DIFFERS),
        (0.7, "0 of 3 cases no more than 0.01 lower; on average -0.100; in 0 more than", DIFFERS),
    ],
)
def test_truncated_gradient_competes_with_the_better_of_two(mine, text, verdict):
    results = only(
        line_of(TRUNCATION, {5: mine}), line_of(ROUNDING, {5: 0.6}), line_of(SUBGRADIENT, {5: 0.8})
    )
    assert found("competitive", results) == (f"in {text} 0.01 higher", verdict)


def test_lasso_is_alike_within_two_points_with_few_features():
    results = only(line_of(TRUNCATION, {5: 0.7, 20: 0.8}), line_of(LASSO, {5: 0.71, 20: 0.9}))
    assert found("lasso-sparse", results) == ("in 1 of 2 cases at most 0.02 apart", DIFFERS)
    same = only(*(line_of(line, {5: 0.7}) for line in (TRUNCATION, LASSO)))
    assert found("lasso-sparse", same) == ("in 2 of 2 cases at most 0.02 apart", STRONGER)


def test_lasso_overfits_if_it_loses_more_at_the_dense_end():
    dense = {TRUNCATION: 0.88, LASSO: 0.7}
    results = only(*(line_of(line, {5: 0.9, 900: auc}) for line, auc in dense.items()))
    text = "0.200 lost by Lasso, 0.020 by truncated gradient; Lasso loses more on 1 of 1 sets"
    assert found("lasso-dense", results) == (text, STRONGER)
    results = only(*(line_of(line, {5: 0.9, 900: 0.9}) for line in dense))
    assert found("lasso-dense", results)[1] == DIFFERS


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)
def test_a_claim_without_its_data_is_left_out(claim):
    assert all(claim.find(only(), variant) is None for variant in VARIANTS)


def test_the_paper_s_claims_are_counted_once():
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS) == 18
