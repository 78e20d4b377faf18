"""The paper's experiment in small: real features among a thousand random ones (section 6).

``wdbc.csv.gz`` is "Breast Cancer Wisconsin (Diagnostic)" by W. Wolberg, O. Mangasarian, N. Street
and W. Street (1993), from the UCI Machine Learning Repository, under the licence CC BY 4.0.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dwindle.algorithm.losses import Logistic
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.updates import Plain
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.loop import fit
from dwindle.runs.metrics import accuracy, auc

N_TRAIN = 421  # as in the paper's table 1
N_RANDOM, P_RANDOM = 1000, 0.05
PASSES = 30
RATE = Schedule(0.05, pass_decay=0.9)
SETTINGS = (
    Truncation(gravity=0.0),
    Truncation(gravity=0.01),
    Truncation(gravity=0.01, truncate_every=20),
    Truncation(gravity=0.01, truncate_every=N_TRAIN),  # once a pass
)


class Outcome(NamedTuple):
    """The result of a run with one setting, on the test set."""

    setting: Truncation
    accuracy: float
    auc: float
    kept: int  # features
    random_kept: int  # random features
    weights: dict[str, float]


class Data(NamedTuple):
    """The dataset wdbc with its random features, split as in the paper."""

    names: list[str]
    train: Batch
    test: Batch


def wdbc(seed: int) -> Data:
    """Load wdbc: 30 numeric features, standardised, and 1000 random ones.

    Each random feature is 1 with probability 0.05 and 0 otherwise. The rows are shuffled; the
    label is 1 for malignant.
    """
    rng = np.random.default_rng(seed)
    with gzip.open(Path(__file__).with_name("wdbc.csv.gz"), "rt") as file:
        _, *features = next(file).rstrip().split(",")
        malignant, *columns = np.loadtxt(file, delimiter=",", unpack=True)
    order = rng.permutation(len(malignant))
    real = np.stack(columns, axis=1)[order]
    center, spread = real[:N_TRAIN].mean(axis=0), real[:N_TRAIN].std(axis=0)
    random = rng.random((len(order), N_RANDOM)) < P_RANDOM
    table = np.hstack([(real - center) / spread, random])
    label = np.where(malignant[order] == 1, 1, -1)
    names = [*features, *(f"random {j}" for j in range(N_RANDOM))]
    return Data(
        names,
        Batch.from_dense(table[:N_TRAIN], label[:N_TRAIN]),
        Batch.from_dense(table[N_TRAIN:], label[N_TRAIN:]),
    )


def run(seed: int = 0) -> Iterator[Outcome]:
    """Train with the paper's update and each setting in turn; the first has no truncation.

    >>> without, *_, once_a_pass = run()
    >>> without.random_kept, once_a_pass.random_kept
    (1000, 0)
    """
    data = wdbc(seed)
    for setting in SETTINGS:
        learner = Learner(Logistic(), setting, Plain(), RATE)
        yield _judge(fit(learner, [data.train], PASSES, setting.truncate_every), data)


def _judge(learner: Learner, data: Data) -> Outcome:
    prediction = learner.predict(data.test)
    assert data.test.label is not None
    weights = {data.names[int(j)]: w for j, w in learner.weights().items()}
    return Outcome(
        learner.shrinkage,
        accuracy(prediction, data.test.label),
        auc(prediction, data.test.label),
        len(weights),
        sum(name.startswith("random") for name in weights),
        weights,
    )
