"""Random streams of examples, as lists for the reference and as batches for the kernels."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from dwindle import Batch


def stream(seed, labels, n_features=9, n_examples=40):
    """Examples (features, label, importance) in numbers of single precision.

    Values are drawn from a continuum: where a rule is discontinuous (sgn at 0, a threshold), a tie
    that rounding could break either way then has probability zero.
    """
    rng = np.random.default_rng(seed)
    examples = []
    for _ in range(int(rng.integers(1, n_examples))):
        names = rng.choice(n_features, rng.integers(0, min(n_features, 6)), replace=True)
        x = rng.uniform(-1.5, 1.5, len(names)).astype(np.float32)
        features = [(str(name), float(value)) for name, value in zip(names, x, strict=True)]
        importance = float(np.float32(rng.choice([0.0, 1.0, 1.0, 1.0, rng.uniform(0.1, 2.0)])))
        examples.append((features, float(rng.choice(labels)), importance))
    return examples


def batch_of(examples):
    start = np.cumsum([0, *(len(features) for features, _, _ in examples)])
    entries = [entry for features, _, _ in examples for entry in features]
    return Batch.from_arrays(
        start,
        np.array([int(name) for name, _ in entries], np.uint64),
        np.array([x for _, x in entries], np.float64),
        [label for _, label, _ in examples],
        [importance for _, _, importance in examples],
        names=[name for name, _ in entries],
    )


seeds = st.integers(0, 2**32 - 1)


def cut(examples, seed):
    """The examples in consecutive runs of random lengths, some empty."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, len(examples) + 1, rng.integers(0, 6)))
    bounds = [0, *cuts.tolist(), len(examples)]
    return [examples[a:b] for a, b in pairwise(bounds)]
