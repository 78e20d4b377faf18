"""The page docs/auto.md, written from the results of ``python -m experiments.auto``."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from experiments.auto.measures import (
    BARS,
    BEHIND_L1,
    Part,
    mean_auc,
    mean_kept,
    spread,
    total_seconds,
)

PAGE = """# Sparse by itself

<!-- written by python -m experiments.auto -->

`dwindle train data` chooses its gravity by itself, in one pass, without any options.
Is the model as good, and as small, as one whose penalty was searched for?
{answer}

It is measured beside methods that search, and beside Vowpal Wabbit as it is, on {n} sets, which are in three groups.
The gravities that are tried, and the rule that chooses one of them, were tuned on the second group. The other defaults, such as the learning rate, were [chosen](defaults.md) with sets of the first group in sight, too. On the third, the new sets, no number was chosen; but the program was changed several times after the first results on all groups were known, so these sets are the nearest to a clean test that there is here, not a perfect one.

{bars}

Goals that are means are over the sets that both methods were run on; the last rows of the tables below are over those that every method was run on.

{parts}
## By truncated gradient

`--update adaptive` learns the same gravities by truncated gradient, as the paper does. Its models are compared as they predict while they learn; a `--cooldown`, which removes what only the last examples made, comes after the choice. Is that the wrong order? It is measured beside a choice that is made after the cooldown, on a part held out. Mean AUC and features kept (geometric mean), over the sets that all four have:

{gradient}

## How it is measured

- **auto** is `dwindle train` without options. Where a method would take very long ({long}), its cell is empty.
- **L1, cross-validated** is scikit-learn's `LogisticRegression` with `solver="liblinear"` and {folds} folds.
- **VW** is Vowpal Wabbit with `--loss_function logistic` and so many weights that hardly any two features share one; **VW --l1** has an L1 penalty, and **SGD, L1** is scikit-learn's `SGDClassifier(loss="log_loss", penalty="l1")`. Their penalty is chosen on a quarter of the training part that is held out, and they learn from all of it then.
- **Penalties** are tried from one that keeps nothing to ever weaker ones by factors of {factor:g}: at least {least} that keep something, and at least {beyond} beyond the one that is best, so that it is never at an end of the grid. The AUC is what they are chosen by; of equals, the sparsest model is taken.
- **Truncated gradient** is `dwindle train --update adaptive`; the cooldown is as long as the pass, and every {held_out}th example is held out.
- **Columns of numbers** are read as they are by auto and VW. The other three need columns of one scale: theirs have mean 0 and deviation 1. In *planted*, which is sparse, they are divided by their deviation only; rcv1, a9a, ads and *texts* need neither. SGD may also have them divided by their largest value, whichever is better on the part held out.
- **{random} random** is the set with standardised numbers and as many random features, as in the paper: each is 1 in a twentieth of the examples.
- **AUC** is that of the test part. Means are over {seeds} seeds, each another order of the rows, another test part and other random features{fewer}; rcv1 and a9a have one test part for all. ± is the standard deviation over the seeds. Where the test part has fewer than {short} examples ({short_sets}), it is large.
- **Features** are weights that are not 0, without the intercept.
- **Seconds** are processor time of all that leads to the model, search included, for one seed. auto and the two of Vowpal Wabbit read text; the others get matrices. Starting a program and loading compiled code are not counted.
- **The sets** are rcv1, a9a, {ads:,} lines of `dwindle generate ads` with the products of query and ad, and the paper's UCI sets with two classes. New are: *planted*, {planted:,} generated rows with log-normal values and columns whose frequencies follow a power law, {telling} of which tell; *texts*, docstrings of NumPy or pandas; and three that come with scikit-learn: *digits* (odd or even), *wine* (of the second grower or not) and *diabetes* (worse than most or not).

## Run it again

```
make auto   # python -m experiments.auto; DWINDLE_DATA names a folder with the data sets
```

`docs/auto.json` keeps the results of the other methods; `--only vw sgd`, say, measures them again. The results are those of {programs}.
"""

PART = """## {title}

AUC:

{auc}

Features kept:

{kept}
{random}
Processor seconds:

{seconds}
"""

RANDOM = """
Random features left:

