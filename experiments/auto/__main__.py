"""``python -m experiments.auto``: no options at all, beside methods that search for a penalty.

What auto.json has of the other methods is kept, and what it lacks is measured.
"""

import argparse
import json
import sys
from collections.abc import Collection, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dwindle
from dwindle._base.errors import DataError
from dwindle._base.files import replacing
from dwindle.runs.train import train
from experiments.auto import methods, sets
from experiments.auto.methods import METHODS, Found
from experiments.auto.page import page
from experiments.auto.sets import Case, Rows

DOCS = Path(__file__).parents[2] / "docs"
RULES = {  # what the page says of how it is measured
    "seeds": len(sets.SEEDS),
    "folds": methods.FOLDS,
    "factor": methods.FACTOR,
    "least": methods.LEAST,
    "beyond": methods.BEYOND,
    "random": sets.RANDOM,
    "ads": sum(sets.ADS.rows),
    "planted": sets.PLANTED,
    "telling": sets.TELLING,
    "held_out": methods.HELD_OUT_EVERY,
}
PROGRAMS = dict.fromkeys(METHODS, "dwindle")
PROGRAMS |= {"liblinear": "scikit-learn", "sgd": "scikit-learn"}
PROGRAMS |= {"vw": "vowpalwabbit", "vw_l1": "vowpalwabbit"}

Key = tuple[str, int, str]  # set, seed and method


def main() -> None:
    """Measure what is wanted, write auto.json and the page."""
    parser = argparse.ArgumentParser(prog="python -m experiments.auto", description=__doc__)
    parser.add_argument("--output", type=Path, default=DOCS, help="a folder [default: docs]")
    parser.add_argument(
        "--only", nargs="+", choices=METHODS, default=[], help="measure these alone, and anew"
    )
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    try:
        measure(list(sets.cases()), given.output, given.only)
    except DataError as error:
        sys.exit(f"{error} (DWINDLE_DATA may name a folder that has it)")


def measure(wanted: Sequence[Case], folder: Path, only: Collection[str] = ()) -> None:
    """Measure auto, and what auto.json lacks, or some methods only; write it, and the page."""
    path = folder / "auto.json"
    known = json.loads(path.read_text()) if path.exists() else {"sets": [], "runs": []}
    about = {each["set"]: each for each in known["sets"]}
    runs = {(run["set"], run["seed"], run["method"]): run for run in known["runs"]}
    warm_up()
    for case in wanted:
        for seed in case.seeds:
            chosen = [
                method
                for method in METHODS
                if method not in case.but and (not only or method in only)
                if method in {"auto", *only} or (case.name, seed, method) not in runs
            ]
            if not chosen:
                continue
            rows = case.rows(seed)
            about[case.name] = _about(case, rows)
            for method in chosen:
                run = _run(method, METHODS[method](rows, seed))
                runs[case.name, seed, method] = {"set": case.name, "seed": seed} | run
                print(f"{case.name:24} {seed} {method:10} {_shown(run)}", flush=True)
                _save(path, json.dumps(_results(wanted, about, runs)).replace("{", "\n{") + "\n")
        _save(path.with_suffix(".md"), page(_results(wanted, about, runs)))


def warm_up() -> None:
    """Learn from a few examples, so that loading compiled code is not part of a measurement."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "few.vw"
        file.write_text("1 | 0:1 1:2.5\n-1 | 0:0.5\n" * 100)
        train([str(file)], Path(folder) / "model.parquet")


def _about(case: Case, rows: Rows) -> dict[str, Any]:
    return {
        "set": case.name,
        "part": case.part,
        "examples": rows.train.shape[0],
        "test": rows.test.shape[0],
        "features": rows.train.shape[1],
        "random": rows.random,
    }


def _run(method: str, found: Found) -> dict[str, Any]:
    program = PROGRAMS[method]
    by = f"{program} {dwindle.__version__ if program == 'dwindle' else version(program)}"
    return {"method": method, **found._asdict(), "by": by}


def _shown(run: dict[str, Any]) -> str:
    return (
        f"{run['auc']:.4f} {run['kept']:9,} features {run['seconds']:8.2f} s"
        f" {run['random']:4} random"
    )


def _results(
    wanted: Iterable[Case], about: dict[str, dict[str, Any]], runs: dict[Key, dict[str, Any]]
) -> dict[str, Any]:
    """Gather all that is known, in the order of the sets, whatever was measured last."""
    keys = [(case.name, seed, way) for case in wanted for seed in case.seeds for way in METHODS]
    return {
        "rules": RULES,
        "sets": [about[case.name] for case in wanted if case.name in about],
        "runs": [runs[key] for key in keys if key in runs],
    }


def _save(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())


if __name__ == "__main__":
    main()
