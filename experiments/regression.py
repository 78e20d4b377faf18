"""``python -m experiments.regression``: regression with no options, beside others with none.

All learn from the same rows in the same order. Ours and Vowpal Wabbit read the table as it is, in
one pass. scikit-learn's SGDRegressor has its columns standardised and its categories encoded: once
in one pass, and once as it comes, with as many passes as it likes.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it comes without types
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from vowpalwabbit import Workspace

from dwindle._base.errors import DataError
from dwindle.data.options import ReadOptions
from dwindle.runs.evaluate import evaluate
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from experiments import data
from experiments.regression_page import page
from experiments.storing import measure_and_store, versions

PACKAGES = ("dwindle", "numpy", "numba", "scikit-learn", "vowpalwabbit")
SEEDS = 5
HELD_OUT = 0.25
LABEL = "y"  # the name of the column

Floats = NDArray[np.float64]
Table = Any  # a data frame


def main() -> None:
    """Measure, write regression.json and the page."""
    measure_and_store("regression", __doc__, results, page)


def results() -> dict[str, Any]:
    """Compare on all sets."""
    found = [_shown(compared(name, make)) for name, make in SETS.items()]
    return {"about": {"seeds": SEEDS, "versions": versions(PACKAGES)}, "sets": found}


def compared(name: str, make: Callable[[], Table], seeds: int = SEEDS) -> dict[str, Any]:
    """Compute r2 on the part held out, of each, as the mean over several orders of the rows."""
    table = make()
    each, sizes = [], []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(table))
        rows = table.iloc[order]
        held = int(HELD_OUT * len(rows))
        split = rows[held:], rows[:held]
        r2, kept, features = our(*split)
        sizes.append((kept, features))
        each.append(
            {
                "ours": r2,
                "sgd_once": sgd(*split, max_iter=1, tol=None, shuffle=False),
                "sgd": sgd(*split, random_state=seed),
                "vw": their(*split),
                "constant": r2_score(split[1][LABEL], np.full(held, split[0][LABEL].mean())),
            }
        )
    mean = {who: float(np.mean([found[who] for found in each])) for who in each[0]}
    kept, features = np.mean(sizes, axis=0).tolist()
    about = {"set": name, "rows": len(table), "columns": table.shape[1] - 1}
    return about | {"r2": mean, "kept": kept, "features": features}


def our(train_part: Table, test_part: Table) -> tuple[float, int, int]:
    """What comes of ``dwindle train`` and ``dwindle evaluate`` on CSV files.

    It is the r2, how many features are kept, and of how many.
    """
    with TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("train.csv", "test.csv")]
        for path, part in zip(files, (train_part, test_part), strict=True):
            part.to_csv(path, index=False)
        model = Path(folder) / "model.parquet"
        reading = ReadOptions(label_column=LABEL)
        summary = train(files[:1], model, TrainSettings(reading=reading, loss="squared"))
        return float(evaluate(model, files[1:])["r2"]), summary.kept, summary.seen


def sgd(train_part: Table, test_part: Table, **settings: Any) -> float:
    """What comes of SGDRegressor with standardised columns and encoded categories."""
    x = train_part.drop(columns=LABEL)
    numbers = list(x.select_dtypes("number"))
    columns = make_column_transformer(
        (StandardScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore"), [name for name in x if name not in numbers]),
    )
    model = make_pipeline(columns, SGDRegressor(**settings)).fit(x, train_part[LABEL])
    return float(model.score(test_part.drop(columns=LABEL), test_part[LABEL]))


def their(train_part: Table, test_part: Table) -> float:
    """What comes of ``vw``."""
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("train.vw", "test.vw")]
        for path, part in zip(files, (train_part, test_part), strict=True):
            path.write_text("".join(map(_line, part.to_dict("records"))), encoding="utf-8")
        model, said = str(Path(folder) / "model"), Path(folder) / "said"
        Workspace("--quiet", arg_list=["-d", str(files[0]), "-f", model]).finish()
        Workspace(
            "--quiet -t", arg_list=["-d", str(files[1]), "-i", model, "-p", str(said)]
        ).finish()
        return float(r2_score(test_part[LABEL], np.loadtxt(said)))


def _line(row: dict[str, Any]) -> str:
    """Write a row as VW text."""
    label = row.pop(LABEL)
    features = (
        f"{name}={value.replace(' ', '_')}" if isinstance(value, str) else f"{name}:{value:.8g}"
        for name, value in row.items()
    )
    return f"{label:.8g} | {' '.join(features)}\n"


# The sets: those that are real first


def diabetes(*, scaled: bool = True) -> Table:
    """Return scikit-learn's set, by default with columns of mean 0, as it is handed out."""
    found = load_diabetes(as_frame=True, scaled=scaled)
    return found.data.assign(**{LABEL: found.target})


