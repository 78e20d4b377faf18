"""What the paper's section 6 says in numbers."""

from typing import NamedTuple

from experiments.data import SETS


class Row(NamedTuple):
    """A line of table 1."""

    set: str
    features: int
    train: int
    test: int
    task: str


TABLE_1 = (
    *(Row(s.name, s.features, s.train, s.test, s.task) for s in SETS.values()),
    Row("rcv1", 38_853, 781_265, 23_149, "classification"),
    Row("Big_Ads", 3_000_000_000, 26_000_000, 2_700_000, "classification"),
)
UCI = tuple(SETS)

# The shares of features that the paper removes, and what else it gives numbers for.
REMOVED_AT_LEAST = 0.90
REMOVED_AD_RANDOM = 0.71
REMOVED_AD_RANDOM_MORE = 0.914
REMOVED_AD = 0.834
REMOVED_RCV1 = 0.75
AD_ACCURACY = (0.965, 0.959, 0.954)  # dense, sparse, and sparser
RATIO = 0.98
SPAMBASE = (0.89, {1: 76, 10: 25, 20: 25})  # an AUC, and the features that reach it
AD_ROUNDED = (0.94, {1: 322, 10: 13, 20: 7})
