"""The tables below the figures of docs/reproduction.md."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from experiments import figures, words
from experiments.findings import complement, ratios, shares_removed
from experiments.measures import (
    BUDGETS,
    LASSO,
    ROUNDING,
    TRUNCATION,
    Line,
    Results,
    curves,
    dense_losses,
    distance,
    empty,
    fewest,
    gains,
    left,
    lines,
    live,
    mean_best,
    mean_level,
    models,
    sets_with_curves,
    sparsified,
    spread,
)
from experiments.paper_says import AD_ROUNDED, REMOVED_AD_RANDOM, REMOVED_AT_LEAST, SPAMBASE, UCI
from experiments.variants import AUTO, BESIDE, EVERY_MEANS, VARIANTS, WITHOUT_REST, Variant

Text = Iterable[str]
BAR = 0.95  # to be removed of each set, by whatever means


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _figure_1_tables(results: Results) -> Iterable[Text]:
    columns = (*VARIANTS, *BESIDE, AUTO)
    for random, title in ((1000, "with 1000 random features"), (0, "as the data are")):
        names = [name for name in (*UCI, "rcv1") if sparsified(results, name, random)]
        if names:
            yield [
                f"Features removed {title}, and in italics models without any feature:",
                "",
                *table(
                    ("set", *(variant.title for variant in columns)),
                    (
                        (name, *(_removed(results, name, random, v) for v in columns))
                        for name in names
                    ),
                ),
            ]
    yield from _bars(results)
    yield [
        "Features that live while it learns, with 1000 random features: the most at once, then the mean over the run, as shares of all:",
        "",
        *table(
            ("set", *(f"{v.title}: {what}" for v in VARIANTS[:4] for what in ("peak", "mean"))),
            (
                (
                    name,
                    *(
                        words.percent(
                            live(sparsified(results, name, 1000, v.family), v.model, what)
                        )
                        for v in VARIANTS[:4]
                        for what in ("peak", "mean")
                    ),
                )
                for name in UCI
                if sparsified(results, name, 1000)
            ),
        ),
    ]
    yield [
        "What was chosen, with 1000 random features: metric in cross-validation and on the test part, and the setting. The metric is accuracy, or squared loss for housing and zoo:",
        "",
        *table(
            ("set", "model", "cross-validation", "test", "setting"),
            (
                (
                    name,
                    title,
                    _score(runs, model, "cv"),
                    _score(runs, model, "test"),
                    _setting(runs, model),
                )
                for name in UCI
                for title, model in (
                    ("dense", "dense"),
                    *((v.title, v.model) for v in VARIANTS[:3]),
                )
                if models(runs := sparsified(results, name, 1000), model)
            ),
        ),
    ]


def _removed(results: Results, name: str, random: int, variant: Variant) -> str:
    runs = sparsified(results, name, random, variant.family)
    here = left(runs, variant.model)
    if here is None:
        return ""
    text = words.percent(complement(here))
    return f"*{text}, {empty(runs, variant.model)} empty*" if empty(runs, variant.model) else text


def _bars(results: Results) -> Iterable[Text]:
    """What the best of several variants removes of each set: short ones are named."""
    best = _most_removed(results, WITHOUT_REST)
    ad = best.pop("ad", None)
    if best:
        enough = [name for name, (share, _) in best.items() if share > REMOVED_AT_LEAST]
        short = "; ".join(
            f"{name} {100 * share:.1f} % ({variant.title}{_mistakes(results, name)})"
            for name, (share, variant) in best.items()
            if name not in enough
        )
        text = f"Without a cooldown, the best of Algorithm 1 and section 5's order, by either loss, removes more than {100 * REMOVED_AT_LEAST:.0f} % within the tolerance on {len(enough)} of {len(best)} sets (all but ad, as in the paper)."
        if short:
            text += f" Short of it: {short}. The likely reason is the one above: the features of the last examples that were mistaken are alive at the end."
        if ad:
            text += f" Of ad, {100 * ad[0]:.1f} % are removed ({ad[1].title}; the paper has {100 * REMOVED_AD_RANDOM:.0f} %)."
        yield [text]
    best = _most_removed(results, EVERY_MEANS)
    if best:
        enough = [name for name, (share, _) in best.items() if share > BAR]
        short = ", ".join(
            f"{name} {100 * share:.1f} %" for name, (share, _) in best.items() if name not in enough
        )
        text = f"With every means (a cooldown by either loss, or `dwindle train` without options), more than {100 * BAR:.0f} % are removed on {len(enough)} of {len(best)} sets, on none by an empty model"
        yield [f"{text}; short of it: {short}." if short else f"{text}."]


def _most_removed(
    results: Results, variants: Sequence[Variant]
) -> dict[str, tuple[float, Variant]]:
    """The largest share that any of the variants removes of each set, by no empty model."""
    shares = {variant: shares_removed(results, variant) for variant in variants}
    return {
        name: max(
            ((share[name].median, v) for v, share in shares.items() if name in share),
            key=lambda each: each[0],
        )
        for name in UCI
        if any(name in share for share in shares.values())
    }


def _mistakes(results: Results, name: str) -> str:
    """How many examples the dense model mistakes, which is what keeps features alive."""
    runs = sparsified(results, name, 1000)
    right = spread(one["test"] for one in models(runs, "dense"))
    if right is None or runs[0]["metric"] != "accuracy":
        return ""
    return f"; the dense model mistakes {100 * (1 - right.median):.1f} % of the test examples"


def _score(runs: Sequence[Any], model: str, of: str) -> str:
    form = words.percent if runs[0]["metric"] == "accuracy" else words.number
    return form(spread(one[of] for one in models(runs, model)))


def _setting(runs: Sequence[Any], model: str) -> str:
    """The settings of the models, over the seeds."""
    all_of = [one["setting"] for one in models(runs, model)]
    rate, gravity = (
        words.number(spread(s[name] for s in all_of)) for name in ("learning_rate", "gravity")
    )
    decay, passes = (
        " or ".join(f"{value:g}" for value in sorted({s[name] for s in all_of}))
        for name in ("pass_decay", "passes")
    )
    pull = "" if model == "dense" else f", gravity {gravity}"
    return f"rate {rate}, decay {decay}, passes {passes}{pull}"


def _figure_2_tables(results: Results) -> Iterable[Text]:
    columns = (*VARIANTS[:4], *BESIDE)
    by_variant = {variant: ratios(results, variant) for variant in columns}
    cases = list(dict.fromkeys(case for each in by_variant.values() for case in each))
    rows = [
        (
            f"{name}{' + 1000' if random else ''}",
            *(words.auc(by_variant[v].get((name, random))) for v in columns),
        )
        for name, random in cases
    ]
    yield table(("set", *(variant.title for variant in columns)), rows)


def _best_table(results: Results, name: str) -> Text:
    drawn = lines(results, name)
    head = ("AUC, mean over the sets", *(f"at most {n} features" for n in BUDGETS))
    rows = [
        (figures.label(name, line), *(words.auc(mean_best(results, line, n)) for n in BUDGETS))
        for line in drawn
    ]
    return ["The best AUC with at most so many features:", "", *table(head, rows)]


def _counted(results: Results, name: str) -> Text:
    """The fewest features for the paper's AUC, in both orders of pull and step."""
    auc, numbers = {"spambase": SPAMBASE, "ad": AD_ROUNDED}[name]
    methods = {"spambase": ("truncation", "section5"), "ad": ("rounding", "rounding5")}[name]
    rows = [
        (
            words.NAMES[method],
            *(
                words.count(spread(fewest(points, auc) for points in known.values()))
                for every in numbers
                if (known := curves(results, name, Line(method, every)))
            ),
        )
        for method in methods
        if all(curves(results, name, Line(method, every)) for every in numbers)
    ]
    if not rows:
        return []
    head = (f"features for an AUC of {auc} on {name}", *(f"K = {every}" for every in numbers))
    return table(head, [("the paper", *map(str, numbers.values())), *rows])


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
    "figure-live": lambda _: [],
    "figure-2": _figure_2_tables,
    "figure-3": lambda results: [_best_table(results, "figure-3"), _counted(results, "spambase")],
    "figure-4": lambda results: [_best_table(results, "figure-4"), _counted(results, "ad")],
    "figure-5": _figure_5_tables,
    "figure-6": _figure_6_tables,
    "figure-7-beyond": lambda results: [_best_table(results, "figure-7-beyond")],
}
