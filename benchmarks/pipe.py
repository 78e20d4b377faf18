"""A pipe that is written while it is read, each example with a feature of its own: memory."""

import json
import resource
import subprocess

from benchmarks.lines import Shape, Writer
from benchmarks.results import Found, row
from benchmarks.side_by_side import Plan, Run
from benchmarks.tools import DWINDLE, dwindle, spoken

FULL, SMALL = 2_000.0, 5.0  # megabytes


def measure(size: float, plan: Plan) -> Found:
    """Train on the pipe once; what it took is what the summary says."""
    train = dwindle("train", "-", "-m", plan.out / "pipe.parquet", "--json", "--gravity", "2e-5")
    before = _processor()
    with subprocess.Popen(train, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603  (ours)
        assert process.stdin is not None
        Writer(Shape(names="words", once=True)).write(process.stdin, size)
        summary = json.loads(process.communicate()[0].splitlines()[-1])
    run = Run(summary["seconds"], _processor() - before, summary["peak_memory_bytes"])
    counts = {key: summary[key] for key in ("examples", "seen", "peak_live", "kept")}
    found = row("text", DWINDLE, [run], **counts)._replace(command=spoken(train, plan.out))
    return Found(f"a pipe of {size / 1000:,g} GB", [found], [])


def _processor() -> float:
    """Seconds that ended processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
