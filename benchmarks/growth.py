"""Time per feature as the table grows, next to one random read from memory of that size.

Each example has 70 features drawn evenly from n live ones, so nearly every look-up is a cache miss
once the table is larger than the caches: the random read is the limit. The goal is about those
tables, from 10^6 features on; in a smaller one a read takes a nanosecond or two, and the arithmetic
is what counts.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bars import OF_READING
from benchmarks.results import Figure, Found, Row, row
from benchmarks.side_by_side import Plan, interleaved, ratio, seconds
from benchmarks.tools import DWINDLE
from dwindle import Batch, Learner, Logistic, Plain, Truncation
from dwindle.jit.compile import kernel

FULL, SMALL = 8, 5  # the power of ten of the most live features
NNZ, N = 70, 20_000
READ = "random 64-byte read"
# Bytes for each live feature: a table, and the one half as large that moves into it.
NEEDED = 80


@kernel
def read_at(memory: np.ndarray, places: np.ndarray) -> float:
    """Add up one number from each place, each a cache line of its own."""
    total = 0.0
    for k in range(len(places)):
        total += memory[places[k]]
    return total


def measure(size: int, plan: Plan) -> Found:
    """At 10^4, 10^5, ... live features, as far as there is memory for them."""
    found = [
        at(power, plan.rounds) for power in range(4, size + 1) if NEEDED * 10**power < available()
    ]
    rows = [each for rows, _ in found for each in rows]
    return Found("growth of the table, plain truncation", rows, [figure for _, figure in found])


def available() -> int:
    """Bytes of memory that are free to be used."""
    found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    return int(found[1]) * 1024 if found else 0


def at(power: int, rounds: int) -> tuple[list[Row], Figure]:
    """With so many live features."""
    learner = filled(10**power)
    rng = np.random.default_rng(0)
    memory = learner.table.cells.view(np.float64)
    # Others in each round: what was touched in the round before may still be in a cache.
    batches = iter([drawn(rng, 10**power) for _ in range(rounds + 1)])
    places = iter(rng.integers(0, memory.nbytes // 64, (rounds + 1, N * NNZ)) * 8)
    case = f"10^{power} live"
    runs = interleaved(
        {
            DWINDLE: lambda: learner.learn(next(batches)),
            READ: lambda: read_at(memory, next(places)),
        },
        rounds,
    )
    rows = [
        row(
            case,
            name,
            each,
            ns_a_feature=round(seconds(each).median / (N * NNZ) * 1e9, 1),
            table_mb=round(memory.nbytes / 1e6, 1),
        )
        for name, each in runs.items()
    ]
    times: list[Any] = [[run.seconds for run in each] for each in runs.values()]
    return rows, Figure(case, OF_READING, ratio(*times))


def filled(n_live: int) -> Learner:
    """A learner with so many live features."""
    learner = Learner(Logistic(), Truncation(1e-9), Plain(), 0.01)
    for first in range(0, n_live, 700_000):
        key = np.arange(first, min(first + 700_000, n_live), dtype=np.uint64)
        start = np.append(np.arange(0, len(key), NNZ), len(key))
        learner.learn(Batch.from_arrays(start, key, np.ones(len(key)), np.ones(len(start) - 1)))
    return learner


def drawn(rng: np.random.Generator, n_live: int) -> Batch:
    """Examples of features that are all alive."""
    key = rng.integers(0, n_live, N * NNZ, np.uint64)
    label = np.where(rng.random(N) < 0.5, 1, -1)
    start = np.arange(0, N * NNZ + 1, NNZ)
    return Batch.from_arrays(start, key, rng.random(N * NNZ, np.float32), label)
