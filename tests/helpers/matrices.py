"""Matrices with labels that their first columns tell, and a classifier that takes them in order."""

import numpy as np
from scipy.sparse import csr_array, random_array

from dwindle import TruncatedGradientClassifier


def data(n=400, d=300, seed=0, classes=2):
    """A sparse matrix in single precision, and labels that its first columns tell."""
    rng = np.random.default_rng(seed)
    x = random_array(
        (n, d),
        density=0.05,
        format="csr",
        dtype=np.float32,
        rng=rng,
        data_sampler=rng.standard_normal,
    )
    score = x[:, : 5 * classes].toarray() @ rng.normal(size=(5 * classes, classes))
    return csr_array(x), np.argmax(score + 0.1 * rng.normal(size=score.shape), axis=1)


def numbers(n=400, d=300, seed=0):
    x, _ = data(n, d, seed)
    return x, x[:, :5].toarray() @ [3.0, -2.0, 1.0, 0.5, 4.0]


def same(a, b):
    """Whether two sparse arrays are the same to the bit."""
    return (
        a.shape == b.shape
        and np.array_equal(a.indices, b.indices)
        and a.data.tobytes() == b.data.tobytes()
        and a.indptr.tolist() == b.indptr.tolist()
    )


def in_order(**settings):
    return TruncatedGradientClassifier(gravity=1e-3, shuffle=False, **settings)
