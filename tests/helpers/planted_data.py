"""Data in which a few features are known to tell everything."""

import itertools

import numpy as np

from dwindle import Batch

WEIGHTS = (2.0, -2.0, 1.5, -1.5, 1.0)  # of features 0 to 4; the others have none


def rows(n=600, n_features=40, each=12, seed=0, classes=True):
    """(label, features, values) of each example."""
    rng = np.random.default_rng(seed)
    weight = np.zeros(n_features)
    weight[: len(WEIGHTS)] = WEIGHTS
    out = []
    for _ in range(n):
        j = np.sort(rng.choice(n_features, each, replace=False))
        x = rng.normal(size=each).round(3)
        p = 2 * float(weight[j] @ x)
        if classes:
            out.append((1 if rng.random() < 1 / (1 + np.exp(-p)) else -1, j, x))
        else:
            out.append((round(p + rng.normal() / 4, 3), j, x))
    return out


def batch_of(examples, importance=None):
    start = np.cumsum([0, *(len(j) for _, j, _ in examples)])
    return Batch.from_arrays(
        start,
        np.concatenate([j for _, j, _ in examples]).astype(np.uint64),
        np.concatenate([x for _, _, x in examples]),
        [y for y, _, _ in examples],
        importance,
    )


CLASSES = rows()
NUMBERS = rows(classes=False)


def batches(examples=CLASSES, sizes=(250, 50, 300), importance=None):
    """Cut where folds do not begin anew."""
    bounds = [0, *np.cumsum(sizes)]
    return [
        batch_of(examples[a:b], None if importance is None else importance[a:b])
        for a, b in itertools.pairwise(bounds)
    ]


def svmlight(examples):
    return "".join(
        f"{y} " + " ".join(f"{j}:{x}" for j, x in zip(js, xs, strict=True)) + "\n"
        for y, js, xs in examples
    )


def vw(examples):
    return "".join(
        f"{y} |f " + " ".join(f"w{j}:{x}" for j, x in zip(js, xs, strict=True)) + "\n"
        for y, js, xs in examples
    )


def csv(examples, n_features=40):
    lines = [",".join(["label", *(f"c{j}" for j in range(n_features))])]
    for y, js, xs in examples:
        cells = [""] * n_features
        for j, x in zip(js, xs, strict=True):
            cells[j] = str(x)
        lines.append(",".join([str(y), *cells]))
    return "\n".join(lines) + "\n"
