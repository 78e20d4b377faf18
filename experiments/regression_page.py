"""The page docs/regression.md, written from the results of ``python -m experiments.regression``."""

from collections.abc import Sequence
from typing import Any

WITHIN = 0.05  # what r2 may be below that of SGDRegressor, the better of the two

PAGE = """# Regression

<!-- written by python -m experiments.regression -->

If the labels are numbers, `dwindle train`, the estimators and River's regressor learn them as they come: prices, degrees or counts, with columns of any unit.
No scaler is needed.

```
dwindle train homes.csv --label-column price --model homes.parquet
```

## What happens

Unless `--no-standardize` is given (`standardize=False` in Python):

- **Labels** of the squared and the quantile loss are learned in units of their standard deviation from their mean, both of the labels so far. The model is in the labels' own unit: its weights are multiplied by the deviation, and its intercept has the mean added. The loss on the screen is in that unit too.
- **Features** that every example has are learned by their distance from their mean so far. A column of years from 1990 to 2020 is otherwise hardly different from the constant 1, and what the years say is learned slowly. The intercept makes up for the means, so the model is a plain sum of weight times value. With a `--gravity` of your own this is the update `centred`, which takes the place of `adaptive` if the shrinkage is truncation.
- **Gravity** acts on these scaled quantities: the same `--gravity` fits prices in euros and in thousands of euros. Without one, several are learned at once, by `ftrl` with a rate of 0.5 (chosen on the sets of this page, so none of them is unseen), and the model is the one with the fewest features whose loss is within 1 % of the best, or within a standard error of it.

Means and deviations are updated at each example, in order, and are part of a checkpoint. So batches, threads, and stopping and resuming change no bit, as elsewhere.
`--no-standardize` learns the labels as they are, with the update that you name: with `--update plain` that is the algorithm of the paper.

- A column in which a cell is missing or 0 is learned as it is from there on. If it is far from zero, years with gaps say, little is learned from it: fill the gaps, with the mean for instance.
- `Learner` does none of this unless asked: `Learner(Squared(), update=Centred(), scale_labels=True)`.
- Without an intercept, and with `--normalize`, labels are scaled but not centred, since no constant could make up for it.
- The Huber loss has a `--delta` in the unit of the labels, and Poisson regression predicts counts: their labels are learned as they are. Choose a delta of about the error that you expect, and scale labels that are far from 1 yourself.
- Features are centred for classes, too, and for every loss, where several gravities are learned at once; with one of your own `--update centred` does it.

## How good is it?

r² on a quarter of the rows that was held out, the mean of {seeds} shuffles. 1 is perfect, 0 is as good as the mean of the labels.
*Kept* is how many features, of how many, the model of dwindle has. dwindle and Vowpal Wabbit read the table as it is, in one pass, without options. `SGDRegressor` of scikit-learn has its numbers standardised by `StandardScaler` and its categories encoded; *one pass* has `max_iter=1`.

{table}

{verdict}

- **Real data**: diabetes is scikit-learn's, as it is handed out with columns of mean 0, and *as measured*. housing is the paper's. approval (a president's, from polls and the date as a number of days) and chicks (their weight by age and diet) come with River.
- **Generated data**: prices of homes around 250,000, with years, areas and categories; rentals of bicycles in each hour of two years; Friedman's first function of ten columns.
{limits}
## Run it again

```
make regression   # python -m experiments.regression; DWINDLE_DATA names a folder with housing
```

It took {seconds} seconds, with {versions}.
"""

COLUMNS = {
    "ours": "dwindle",
    "sgd_once": "SGDRegressor, one pass",
    "sgd": "SGDRegressor",
    "vw": "Vowpal Wabbit",
    "constant": "the mean",
}


def page(results: dict[str, Any]) -> str:
    """Return the text of the page."""
    about, rows = results["about"], results["sets"]
    behind = [f"{row['set']} ({-lead(row):.3f})" for row in rows if lead(row) < -WITHIN]
    return PAGE.format(
        table=_table(rows),
        verdict=verdict(rows),
        limits=f"- **Behind by more**: {', '.join(behind)}.\n" if behind else "",
        seeds=about["seeds"],
        seconds=about["seconds"],
        versions=", ".join(f"{name} {number}" for name, number in about["versions"].items()),
    )


def lead(row: dict[str, Any]) -> float:
    """Return by how much our r2 is above that of SGDRegressor, the better of the two."""
    r2 = row["r2"]
    return float(r2["ours"] - max(r2["sgd"], r2["sgd_once"]))


def verdict(rows: Sequence[dict[str, Any]]) -> str:
    """Say how often we are as good, and by how much worse at most."""
    good = sum(lead(row) >= -WITHIN for row in rows)
    worst = min(rows, key=lead)
    gap = lead(worst)
    far = f"the largest gap is {-gap:.3f} ({worst['set']})" if gap < 0 else "it is never below"
    return (
        f"The goal is an r² no more than {WITHIN} below that of `SGDRegressor`, the better of the two: "
        f"it is met on {good} of {len(rows)} sets; {far}."
    )


def _table(rows: Sequence[dict[str, Any]]) -> str:
    head = ["set", "rows", "columns", "kept", *COLUMNS.values()]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: dict[str, Any]) -> list[str]:
    r2 = (f"{row['r2'][who]:.3f}" for who in COLUMNS)
    kept = f"{row['kept']:.1f} of {row['features']:.0f}"
    return [row["set"], f"{row['rows']:,}", str(row["columns"]), kept, *r2]
