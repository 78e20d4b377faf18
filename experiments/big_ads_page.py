"""The page docs/big-ads.md and its picture, written from big-ads.json.

python -m experiments.big_ads_page
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import BLACK, BLUE, LOOK, VERMILION

DOCS = Path(__file__).parent.parent / "docs"
PAPER = {"examples": 26e6, "test": 2.7e6, "seen": 3e9, "kept": 24e6, "factor": 125, "more": 0.009}
MEMORY = "1.9GB"  # what `--memory` is given

Results = dict[str, Any]


def write(results: Path) -> list[Path]:
    """Write page and picture beside the results; returns all three."""
    found = json.loads(results.read_text())
    page, picture = results.with_suffix(".md"), results.with_suffix(".svg")
    page.write_text(text(found))
    with mpl.rc_context(LOOK):
        drawn(found).savefig(picture, metadata={"Date": None})
    return [results, page, picture]


def text(found: Results) -> str:
    """The page."""
    return "\n".join(_lines(found)) + "\n"


NAMES = {"gradient": "truncated gradient", "ftrl": "FTRL-Proximal"}
UPDATES = {
    "plain": "truncated gradient, plain update",
    "adaptive": "truncated gradient, adaptive update",
    "ftrl": "FTRL-Proximal",
}


def error(run: Results) -> float:
    """On the test examples, of the model of all examples."""
    return float(1 - run["testing"]["summary"]["accuracy"])


def factor(model: Results) -> float:
    """How many features were seen for each that was kept."""
    return float(model["seen"] / max(model["kept"], 1))


def peak(samples: list[Any]) -> int:
    """The most memory that all processes had together."""
    return max(int(sum(sizes)) for _, sizes, _ in samples)


def most_memory(run: Results) -> int:
    """Of learning and testing."""
    return max(peak(run[part]["samples"]) for part in ("training", "testing"))


def baseline(found: Results) -> Results:
    """The best of the models that keep everything."""
    dense: list[Results] = [one for one in found["first"]["models"] if one["max_live"] is None]
    return min(dense, key=lambda one: one["error"])


def within(found: Results) -> list[Results]:
    """The truncated models of the first examples that lose no more than the paper accepted."""
    most = baseline(found)["error"] + PAPER["more"]
    return [
        one
        for one in found["first"]["models"]
        if one["max_live"] is not None and one["error"] <= most
    ]


def _lines(found: Results) -> Iterator[str]:
    runs = found["runs"]
    yield "# Three billion features"
    yield ""
    yield "<!-- written by python -m experiments.big_ads -->"
    yield ""
    for name, run in runs.items():
        n = run["training"]["summary"]["examples"]
        if n < PAPER["examples"]:
            yield f"This is a reduced run of {NAMES[name]}, with {n:,} examples."
            yield ""
    yield from _answer(found)
    yield ""
    yield from _about()
    yield ""
    yield "```"
    for run in runs.values():
        yield run["training"]["command"].replace(" | ", " |\n    ")
        yield run["testing"]["command"].replace(" | ", " |\n    ")
    yield "```"
    yield ""
    yield from _beside_the_paper(found)
    yield ""
    yield "![Memory, and features seen and held, while it learns](big-ads.svg)"
    yield ""
    yield (
        "*Seen* is an estimate (HyperLogLog, with a standard error of 0.8 %). *Held* are the features in memory, of which some have come to zero unnoticed; *alive* are those whose weight is not zero. "
        f"{_budgets(found)} It [holds](budget.md) at every example."
    )
    yield ""
    yield from _equal_data(found)
    yield ""
    yield from _time(found)
    yield ""
    yield from _remarks(found)


def budget(found: Results, name: str) -> int:
    """How many features a run could hold; that of an older run stands with all else about it."""
    if "searched" not in found["runs"][name]:
        return int(found["about"]["max_live"])
    updates = {"gradient": "adaptive", "ftrl": "ftrl"}
    [chosen] = [one for one in found["settings"]["models"] if one["update"] == updates[name]]
    return int(chosen["max_live"])


def _budgets(found: Results) -> str:
    """The budgets of the runs, which differ if one of them is older."""
    each = {name: budget(found, name) for name in found["runs"]}
    if len(set(each.values())) == 1:
        return f"The budget was {max(each.values()):,} features."
    told = " and ".join(
        f"{n:,} features for {NAMES[name]}"
        + ("" if "searched" in found["runs"][name] else f", whose run is older, when `--memory {MEMORY}` meant more features")
        for name, n in each.items()
    )  # fmt: skip
    return f"The budget was {told}."


def _answer(found: Results) -> Iterator[str]:
    """What came of it, in a sentence for each method."""
    for name, run in found["runs"].items():
        summary = run["training"]["summary"]
        yield (
            f"In {_least_gb(most_memory(run))} of memory, {NAMES[name]} learns from {_millions(summary['examples'])} generated examples with {_about_so_many(summary['seen'])} distinct features "
            f"and keeps {summary['kept']:,} of them; its test error is {error(run):.4f}, where {run['testing']['generated']['bayes_error']:.4f} is the lowest possible."
        )


def _least_gb(size: float) -> str:
    """The memory, up to the next tenth of a GB."""
    return f"at most {math.ceil(size / 1e8) / 10:.1f} GB"


def _millions(n: int) -> str:
    return f"{n / 1e6:g} million"


def _about_so_many(n: int) -> str:
    """An estimate, with as many digits as it is good for."""
    return f"about {n / 1e9:.2f} billion" if n >= 1e9 else f"about {n / 1e6:.2f} million"


def _rounded(number: float) -> str:
    """Three digits: what is computed of an estimate has no more."""
    return f"{float(f'{number:.3g}'):,.0f}"


def _about() -> Iterator[str]:
    yield (
        "The paper's largest experiment is Big_Ads: given a query and two ads, which ad was clicked? "
        "It had 26 million examples with 3 billion features, of which truncated gradient kept 24 million."
    )
    yield (
        "Its data are not public, so `dwindle generate ads` writes a similar log: "
        "12 words for a query and 8 for each ad, drawn by Zipf's law from a vocabulary of 134 million. "
        "What matters is which ad fits which query, the interaction `q*a`."
    )
    yield (
        "Clicks are drawn from a model with 20,000 known weights, of frequent words and pairs of words, "
        "so the lowest possible error (the Bayes error) is known."
    )
    yield f"`make big-ads` learns from a pipe with `--memory {MEMORY}`, by truncated gradient, and by FTRL-Proximal beside it:"


def _beside_the_paper(found: Results) -> Iterator[str]:
    runs = list(found["runs"].values())
    summaries = [run["training"]["summary"] for run in runs]
    rows: list[tuple[str, str, list[str]]] = [
        ("examples learned from", "26,000,000", [f"{s['examples']:,}" for s in summaries]),
        (
            "test examples",
            "2,700,000",
            [f"{run['testing']['summary']['examples']:,}" for run in runs],
        ),
        (
            "distinct features seen",
            "about 3 billion",
            [_about_so_many(s["seen"]) for s in summaries],
        ),
        ("features kept", "about 24,000,000", [f"{s['kept']:,}" for s in summaries]),
        (
            "features seen per feature kept",
            f"{PAPER['factor']}",
            [_rounded(factor(s)) for s in summaries],
        ),
        ("most features held at once", "", [f"{s['peak_live']:,}" for s in summaries]),
        ("peak memory of all processes", "", [_gb(most_memory(run)) for run in runs]),
        ("minutes of processor time, learning", "", [f"{processor(run):.1f}" for run in runs]),
        ("minutes on the clock, learning", "", [f"{_wall(run):.1f}" for run in runs]),
        ("test error", "", [f"{error(run):.4f}" for run in runs]),
        (
            "lowest possible error",
            "",
            [f"{run['testing']['generated']['bayes_error']:.4f}" for run in runs],
        ),
    ]
    yield f"| | the paper | {' | '.join(NAMES[name] for name in found['runs'])} |"
    yield "|---|---:|" + "---:|" * len(runs)
    for name, paper, ours in rows:
        yield f"| {name} | {paper} | {' | '.join(ours)} |"


def processor(run: Results) -> float:
    """Minutes of processor time that learning took, the generator's among them."""
    _, _, spent = run["training"]["samples"][-1]
    return float(sum(spent) / 60)


