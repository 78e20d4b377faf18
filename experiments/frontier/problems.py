"""What is learned from: documents, a census, the paper's sets with random features, ads."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dwindle._base.errors import DataError
from dwindle.data.stream import read
from dwindle.datasets.ads import Ads
from dwindle.features.batch import Batch
from experiments import data, peers

RANDOM = 1000
TINY = 1e-30
FILES = ("a9a/adult.trn.bz2", "a9a/adult.tst.bz2")
DECAYS = (1.0, 0.8, 0.5, 0.25)  # of a learning rate, by each pass


class Problem(NamedTuple):
    """A set, and how it is to be learned from."""

    name: str
    seeds: tuple[int, ...] = (0,)
    passes: tuple[int, ...] = (1, 3, 10)
    shares: tuple[float, ...] = (0.3,)  # of the distinct features: budgets
    peak: float | None = None  # the most that may be live, as a share of the distinct features
    rows: tuple[int, int] = (0, 0)  # of a log: to learn from, and to test on
    but: tuple[str, ...] = ()  # ways that are not tried, so that it does not take hours
    fine: bool = False  # whether strengths are to be tried between those that are a factor apart
    most: int = 150  # settings of a way, unless its best is not yet surrounded by others


REFITTING = ("tg-refit", "ftrl-refit")
SLOW = ("tg-budget", "plain-budget", "rda-budget", "ftrl-refit")  # budgets used up all the time
RCV1 = Problem("rcv1", peak=0.3, but=REFITTING)
ADS = Problem(
    "ads",
    seeds=(0, 1),
    passes=(1,),
    shares=(0.15,),
    peak=0.15,
    rows=(20_000, 20_000),
    fine=True,  # from one strength to the next, the number of weights changes by a factor of 30
    but=("tg-pass", "rda-budget", "vw-l1", "vw-l1-sgd", *REFITTING),
)
A9A = Problem("a9a", shares=(0.5,), but=("ftrl-budget", *SLOW))
KRVSKP = Problem("krvskp", seeds=(0, 1, 2), but=SLOW)
SPAMBASE = Problem("spambase", seeds=(0, 1, 2), but=("ftrl-budget", *SLOW), most=400)
FULL = (RCV1, A9A, KRVSKP, SPAMBASE, ADS)
QUICK = (
    Problem("wdbc", seeds=(0, 1), passes=(1,), but=SLOW, fine=True, most=5),
    ADS._replace(seeds=(0,), rows=(400, 300), fine=False, most=5),
)


class Rows(NamedTuple):
    """The examples of a set, for every program that learns from them."""

    train: Batch
    test: Batch
    distinct: int  # features of those to learn from
    squares: float  # the mean of |x|^2, with the constant
    length: float  # the mean length of an example in units: `Adaptive` divides a step by it

    @property
    def label(self) -> NDArray[np.float32]:
        """What is to be predicted."""
        assert self.test.label is not None
        return self.test.label


def _squares(train: Batch) -> float:
    """The mean of |x|^2, with the constant."""
    return float(1 + np.square(train.x.astype(np.float64)).sum() / train.n_examples)


def _length(train: Batch, place: NDArray[np.int64], count: NDArray[np.int64]) -> float:
    """The mean length of an example in units, each the root of a feature's mean square."""
    squares = np.square(train.x.astype(np.float64))
    unit = np.bincount(place, squares) / count
    sums = np.concatenate([[0.0], np.cumsum(squares / np.maximum(unit, TINY)[place])])
    return float(np.sqrt(1 + np.diff(sums[train.start])).mean())


@lru_cache(maxsize=3)  # as many as there are seeds
def rows(problem: Problem, seed: int) -> Rows:
    """The set, shuffled by the seed if it is one of a few examples."""
    if problem.name == "ads":
        n, n_test = problem.rows
        train, test = (_joined(Ads(seed).batches(*which)) for which in ((n,), (n_test, n)))
    elif problem.name == "a9a":
        train, test = (_joined(one.batch for one in read([str(_file(path))])) for path in FILES)
    else:
        found = (
            data.rcv1(seed) if problem.name == "rcv1" else data.split(problem.name, seed, RANDOM)
        )
        train, test = found.train, found.test
    _, place, count = np.unique(train.key, return_inverse=True, return_counts=True)
    return Rows(train, test, len(count), _squares(train), _length(train, place, count))


@lru_cache(maxsize=3)
def matrices(problem: Problem, seed: int) -> tuple[csr_array, csr_array]:
    """The same as matrices: a column for each feature that there is to learn from."""
    train, test, distinct, *_ = rows(problem, seed)
    known = np.unique(train.key)

    def matrix(batch: Batch) -> csr_array:
        place = np.minimum(np.searchsorted(known, batch.key), distinct - 1)
        x = np.where(known[place] == batch.key, batch.x, 0).astype(np.float64)
        made = csr_array(
            (x, place.astype(np.int32), batch.start.astype(np.int32)),
            shape=(batch.n_examples, distinct),
        )
        made.eliminate_zeros()
        return made

    return matrix(train), matrix(test)


def write(problem: Problem, seed: int, folder: Path) -> tuple[Path, Path]:
    """The rows to learn from and to test on as VW text; the products of a log are left to VW."""
    paths = folder / "train.vw", folder / "test.vw"
    if problem.name == "ads":
        n, n_test = problem.rows
        for path, which in zip(paths, ((n,), (n_test, n)), strict=True):
            with path.open("wb") as file:
                file.writelines(Ads(seed).text(*which))
        return paths
    for path, x, batch in zip(paths, matrices(problem, seed), rows(problem, seed)[:2], strict=True):
        assert batch.label is not None
        path.write_text(
            "".join(peers.vw_lines(x, batch.label.astype(np.float64))), encoding="ascii"
        )
    return paths


def _file(name: str) -> Path:
    path = data.find(name)
    if path is None:
        raise DataError(f"{name}: is not downloaded for you: get it from the LIBSVM page")
    return path


def _joined(batches: Iterable[Batch]) -> Batch:
    """All of them as one, without names."""
    each = list(batches)
    sizes = np.concatenate([np.diff(batch.start) for batch in each])
    key, x = (np.concatenate([getattr(batch, part) for batch in each]) for part in ("key", "x"))
    label = np.concatenate([batch.label for batch in each if batch.label is not None])
    return Batch.from_arrays(np.concatenate([[0], np.cumsum(sizes)]), key, x, label)
