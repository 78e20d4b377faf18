"""``python -m experiments.frontier``: which way to learn reaches what AUC with how few features.

Stopped and started again, it goes on from what is finished.
"""

import argparse
import json
import os
import signal
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import dwindle
from dwindle.runs.journal import Journal
from experiments.frontier import figures, page
from experiments.frontier.measures import REFERENCES, reference
from experiments.frontier.problems import FULL, QUICK, Problem, rows
from experiments.frontier.searching import Target, searched
from experiments.frontier.ways import NAMES
from experiments.storing import DOCS, data_is_here, save

HERE = Path(__file__).parent
MEASURING = (
    "problems",
    "searching",
    "ways",
    "wabbit",
)  # the modules here that make results, not pages


def main() -> None:
    """Measure, write frontier.json, draw the figures and write the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments.frontier", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two small sets, few settings")
    parser.add_argument("--output", type=Path, default=DOCS, help="a folder [default: docs]")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    results = given.output / "frontier.json"
    journal = results.with_suffix(".journal")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with data_is_here():
            found = run(QUICK if given.quick else FULL, journal)
    except KeyboardInterrupt:
        sys.exit("stopped: the same command goes on from what is finished")
    save(results, json.dumps(found))
    pictures = figures.draw(found, given.output)
    save(given.output / "frontier.md", page.write(found))
    journal.unlink()
    print(f"{results}, frontier.md and {len(pictures)} pictures")


def run(problems: tuple[Problem, ...], path: Path) -> dict[str, Any]:
    """Make what is not finished yet; returns all results."""
    about = {"problems": repr(problems), "code": _digest(), "data": os.environ.get("DWINDLE_DATA")}
    journal = Journal(path, about)
    made: list[dict[str, Any]] = []
    for problem in problems:
        target = None
        for way in _in_order(problem):
            name = f"{problem.name} {way}"
            if name not in journal:
                journal.add(name, _measured(problem, way, target))
                known = journal[name]
                print(f"{known['seconds']:7.1f} s  {name}  {len(known['points'])} settings,"
                      f" {len(known['open'])} open", flush=True)  # fmt: skip
            made.append({"problem": problem.name, "way": way} | journal[name])
            if way == REFERENCES[-1]:
                beside = reference({"runs": made}, problem.name)
                target = Target(beside.floor, beside.weights)
    return {
        "seconds": sum(run["seconds"] for run in made),
        "cores": os.cpu_count(),
        "problems": [problem._asdict() for problem in problems],
        "runs": made,
    }


def _in_order(problem: Problem) -> list[str]:
    """All ways, those first that the others are measured by."""
    return [*REFERENCES, *(way for way in NAMES if way not in {*REFERENCES, *problem.but})]


def _measured(problem: Problem, way: str, target: Target | None) -> dict[str, Any]:
    begin = time.monotonic()
    made = searched(problem, way, target)
    known = rows(problem, problem.seeds[0])
    assert known.test.label is not None
    return made | {
        "train": known.train.n_examples,
        "test": known.test.n_examples,
        "positive": int((known.test.label > 0).sum()),
        "distinct": known.distinct,
        "length": round(known.length, 2),
        "seconds": round(time.monotonic() - begin, 1),
    }


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
