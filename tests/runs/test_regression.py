"""Regression without being told anything: as good as a scaled SGDRegressor, in the label's unit."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

pytest.importorskip("river")
pytest.importorskip("vowpalwabbit")  # the experiment compares with it

from dwindle import Stopped, TrainSettings, TruncatedGradientRegressor, train
from dwindle.data.options import ReadOptions
from dwindle.estimators import river
from dwindle.model.merge import merged
from dwindle.model.model import Model
from experiments import regression
from experiments.regression_page import WITHIN, lead
from helpers.commands import dwindle
from helpers.observing import heard
from helpers.stop_after import stopped_after

PRICES = regression.prices(1200)


@pytest.fixture
def prices(tmp_path):
    """Prices around 250,000, to learn from and to test on."""
    files = tmp_path / "prices.csv", tmp_path / "test.csv"
    PRICES[:900].to_csv(files[0], index=False)
    PRICES[900:].to_csv(files[1], index=False)
    return files


def measured(model, data):
    return json.loads(dwindle("evaluate", model, data, "--json", text=True).stdout)


@pytest.mark.parametrize("name", ["diabetes", "diabetes, as measured", "prices", "friedman"])
def test_regression_with_no_options_is_as_good_as_a_scaled_sgd_regressor(name):
    make = {"prices": lambda: PRICES, "friedman": lambda: regression.friedman(1500)}
    row = regression.compared(name, make.get(name, regression.SETS[name]), seeds=2)
    assert lead(row) > -WITHIN, row


def test_prices_are_learned_from_a_file_and_the_model_is_in_their_unit(prices, tmp_path):
    data, test = prices
    dwindle("train", data, "--label-column", "y", "-m", tmp_path / "m", "-q")
    found = measured(tmp_path / "m", test)
    assert found["r2"] > 0.95
    assert Model.load(tmp_path / "m").weights()["year"] == pytest.approx(450, rel=0.2)
    told = dwindle(
        "train", data, "--label-column", "y", "-m", tmp_path / "raw", "-q", "--no-standardize"
    )
    assert told.returncode == 0
    assert measured(tmp_path / "raw", test)["r2"] < 0


def test_columns_that_tell_nothing_of_the_price_are_left_out(tmp_path):
    """Also if they are far from zero; and the frontier's losses are in the unit of the prices."""
    noise = np.random.default_rng(0).normal(5000, 30, (900, 20))
    table = PRICES[:900].assign(**{f"noise{j}": noise[:, j] for j in range(20)})
    table.to_csv(tmp_path / "noisy.csv", index=False)
    told = ("--label-column", "y", "-m", tmp_path / "m", "--json")
    shown = dwindle("train", tmp_path / "noisy.csv", *told, text=True).stdout
    summary = json.loads(shown.splitlines()[-1])
    kept = Model.load(tmp_path / "m").weights()
    assert {"area", "year", "distance"} <= kept.keys()
    assert sum(name.startswith("noise") for name in kept) <= 4
    assert {lane["kept"] for lane in summary["frontier"]} >= {32, len(kept)}
    [chosen] = [lane for lane in summary["frontier"] if lane["chosen"]]
    assert np.sqrt(chosen["judged"]) == pytest.approx(10_000, rel=0.5)  # the noise of the prices


@pytest.mark.slow
def test_the_table_of_numbers_has_no_auc_and_the_summary_is_in_their_unit(tmp_path):
    (tmp_path / "p.csv").write_text(
        "label,x\n" + "".join(f"{i % 9}.5,{i % 9}\n" for i in range(99))
    )
    said = dwindle("train", tmp_path / "p.csv", "-m", tmp_path / "m", text=True).stderr
    lines = said.splitlines()
    assert lines[0].split() == ["examples", "loss", "since", "last", "alive", "seen"]
    assert len(lines[0]) == len(lines[1])
    figures = {line.split()[0]: line.split()[1] for line in lines if line}
    assert float(figures["RMSE"]) ** 2 == pytest.approx(float(figures["loss"]), abs=1e-4)
    assert float(figures["r2"]) > 0.5


def test_tune_finds_a_model_of_the_prices(prices, tmp_path):
    data, test = prices
    told = ("--label-column", "y", "-m", tmp_path / "m", "-q", "--folds", 2, "--passes", 1)
    dwindle("tune", data, *told)
    assert measured(tmp_path / "m", test)["r2"] > 0.95


