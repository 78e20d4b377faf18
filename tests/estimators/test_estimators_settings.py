"""Every setting of the estimators does what it says, and what no run could use is refused by name."""

import numpy as np
import pytest

from dwindle import (
    Averaged,
    Batch,
    DataError,
    DivergedError,
    Learner,
    Logistic,
    Poisson,
    Quantile,
    TruncatedGradientClassifier,
    TruncatedGradientRegressor,
    Truncation,
)
from dwindle.cli.train import command as train_command
from helpers.matrices import data, in_order, numbers, same

# A stream comes as it comes; on the command line, --holdout alone stops early, --start-from goes on,
# and there is an option for each kind of column.
ONLY_HERE = {
    *("shuffle", "random_state", "early_stopping", "holdout", "columns", "verbose", "warm_start"),
}


def test_the_keywords_are_the_options_of_the_command_line():
    defaults = train_command.make_context("train", ["data", "-m", "m"]).params
    for name, default in TruncatedGradientRegressor().get_params().items():
        if name not in {*ONLY_HERE, "gravity"}:
            assert default == defaults[name], name
    assert defaults["gravity"] == "auto"


REFUSED = [
    ({"loss": "log"}, "loss must be one of auto, logistic, .*, got 'log'"),
    (
        {"shrinkage": "l1"},
        "shrinkage must be one of truncation, elastic-net, rounding, subgradient, none, got",
    ),
    ({"shrinkage": "rounding"}, "shrinkage rounding needs a threshold"),
    (
        {"update": "adam"},
        "update must be one of auto, adaptive, centred, plain, averaged, ftrl, rda, got 'adam'",
    ),
    ({"tau": 0.9}, "tau is a setting of loss quantile, not of auto: got 0.9"),
    (
        {"shrinkage": "none", "gravity": 0.1},
        "gravity is a setting of shrinkage truncation or elastic-net",
    ),
    ({"shrinkage": Truncation(0.1), "gravity": 0.2}, "gravity is a setting of shrinkage trunc"),
    ({"gravity": -1.0}, "gravity must be 0 or more, got -1"),
    ({"learning_rate": 0.0}, "learning_rate must be finite and above 0"),
    ({"passes": 0}, "passes must be a whole number, 1 or more, got 0"),
    ({"keep": -1}, "keep must be a whole number, 0 or more, got -1"),
    ({"holdout": 1}, "holdout must be a whole number, 2 or more, got 1"),
    ({"patience": 0}, "patience must be a whole number, 1 or more, got 0"),
    ({"cooldown": -1}, "cooldown must be a whole number, 0 or more, got -1"),
    ({"loss": "poisson"}, r"Poisson\(\) cannot tell classes apart: its labels must be 0 or more"),
    ({"early_stopping": True, "holdout": "a.svm"}, "holdout must be a number for a matrix"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_a_setting_that_no_run_could_use_is_refused_by_name(wrong, message):
    x, y = data(50, 20)
    with pytest.raises(ValueError, match=message):
        TruncatedGradientClassifier(**wrong).fit(x, y)


def test_a_setting_that_changes_while_learning_is_refused():
    x, y = data(50, 20)
    model = in_order().partial_fit(x, y, classes=[0, 1])
    model.set_params(gravity=0.5)
    with pytest.raises(
        ValueError, match=r"gravity was 0\.001 when the learning began, and now it is 0\.5"
    ):
        model.partial_fit(x, y)
    model.fit(x, y)


def test_keep_shows_and_predicts_with_the_heaviest_and_learning_goes_on_with_all():
    x, y = data(classes=3)
    all_of, few = in_order(), in_order(keep=7)
    for i in range(0, 400, 200):
        for model in (all_of, few):
            model.partial_fit(x[i : i + 200], y[i : i + 200], classes=[0, 1, 2])
        dense = few.coef_.toarray()
        assert (np.count_nonzero(dense, axis=1) == 7).all()
        for k in range(3):
            heaviest = np.argsort(-np.abs(all_of.coef_.toarray()[k]), kind="stable")[:7]
            assert set(np.flatnonzero(dense[k])) == set(heaviest)
        assert np.allclose(x @ dense.T + few.intercept_, few.decision_function(x))
    assert same(few.set_params(keep=None).coef_, all_of.coef_)


def test_averaged_is_the_averaged_update():
    x, y = data()
    learner = Learner(Logistic(), Truncation(1e-3), Averaged(), 0.1)
    learner.learn(Batch.from_csr(x, 2 * y - 1))
    model = in_order(update="averaged", learning_rate=0.1).fit(x, y)
    assert model.weights() == learner.weights()


def test_shuffling_is_anew_in_each_pass_and_the_same_for_the_same_seed():
    x, y = data()

    def fitted(seed):
        return TruncatedGradientClassifier(gravity=1e-3, passes=2, random_state=seed).fit(x, y)

    assert same(fitted(3).coef_, fitted(3).coef_)
    assert not same(fitted(3).coef_, fitted(4).coef_)
    rng = np.random.RandomState(3)
    order = np.concatenate([rng.permutation(400), rng.permutation(400)])
    assert same(fitted(3).coef_, in_order().fit(x[order], y[order]).coef_)


def test_early_stopping_keeps_the_best_pass():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 60)), rng.integers(0, 2, 120)  # noise: each pass makes it worse
    model = TruncatedGradientClassifier(
        passes=30, early_stopping=True, holdout=3, patience=2, shuffle=False
    ).fit(x, y)
    assert model.n_iter_ < 30
    held = np.arange(1, 121) % 3 == 0
    best = TruncatedGradientClassifier(passes=model.n_iter_ - 2, shuffle=False).fit(
        x[~held], y[~held]
    )
    assert same(model.coef_, best.coef_)


def test_verbose_shows_the_table_of_the_command_line(capfd):
    x, y = data()
    silent, loud = in_order(passes=2), in_order(passes=2, verbose=True)
    assert same(silent.fit(x, y).coef_, loud.fit(x, y).coef_)
    table = capfd.readouterr().err.splitlines()
    assert table[0].split() == ["pass", "examples", "loss", "since", "last", "AUC", "alive", "seen"]
    told = [tuple(map(int, line.split()[:2])) for line in table[1:]]
    assert told == [(1, 2**k) for k in range(9)] + [(1, 400), (2, 512), (2, 800)]
    TruncatedGradientClassifier(early_stopping=True, verbose=True).fit(*data(classes=3))
    assert "pass 1: holdout loss" in capfd.readouterr().err


def test_losses_of_a_regressor_are_what_they_say():
    x, _ = numbers()
    count = np.random.default_rng(0).poisson(np.exp(0.5 + x[:, [0]].toarray().ravel()))
    mean = TruncatedGradientRegressor(loss="poisson", passes=5).fit(x, count).predict(x)
    assert (mean > 0).all()
    assert abs(mean.mean() - count.mean()) < 0.5
    with pytest.raises(DataError, match="row 0: with Poisson a label must be 0 or more, got -1"):
        TruncatedGradientRegressor(loss=Poisson()).fit(x, -1 - count * 0)
    high = TruncatedGradientRegressor(loss=Quantile(0.9), passes=20).fit(x, count).predict(x)
    assert 0.8 < (count <= high).mean() < 1


def test_divergence_names_the_row():
    x = np.full((100, 1), 1e3)
    model = TruncatedGradientRegressor(
        update="plain", learning_rate=1e3, shuffle=False, standardize=False
    )
    with pytest.raises(DivergedError, match=r"row \d+: the prediction is .*; lower the rate"):
        model.fit(x, np.ones(100))
