"""Learners within a budget, and more features than fit."""

from dwindle import Learner, Truncation
from helpers.ingredients import LOSSES
from helpers.random_streams import stream

LOGISTIC = LOSSES[1]


def budgeted(update, gravity, max_live, learning_rate=0.1, truncate_every=1):
    return Learner(
        LOGISTIC.loss,
        Truncation(gravity, truncate_every=truncate_every),
        update,
        learning_rate,
        max_live=max_live,
    )


def wide(seed, n_features=2000, n_examples=300):
    return stream(seed, LOGISTIC.labels, n_features, n_examples)
