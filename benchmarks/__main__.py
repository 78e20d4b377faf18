"""``python -m benchmarks``: dwindle and its peers side by side, in one run.

Contestants take turns, one round before the others unmeasured; figures are medians, ratios those of
medians, with the least and the most of a round.
"""

import argparse
import compileall
import json
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import dwindle
from benchmarks import screen
from benchmarks.results import about, as_json
from dwindle._base.files import replacing

WORKLOADS = ("eat", "rcv1", "ads", "lanes", "memory", "start", "growth", "wide", "pipe", "names")
RESULTS = Path("build/bench.json")


def main() -> None:
    """Measure, print and write the results, workload by workload."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"of {', '.join(WORKLOADS)} [default: all]")
    parser.add_argument("--rounds", type=int, default=5, help="that are measured [default: 5]")
    parser.add_argument("--small", action="store_true", help="little data, to see that it runs")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="for the data")
    parser.add_argument("--json", type=Path, default=RESULTS, help=f"[default: {RESULTS}]")
    given = parser.parse_args()
    if unknown := set(given.name) - set(WORKLOADS):
        parser.error(f"expected names out of {', '.join(WORKLOADS)}, got {', '.join(unknown)}")
    results: dict[str, Any] = {
        "about": about({"rounds": given.rounds, "small": given.small}),
        "workloads": [],
    }
    screen.show_about(results["about"])
    compileall.compile_dir(Path(dwindle.__file__).parent, quiet=1)  # as pip does when it installs
    for name in given.name or WORKLOADS:
        workload = import_module(f"benchmarks.{name}")
        size = workload.SMALL if given.small else workload.FULL
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            found = workload.measure(size, given.rounds, Path(folder))
        results["workloads"].append(as_json(name, workload.__doc__ or "", found))
        screen.show(results["workloads"][-1])
        given.json.parent.mkdir(parents=True, exist_ok=True)
        with replacing(given.json) as file:
            file.write(json.dumps(results, indent=1).encode())
    print(f"written to {given.json}")


if __name__ == "__main__":
    main()
