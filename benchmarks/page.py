"""Write docs/performance.md, its chart and two tables on other pages from the results of a run.

python -m benchmarks.page [build/bench.json]
"""

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks import words
from benchmarks.bars import (
    BY_DEFAULT,
    FASTER,
    FASTER_THAN_ORDERED,
    FASTER_THAN_RIVER,
    FASTER_THAN_SKLEARN,
    MET,
    NOT_MET,
    PLAINLY,
    PREDICTING,
    UNFITTED,
    WORK_ALONE,
    Held,
    held,
)
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
# Columns of a table with a row for each case, where a workload has many.
COMPARED = {
    "adaptive": FASTER,
    "plain, --sgd": PLAINLY,
    "without options": BY_DEFAULT,
    "predicting": PREDICTING,
    "adaptive, default -b": UNFITTED,
}
PIVOTED = ("shapes",)  # their times too


class Shown(NamedTuple):
    """Figures of which README shows the best and the worst."""

    about: str
    cases: str  # a pattern that matches the whole name of a case
    whats: tuple[str, ...]


README = (
    Shown("learning, beside Vowpal Wabbit", "(?!ten lines).*", (FASTER, PLAINLY, BY_DEFAULT)),
    Shown("predicting, beside Vowpal Wabbit", ".*", (PREDICTING,)),
    Shown(
        "`partial_fit`, beside `SGDClassifier` with L1",
        "partial_fit, .*",
        (FASTER_THAN_SKLEARN, FASTER_THAN_ORDERED),
    ),
    Shown("`learn_one`, beside River", "learn_one, (?!known).*", (FASTER_THAN_RIVER,)),
)
BY_SETTING = {PLAINLY: ", plain", BY_DEFAULT: ", without options"}
BEGIN, END = "<!-- figures: written by benchmarks/page.py -->", "<!-- end of figures -->"
PAGE = """# How fast is it?

<!-- written by benchmarks/page.py -->

dwindle and its peers on the same data in one run, taking turns: medians of {rounds} rounds (one less of 1 GB and of 10 million rows, three times as many of what takes a fraction of a second), in opposite order in every other round, after a warm-up that is not counted.
A ratio is the ratio of medians; in brackets are its smallest and largest value in any one round.
*Excluding start-up* subtracts from both programs the time they need for the first ten lines of the same file: importing libraries and other work that does not grow with the data. Kernels and Python's bytecode are on disk already, as after `pip install` and a first run.
The two threads of Vowpal Wabbit hand over every example to each other, and how long that takes depends on the machine, and on where its cores are: so each case first tries whether it learns faster on one core, and runs all of it there if so (`taskset` in the commands).

{busyness}

## What we aim at

Whole commands, peers at the setting that suits them, like with like. A goal that is about many cases is held against the worst of them; *met excluding start-up* means only then.
Where a goal is not met, the last column names the paragraph below that says why, and how the time of the main thread was divided in a run of its own: start-up until the first examples were there, waiting for those that other threads read, learning from them (or, when predicting, writing), and making and writing the model.

![Each goal and how far it is reached](performance.svg)

{figures}

Measured in {minutes} minutes on {machine}, with {versions}, by

```
make bench
python -m benchmarks.page
```

which is `{command}`.

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
    """Put the best and the worst of the figures of `README` between the two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    rows = []
    for about, cases, whats in README:
        figures = [
            figure
            for workload in results["workloads"]
            for figure in workload["figures"]
            if figure["what"] in whats and re.fullmatch(cases, figure["case"])
        ]
        figures.sort(key=lambda figure: figure["value"]["median"])
        if figures:
            rows.append((about, _extreme(figures[-1]), _extreme(figures[0])))
    table = _table(("times as fast", "best case", "worst case"), rows)
    busy = "\n\nMeasured on a busy machine: not to be trusted.\n" if words.is_busy(results) else ""
    return f"{before}{begin}\n{table}{busy}\n{end}{after}" if end else text


def _extreme(figure: dict[str, Any]) -> str:
    case = figure["case"] + BY_SETTING.get(figure["what"], "")
    return f"{words.number(figure['value']['median'])} ({case})"


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
    about = results["about"]
    return PAGE.format(
        rounds=about["rounds"],
        minutes=about["minutes"],
        command=_command(results),
        machine=words.machine(about),
        versions=words.versions(about),
        busyness=words.busyness(results),
        figures=_table(words.BARRED, (words.cells_of_bar(each, results) for each in held(results))),
        found=(HERE / "found.md").read_text(),
        workloads="".join(map(_workload, results["workloads"])),
    )