{table}
"""

TITLES = {
    "held": "Sets that the choice of gravity was not tuned on",
    "chosen": "Sets that the choice of gravity was tuned on",
    "new": "New sets",
}
COLUMNS = {"held": "not tuned on", "chosen": "tuned on", "new": "new"}
METHODS = {
    "auto": "auto",
    "liblinear": "L1, cross-validated",
    "vw": "VW",
    "vw_l1": "VW --l1",
    "sgd": "SGD, L1",
}

BY_GRADIENT = {
    "auto": "auto",
    "gradient": "truncated gradient",
    "cooled": "with a cooldown, chosen before it",
    "judged_cooled": "chosen after it, on a part held out",
}

SHORT = 100  # examples to test on

Figure = Callable[[Part, str, str], str]
Total = Callable[[Part, str, Sequence[str]], float]


def page(results: dict[str, Any]) -> str:
    """Return the text of the page."""
    parts = {name: part for name in TITLES if (part := Part(results, name))}
    return PAGE.format(
        answer=_answer(parts),
        n=len(results["sets"]),
        bars=_bars(parts),
        parts="\n".join(_part(TITLES[name], part) for name, part in parts.items()),
        gradient=_by_gradient(parts),
        programs=", ".join(sorted({run["by"] for run in results["runs"]})),
        **_exceptions(results),
        **results["rules"],
    )


def _exceptions(results: dict[str, Any]) -> dict[str, str]:
    """Return the sets that have fewer seeds, fewer methods or few examples to test on."""
    everything = Part(results)
    sets = {each["set"]: each for each in results["sets"]}
    seeds = {name: len(everything.values(name, "auto", "auc")) for name in sets}
    fewer = [f"{n} in {name}" for name, n in seeds.items() if n < results["rules"]["seeds"]]
    every = everything.common(METHODS)
    return {
        "long": _listed(name for name in sets if name not in every),
        "fewer": f" ({', '.join(fewer)})" if fewer else "",
        "short": str(SHORT),
        "short_sets": _listed(name for name, each in sets.items() if each["test"] < SHORT),
    }


def _listed(names: Iterable[str]) -> str:
    return "; ".join(names) or "none"


def _answer(parts: dict[str, Part]) -> str:
    """Say how auto compares with L1 in each group, and with Vowpal Wabbit on all sets."""
    both = {name: part.common(["auto", "liblinear"]) for name, part in parts.items()}
    both = {name: sets for name, sets in both.items() if sets}
    leads = [
        part.mean(name, "auto", "auc") - part.mean(name, "vw", "auc")
        for part in parts.values()
        for name in part.common(["auto", "vw"])
    ]
    if not both or not leads:
        return "Not all of it is measured yet."

    def pairs(measure: Total) -> dict[str, tuple[float, float]]:
        return {
            name: (measure(parts[name], "auto", sets), measure(parts[name], "liblinear", sets))
            for name, sets in both.items()
        }

    apart = {name: ours - theirs for name, (ours, theirs) in pairs(mean_auc).items()}
    short = {name: gap for name, gap in apart.items() if gap < -BEHIND_L1}
    more = [ours / theirs - 1 for ours, theirs in pairs(mean_kept).values()]
    ours, theirs = map(sum, zip(*pairs(total_seconds).values(), strict=True))
    behind = "".join(f", {-gap:.4f} lower in the group *{COLUMNS[n]}*" for n, gap in short.items())
    ahead = sum(lead > 0 for lead in leads)
    return (
        f"{'Nearly' if short else 'Yes'}: its mean AUC is at most {BEHIND_L1:g} lower than that of L1 with cross-validation "
        f"in {len(apart) - len(short)} of the {len(apart)} groups of sets below{behind}. "
        f"It keeps {_change(min(more))} to {_change(max(more))} features, and takes {theirs / ours:.0f} times less processor time. "
        f"Its AUC is higher than that of Vowpal Wabbit's defaults on {ahead} of {len(leads)} sets, and nowhere more than {max(-min(leads), 0):.4f} lower."
    )


def _change(share: float) -> str:
    return f"{100 * abs(share):.0f} % {'fewer' if share < 0 else 'more'}"


def _bars(parts: dict[str, Part]) -> str:
    head = ["the goal", *(COLUMNS[name] for name in parts)]
    lines = []
    for goal, measured in BARS.items():
        bars = (measured(part) for part in parts.values())
        cells = (
            "" if bar is None else f"{bar.told}: {'met' if bar.met else '**not met**'}"
            for bar in bars
        )
        lines.append([goal, *cells])
    return _table(head, lines)


def _by_gradient(parts: dict[str, Part]) -> str:
    lines = []
    for name, part in parts.items():
        common = part.common(BY_GRADIENT)
        cells = (
            f"{mean_auc(part, method, common):.4f}, {mean_kept(part, method, common):,.0f}"
            for method in BY_GRADIENT
        )
        lines.append([f"{COLUMNS[name]}, {len(common)} sets", *(cells if common else ())])
    return _table(["sets", *BY_GRADIENT.values()], lines)


def _part(title: str, part: Part) -> str:
    names = part.with_random()
    random = _figures(part, names, _random) if names else ""
    sets = [each["set"] for each in part.sets]
    return PART.format(
        title=title,
        auc=_figures(part, sets, _auc, ("mean", mean_auc, "{:.4f}")),
        kept=_figures(part, sets, _kept, ("geometric mean", mean_kept, "{:,.0f}")),
        random=RANDOM.format(table=random) if random else "",
        seconds=_figures(part, sets, _seconds, ("sum", total_seconds, "{:.3g}")),
    )


def _figures(
    part: Part, names: Sequence[str], figure: Figure, total: tuple[str, Total, str] | None = None
) -> str:
    """Return a table of one figure, a row for each set, and a last row over sets that all have."""
    head = ["set", *METHODS.values()]
    lines = [[name, *(figure(part, name, method) for method in METHODS)] for name in names]
    common = part.common(METHODS)
    if total is not None and common:
        what, over, form = total
        sums = (form.format(over(part, method, common)) for method in METHODS)
        lines.append([f"{what} of the {len(common)} that all methods have", *sums])
    return _table(head, lines)


def _auc(part: Part, name: str, method: str) -> str:
    values = part.values(name, method, "auc")
    if not values:
        return ""
    about = spread(values)
    return f"{part.mean(name, method, 'auc'):.4f}" + ("" if about is None else f" ± {about:.4f}")


def _kept(part: Part, name: str, method: str) -> str:
    values = part.values(name, method, "kept")
    if not values:
        return ""
    about = spread(values)
    return f"{part.mean(name, method, 'kept'):,.0f}" + ("" if not about else f" ± {about:,.0f}")


def _random(part: Part, name: str, method: str) -> str:
    values = part.values(name, method, "random")
    return f"{part.mean(name, method, 'random'):,.0f}" if values else ""


def _seconds(part: Part, name: str, method: str) -> str:
    values = part.values(name, method, "seconds")
    return f"{part.mean(name, method, 'seconds'):.2g}" if values else ""


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] + ["---:"] * (len(head) - 1), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
