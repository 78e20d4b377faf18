"""Write docs/performance.md, its chart and two tables on other pages from the results of a run.

python -m benchmarks.page [build/bench.json]
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks import words
from benchmarks.bars import AT_LEAST, FASTER_THAN_ORDERED, FASTER_THAN_RIVER, FASTER_THAN_VW
from benchmarks.results import MET, NOT_MET, WORK_ALONE
from dwindle._base.files import replacing

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
COLOURS = {MET: "#0072B2", WORK_ALONE: "#56B4E9", NOT_MET: "#E69F00"}  # told apart by all eyes
LOOK: dict[Any, Any] = {
    "svg.hashsalt": "dwindle",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}
README = {  # the figures shown there: one for each peer, like with like, and one that is slower
    ("eat", "text", FASTER_THAN_VW): "learning from 1.2 GB of text, with an interaction",
    ("rcv1", "cached", FASTER_THAN_VW): "learning from a cache of parsed documents",
    ("memory", "partial_fit, plain", FASTER_THAN_ORDERED): "`partial_fit`, rows in the same order",
    ("memory", "learn_one, plain", FASTER_THAN_RIVER): "`learn_one`, dicts of 70 features",
}
BEGIN, END = "<!-- figures: written by benchmarks/page.py -->", "<!-- end of figures -->"
PAGE = """# How fast is it?

<!-- written by benchmarks/page.py -->

dwindle and its peers on the same data in one run, taking turns: medians of {rounds} rounds, after a first round that is not counted.
A ratio is the ratio of medians; in brackets are its smallest and largest value in any one round.
*Excluding start-up* subtracts from both programs the time they need for a ten-line file: importing libraries and other work that does not grow with the data.
A *goal* is what we aim at; one that is reached only in this way is *met excluding start-up*.

![Each figure as a multiple of its goal](performance.svg)

{figures}

Measured on {machine}, with {versions}, by

```
make bench
python -m benchmarks.page
```

which is `python -m benchmarks {names} --rounds {rounds}{small}`.

## What limits it

{found}
## Time and memory of each program

Wall-clock and processor seconds of whole commands, or of calls where the data is in memory. The peak is the largest resident memory of the program's own process.
{workloads}"""


def main() -> None:
    """Write the page and draw its chart."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("results", nargs="?", default="build/bench.json", type=Path)
    parser.add_argument("--output", default=DOCS, type=Path, help="a folder [default: docs]")
    given = parser.parse_args()
    results = json.loads(given.results.read_text())
    draw(results, given.output / "performance.svg")
    with replacing(given.output / "performance.json") as file:
        file.write(json.dumps(results, indent=1).encode())
    with replacing(given.output / "performance.md") as file:
        file.write(page(results).encode())
    for other, written in (
        (given.output.parent / "README.md", with_figures),
        (given.output / "why-batching-matters.md", with_memory),
    ):
        if other.exists():
            text = written(other.read_text(), results)
            with replacing(other) as file:
                file.write(text.encode())


def with_figures(text: str, results: dict[str, Any]) -> str:
    """Put the figures of `README`, as far as the results have them, between the two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    known = {
        (workload["workload"], figure["case"], figure["what"]): words.cells_of_figure(figure)
        for workload in results["workloads"]
        for figure in workload["figures"]
    }
    shown = [(about, known[case]) for case, about in README.items() if case in known]
    rows = [(about, f"{value} ({extremes})") for about, (_, value, extremes, *_) in shown]
    table = _table(("", "dwindle is"), rows)
    return f"{before}{begin}\n{table}\n{end}{after}" if end else text


def with_memory(text: str, results: dict[str, Any]) -> str:
    """Put the peak memory of wide data, by the number of columns, between the two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    [wide] = [each for each in results["workloads"] if each["workload"] == "wide"]
    cells: dict[str, list[str]] = {}
    for row in wide["rows"]:
        cells.setdefault(row["case"], []).extend(
            [f"{row['peak_mb']:.0f}", f"{row['more']['kept']:,}"]
        )
    head = ("columns", "dwindle, MB", "kept", "scikit-learn, MB", "kept")
    rows = [(case.removesuffix(" columns"), *each) for case, each in cells.items()]
    return f"{before}{begin}\n{_table(head, rows)}\n{end}{after}"