def _wall(run: Results) -> float:
    return float(run["training"]["seconds"] / 60)


def _equal_data(found: Results) -> Iterator[str]:
    first, base = found["first"], baseline(found)
    yield "## What truncation costs"
    yield ""
    yield (
        f"Without truncation, the features of the first {_filling(found)} examples would fill the budget. "
        f"The models below learned from the first {first['examples']:,}, some of them without a budget, and are measured on other examples. The paper accepted an increase of the error by 0.009."
    )
    yield (
        "To have a fair baseline, each update's learning rate is chosen on a third part of the log, each time until the next smaller and the next larger one were worse; the best of these is what the others are compared with. "
        "The truncated models choose gravity and rate in the same way, and hold at most a sixteenth of the features: first those of the least error, then those of the fewest features within 0.009 of the baseline, by the part that is chosen on. "
        "Where only one is listed, it is both, or none is within."
    )
    yield ""
    yield "| model | rate | gravity, on the sum of losses | most held | kept | seen per kept | test error | change |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for one in first["models"]:
        how = "keeps everything" if one["max_live"] is None else f"`--max-live {one['max_live']}`"
        yield (
            f"| {UPDATES[one['update']]}, {how} | {one['learning_rate']:g} | {one['strength']:g} | {one['peak_live']:,} | {one['kept']:,} | {factor(one):,.1f} "
            f"| {one['error']:.4f} | {one['error'] - base['error']:+.4f} |"
        )
    yield ""
    cut = [one for one in first["models"] if one["open"]]
    if cut:
        names = "; ".join(UPDATES[one["update"]] for one in cut)
        yield f"The search was cut short, so that a better setting may lie beyond what was tried, for the truncated model of: {names}."
    good = within(found)
    yield (
        "None of the truncated models stays within the paper's 0.009."
        if not good
        else f"Within the paper's 0.009 of the best that keeps everything are {len(good)} of the truncated models; they keep {min(map(factor, good)):,.0f} to {max(map(factor, good)):,.0f} times fewer features than were seen."
    )
    for name, run in found["runs"].items():
        yield (
            f"In {_least_gb(most_memory(run))}, {NAMES[name]} learns from {run['training']['summary']['examples']:,} examples, "
            f"keeps {_rounded(factor(run['training']['summary']))} times fewer features than it saw, and its error is {base['error'] - error(run):.4f} below that of the baseline, which had {first['examples']:,} "
            f"({run['training']['summary']['examples'] / first['examples']:,.0f} times fewer examples: this shows what memory allows, not what truncation costs)."
        )


