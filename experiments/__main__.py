"""``python -m experiments``: every table and figure of the paper's section 6, from the raw data.

Stopped and started again, it goes on from what is finished.
"""

import argparse
import json
import math
import os
import signal
import sys
import time
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

import dwindle
from dwindle.runs.journal import Journal
from experiments import data, figures, page
from experiments.processes import made
from experiments.runs import MOST, PASSES
from experiments.sparsifying import DECAYS
from experiments.storing import DOCS, data_is_here, save, versions
from experiments.units import FULL, QUICK, Plan, Unit, cost, timed, units

HERE = Path(__file__).parent
SOURCE = Path(dwindle.__file__).parent
MEASURING = (
    "climbing",
    "curves",
    "data",
    "peers",
    "runs",
    "sparsifying",
    "units",
)  # the modules here that make results, not pages
FOLDER = "DWINDLE_DATA"
PARTS = ("sets", "sparsified", "curves")
PACKAGES = ("dwindle", "numpy", "numba", "scikit-learn", "vowpalwabbit")


def main() -> None:
    """Measure, write results.json, draw the figures and write the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed, coarse grids, two sets")
    parser.add_argument("--output", type=Path, help="a folder for everything [default: here]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    given = parser.parse_args()
    plan = QUICK if given.quick else FULL
    folder = given.output
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    results = (folder or HERE) / "results.json"
    text = (folder or DOCS) / "reproduction.md"
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with data_is_here():
            found = run(plan, results.with_suffix(".journal"), given.jobs)
    except KeyboardInterrupt:
        sys.exit("stopped: the same command goes on from what is finished")
    save(results, json.dumps(found | {"about": found["about"] | {"quick": given.quick}}, indent=1))
    written = figures.draw(json.loads(results.read_text()), text.parent / "reproduction")
    save(text, page.write(json.loads(results.read_text())))
    results.with_suffix(".journal").unlink()
    print(f"{results}, {text} and {len(written)} pictures in {text.parent / 'reproduction'}")


def run(plan: Plan, path: Path, jobs: int) -> dict[str, Any]:
    """Make what is not finished yet, on so many processes; returns all results."""
    todo = units(plan)
    journal = Journal(path, {"plan": repr(plan), "code": _digest(), "data": os.environ.get(FOLDER)})
    waiting = [unit for unit in todo if unit.name not in journal]
    for name in plan.sets:
        data.load(name)  # downloads it if need be: better now than by several processes at once
    begin, before = time.monotonic(), _seconds(journal)
    with _bar() as bar:
        task = bar.add_task("", total=sum(map(cost, todo)), what="")
        bar.update(task, completed=sum(map(cost, todo)) - sum(map(cost, waiting)))
        for n, (unit, result) in enumerate(made(waiting, partial(timed, plan=plan), jobs), 1):
            wall = before + time.monotonic() - begin
            journal.add(unit.name, result | {"wall": wall})
            bar.update(task, advance=cost(unit), what=f"{len(todo) - len(waiting) + n}/{len(todo)}")
            bar.console.print(f"{wall:7.0f} s  {unit.name}", highlight=False)
    return _gathered(plan, todo, journal)


def _digest() -> str:
    """Of all the code that results depend on."""
    files = [*(HERE / f"{name}.py" for name in MEASURING), *SOURCE.rglob("*.py")]
    return sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


def _seconds(journal: Journal) -> float:
    """Of earlier runs, on the clock on the wall."""
    return max((journal[name]["wall"] for name in journal), default=0.0)


def _gathered(plan: Plan, todo: list[Unit], journal: Journal) -> dict[str, Any]:
    """All results, in an order that does not depend on which came first."""
    parts: dict[str, list[Any]] = {part: [] for part in PARTS}
    for unit in sorted(todo, key=_order):
        parts[unit.part] += journal[unit.name]["found"]
    return {
        "about": {
            "seeds": list(plan.seeds),
            "folds": list(plan.folds),
            "curve_folds": plan.curve_folds,
            "strengths": plan.strengths,
            "most": {str(passes): most for passes, most in MOST.items() if most < math.inf},
            "passes": list(PASSES),
            "pass_decay": list(DECAYS.listed),
            "seconds": sum(journal[unit.name]["seconds"] for unit in todo),
            "wall_seconds": _seconds(journal),
            "cores": os.cpu_count(),
            "versions": versions(PACKAGES),
        }
    } | parts


def _order(unit: Unit) -> tuple[Any, ...]:
    return PARTS.index(unit.part), unit.set, unit.seed, str(unit.what)


def _bar() -> Progress:
    return Progress(
        BarColumn(40),
        TaskProgressColumn(),
        TextColumn("{task.fields[what]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        speed_estimate_period=600,
    )


if __name__ == "__main__":
    main()
