"""The page docs/defaults.md, written from the results of ``python -m experiments.defaults``."""

from collections.abc import Sequence
from typing import Any

from experiments.auto.measures import TUNED_ON

SHARE = 0.9  # of the sets on which we want to be as good or better
WORST = 1.02  # what our loss may be of theirs, at most
ALIKE = 0.0005  # what shows in the table is compared, three digits of it

PAGE = """# How good are the defaults?

<!-- written by python -m experiments.defaults -->

How good is the model of `dwindle train data`, without any options, beside that of `vw` without any options?
{verdict}

Both read the same file in the same order, in one pass.
The progressive loss is the mean loss of predictions that were made before learning from the example; AUC and test loss are measured on a held-out part.
A ratio below 1 means that dwindle's loss is the lower one.
The defaults were chosen with these very sets in sight, so the table says how well one choice suits all of them, and not what to expect of another set. The gravities, and the rule that chooses one of them, were tuned on {tuned}; [Sparse by itself](auto.md) has new sets, too.

{table}

- **Options given** are only those that cannot be left out. Vowpal Wabbit is told that labels are classes (`--loss_function logistic`; by default it treats them as numbers), which dwindle recognises from the labels. Both are told which two namespaces to multiply in eat and clicks.
- **The data sets** are rcv1 and a9a, shuffled; the generated ad log and fwumious_wabbit's who-eats-what of `benchmarks/data.py` (ads, eat); the output of `dwindle generate ads` (clicks); and the paper's eleven UCI sets, as they are and standardised (*scaled*: mean 0, standard deviation 1), averaged over {shuffles} shuffles.
- **Regression** (housing, zoo) uses squared loss and has no AUC. Vowpal Wabbit clips predictions to the range of labels seen so far, dwindle does not.
- **Hash collisions.** By default Vowpal Wabbit has 2^18 weights, which features share. *Ratio, -b 24* is dwindle's progressive loss over Vowpal Wabbit's with 2^24 weights, where there are more than 2^18 features. dwindle's features share no weights.

## What the defaults are, and why

Eight models go through the data together, each with its own gravity and [demand for evidence](choosing-gravity.md), and the one with the fewest features that predicts about as well as the best is kept: see [Sparse by itself](auto.md). For two classes they learn by `{update}` with a learning rate of {rate:g}; a progressive prediction is that of the model that was best so far.

- Each feature has its own learning rate, in a unit of its own: the root mean square of its values in the examples that have it. So neither rare features nor the scale of a column need attention, nor do columns with a few values far above the others.
- A step is divided by the length of its example, in the same units. A step in n features thus moves the prediction by about √n instead of n, and one rate suits short and long examples. Vowpal Wabbit divides by the length of an average example.
- `beta` keeps the first steps of a feature short, which makes early predictions with rare features better. It must not be large: where most values are far below the unit of their column, learning would be slow.
- The loss follows from the labels: logistic for classes, two or several, and squared for numbers. Several classes have [other defaults](several-classes.md#how-good-it-is).
{losing}
## Run it again

```
make defaults   # python -m experiments.defaults; DWINDLE_DATA names a folder with the data sets
```

It took {seconds} seconds, with {versions}.
"""

LOSING = """
Where its loss is more than {worst:.0f} % higher: {sets}.
"""


def page(results: dict[str, Any]) -> str:
    """The text of the page."""
    about, rows = results["about"], results["sets"]
    losing = [f"{row['set']} ({ratio(row):.3f})" for row in rows if ratio(row) > WORST]
    return PAGE.format(
        table=_table(rows),
        tuned=f"{', '.join(TUNED_ON[:-1])} and {TUNED_ON[-1]}",
        verdict=verdict(rows),
        shuffles=max(row["shuffles"] for row in rows),
        update=about["update"],
        rate=about["learning_rate"],
        losing=LOSING.format(worst=100 * (WORST - 1), sets=", ".join(losing)) if losing else "",
        seconds=about["seconds"],
        versions=", ".join(f"{name} {number}" for name, number in about["versions"].items()),
    )


def ratio(row: dict[str, Any], theirs: str = "theirs", what: str = "progressive") -> float:
    """Our loss relative to theirs."""
    return float(row["ours"][what] / row[theirs][what])


def verdict(rows: Sequence[dict[str, Any]]) -> str:
    """How often we are as good or better, and by how much worse at most."""
    ratios = [ratio(row) for row in rows]
    good = sum(each < 1 + ALIKE for each in ratios)
    ranked = [row for row in rows if row["ours"]["auc"] is not None]
    ranks = sum(row["ours"]["auc"] > row["theirs"]["auc"] - ALIKE for row in ranked)
    worst = max(rows, key=ratio)
    met = good >= SHARE * len(rows) and ratio(worst) <= WORST
    return (
        f"dwindle's progressive loss is as low or lower, within {100 * ALIKE:g} %, on {good} of {len(rows)} sets, "
        f"its AUC as high or higher, within {ALIKE:g}, on {ranks} of {len(ranked)}; at worst its loss is {ratio(worst):.3f} times Vowpal Wabbit's ({worst['set']}).\n"
        f"The goal, a loss as low or lower on {100 * SHARE:.0f} % of the sets "
        f"and nowhere more than {100 * (WORST - 1):.0f} % higher, is {'met' if met else 'not met'}."
    )


def _table(rows: Sequence[dict[str, Any]]) -> str:
    head = ["set", "examples", "progressive loss", "VW's", "ratio", "ratio, -b 24"]
    head += ["test loss, ratio", "test AUC", "VW's"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: dict[str, Any]) -> list[str]:
    ours, theirs = row["ours"], row["theirs"]
    return [
        row["set"],
        f"{row['examples']:,}",
        f"{ours['progressive']:.4g}",
        f"{theirs['progressive']:.4g}",
        _told(ratio(row)),
        f"{ratio(row, 'theirs_wide'):.3f}" if row["theirs_wide"] else "",
        f"{ratio(row, what='loss'):.3f}",
        *("" if each["auc"] is None else f"{each['auc']:.4f}" for each in (ours, theirs)),
    ]


def _told(value: float) -> str:
    """The ratio, in bold where we are worse."""
    return f"{value:.3f}" if value < 1 + ALIKE else f"**{value:.3f}**"
