"""The picture in the README: AUC against features kept, for three values of K.

    pip install "dwindle[plot]"
    python examples/picture.py docs/kept.svg

The demo's data (wdbc and 1000 random features), the median over ten shuffles.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from dwindle import Learner, Logistic, Plain, Truncation
from dwindle.datasets.wdbc import N_TRAIN, PASSES, RATE, wdbc
from dwindle.runs.metrics import auc

GRAVITIES = np.geomspace(3e-4, 0.2, 12)
STYLES = {1: ("#0072B2", "o"), 20: ("#E69F00", "s"), N_TRAIN: ("#009E73", "^")}  # Okabe and Ito's
SEEDS = range(10)


def outcome(seed: int, shrinkage: Truncation) -> tuple[int, float]:
    """Features kept and test AUC."""
    data = wdbc(seed)
    learner = Learner(Logistic(), shrinkage, Plain(), RATE)
    for _ in range(PASSES):
        learner.learn(data.train)
        learner.next_pass()
    learner.cooldown(shrinkage.truncate_every)
    assert data.test.label is not None
    return len(learner), auc(learner.predict(data.test), data.test.label)


def main(path: str) -> None:
    """Draw it."""
    plt.rcParams["svg.hashsalt"] = "dwindle"  # the same picture, the same bytes
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    for every, (color, marker) in STYLES.items():
        points = [
            np.median(
                [outcome(seed, Truncation(g, truncate_every=every)) for seed in SEEDS], axis=0
            )
            for g in GRAVITIES
        ]
        name = "K = one pass" if every == N_TRAIN else f"K = {every}"
        axes.plot(*np.transpose(points), color=color, marker=marker, label=name)
    dense = np.median([outcome(seed, Truncation()) for seed in SEEDS], axis=0)
    axes.plot(*dense, "*", color="black", markersize=12, label="no truncation")
    axes.set_xscale("log")
    axes.set_xlabel("features kept, of 1030 (30 real, 1000 random)")
    axes.set_ylabel("test AUC")
    axes.set_ylim(0.97, 1.0)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None} if path.endswith("svg") else None, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
