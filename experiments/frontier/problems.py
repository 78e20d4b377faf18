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
FILES = ("a9a/adult.trn.bz2", "a9a/adult.tst.bz2")
STRENGTHS = (0.1, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)


class Problem(NamedTuple):
    """A set, and how it is to be learned from."""

    name: str
    seeds: tuple[int, ...] = (0,)
    passes: tuple[int, ...] = (1,)
    rates: tuple[float, ...] = (0.3, 1.0, 2.0)
    in_units: tuple[float, ...] = ()  # rates of what divides a feature by a unit of its own
    strengths: tuple[float, ...] = STRENGTHS
    shares: tuple[float, ...] = (0.3,)  # of the distinct features: budgets
    peak: float | None = None  # the most that may be live, as a share of the distinct features
    rows: tuple[int, int] = (0, 0)  # of a log: to learn from, and to test on
    but: tuple[str, ...] = ()  # ways that are not tried, so that it does not take hours


RCV1 = Problem(
    "rcv1",
    passes=(1, 3, 10),
    rates=(1.0, 2.0),
    in_units=(0.1, 0.2),
    strengths=(0.1, 0.3, 1.0, 2.0, 5.0, 10.0),
    shares=(0.3, 0.1),
    peak=0.3,
)
ADS = Problem(
    "ads",
    rates=(0.3, 0.6),
    strengths=(0.5, 0.7, 1.0, 1.5, 3.0),
    shares=(0.15, 0.05),
    peak=0.15,
    rows=(60_000, 20_000),
    but=("plain", "plain-rest", "tg", "tg-pass", "tg-refit", "ftrl-refit"),
)
SLOW = ("tg-budget", "rda-budget", "ftrl-refit")  # small budgets are used up all the time
A9A = Problem("a9a", passes=(1, 3), rates=(0.1, 0.3, 1.0), shares=(0.5,), but=SLOW)
UCI = tuple(
    Problem(
        name,
        passes=(3,),
        rates=(0.03, 0.1, 0.3),
        in_units=(0.1, 0.3, 1.0),
        but=SLOW,
    )
    for name in ("krvskp", "spambase")
)
FULL = (RCV1, ADS, A9A, *UCI)
QUICK = (
    Problem("wdbc", passes=(3,), rates=(0.3,), strengths=(0.3, 3.0), shares=(0.3,)),
    ADS._replace(rates=(0.3,), strengths=(1.0, 3.0), shares=(0.15,), rows=(2000, 500)),
)


class Rows(NamedTuple):
    """The examples of a set, for every program that learns from them."""

    train: Batch
    test: Batch
    distinct: int  # features of those to learn from

    @property
    def label(self) -> NDArray[np.float32]:
        """What is to be predicted."""
        assert self.test.label is not None
        return self.test.label


@lru_cache(maxsize=1)
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
    return Rows(train, test, len(np.unique(train.key)))


@lru_cache(maxsize=1)
def matrices(problem: Problem, seed: int) -> tuple[csr_array, csr_array]:
    """The same as matrices: a column for each feature that there is to learn from."""
    train, test, distinct = rows(problem, seed)
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