def _filling(found: Results) -> str:
    """After how many examples as many features were seen as a run may hold, about."""
    name, run = next(iter(found["runs"].items()))
    rows = run["training"]["rows"]
    seen, examples = ([row[what] for row in rows] for what in ("seen", "examples"))
    return f"{float(f'{np.interp(budget(found, name), seen, examples):.2g}'):,.0f}"


def _time(found: Results) -> Iterator[str]:
    yield "## Where the time goes"
    yield ""
    yield "| | minutes on the clock | minutes of the processor | nanoseconds of `dwindle train` for each feature of an example | load of the machine before and after |"
    yield "|---|---:|---:|---:|---:|"
    for name, run in found["runs"].items():
        _, _, (_, learning) = run["training"]["samples"][-1]
        each = learning / run["training"]["summary"]["feature_count"] * 1e9
        load = run.get("load")
        told = " and ".join(f"{one[0]:.1f}" for one in load) if load else "not recorded"
        yield f"| {NAMES[name]}, learning while examples are generated | {_wall(run):.1f} | {processor(run):.1f} | {each:.0f} | {told} |"
    first = found["first"]
    yield f"| the models of the first {first['examples']:,} examples | {first['seconds'] / 60:.1f} | | | |"
    yield ""
    yield f"The machine has {found['about']['cores']} cores."


