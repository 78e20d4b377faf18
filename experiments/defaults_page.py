"""The page docs/defaults.md, written from the results of ``python -m experiments.defaults``."""

from collections.abc import Sequence
from typing import Any

SHARE = 0.9  # of the sets on which we want to be as good or better
WORST = 1.02  # what our loss may be of theirs, at most
ALIKE = 0.0005  # what shows in the table is compared, three digits of it

PAGE = """# What comes of no options

<!-- written by python -m experiments.defaults -->

What does `dwindle train data` learn if it is told nothing, next to what `vw` learns if it is told nothing?
Both read the same file in the same order, in one pass.
The progressive loss is the mean loss of predictions made before learning from the example; AUC and test loss are of a part that is held out.
A ratio below 1 says that ours is the better one.

{table}

{verdict}

- **Told** is only what cannot be known: Vowpal Wabbit, that labels are classes (`--loss_function logistic`; by itself it would take them for numbers), which dwindle sees from the labels; and both, in eat and clicks, which two namespaces to multiply.
- **The sets.** rcv1 and a9a, shuffled; a generated log of ads and fwumious_wabbit's who-eats-what, those of `make bench`; what `dwindle generate ads` writes (clicks); the paper's eleven sets from UCI, as they are and with numbers of mean 0 and deviation 1, means over {shuffles} shuffles.
- **Regression** (housing, zoo) is of squared loss and has no AUC. Vowpal Wabbit keeps predictions within the labels seen so far, dwindle does not.
- **Collisions.** Vowpal Wabbit has 2^18 weights unless told, and features share them: *of -b 24* is our progressive loss relative to that with 2^24 of them, where there are more features than 2^18. dwindle's features share none.

## What the defaults are, and why

`{update}` with a rate of {rate:g}, and `{shrinkage}`, which is no gravity: features are dropped only if you ask for it.

- A rate of its own for each feature, in units of the largest value it had, so that neither rare features nor the scale of a column need attention.
- A step is divided by the length of its example, in the same units. So a step in n features moves the prediction by about the root of n, and not by n, and one rate suits examples of few features and of many. Vowpal Wabbit divides by the length of an average example.
- `beta` keeps the first steps of a feature short, which makes the first predictions with rare ones good. It must not be large: where most values are far below the largest one of their column, as in spambase and wbc, learning would be slow.
- The loss follows from the labels: logistic for two classes, else squared.
{losing}
## Again

```
make defaults   # python -m experiments.defaults; DWINDLE_DATA names a folder that has the sets
```

It took {seconds} seconds, with {versions}.
"""

LOSING = """
Where it loses more than {worst:.0f} %: {sets}.
"""


def page(results: dict[str, Any]) -> str:
    """The text of the page."""
    about, rows = results["about"], results["sets"]
    losing = [f"{row['set']} ({ratio(row):.3f})" for row in rows if ratio(row) > WORST]
    return PAGE.format(
        table=_table(rows),
        verdict=verdict(rows),
        shuffles=max(row["shuffles"] for row in rows),
        update=about["update"],
        rate=about["learning_rate"],
        shrinkage=about["shrinkage"],
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
        f"The progressive loss is as good or better on {good} of {len(rows)}, "
        f"the AUC on {ranks} of {len(ranked)}; the worst ratio is {ratio(worst):.3f} ({worst['set']}).\n"
        f"What we aim at, a loss as good or better on {100 * SHARE:.0f} % of the sets "
        f"and nowhere more than {100 * (WORST - 1):.0f} % worse, is {'met' if met else 'not met'}."
    )


def _table(rows: Sequence[dict[str, Any]]) -> str:
    head = ["set", "examples", "progressive loss", "VW's", "ratio", "of -b 24"]
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
