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
from experiments.frontier.problems import FULL, QUICK, Problem, rows
from experiments.frontier.ways import NAMES, measured
from experiments.storing import DOCS, data_is_here, save

HERE = Path(__file__).parent
MEASURING = ("problems", "ways", "wabbit")  # the modules here that make results, not pages


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
    units = [
        (problem, seed, way)
        for problem in problems
        for seed in problem.seeds
        for way in NAMES
        if way not in problem.but
    ]
    for problem, seed, way in units:
        name = f"{problem.name} {seed} {way}"
        if name not in journal:
            begin = time.monotonic()
            made = list(measured(problem, seed, way))
            seconds = round(time.monotonic() - begin, 1)
            known = rows(problem, seed)
            result = {
                "train": known.train.n_examples,
                "test": known.test.n_examples,
                "distinct": known.distinct,
                "seconds": seconds,
                "points": made,
            }
            journal.add(name, result)
            print(f"{seconds:7.1f} s  {name}", flush=True)
    return {
        "seconds": sum(journal[name]["seconds"] for name in journal),
        "cores": os.cpu_count(),
        "problems": [problem._asdict() for problem in problems],
        "runs": [
            {"problem": problem.name, "seed": seed, "way": way}
            | journal[f"{problem.name} {seed} {way}"]
            for problem, seed, way in units
        ],
    }


def _digest() -> str:
    """Of all the code that results depend on."""
    source = Path(dwindle.__file__).parent
    files = [*(HERE / f"{name}.py" for name in MEASURING), *source.rglob("*.py")]
    return sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()


if __name__ == "__main__":
    main()
