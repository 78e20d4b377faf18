"""The tables below the figures of docs/reproduction.md."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from experiments import figures, words
from experiments.findings import ratios
from experiments.measures import (
    BUDGETS,
    LASSO,
    ROUNDING,
    TRUNCATION,
    Results,
    dense_losses,
    distance,
    gains,
    left,
    lines,
    mean_best,
    mean_level,
    rcv1,
    sets_with_curves,
    sparsified,
    spread,
)
from experiments.paper_says import UCI

Text = Iterable[str]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _figure_1_tables(results: Results) -> Iterable[Text]:
    cases = _cases(results)
    yield [
        "Features kept by the models without gravity (dense) and with it (sparse).",
        "The metric is accuracy for classification and squared loss for regression (housing, zoo). The constant counts as a feature and is never removed.",
        "",
        *table(
            ("set", "features", "dense keeps", "sparse keeps", "left", "left without cooldown"),
            (
                (
                    case,
                    _features(runs),
                    words.count(spread(run["dense"]["kept"] + 1 for run in runs)),
                    words.count(spread(run["sparse"]["kept"] + 1 for run in runs)),
                    words.percent(left(runs)),
                    words.percent(left(runs, "unrested")),
                )
                for case, runs in cases
            ),
        ),
    ]
    yield table(
        (
            "set",
            "dense, cross-validation",
            "sparse",
            "dense, test",
            "sparse",
            "sparse setting",
        ),
        (
            (
                case,
                *(
                    _score(runs, model, of)
                    for of in ("cv", "test")
                    for model in ("dense", "sparse")
                ),
                _setting(runs),
            )
            for case, runs in cases
        ),
    )


def _cases(results: Results) -> list[tuple[str, list[Any]]]:
    """The runs behind figures 1 and 2, under what the page calls them."""
    found = [
        (
            f"{name}{' + 1000' if random else ''}{extra}",
            sparsified(results, name, random, tolerance),
        )
        for name in UCI
        for random in (0, 1000)
        for tolerance, extra in ((0.01, ""), (0.013, ", 1.3 %"))
    ] + [
        (
            f"rcv1, {passes} {'pass' if passes == 'one' else 'passes'}{extra}",
            rcv1(results, passes, update),
        )
        for update, extra in (("plain", ""), ("adaptive", ", adaptive"))
        for passes in ("one", "several")
    ]
    return [(case, runs) for case, runs in found if runs]


def _features(runs: Sequence[Any]) -> str:
    return words.count(spread(run["features"] for run in runs))


def _score(runs: Sequence[Any], model: str, of: str) -> str:
    form = words.percent if runs[0]["metric"] == "accuracy" else words.number
    return form(spread(run[model][of] for run in runs))


def _setting(runs: Sequence[Any]) -> str:
    """The settings of the sparse models, over the seeds."""
    all_of = [run["sparse"]["setting"] for run in runs]
    rate, gravity = (
        words.number(spread(s[name] for s in all_of)) for name in ("learning_rate", "gravity")
    )
    decay, passes = (
        " or ".join(f"{value:g}" for value in sorted({s[name] for s in all_of}))
        for name in ("pass_decay", "passes")
    )
    rested = sum(s["cooldown"] > 1 for s in all_of)
    return (
        f"rate {rate}, decay {decay}, passes {passes}, gravity {gravity}, "
        f"cooldown in {rested} of {len(runs)}"
    )


def _figure_2_tables(results: Results) -> Iterable[Text]:
    known = ratios(results)
    names = list(dict.fromkeys(name for name, _ in known))
    rows = [(n, words.auc(known.get((n, 0))), words.auc(known.get((n, 1000)))) for n in names]
    yield table(("set", "as it is", "with 1000 random features"), rows)


def _best_table(results: Results, name: str) -> Text:
    drawn = lines(results, name)
    head = ("AUC, mean over the sets", *(f"at most {n} features" for n in BUDGETS))
    rows = [
        (figures.label(name, line), *(words.auc(mean_best(results, line, n)) for n in BUDGETS))
        for line in drawn
    ]
    return ["The best AUC with at most so many features:", "", *table(head, rows)]


def _figure_5_tables(results: Results) -> Iterable[Text]:
    rows = [
        (
            words.theta(line) if line != ROUNDING else "(rounding itself)",
            words.auc(mean_level(results, line)),
            "" if line == ROUNDING else words.auc(distance(results, line, ROUNDING)),
        )
        for line in lines(results, "figure-5")
    ]
    yield table(("truncated gradient with", "mean AUC", "mean difference to rounding"), rows)


def _figure_6_tables(results: Results) -> Iterable[Text]:
    yield _best_table(results, "figure-6")
    names = sets_with_curves(results)
    others = [line for line in lines(results, "figure-6") if line != TRUNCATION]
    known = {line: gains(results, TRUNCATION, [line], BUDGETS[:3]) for line in others}
    head = (
        "set",
        *(f"{figures.label('figure-6', line)}, {n}" for line in others for n in BUDGETS[:3]),
    )
    rows = [
        (name, *(_gain(known[line].get((name, n))) for line in others for n in BUDGETS[:3]))
        for name in names
    ]
    yield [
        "AUC of truncated gradient (without cooldown) minus that of the other method, with at most 10, 30 and 100 features:",
        "",
        *table(head, rows),
    ]
    lost = dense_losses(results, TRUNCATION, LASSO)
    yield [
        "AUC lost from the best model of a curve to its densest. Both curves end at a number of features that both reach; medians over the seeds:",
        "",
        *table(
            ("set", *(figures.label("figure-6", line) for line in (TRUNCATION, LASSO))),
            ((name, *(f"{each:.3f}" for each in both)) for name, both in lost.items()),
        ),
    ]


def _gain(value: float | None) -> str:
    return "" if value is None else words.signed(value)


BELOW: dict[str, Callable[[Results], Iterable[Text]]] = {
    "figure-1": _figure_1_tables,
    "figure-2": _figure_2_tables,
    "figure-3": lambda results: [_best_table(results, "figure-3")],
    "figure-4": lambda results: [_best_table(results, "figure-4")],
    "figure-5": _figure_5_tables,
    "figure-6": _figure_6_tables,
    "figure-7-beyond": lambda results: [_best_table(results, "figure-7-beyond")],
}
