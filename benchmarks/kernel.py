"""Nanoseconds per feature in memory, next to scikit-learn's SGDClassifier(penalty="l1").

Data like rcv1: 100,000 examples, 70 non-zeros each, 40,000 features whose frequency falls as a
power law. One pass in batches of 10,000 rows, given as the same scipy CSR matrices to
`Learner.learn` and to `partial_fit`, ours and theirs: making a `Batch` of each is part of our time.

    python benchmarks/kernel.py
"""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from side_by_side import interleaved, ratio, report
from sklearn.linear_model import SGDClassifier

from dwindle import (
    Adaptive,
    Batch,
    Learner,
    Logistic,
    Plain,
    TruncatedGradientClassifier,
    Truncation,
)
from dwindle.metrics import auc

N, NNZ, D, BATCH, ROUNDS = 100_000, 70, 40_000, 10_000, 15
GRAVITY = 1e-5

Parts = list[tuple[csr_array, np.ndarray]]


def rcv1_like(seed: int = 0) -> tuple[csr_array, np.ndarray]:
    """A sparse matrix and labels -1, 1 drawn from a planted sparse logistic model."""
    rng = np.random.default_rng(seed)
    rank = (D * rng.random(N * NNZ) ** 3).astype(np.int32)  # rank r comes up as r^(-2/3)
    column = rng.permutation(D).astype(np.int32)[rank]  # a vocabulary is not sorted by frequency
    value = rng.random(N * NNZ).astype(np.float32)
    start = np.arange(0, N * NNZ + 1, NNZ, dtype=np.int32)
    table = csr_array((value, column, start), shape=(N, D))
    table.sum_duplicates()
    truth = np.where(rng.random(D) < 0.05, rng.normal(size=D), 0.0)
    margin = table @ truth
    chance = 1 / (1 + np.exp(-(margin - np.median(margin))))
    return table, np.where(rng.random(N) < chance, 1, -1)


def ours(parts: Parts, update: Plain | Adaptive, rate: float) -> Learner:
    """One pass of ours."""
    learner = Learner(Logistic(), Truncation(GRAVITY), update, rate)
    for rows, label in parts:
        learner.learn(Batch.from_csr(rows, label))
    return learner


def estimator(parts: Parts, update: str, rate: float) -> TruncatedGradientClassifier:
    """One pass of our estimator."""
    model = TruncatedGradientClassifier(gravity=GRAVITY, update=update, rate=rate)
    for rows, label in parts:
        model.partial_fit(rows, label, classes=[-1, 1])
    return model


def theirs(parts: Parts, *, shuffle: bool = True) -> SGDClassifier:
    """One pass of scikit-learn's, which by default visits the rows of a call in random order."""
    model = SGDClassifier(loss="log_loss", penalty="l1", alpha=GRAVITY, shuffle=shuffle)
    for rows, label in parts:
        model.partial_fit(rows, label, classes=[-1, 1])
    return model


def main() -> None:
    """Measure, and print the ratios."""
    table, label = rcv1_like()
    parts = [(table[i : i + BATCH], label[i : i + BATCH]) for i in range(0, N, BATCH)]
    contestants: dict[str, Callable[[], Any]] = {
        "dwindle, plain": partial(ours, parts, Plain(), 0.1),
        "dwindle, adaptive": partial(ours, parts, Adaptive(), 0.3),
        "dwindle's estimator, plain": partial(estimator, parts, "plain", 0.1),
        "dwindle's estimator, adaptive": partial(estimator, parts, "adaptive", 0.3),
        "scikit-learn": partial(theirs, parts),
        "scikit-learn, in order": partial(theirs, parts, shuffle=False),
    }
    seconds = interleaved(contestants, ROUNDS)
    rows = []
    for name, each in seconds.items():
        model = contestants[name]()
        if isinstance(model, Learner):
            kept, prediction = len(model), model.predict(Batch.from_csr(table))
        else:
            kept = int(csr_array(model.coef_).count_nonzero())
            prediction = model.decision_function(table)
        rows.append(
            {
                "contestant": name,
                "ns_per_feature": round(statistics.median(each) / table.nnz * 1e9, 1),
                "times_as_fast": ratio(seconds, "scikit-learn", name),
                "as_in_order": ratio(seconds, "scikit-learn, in order", name),
                "kept": kept,
                "auc_on_train": round(auc(prediction, label), 4),
            }
        )
    report(f"in memory, one pass, rcv1-like: {N:,} examples, {table.nnz:,} non-zeros", rows)


if __name__ == "__main__":
    main()
