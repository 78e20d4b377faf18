"""What training on many machines costs, on the two cores of one."""

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from dwindle import TrainSettings, train
from dwindle.datasets.ads import Ads
from experiments.many.bits import Silent

EXAMPLES = 5_000_000  # of the ad log, about 1 GB
SMALL = 100_000  # examples for a thousand shards
HOW = {"adaptive": ("--update", "adaptive", "--gravity", "1e-5"), "default": ()}
ROUNDS = {"adaptive": 2, "default": 1}


def log(folder: Path) -> Path:
    """Write the ad log."""
    path = folder / "ads.vw"
    with path.open("wb") as file:
        file.writelines(Ads(1).text(EXAMPLES))
    return path


def _timed(args: list[str]) -> dict[str, float]:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-m", "dwindle", *args], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.monotonic() - begin, "processor": processor}


def beside_one_process(folder: Path) -> dict[str, Any]:
    """Train on a large file in one process and in two, by turns; take the least of each."""
    path = log(folder)
    results: dict[str, Any] = {"bytes": path.stat().st_size, "rounds": ROUNDS}
    for name, how in HOW.items():
        runs: dict[str, list[dict[str, float]]] = {"one": [], "local:2": []}
        common = ["train", str(path), *how, "-q"]
        for _ in range(ROUNDS[name]):
            runs["one"].append(_timed([*common, "-m", str(folder / "one.parquet")]))
            on = ["--on", "local:2", "--shards", "2"]
            runs["local:2"].append(_timed([*common, *on, "-m", str(folder / "two.parquet")]))
        results[name] = {
            where: {what: min(each[what] for each in found) for what in found[0]}
            for where, found in runs.items()
        }
    path.unlink()
    return results


def thousand_shards(folder: Path) -> dict[str, Any]:
    """Drive a plan of 1,000 shards on two processes; tell the driver's own time."""
    path = folder / "small.vw"
    with path.open("wb") as file:
        file.writelines(Ads(1).text(SMALL))
    how = TrainSettings(update="adaptive", gravity=1e-5)
    begin, own = time.monotonic(), time.process_time()
    target = folder / "thousand.parquet"
    summary = train([str(path)], target, how, on="local:2", shards=1000, observer=Silent())
    return {
        "shards": summary.shards,
        "seconds": time.monotonic() - begin,
        "driver": time.process_time() - own,
        "memory": summary.peak_memory_bytes,
    }