def _remarks(found: Results) -> Iterator[str]:
    yield "## What this does not show"
    yield ""
    yield (
        "- The ads are generated. Their words are independent of each other, and those that matter are all frequent; "
        "real ads are neither. The errors here say nothing about real ads."
    )
    yield (
        "- The paper compares with an untruncated model of all its data. "
        "Here that would need more than 100 GB, so the comparison on equal data uses the first examples only."
    )
    runs = found["runs"].items()
    searched = " and ".join(NAMES[name] for name, run in runs if "searched" in run)
    yield (
        f"- The learning rate and the gravity of {searched} at full size are those of the least error after {found['settings']['examples']:,} examples in the same budget, on examples that are neither learned from nor tested on, each with a half and a double of it that were worse. "
        "The gravity on the sum of the losses was then scaled by the root of the number of examples, as what a useless feature is moved by. That this is best after all of them was not tried."
    )
    for name, run in runs:
        if "searched" not in run:
            yield (
                f"- The run of {NAMES[name]} is an earlier one, with the gravity of 1 that it is known for and its default rate, so the two columns do not say which method is better: "
                "at equal data, above, settings were searched for both."
            )
    yield (
        "- Truncated gradient is run with the adaptive update and a cooldown, which the paper does not have; on the first examples the plain update stands beside it. FTRL-Proximal is newer than the paper: see [accuracy against model size](frontier.md)."
    )


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"


def drawn(found: Results) -> Figure:
    """Memory over time, and features over examples, of each method."""
    figure = Figure(figsize=(10, 3.8))
    memory, features = figure.subplots(1, 2)
    for (name, run), colour in zip(found["runs"].items(), (BLUE, VERMILION), strict=False):
        _memory(memory, run, NAMES[name], colour)
        _features(features, run, NAMES[name], colour)
    memory.axhline(
        float(MEMORY.removesuffix("GB")), color=BLACK, linestyle=":", linewidth=1,
        label=f"--memory {MEMORY}",
    )  # fmt: skip
    memory.set_ylim(0, None)
    memory.set_xlim(0, 1)
    memory.set_xlabel("share of the examples learned from")
    memory.set_ylabel("memory of both processes, GB")
    memory.legend(frameon=False, loc="center", bbox_to_anchor=(0.5, 0.3))
    for n, limit in enumerate(sorted({budget(found, name) for name in found["runs"]})):
        label = None if n else "budget of features held"
        features.axhline(limit, color=BLACK, linestyle=":", linewidth=1, label=label)
    features.set_xlabel("examples")
    features.set_ylabel("features")
    features.grid(alpha=0.3)
    features.legend(frameon=False, loc="lower right", fontsize=8)
    return figure


def _memory(axes: Axes, run: Results, name: str, colour: str) -> None:
    samples = run["training"]["samples"]
    last = max(samples[-1][0], 1e-9)
    places = [seconds / last for seconds, *_ in samples]
    axes.plot(places, [sum(sizes) / 1e9 for _, sizes, _ in samples], color=colour, label=name)


def _features(axes: Axes, run: Results, name: str, colour: str) -> None:
    rows = run["training"]["rows"]
    n = [row["examples"] for row in rows]
    axes.loglog(
        n, [row["seen"] for row in rows], color=colour, linestyle="--", label=f"seen, {name}"
    )
    axes.loglog(n, [row["alive"] for row in rows], color=colour, label=f"alive, {name}")
    kept = run["training"]["summary"]["kept"]
    axes.plot(n[-1], kept, "o", color=colour, label=f"kept, {name}")


if __name__ == "__main__":
    for path in write(DOCS / "big-ads.json"):
        print(path)