def test_an_estimator_needs_no_scaler():
    x, y = load_diabetes(return_X_y=True, scaled=False)
    model = TruncatedGradientRegressor().fit(x[:300], y[:300])
    assert model.score(x[300:], y[300:]) > 0.4
    assert TruncatedGradientRegressor(loss="quantile").fit(x, y).score(x, y) > 0.3
    parts = TruncatedGradientRegressor(shuffle=False)
    for i in range(0, 300, 60):
        parts.partial_fit(x[i : i + 60], y[i : i + 60])
    whole = TruncatedGradientRegressor(shuffle=False).fit(x[:300], y[:300])
    assert np.array_equal(parts.predict(x), whole.predict(x))


def test_river_s_regressor_needs_no_scaler():
    ours = river.TruncatedGradientRegressor()
    rows = PRICES.to_dict("records")
    error, apart = 0.0, 0.0
    for row in rows:
        y = row.pop("y")
        error += abs(ours.predict_one(row) - y)
        apart += abs(y - PRICES["y"].mean())
        ours.learn_one(row, y)
    assert error < 0.35 * apart


@pytest.mark.parametrize("cut", [1, 2])
def test_a_run_that_was_stopped_goes_on_to_the_same_model(prices, tmp_path, cut):
    how = TrainSettings(
        gravity=1e-3,
        passes=2,
        holdout=7,
        cooldown=20,
        reading=ReadOptions(label_column="y", block_size=20_000),
    )
    data = [str(prices[0])]
    train(data, tmp_path / "whole", how)
    with pytest.raises(Stopped):
        train(data, tmp_path / "m", how, observer=heard(stopping=stopped_after(cut)))
    train(data, tmp_path / "m", how, resume=True)
    whole, parts = (Model.load(tmp_path / name) for name in ("whole", "m"))
    assert (parts.weights(), parts.intercept) == (whole.weights(), whole.intercept)


def test_learning_goes_on_from_a_model_of_prices_and_from_merged_ones(prices, tmp_path):
    _, test = prices
    label = ("--label-column", "y", "-q")
    for k, part in enumerate((PRICES[:450], PRICES[450:900])):
        part.to_csv(tmp_path / f"{k}.csv", index=False)
        dwindle("train", tmp_path / f"{k}.csv", *label, "-m", tmp_path / f"m{k}")
    both = merged([Model.load(tmp_path / f"m{k}") for k in range(2)])
    n, mean, squares = both.metadata["label_moments"]
    y = PRICES["y"][:900].to_numpy().astype(np.float32).astype(float)
    assert (n, mean) == (900, pytest.approx(y.mean(), rel=1e-12))
    assert squares == pytest.approx(((y - y.mean()) ** 2).sum(), rel=1e-9)
    both.save(tmp_path / "both")
    for start in ("m0", "both"):
        rest = tmp_path / "1.csv"
        dwindle("train", rest, *label, "--start-from", tmp_path / start, "-m", tmp_path / "on")
        assert measured(tmp_path / "on", test)["r2"] > 0.95


def test_a_column_that_never_changes_is_left_alone():
    """Rounding makes the mean of 0.1 differ from it in the last bits, which tell nothing."""
    table = PRICES[:400].assign(always=0.1)
    x, y = table.drop(columns="y"), table["y"]
    model = TruncatedGradientRegressor(shuffle=False).fit(x, y)
    without = TruncatedGradientRegressor(shuffle=False).fit(x.drop(columns="always"), y)
    assert model.weights().get("always", 0.0) == 0.0
    assert np.array_equal(model.predict(x), without.predict(x.drop(columns="always")))


def test_numbers_that_are_missing_or_zero_do_no_harm(tmp_path):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"year": 1990.0 + rng.integers(0, 30, 3000), "rooms": rng.poisson(1, 3000)})
    y = 1e5 + 2000 * (x["year"] - 1990) + 9000 * x["rooms"] + rng.normal(0, 3000, 3000)
    assert TruncatedGradientRegressor().fit(x, y).score(x, y) > 0.95
    missing = x.assign(year=x["year"].mask(rng.random(3000) < 0.05), y=y)
    missing.to_csv(tmp_path / "missing.csv", index=False)
    dwindle("train", tmp_path / "missing.csv", "--label-column", "y", "-m", tmp_path / "m", "-q")
    # With gaps for 0 no line fits the years, but nothing is worse than without them.
    assert measured(tmp_path / "m", tmp_path / "missing.csv")["r2"] > 0.15
