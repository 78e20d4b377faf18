"""Microseconds an example one by one, next to River's LogisticRegression with l1.

Dicts of 70 features at most, drawn from 40,000 names whose frequency falls as a power law, as in
kernel.py. Each round learns the same stream from the beginning, then goes through it again with
the model that is there: first learning, then predicting.

    python benchmarks/one_by_one.py
"""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from river import linear_model, optim
from side_by_side import interleaved, ratio, report

from dwindle import Adaptive, Learner, Logistic, Plain, Truncation
from dwindle.river import TruncatedGradientClassifier

N, NNZ, D, ROUNDS = 10_000, 70, 40_000, 9
GRAVITY = 1e-5
RIVER, PLAIN, ADAPTIVE = "River", "dwindle, plain", "dwindle, adaptive"
IN_RIVER = "dwindle.river, plain"

Stream = list[tuple[dict[str, float], bool]]


def stream(seed: int = 0) -> Stream:
    """Dicts and labels drawn from a planted sparse logistic model."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(D) < 0.05, rng.normal(size=D), 0.0)
    examples = []
    for _ in range(N):
        word = (D * rng.random(NNZ) ** 3).astype(int)
        x = rng.random(NNZ)
        label = bool(rng.random() < 1 / (1 + np.exp(-truth[word] @ x)))
        examples.append((dict(zip([f"word{j}" for j in word], x.tolist(), strict=True)), label))
    return examples


class Sign:
    """A learner that takes False and True."""

    def __init__(self, update: Plain | Adaptive, rate: float) -> None:
        self.learner = Learner(Logistic(), Truncation(GRAVITY), update, rate)
        self.predict_proba_one = self.learner.predict_proba_one

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        """One example."""
        self.learner.learn_one(x, 1 if y else -1)


MAKERS: dict[str, Callable[[], Any]] = {
    RIVER: lambda: linear_model.LogisticRegression(optim.SGD(0.1), l1=GRAVITY),
    PLAIN: lambda: Sign(Plain(), 0.1),
    ADAPTIVE: lambda: Sign(Adaptive(), 0.3),
    IN_RIVER: lambda: TruncatedGradientClassifier(update="plain", rate=0.1, gravity=GRAVITY),
}


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


def main() -> None:
    """Measure, and print the ratios."""
    examples = stream()
    trained = {name: learn(make, examples) for name, make in MAKERS.items()}
    work: dict[str, dict[str, Callable[[], Any]]] = {
        "learn, from nothing": {n: partial(learn, make, examples) for n, make in MAKERS.items()},
        "learn, known names": {n: partial(learn_more, m, examples) for n, m in trained.items()},
        "predict_proba_one": {n: partial(predict, m, examples) for n, m in trained.items()},
    }
    rows = []
    for what, contestants in work.items():
        seconds = interleaved(contestants, ROUNDS)
        rows += [
            {
                "work": what,
                "contestant": name,
                "us_per_example": round(statistics.median(each) / N * 1e6, 1),
                "times_as_fast_as_river": ratio(seconds, RIVER, name),
            }
            for name, each in seconds.items()
        ]
    n = statistics.mean(len(x) for x, _ in examples)
    report(
        f"one by one: {N:,} dicts of {n:.0f} features",
        rows,
        ("dwindle", "numba", "numpy", "river"),
    )


if __name__ == "__main__":
    main()
