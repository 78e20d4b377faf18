"""Peak memory while fitting wide data of which little stays alive, next to scikit-learn's.

Each row has 30 of 300 telling columns and 3 of all the others, which are noise. Rows come in
batches of 10,000 that are made, learned from and dropped. Each contestant has a process of its own
for each width, and is compared with itself on 1,000 columns: what Python, the libraries and the
batches take by themselves is in both.

    python benchmarks/memory.py
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from side_by_side import commands, report
from sklearn.linear_model import SGDClassifier

from dwindle import TruncatedGradientClassifier

NARROW, WIDTHS = 10**3, (10**5, 10**6, 10**7)
N, BATCH, TELLING, OF_THEM, NOISE = 340_000, 10_000, 300, 30, 3
GRAVITY = 1e-3


def batches(width: int) -> Iterator[tuple[csr_array, np.ndarray]]:
    """Rows and labels, the same for all contestants."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=TELLING)
    for _ in range(N // BATCH):
        block = TELLING // OF_THEM
        telling = np.arange(0, TELLING, block) + rng.integers(0, block, (BATCH, OF_THEM))
        noise = np.sort(rng.integers(TELLING, width, (BATCH, NOISE)), axis=1)
        column = np.hstack([telling, noise]).astype(np.int32)
        score = truth[telling].sum(axis=1)
        label = (score + rng.logistic(size=BATCH) > 0).astype(np.int64)
        start = np.arange(0, column.size + 1, OF_THEM + NOISE, dtype=np.int32)
        value = np.ones(column.size, np.float32)
        yield csr_array((value, column.ravel(), start), shape=(BATCH, width)), label


MODELS: dict[str, Any] = {
    "dwindle": lambda: TruncatedGradientClassifier(gravity=GRAVITY),
    "scikit-learn": lambda: SGDClassifier(loss="log_loss", penalty="l1", alpha=GRAVITY),
}


def fitted(name: str, width: int) -> Any:
    """The model after one pass."""
    model = MODELS[name]()
    for rows, label in batches(width):
        model.partial_fit(rows, label, [0, 1])
    return model


def kept(name: str, width: int) -> int:
    """Columns whose weight is not zero."""
    return int(np.count_nonzero(csr_array(fitted(name, width).coef_).data))


def main() -> None:
    """Measure, and print."""
    here = str(Path(__file__).resolve())
    peak: dict[tuple[str, int], float] = {}
    for width in (NARROW, *WIDTHS):
        runs = commands({name: [sys.executable, here, name, str(width)] for name in MODELS}, 1)
        peak |= {(name, width): run.peak_bytes / 1e6 for name, [run] in runs.items()}
    rows = [
        {
            "contestant": name,
            "columns": width,
            "kept": kept(name, width),
            "peak_mb": round(peak[name, width]),
            "more_than_narrow_mb": round(peak[name, width] - peak[name, NARROW], 1),
        }
        for width in WIDTHS
        for name in MODELS
    ]
    report(f"peak memory while fitting {N:,} rows in batches of {BATCH:,}", rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fitted(sys.argv[1], int(sys.argv[2]))
    else:
        main()
