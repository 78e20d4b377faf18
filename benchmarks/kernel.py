"""Nanoseconds per feature in memory, next to scikit-learn's SGDClassifier(penalty="l1").

Data like rcv1: 100,000 examples, 70 non-zeros each, 40,000 features whose frequency falls as a
power law. One pass in batches of 10,000 rows, given as the same scipy CSR matrices to
`Learner.learn` and to `partial_fit`: making a `Batch` of each is part of our time.

    python benchmarks/kernel.py
"""

from functools import partial

import numpy as np
from scipy.sparse import csr_array
from side_by_side import interleaved, ratio, report
from sklearn.linear_model import SGDClassifier

from dwindle import Adaptive, Batch, Learner, Logistic, Plain, Truncation
from dwindle.metrics import auc

N, NNZ, D, BATCH, ROUNDS = 100_000, 70, 40_000, 10_000, 7
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


def theirs(parts: Parts) -> SGDClassifier:
    """One pass of scikit-learn's."""
    model = SGDClassifier(
        loss="log_loss",
        penalty="l1",
        alpha=GRAVITY,
        learning_rate="constant",
        eta0=0.1,
        shuffle=False,
    )
    for rows, label in parts:
        model.partial_fit(rows, label, classes=[-1, 1])
    return model


def main() -> None:
    """Measure, and print the ratios."""
    table, label = rcv1_like()
    parts = [(table[i : i + BATCH], label[i : i + BATCH]) for i in range(0, N, BATCH)]
    seconds = interleaved(
        {
            "dwindle plain": partial(ours, parts, Plain(), 0.1),
            "dwindle adaptive": partial(ours, parts, Adaptive(), 0.3),
            "scikit-learn": partial(theirs, parts),
        },
        ROUNDS,
    )
    sparse = {
        "dwindle plain": ours(parts, Plain(), 0.1),
        "dwindle adaptive": ours(parts, Adaptive(), 0.3),
    }
    other = theirs(parts)
    whole = Batch.from_csr(table)
    kept = {name: len(learner) for name, learner in sparse.items()}
    kept["scikit-learn"] = int(np.count_nonzero(other.coef_))
    area = {name: auc(learner.predict(whole), label) for name, learner in sparse.items()}
    area["scikit-learn"] = auc(other.decision_function(table), label)
    rows = []
    for name, each in seconds.items():
        median, least, most = ratio(seconds, "scikit-learn", name)
        rows.append(
            {
                "contestant": name,
                "ns_per_feature": round(float(np.median(each)) / table.nnz * 1e9, 2),
                "times_as_fast": round(median, 2),
                "least": round(least, 2),
                "most": round(most, 2),
                "kept": kept[name],
                "auc_on_train": round(area[name], 4),
            }
        )
    report(f"in memory, one pass, rcv1-like: {N:,} examples, {table.nnz:,} non-zeros", rows)


if __name__ == "__main__":
    main()
