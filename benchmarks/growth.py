"""Nanoseconds per feature as the table grows, next to one random read from memory of that size.

Each example has 70 features drawn evenly from n live ones, so nearly every look-up is a cache miss
once the table is larger than the caches: the random read is the limit.

    python benchmarks/growth.py [LARGEST, such as 1e7]
"""

import statistics
import sys

import numpy as np
from side_by_side import interleaved, report

from dwindle import Batch, Learner, Logistic, Plain, Truncation
from dwindle._jit import compiled

NNZ, N, ROUNDS = 70, 20_000, 5


@compiled
def read_at(memory: np.ndarray, places: np.ndarray) -> float:
    """Add up one number from each place, each a cache line of its own."""
    total = 0.0
    for k in range(len(places)):
        total += memory[places[k]]
    return total


def measure(n_live: int) -> dict[str, float]:
    """One row of the table."""
    rng = np.random.default_rng(0)
    learner = Learner(Logistic(), Truncation(1e-9), Plain(), 0.01)
    for first in range(0, n_live, 700_000):
        key = np.arange(first, min(first + 700_000, n_live), dtype=np.uint64)
        start = np.append(np.arange(0, len(key), NNZ), len(key))
        learner.learn(Batch.from_arrays(start, key, np.ones(len(key)), np.ones(len(start) - 1)))
    key = rng.integers(0, n_live, N * NNZ, np.uint64)
    label = np.where(rng.random(N) < 0.5, 1, -1)
    start = np.arange(0, N * NNZ + 1, NNZ)
    batch = Batch.from_arrays(start, key, rng.random(N * NNZ, np.float32), label)
    memory = np.ones(learner.table.cells.nbytes // 8)
    places = rng.integers(0, len(memory) // 8, N * NNZ) * 8
    seconds = interleaved(
        {"learn": lambda: learner.learn(batch), "read": lambda: read_at(memory, places)}, ROUNDS
    )
    learn, read = (statistics.median(seconds[name]) / (N * NNZ) * 1e9 for name in seconds)
    return {
        "live": n_live,
        "table_mb": round(learner.table.cells.nbytes / 1e6, 1),
        "learn_ns": round(learn, 1),
        "random_read_ns": round(read, 1),
        "ratio": round(learn / read, 2),
    }


def main() -> None:
    """Measure at 10^4, 10^5, ... live features."""
    largest = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7
    sizes = [10**k for k in range(4, 10) if 10**k <= largest]
    report("in memory, plain truncation, by number of live features", [measure(n) for n in sizes])


if __name__ == "__main__":
    main()
