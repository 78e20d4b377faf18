"""A pipe that is written while it is read, each example with a feature of its own: memory."""

import json
import resource
import subprocess
from pathlib import Path

from benchmarks import data
from benchmarks.results import Found, row
from benchmarks.side_by_side import Run
from benchmarks.tools import DWINDLE, dwindle, spoken

FULL, SMALL = 10_000.0, 5.0  # megabytes


def measure(size: float, rounds: int, folder: Path) -> Found:  # noqa: ARG001  (once is enough)
    """Train on the pipe once; what it took is what the summary says."""
    train = dwindle("train", "-", "-m", folder / "pipe.parquet", "--json", "--gravity", "2e-5")
    before = _processor()
    with subprocess.Popen(train, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603  (ours)
        assert process.stdin is not None
        data.Rcv1("word", once=True).write(process.stdin, size)
        summary = json.loads(process.communicate()[0].splitlines()[-1])
    run = Run(summary["seconds"], _processor() - before, summary["peak_memory_bytes"])
    counts = {key: summary[key] for key in ("examples", "seen", "peak_live", "kept")}
    found = row("text", DWINDLE, [run], **counts)._replace(command=spoken(train, folder))
    return Found(f"a pipe of {size / 1000:,g} GB", [found], [])


def _processor() -> float:
    """Seconds that ended processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
