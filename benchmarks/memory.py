"""In memory: sparse matrices next to scikit-learn, and dicts one by one next to River.

Data like rcv1, 70 features drawn a row. One pass in batches of 10,000 rows, given as the same scipy
CSR matrices to `Learner.learn` and to `partial_fit`, ours and theirs: making a `Batch` of each is
part of our time. One by one, each round learns the same stream from the beginning, and goes through
it again with a model that knows it: learning, then predicting.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from river import linear_model, optim
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier

from benchmarks import data
from benchmarks.bars import FASTER_THAN_ORDERED, FASTER_THAN_RIVER, FASTER_THAN_SKLEARN
from benchmarks.results import Figure, Found, Row, row, speed
from benchmarks.side_by_side import Plan, interleaved, seconds
from dwindle import (
    Adaptive,
    Batch,
    Learner,
    Logistic,
    Plain,
    TruncatedGradientClassifier,
    Truncation,
)
from dwindle.engine.lanes import LaneLearner
from dwindle.estimators.river import TruncatedGradientClassifier as OneByOne
from dwindle.runs.metrics import auc


class Size(NamedTuple):
    """How many examples."""

    rows: int
    dicts: int


FULL, SMALL = Size(100_000, 10_000), Size(2_000, 200)
BATCH, GRAVITY = 10_000, 1e-5
PLAIN, ADAPTIVE = (0.1, GRAVITY), (0.6, 2e-6)  # rate and gravity: they keep about as many
SKLEARN, ORDERED, RIVER = "scikit-learn", "scikit-learn, in order", "River"

Parts = list[tuple[csr_array, np.ndarray]]
Stream = list[tuple[dict[str, float], bool]]


def measure(size: Size, plan: Plan) -> Found:
    """Both."""
    rows, figures = matrices(size.rows, 3 * plan.rounds)  # they take a tenth of a second
    more_rows, more_figures = dicts(size.dicts, plan.rounds)
    title = f"in memory, like rcv1: {size.rows:,} rows of a matrix, {size.dicts:,} dicts"
    return Found(title, rows + more_rows, figures + more_figures)


# Matrices


def matrices(n: int, rounds: int) -> tuple[list[Row], list[Figure]]:
    """One pass over CSR matrices."""
    table, label = data.rcv1_matrix(n)
    parts = [(table[i : i + BATCH], label[i : i + BATCH]) for i in range(0, n, BATCH)]
    ours: dict[str, Callable[[], Any]] = {
        "Learner.learn, plain": partial(ours_in_batches, parts, Plain(), *PLAIN),
        "Learner.learn, adaptive": partial(ours_in_batches, parts, Adaptive(), *ADAPTIVE),
        "partial_fit, plain": partial(estimator, parts, "plain", *PLAIN),
        "partial_fit, adaptive": partial(estimator, parts, "adaptive", *ADAPTIVE),
    }
    theirs: dict[str, Callable[[], Any]] = {
        SKLEARN: partial(theirs_in_batches, parts),
        ORDERED: partial(theirs_in_batches, parts, shuffle=False),
    }
    runs = interleaved(ours | theirs, rounds)
    rows = [
        row(
            name if name in ours else "partial_fit",
            "dwindle" if name in ours else name,
            runs[name],
            ns_a_feature=round(seconds(runs[name]).median / table.nnz * 1e9, 1),
            **quality(make(), table, label),
        )
        for name, make in (ours | theirs).items()
    ]
    figures = [
        speed(name, what, runs[peer], runs[name])
        for name in ours
        for peer, what in ((SKLEARN, FASTER_THAN_SKLEARN), (ORDERED, FASTER_THAN_ORDERED))
    ]
    return rows, figures


def learner_of(update: Plain | Adaptive, rate: float, gravity: float) -> Learner:
    """Ours, new."""
    return Learner(Logistic(), Truncation(gravity), update, rate)


def ours_in_batches(parts: Parts, update: Plain | Adaptive, rate: float, gravity: float) -> Learner:
    """One pass of ours."""
    learner = learner_of(update, rate, gravity)
    for rows, label in parts:
        learner.learn(Batch.from_csr(rows, label))
    return learner


def estimator(
    parts: Parts, update: str, rate: float, gravity: float
) -> TruncatedGradientClassifier:
    """One pass of our estimator."""
    model = TruncatedGradientClassifier(gravity=gravity, update=update, learning_rate=rate)
    for rows, label in parts:
        model.partial_fit(rows, label, classes=[-1, 1])
    return model


def theirs_in_batches(parts: Parts, *, shuffle: bool = True) -> SGDClassifier:
    """One pass of scikit-learn's, which by default visits the rows of a call in random order."""
    model = SGDClassifier(loss="log_loss", penalty="l1", alpha=GRAVITY, shuffle=shuffle)
    for rows, label in parts:
        model.partial_fit(rows, label, classes=[-1, 1])
    return model


def quality(model: Any, table: csr_array, label: np.ndarray) -> dict[str, Any]:
    """What a model keeps, and the AUC on what it was learned from."""
    if isinstance(model, Learner):
        kept, prediction = len(model), model.predict(Batch.from_csr(table))
    else:
        kept = int(csr_array(model.coef_).count_nonzero())
        prediction = model.decision_function(table)
    return {"kept": kept, "auc_on_train": round(auc(prediction, label), 4)}


# Dicts


class Sign:
    """A learner that takes False and True."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.predict_proba_one = self.learner.predict_proba_one

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        """One example."""
        self.learner.learn_one(x, 1 if y else -1)


MAKERS: dict[str, Callable[[], Any]] = {
    "plain": lambda: Sign(learner_of(Plain(), *PLAIN)),
    "adaptive": lambda: Sign(learner_of(Adaptive(), *ADAPTIVE)),
    "eight gravities": lambda: Sign(LaneLearner()),
    "plain, dwindle.river": lambda: OneByOne(update="plain", learning_rate=0.1, gravity=GRAVITY),
    RIVER: lambda: linear_model.LogisticRegression(optim.SGD(0.1), l1=GRAVITY),
}


def dicts(n: int, rounds: int) -> tuple[list[Row], list[Figure]]:
    """One example after the other."""
    examples = data.rcv1_dicts(n)
    trained = {name: learn(make, examples) for name, make in MAKERS.items()}
    work: dict[str, dict[str, Callable[[], Any]]] = {
        "learn_one": {name: partial(learn, make, examples) for name, make in MAKERS.items()},
        "learn_one, known names": {k: partial(learn_more, m, examples) for k, m in trained.items()},
        "predict_proba_one": {name: partial(predict, m, examples) for name, m in trained.items()},
    }
    rows, figures = [], []
    for what, contestants in work.items():
        runs = interleaved(contestants, rounds)
        for name, each in runs.items():
            case, contestant = (what, RIVER) if name == RIVER else (f"{what}, {name}", "dwindle")
            us = round(seconds(each).median / n * 1e6, 1)
            rows.append(row(case, contestant, each, us_an_example=us))
            if name != RIVER:
                figures.append(speed(case, FASTER_THAN_RIVER, runs[RIVER], each))
    return rows, figures


def learn(make: Callable[[], Any], examples: Stream) -> Any:
    """The model after all examples."""
    model = make()
    learn_more(model, examples)
    return model


def learn_more(model: Any, examples: Stream) -> None:
    """All examples, with a model that may know them."""
    learn_one = model.learn_one
    for x, y in examples:
        learn_one(x, y)


def predict(model: Any, examples: Stream) -> None:
    """The probabilities of all examples."""
    predict_proba_one = model.predict_proba_one
    for x, _ in examples:
        predict_proba_one(x)
