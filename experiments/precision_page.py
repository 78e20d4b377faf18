"""The page docs/precision.md, written from the results of ``python -m experiments.precision``."""

from typing import Any

KINDS = ("double", "single", "swapped", "shuffled")

PAGE = """# What does single precision change?

<!-- written by python -m experiments.precision -->

Hardly anything: over {n} runs the loss changes by at most {loss}, and the number of features kept by at most {kept}.
That is far less than another order of the examples changes them (up to {shuffled_loss} and {shuffled_kept}), but not always less than swapping two neighbours (up to {swapped_loss} and {swapped_kept}).

`Adaptive` keeps each weight in double precision, and all else of a feature in single: the root of its squared gradients, its unit and its clock.
What is computed of these, above all roots and divisions, is in single precision too, which is faster.
Here it is beside the same update in double precision throughout. As controls, the latter learns again from the same examples with two neighbours in the middle *swapped*, and with all of them *shuffled*.

{table}

- **Loss** is the mean loss of predictions made before learning from the example, in the first of {passes} passes; **kept** is the number of features whose weight is not zero after the last.
- **Apart** is the root mean square of the difference of predictions in the last pass from those in double precision.
- By the predictions (*apart*), single precision is further from double precision than two swapped examples {further} rows, by a factor of up to {factor}.
- By the number of features kept, single precision is further from double precision than two swapped examples {beyond} rows, and than another order {far}.

A difference in the last digits can grow. A sweep forgets the features whose weight is zero: their squared gradients and units too, so that a feature that returns begins with large steps.
Whether a weight is zero is decided by comparing it with the pull that it owes, not by rounding; but where the two are equal to seven digits, the last ones decide.
A feature that is forgotten in one run and not in the other has another weight from then on, and the next sweep comes an example earlier or later. Two swapped examples can do the same.
Without sweeps, differences stay in the last digits.

## Run it again

```
python -m experiments.precision   # DWINDLE_DATA names a folder with the data sets
```

It took {seconds} seconds, with {versions}.
"""


def page(results: dict[str, Any]) -> str:
    """The text of the page."""
    about, rows = results["about"], results["rows"]
    worst = {
        f"{name}{what}": max(change(row, kind, what) for row in rows)
        for name, kind in (("", "single"), ("swapped_", "swapped"), ("shuffled_", "shuffled"))
        for what in ("loss", "kept")
    }
    return PAGE.format(
        table=_table(rows),
        n=len(rows),
        passes=about["passes"],
        seconds=about["seconds"],
        versions=", ".join(f"{name} {each}" for name, each in about["versions"].items()),
        beyond=_beyond(rows, "swapped"),
        far=_beyond(rows, "shuffled"),
        further=_on(sum(factor(row) > 1 for row in rows), rows),
        factor=_furthest(max(rows, key=factor)),
        **{name: _percent(each) for name, each in worst.items()},
    )


def change(row: dict[str, Any], kind: str, what: str) -> float:
    """How much the loss, or the number of features kept, differs, as a share of it."""
    return float(abs(row[kind][what] / row["double"][what] - 1))


def factor(row: dict[str, Any]) -> float:
    """How much further apart predictions are by single precision than by two swapped examples."""
    return float(row["single"]["apart"] / row["swapped"]["apart"])


def _furthest(row: dict[str, Any]) -> str:
    """Such as 7,000 (eat: 0.003 against 4e-07)."""
    single, swapped = (f"{row[kind]['apart']:.1g}" for kind in ("single", "swapped"))
    return f"{float(f'{factor(row):.1g}'):,.0f} ({row['set']}: {single} against {swapped})"


def _beyond(rows: list[dict[str, Any]], control: str) -> str:
    """Say on how many rows the number of features kept moves more than in a control."""
    n = sum(change(row, "single", "kept") > change(row, control, "kept") for row in rows)
    return _on(n, rows)


def _on(n: int, rows: list[dict[str, Any]]) -> str:
    return f"on {n or 'none'} of {len(rows)}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _table(rows: list[dict[str, Any]]) -> str:
    head = (
        "| set | examples | gravity | loss: double | single | swapped | shuffled | kept: double "
        "| single | swapped | shuffled | apart: single | swapped | shuffled |\n|---|" + "---:|" * 13
    )
    return "\n".join([head, *map(_line, rows)])


def _line(row: dict[str, Any]) -> str:
    cells = [row["set"], f"{row['examples']:,}", f"{row['gravity']:g}"]
    cells += [f"{row[kind]['loss']:.6f}" for kind in KINDS]
    cells += [f"{row[kind]['kept']:,}" for kind in KINDS]
    cells += [f"{row[kind]['apart']:.1g}" for kind in KINDS[1:]]
    return f"| {' | '.join(cells)} |"