def page(results: dict[str, Any]) -> str:
    """The text of the page."""
    about, figures = results["about"], _figures(results["workloads"])
    return PAGE.format(
        rounds=about["rounds"],
        small=" --small" if about["small"] else "",
        names=" ".join(each["workload"] for each in results["workloads"]),
        machine=words.machine(about),
        versions=words.versions(about),
        figures=_table(figures[0], figures[1:]),
        found=(HERE / "found.md").read_text(),
        workloads="".join(map(_workload, results["workloads"])),
    )


def _figures(workloads: Iterable[dict[str, Any]]) -> list[list[str]]:
    """All figures that have goals, with their heading."""
    rows = [["workload", "case", "figure", "excluding start-up", "goal", ""]]
    for workload in workloads:
        for figure in workload["figures"]:
            if figure["bar"]:
                case, value, extremes, *rest = words.cells_of_figure(figure)
                rows.append([workload["workload"], case, f"{value} ({extremes})", *rest])
    return rows


def _workload(workload: dict[str, Any]) -> str:
    tables = [_table(words.ROWS, map(words.cells_of_row, workload["rows"]))]
    others = [figure for figure in workload["figures"] if not figure["bar"]]
    if others:
        cells = [words.cells_of_figure(figure)[:4] for figure in others]
        tables.append(_table(words.FIGURES[:4], cells))
    commands = dict.fromkeys(row["command"] for row in workload["rows"] if row["command"])
    shown = "\n```\n" + "\n".join(commands) + "\n```\n" if commands else ""
    said = workload["description"].strip()
    shown_tables = "\n\n".join(tables)
    return f"\n### {workload['workload']}: {workload['title']}\n\n{said}\n\n{shown_tables}\n{shown}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw each figure as a multiple of its goal, turned so that more is better."""
    barred = [
        (workload["workload"], figure)
        for workload in results["workloads"]
        for figure in workload["figures"]
        if figure["bar"]
    ]
    with mpl.rc_context(LOOK):
        picture = Figure(figsize=(9, 1.2 + 0.3 * len(barred)))
        axes = picture.add_subplot()
        for place, (_, figure) in enumerate(barred):
            bar, colour = figure["bar"], COLOURS[figure["verdict"]]
            share = far = _share(figure["value"]["median"], bar)
            axes.barh(place, share, color=colour, label=figure["verdict"], height=0.7)
            if figure["work"]:
                work = _share(figure["work"], bar)
                far = max(share, work)
                axes.plot(work, place, "D", color="black", markersize=4)
            said = words.number(figure["value"]["median"])
            axes.annotate(
                f"{said}, goal {words.number(bar['limit'])}", (far, place), (8, 0),
                textcoords="offset points", va="center", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xscale("log")
        axes.set_xlabel("times the goal (right of 1: met); diamonds exclude start-up")
        axes.set_yticks(range(len(barred)), [_label(*each) for each in barred])
        axes.invert_yaxis()
        axes.margins(x=0.25)
        handles, labels = axes.get_legend_handles_labels()
        each = dict(zip(labels, handles, strict=True))
        picture.legend(each.values(), each.keys(), loc="outside upper right", ncols=3)
        picture.savefig(path, metadata={"Date": None})


def _share(value: float, bar: dict[str, Any]) -> float:
    return float(value / bar["limit"] if bar["sense"] == AT_LEAST else bar["limit"] / value)


def _label(workload: str, figure: dict[str, Any]) -> str:
    which = f", {figure['unit']}" if figure["unit"] != "x" else ""
    return f"{workload}: {figure['case']}{which}"


if __name__ == "__main__":
    main()