def housing() -> Table:
    """Return the paper's set: prices of homes near Boston."""
    path = data.find("uci/housing/housing.data")
    if path is None:
        raise DataError("uci/housing/housing.data: is not here, and is not downloaded for you")
    found = pd.DataFrame(np.loadtxt(path)).add_prefix("c")
    return found.rename(columns={found.columns[-1]: LABEL})


def approval() -> Table:
    """Return River's set: a president's approval, from polls and the date as a number of days."""
    from river.datasets import TrumpApproval  # noqa: PLC0415  (takes a second)

    rows: Any = TrumpApproval()  # type: ignore[no-untyped-call]  # River has few types
    return pd.DataFrame([{**x, LABEL: y} for x, y in rows])


def chicks() -> Table:
    """Return River's set: the weight of chicks by age and diet."""
    from river.datasets import ChickWeights  # noqa: PLC0415  (takes a second)

    rows: Any = ChickWeights()  # type: ignore[no-untyped-call]  # River has few types
    found = pd.DataFrame([{**x, LABEL: float(y)} for x, y in rows]).drop(columns="chick")
    return found.assign(diet="d" + found["diet"].astype(str))


def prices(n: int = 5000) -> Table:
    """Generate prices of homes around 250,000: columns of several scales, and categories."""
    rng = np.random.default_rng(1)
    area, year = rng.gamma(8, 14, n), rng.integers(1920, 2024, n)
    rooms = np.clip(np.round(area / 28 + rng.normal(0, 0.7, n)), 1, 9)
    distance = rng.exponential(6, n)
    worth = {"Rome": 30_000, "Oslo": 60_000, "Bonn": 0, "Lyon": 10_000, "Graz": -15_000}
    city = rng.choice(list(worth), n, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    heating = rng.choice(["gas", "oil", "heat pump"], n)
    price = (
        20_000 + 1700 * area + 6000 * rooms + 450 * (year - 1920) - 3000 * distance
        + np.vectorize(worth.get)(city) + 9000 * (heating == "heat pump")
        + rng.normal(0, 10_000, n)
    )  # fmt: skip
    columns = {"area": area, "rooms": rooms, "year": year, "distance": distance}
    return pd.DataFrame({**columns, "city": city, "heating": heating, LABEL: price})


def rentals(n: int = 17_000) -> Table:
    """Generate the bicycles rented in each hour of two years: counts, by weather and time."""
    rng = np.random.default_rng(2)
    hour, day = np.arange(n) % 24, np.arange(n) // 24
    kelvin = 288 + 10 * np.sin(2 * np.pi * day / 365) + 4 * np.sin(2 * np.pi * (hour - 9) / 24)
    kelvin = kelvin + rng.normal(0, 2, n)
    humidity = np.clip(70 - 1.2 * (kelvin - 288) + rng.normal(0, 10, n), 10, 100)
    wind, year = rng.gamma(2, 6, n), 2011 + day // 365
    wave = 1.2 * np.sin(2 * np.pi * (hour - 8) / 24)
    weather = 0.03 * (kelvin - 288) - 0.006 * humidity - 0.005 * wind
    count = rng.poisson(3 * np.exp(3 + wave + weather + 0.4 * (year - 2011)))
    columns = {"kelvin": kelvin, "humidity": humidity, "wind": wind, "year": year}
    times = {"hour": [f"h{h}" for h in hour], "weekday": [f"d{d % 7}" for d in day]}
    return pd.DataFrame({**times, **columns, LABEL: count.astype(float)})


def friedman(n: int = 5000) -> Table:
    """Generate Friedman's first function of ten columns, five of which are noise."""
    x, y = make_friedman1(n, noise=1.0, random_state=0)
    return pd.DataFrame(x).add_prefix("c").assign(**{LABEL: y})


SETS: dict[str, Callable[[], Table]] = {
    "diabetes": diabetes,
    "diabetes, as measured": lambda: diabetes(scaled=False),
    "housing": housing,
    "approval": approval,
    "chicks": chicks,
    "prices": prices,
    "rentals": rentals,
    "friedman": friedman,
}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return the same, once it is on the screen."""
    print(f"{row['set']:22}", *(f"{k} {v:8.3f}" for k, v in row["r2"].items()), flush=True)
    return row


if __name__ == "__main__":
    main()
