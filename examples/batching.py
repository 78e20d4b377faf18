"""What a sparse model keeps, and how good it is, by the size of the batches it was given.

    python examples/batching.py

docs/why-batching-matters.md tells what to see in it.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier

from dwindle import TruncatedGradientClassifier, auc

N, N_TRAIN, D, NNZ, TELLING = 25_000, 20_000, 5_000, 30, 50
SIZES = (20_000, 2_000, 200, 20)


def stream() -> tuple[csr_array, np.ndarray]:
    """Rows of 30 columns of 5,000, common ones first; the label depends on the first 50."""
    rng = np.random.default_rng(0)
    column = (D * rng.random(N * NNZ) ** 2).astype(np.int32)
    start = np.arange(0, N * NNZ + 1, NNZ, dtype=np.int32)
    x = csr_array((np.ones(N * NNZ, np.float32), column, start), shape=(N, D))
    x.sum_duplicates()
    truth = np.zeros(D)
    truth[:TELLING] = rng.normal(size=TELLING)
    return x, (x @ truth + rng.logistic(size=N) > 0).astype(int)


def fitted(model: Any, x: csr_array, y: np.ndarray, size: int) -> Any:
    """The model after one pass in batches of this size."""
    for i in range(0, N_TRAIN, size):
        model.partial_fit(x[i : i + size], y[i : i + size], classes=[0, 1])
    return model


def main() -> None:
    """Print the table."""
    x, y = stream()
    test, truth = x[N_TRAIN:], 2 * y[N_TRAIN:] - 1
    print("            scikit-learn       dwindle")
    print("batch of    kept     AUC     kept     AUC")
    bits = set()
    for size in SIZES:
        theirs = SGDClassifier(loss="log_loss", penalty="l1", alpha=1e-3, shuffle=False)
        ours = TruncatedGradientClassifier(gravity=2e-4, truncate_every=5000)
        row = f"{size:8,}"
        for model in (theirs, ours):
            fitted(model, x, y, size)
            kept = csr_array(model.coef_).count_nonzero()
            row += f" {kept:7,}  {auc(model.decision_function(test), truth):.4f} "
        bits.add(ours.coef_.indices.tobytes() + ours.coef_.data.tobytes())
        print(row.rstrip())
    print("dwindle's weights are", "the same to the bit" if len(bits) == 1 else "not the same")


if __name__ == "__main__":
    main()
