"""The page docs/big-ads.md and its picture, written from big-ads.json.

python -m experiments.big_ads_page
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import BLACK, BLUE, LOOK, ORANGE, VERMILION

DOCS = Path(__file__).parent.parent / "docs"
PAPER = {"examples": 26e6, "test": 2.7e6, "seen": 3e9, "kept": 24e6, "factor": 125, "more": 0.009}
GIVEN = 4e9  # bytes of memory for everything

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


def error(found: Results) -> float:
    """On the test examples, of the model of all examples."""
    return float(1 - found["testing"]["summary"]["accuracy"])


def factor(model: Results) -> float:
    """How many features were seen for each that was kept."""
    return float(model["seen"] / max(model["kept"], 1))


def peak(samples: list[Any]) -> int:
    """The most memory that all processes had together."""
    return max(int(sum(sizes)) for _, sizes, _ in samples)


def most_memory(found: Results) -> int:
    """Of the whole run."""
    return max(peak(found[part]["samples"]) for part in ("training", "testing", "first"))


def within(found: Results) -> list[Results]:
    """The models of the first examples that lose no more than the paper accepted."""
    without, *others = found["first"]["models"]
    return [each for each in others if each["error"] <= without["error"] + PAPER["more"]]


def _lines(found: Results) -> Iterator[str]:
    about, summary = found["about"], found["training"]["summary"]
    yield "# Three billion features"
    yield ""
    yield "<!-- written by python -m experiments.big_ads -->"
    yield ""
    if about["examples"] < PAPER["examples"]:
        yield f"This is a reduced run, with {about['examples']:,} examples."
        yield ""
    yield from _about()
    yield ""
    yield "```"
    yield found["training"]["command"].replace(" | ", " |\n    ")
    yield found["testing"]["command"].replace(" | ", " |\n    ")
    yield "```"
    yield ""
    yield from _beside_the_paper(found)
    yield ""
    yield "![Memory, and features seen and alive, while it learns](big-ads.svg)"
    yield ""
    yield (
        f"*Seen* is an estimate (HyperLogLog, with a standard error of 0.8 %). "
        f"At most {summary['peak_live']:,} features were alive at once. The budget was {about['max_live']:,}, and it [holds](budget.md) at every example."
    )
    yield ""
    yield from _equal_data(found)
    yield ""
    yield from _time(found)
    yield ""
    yield from _remarks()


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
    yield "Everything on this page comes from one run of `make big-ads`, which learns from a pipe in 4 GB of memory:"


def _beside_the_paper(found: Results) -> Iterator[str]:
    about, summary = found["about"], found["training"]["summary"]
    bayes = found["testing"]["generated"]["bayes_error"]
    yield "| | the paper | here |"
    yield "|---|---:|---:|"
    yield f"| examples learned from | 26,000,000 | {about['examples']:,} |"
    yield f"| test examples | 2,700,000 | {about['test']:,} |"
    yield f"| distinct features seen | about 3,000,000,000 | ~{summary['seen']:,} |"
    yield f"| features kept | about 24,000,000 | {summary['kept']:,} |"
    yield f"| features seen per feature kept | {PAPER['factor']} | {factor(summary):,.0f} |"
    yield f"| most features alive at once | | {summary['peak_live']:,} |"
    yield f"| peak memory of all processes | | {_gb(most_memory(found))} |"
    yield f"| test error | | {error(found):.4f} |"
    yield f"| lowest possible error | | {bayes:.4f} |"


def _equal_data(found: Results) -> Iterator[str]:
    first, about = found["first"], found["about"]
    without, *others = first["models"]
    all_of_it = first["examples"] == about["examples"]
    yield "## What truncation costs"
    yield ""
    if not all_of_it:
        yield f"Without truncation, only the features of {first['examples']:,} examples fit in memory."
    yield (
        f"The models below learned from the {'same' if all_of_it else 'first'} {first['examples']:,} examples "
        "and are measured on the same test examples. The paper accepted an increase of the error by 0.009."
    )
    yield ""
    yield "| model | most alive | kept | seen per kept | test error | change |"
    yield "|---|---:|---:|---:|---:|---:|"
    yield _row("no truncation: `--gravity 0`", without, without)
    for each in others:
        yield _row(f"`--gravity {each['gravity']:g} --max-live {each['max_live']}`", each, without)
    if not all_of_it:
        whole = found["training"]["summary"] | {"error": error(found)}
        yield _row(f"all {about['examples']:,} examples, in the same memory", whole, without)
    yield ""
    kept = within(found)
    most = max((factor(each) for each in kept), default=None)
    yield (
        "None of these stays within the paper's 0.009."
        if most is None
        else f"Within the paper's 0.009, the smallest model has {most:.1f} times fewer features than were seen."
    )
    if not all_of_it:
        yield (
            f"In the memory that {first['examples']:,} examples fill without truncation, "
            f"it can learn from {about['examples']:,} examples with truncation, "
            f"and the error is {without['error'] - error(found):.4f} lower."
        )


def _row(name: str, model: Results, without: Results) -> str:
    return (
        f"| {name} | {model['peak_live']:,} | {model['kept']:,} | {factor(model):,.1f} "
        f"| {model['error']:.4f} | {model['error'] - without['error']:+.4f} |"
    )


def _time(found: Results) -> Iterator[str]:
    about, training, testing, first = (
        found[part] for part in ("about", "training", "testing", "first")
    )
    _, _, (generating, learning) = training["samples"][-1]
    n = about["examples"]
    yield "## Where the time goes"
    yield ""
    yield f"The whole experiment took {_minutes(about['seconds'])} on {about['cores']} cores:"
    yield ""
    yield "| | minutes |"
    yield "|---|---:|"
    yield f"| learning from {n:,} examples while they are generated | {training['seconds'] / 60:.1f} |"
    yield f"| testing on {about['test']:,} other examples | {testing['seconds'] / 60:.1f} |"
    yield f"| the models of the first {first['examples']:,} examples, and their test | {first['seconds'] / 60:.1f} |"
    yield ""
    features = training["summary"]["feature_count"] / n
    yield (
        f"The generator used {generating / n * 1e6:.1f} microseconds of processor time per example. "
        f"`dwindle train`, which parses on one thread and learns on another, used {learning / n * 1e6:.1f}, "
        f"or {learning / n / features * 1e9:.0f} nanoseconds for each of an example's {features:.0f} features."
    )


def _remarks() -> Iterator[str]:
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
    yield (
        "- It uses FTRL-Proximal with a [budget](budget.md), which is newer than the paper and needs fewer features than its algorithm: see [accuracy against model size](frontier.md)."
    )


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"


def drawn(found: Results) -> Figure:
    """Memory over time, and features over examples."""
    figure = Figure(figsize=(10, 3.8))
    memory, features = figure.subplots(1, 2)
    _memory(memory, found)
    _features(features, found)
    return figure


def _memory(axes: Axes, found: Results) -> None:
    samples = found["training"]["samples"]
    minutes = [seconds / 60 for seconds, *_ in samples]
    axes.plot(minutes, [sum(sizes) / 1e9 for _, sizes, _ in samples], color=BLUE, label="both")
    axes.plot(
        minutes, [sizes[0] / 1e9 for _, sizes, _ in samples], color=ORANGE, linestyle="--",
        label="dwindle generate",
    )  # fmt: skip
    axes.axhline(GIVEN / 1e9, color=BLACK, linestyle=":", linewidth=1, label="given")
    axes.set_ylim(0, None)
    axes.set_xlim(0, None)
    axes.set_xlabel("minutes of learning")
    axes.set_ylabel("memory, GB")
    axes.legend(frameon=False, loc="center", bbox_to_anchor=(0.5, 0.8))


def _features(axes: Axes, found: Results) -> None:
    rows = found["training"]["rows"]
    n = [row["examples"] for row in rows]
    axes.loglog(n, [row["seen"] for row in rows], color=VERMILION, linestyle="--", label="seen")
    axes.loglog(n, [row["alive"] for row in rows], color=BLUE, label="alive")
    axes.axhline(
        found["about"]["max_live"], color=BLACK, linestyle=":", linewidth=1, label="budget"
    )
    axes.set_xlabel("examples")
    axes.set_ylabel("features")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left")


if __name__ == "__main__":
    for path in write(DOCS / "big-ads.json"):
        print(path)
