"""``python -m benchmarks``: dwindle and its peers side by side, in one run.

Contestants take turns, one round before the others unmeasured; figures are medians, ratios those of
medians, with the least and the most of a round. All workloads take some 25 minutes of a machine
that does nothing else. Generated data is kept in a folder, 12 GB of it, for the next run.
"""

import argparse
import compileall
import json
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import dwindle
from benchmarks import screen
from benchmarks.results import about, as_json
from benchmarks.side_by_side import Plan
from dwindle._base.files import replacing

WORKLOADS = ("shapes", "streams", "memory", "start", "growth", "wide", "pipe", "names")
WRITTEN = ("shapes", "streams")  # those that keep their data
FOLDER, RESULTS = Path("build/bench"), Path("build/bench.json")


def main() -> None:
    """Measure, print and write the results, workload by workload."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(WORKLOADS)} [default: all]")
    parser.add_argument("--rounds", type=int, default=3, help="that are measured [default: 3]")
    parser.add_argument("--case", default="", help="pattern of shapes and streams [default: all]")
    parser.add_argument("--small", action="store_true", help="little data, to see that it runs")
    parser.add_argument("--write", action="store_true", help="only write the data")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"for data [default: {FOLDER}]")
    parser.add_argument("--json", type=Path, default=RESULTS, help=f"[default: {RESULTS}]")
    given = parser.parse_args()
    if unknown := set(given.name) - set(WORKLOADS):
        parser.error(f"expected names out of {', '.join(WORKLOADS)}, got {', '.join(unknown)}")
    settings = {"rounds": given.rounds, "small": given.small, "case": given.case}
    results: dict[str, Any] = {"about": about(settings), "workloads": []}
    screen.show_about(results["about"])
    compileall.compile_dir(Path(dwindle.__file__).parent, quiet=1)  # as pip does when it installs
    given.folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    for name in given.name or WORKLOADS:
        if given.write and name not in WRITTEN:
            continue
        workload = import_module(f"benchmarks.{name}")
        size = workload.SMALL if given.small else workload.FULL
        with tempfile.TemporaryDirectory(dir=given.folder) as out:
            plan = Plan(given.rounds, given.folder, Path(out), given.case, given.write)
            found = workload.measure(size, plan)
        if given.write:
            continue
        results["workloads"].append(as_json(name, workload.__doc__ or "", found))
        screen.show(results["workloads"][-1])
        results["about"]["minutes"] = round((time.monotonic() - begin) / 60, 1)
        given.json.parent.mkdir(parents=True, exist_ok=True)
        with replacing(given.json) as file:
            file.write(json.dumps(results, indent=1).encode())
    if not given.write:
        print(f"written to {given.json} after {results['about']['minutes']} minutes")


if __name__ == "__main__":
    main()
