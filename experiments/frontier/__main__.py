"""``python -m experiments.frontier``: which way to learn reaches what AUC with how few features.

Stopped and started again, it goes on from what is finished.
"""

import argparse
import json
import os
import signal
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import dwindle
from dwindle.runs.journal import Journal
from experiments.frontier import figures, page
from experiments.frontier.measures import REFERENCES, reference
from experiments.frontier.problems import FULL, QUICK, Problem, rows
from experiments.frontier.searching import Target
from experiments.frontier.units import Unit, measured
from experiments.frontier.ways import NAMES
from experiments.processes import made
from experiments.storing import DOCS, data_is_here, save

HERE = Path(__file__).parent
MEASURING = (
    "problems",
    "searching",
    "units",
    "ways",
    "wabbit",
)  # the modules here that make results, not pages


def main() -> None:
    """Measure, write frontier.json, draw the figures and write the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments.frontier", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two small sets, few settings")
    parser.add_argument("--output", type=Path, default=DOCS, help="a folder [default: docs]")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    results = given.output / "frontier.json"
    journal = results.with_suffix(".journal")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with data_is_here():
            found = run(QUICK if given.quick else FULL, journal, given.jobs)
    except KeyboardInterrupt:
        sys.exit("stopped: the same command goes on from what is finished")
    save(results, json.dumps(found))
    pictures = figures.draw(found, given.output)
    save(given.output / "frontier.md", page.write(found))
    journal.unlink()
    print(f"{results}, frontier.md and {len(pictures)} pictures")


def run(problems: tuple[Problem, ...], path: Path, jobs: int) -> dict[str, Any]:
    """Make what is not finished yet, on so many processes; returns all results."""
    about = {"problems": repr(problems), "code": _digest(), "data": os.environ.get("DWINDLE_DATA")}
    journal = Journal(path, about)
    for problem in problems:
        rows(problem, 0)  # downloads it if need be: better now than by several processes at once
    first = {(problem, way): Unit(problem, way) for problem in problems for way in REFERENCES}
    _finish(list(first.values()), journal, jobs)
    before = {where: journal[unit.name] for where, unit in first.items()}
    targets = {problem: _target(problem, journal) for problem in problems}
    units = [
        Unit(problem, way, targets[problem], before.get((problem, way)))
        for problem in problems
        for way in _ways(problem)
    ]
    _finish(units, journal, jobs)
    found = _gathered(units, journal)
    return {
        "seconds": sum(each["seconds"] for each in found),
        "cores": os.cpu_count(),
        "problems": [problem._asdict() for problem in problems],
        "runs": found,
    }


def _ways(problem: Problem) -> list[str]:
    """All ways, those first that the others are measured by."""
    return [*REFERENCES, *(way for way in NAMES if way not in {*REFERENCES, *problem.but})]


def _finish(units: list[Unit], journal: Journal, jobs: int) -> None:
    """Make those that are not finished yet."""
    waiting = [unit for unit in units if unit.name not in journal]
    for n, (unit, result) in enumerate(made(waiting, measured, jobs), 1):
        journal.add(unit.name, result)
        told = f"{len(result['points'])} settings, {len(result['open'])} open"
        print(f"{n}/{len(waiting)}  {result['seconds']:.0f} s  {unit.name}  {told}", flush=True)


def _gathered(units: list[Unit], journal: Journal) -> list[dict[str, Any]]:
    return [{"problem": u.problem.name, "way": u.way} | journal[u.name] for u in units]


def _target(problem: Problem, journal: Journal) -> Target:
    """What all other ways on a problem are measured by."""
    runs = _gathered([Unit(problem, way) for way in REFERENCES], journal)
    beside = reference({"runs": runs}, problem.name)
    return Target(beside.floor, beside.weights)


def _digest() -> str:
    """Of all the code that results depend on."""
    source = Path(dwindle.__file__).parent
    files = [
        HERE.parent / "climbing.py",
        *(HERE / f"{name}.py" for name in MEASURING),
        *source.rglob("*.py"),
    ]
    return sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


if __name__ == "__main__":
    main()
