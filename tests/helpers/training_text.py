"""VW text with a few words that tell the label, and the ways to learn from it."""

import numpy as np

from dwindle import Truncation
from dwindle.model.model import Model
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train


def lines(n=3000, seed=0, labels=(-1, 1)):
    """VW text with a few telling words among many that are not."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        words = rng.integers(0, 2000, 12)
        good = rng.integers(0, 20, 3)
        positive = good.sum() % 2
        named = " ".join(f"w{w}:{rng.uniform(0.1, 2):.4f}" for w in words)
        signs = " ".join(f"{'good' if positive else 'bad'}{g}" for g in good)
        out.append(f"{labels[positive]} 'tag{i} |text {named} |sign {signs} | {i % 7}:0.5")
    return "\n".join(out) + "\n"


SETTINGS = {"shrinkage": Truncation(gravity=1e-4)}


def fitted(paths, tmp_path, **settings):
    """The model's weights and intercept."""
    out = tmp_path / "m.parquet"
    train([str(p) for p in paths], out, TrainSettings(**(SETTINGS | settings)))
    model = Model.load(out)
    return model.weights(), model.intercept