def _command(results: dict[str, Any]) -> str:
    """What was typed, with its defaults."""
    about = results["about"]
    names = " ".join(each["workload"] for each in results["workloads"])
    case = f" --case '{about['case']}'" if about["case"] else ""
    small = " --small" if about["small"] else ""
    return f"python -m benchmarks {names} --rounds {about['rounds']}{case}{small}"


def _workload(workload: dict[str, Any]) -> str:
    name, rows, figures = workload["workload"], workload["rows"], workload["figures"]
    tables = [_compared(figures)] if any(each["what"] == FASTER for each in figures[:1]) else []
    tables.append(
        _times(rows) if name in PIVOTED else _table(words.ROWS, map(words.cells_of_row, rows))
    )
    if figures and len(tables) == 1:
        tables.append(_table(words.FIGURES, map(words.cells_of_figure, figures)))
    commands = dict.fromkeys(
        row["command"]
        for row in rows
        if row["command"] and (name not in PIVOTED or row["case"] == rows[0]["case"])
    )
    shown = "\n```\n" + "\n".join(commands) + "\n```\n" if commands else ""
    said, shown_tables = workload["description"].strip(), "\n\n".join(tables)
    return f"\n### {name}: {workload['title']}\n\n{said}\n\n{shown_tables}\n{shown}"


def _compared(figures: Sequence[dict[str, Any]]) -> str:
    """A row for each case: times as fast as Vowpal Wabbit, and excluding start-up."""
    known = {(each["case"], each["what"]): each for each in figures}
    rows = []
    for case in dict.fromkeys(each["case"] for each in figures):
        cells = [known.get((case, what)) for what in COMPARED.values()]
        rows.append(
            [
                case,
                *(_both(each["value"]["median"], each["work"]) if each else "" for each in cells),
            ]
        )
    return _table(("times as fast as Vowpal Wabbit (excluding start-up)", *COMPARED), rows)


def _both(whole: float, work: float | None) -> str:
    return f"{whole:.2f}" + ("" if work is None else f" ({work:.2f})")


def _times(rows: Sequence[dict[str, Any]]) -> str:
    """A row for each case and a column for each program: wall and processor seconds."""
    programs = [*dict.fromkeys(row["contestant"] for row in rows)]
    known = {(row["case"], row["contestant"]): row for row in rows}
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        cells = [known.get((case, program)) for program in programs]
        lines.append(
            [
                case,
                *(
                    f"{each['seconds']['median']:.2f}, {each['processor']:.2f}" if each else ""
                    for each in cells
                ),
            ]
        )
    return _table(("wall s, CPU s", *programs), lines)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw each goal's worst figure as a multiple of it, turned so that more is better."""
    barred = [*held(results)]
    with mpl.rc_context(LOOK):
        picture = Figure(figsize=(9, 1.2 + 0.3 * len(barred)))
        axes = picture.add_subplot()
        for place, (bar, figure, _) in enumerate(barred):
            verdict = bar.verdict(figure)
            share = far = bar.share(figure["value"]["median"])
            axes.barh(place, share, color=COLOURS[verdict], label=verdict, height=0.7)
            if figure["work"]:
                work = bar.share(figure["work"])
                far = max(share, work)
                axes.plot(work, place, "D", color="black", markersize=4)
            said = words.number(figure["value"]["median"])
            axes.annotate(
                f"{said}, goal {words.number(bar.limit)}", (far, place), (8, 0),
                textcoords="offset points", va="center", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        axes.axvline(1, color="black", linewidth=1)
        axes.set_xscale("log")
        axes.set_xlabel("times the goal (right of 1: met); diamonds exclude start-up")
        axes.set_yticks(range(len(barred)), [_label(each) for each in barred])
        axes.invert_yaxis()
        axes.margins(x=0.25)
        handles, labels = axes.get_legend_handles_labels()
        each = dict(zip(labels, handles, strict=True))
        picture.legend(each.values(), each.keys(), loc="outside upper right", ncols=3)
        picture.savefig(path, metadata={"Date": None})


def _label(goal: Held) -> str:
    which = {PLAINLY: ", plain", PREDICTING: ", predicting"}.get(goal.bar.what, "")
    worst = "" if goal.n == 1 else f", worst of {goal.n}"
    return f"{goal.bar.workload}: {goal.figure['case']}{which}{worst}"


if __name__ == "__main__":
    main()
