"""Peak memory while fitting wide data of which little stays alive, next to scikit-learn's.

Each row has 30 of 300 telling columns and 3 of all the others, which are noise. Rows come in
batches of 10,000 that are made, learned from and dropped. Each contestant has a process of its own
for each width, and is compared with itself on 1,000 columns: what Python, the libraries and the
batches take by themselves is in both.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier

from benchmarks import data
from benchmarks.results import Found, Row, row
from benchmarks.side_by_side import Plan, interleaved
from dwindle import TruncatedGradientClassifier


class Size(NamedTuple):
    """How many rows, and how many columns in turn."""

    rows: int
    widths: tuple[int, ...]


FULL, SMALL = Size(340_000, (10**5, 10**6, 10**7)), Size(10_000, (10**5,))
NARROW, BATCH = 10**3, 10_000
MODELS: dict[str, Any] = {
    "dwindle": lambda: TruncatedGradientClassifier(gravity=2e-4),
    "scikit-learn": lambda: SGDClassifier(loss="log_loss", penalty="l1", alpha=1e-3),
}


def measure(size: Size, plan: Plan) -> Found:  # noqa: ARG001  (a peak needs one round)
    """Each width, once: a peak is the same in every round."""
    rows: list[Row] = []
    narrow: dict[str, Row] = {}
    for width in (NARROW, *size.widths):
        contestants = {
            name: [sys.executable, "-m", "benchmarks.wide", name, str(width), str(size.rows)]
            for name in MODELS
        }
        found = {
            name: row(f"{width:,} columns", name, runs)
            for name, runs in interleaved(contestants, 1, warm_up=()).items()
        }
        narrow = narrow or found
        rows += [
            each._replace(
                more={
                    "kept": kept(name, width, size.rows),
                    "mb_more_than_narrow": round(_peak(each) - _peak(narrow[name]), 1),
                }
            )
            for name, each in found.items()
        ]
    return Found(f"peak memory of {size.rows:,} wide rows in batches of {BATCH:,}", rows, [])


def fitted(name: str, width: int, n: int) -> Any:
    """The model after one pass."""
    model = MODELS[name]()
    for rows, label in data.wide(width, n, BATCH):
        model.partial_fit(rows, label, [0, 1])
    return model


def kept(name: str, width: int, n: int) -> int:
    """Columns whose weight is not zero."""
    return int(np.count_nonzero(csr_array(fitted(name, width, n).coef_).data))


def _peak(found: Row) -> float:
    assert found.peak_mb is not None
    return found.peak_mb


if __name__ == "__main__":
    fitted(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
