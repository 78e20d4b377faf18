"""The sets: those that the choice of gravity was tuned on, others, and new ones."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.feature_extraction import DictVectorizer
from sklearn.preprocessing import StandardScaler

from dwindle.features.batch import Batch
from experiments import data, peers
from experiments.auto.measures import TUNED_ON
from experiments.classes import of_parts
from experiments.frontier import problems

SEEDS, FEW, ONE = range(5), range(3), range(1)
RANDOM = 1000
PARTS = ("held", "chosen", "new")  # the order of the page
ADS = problems.Problem("ads", rows=(30_000, 10_000))
TEST = 0.25  # of the rows of a new set
PLANTED, TELLING = 9000, 40  # rows, and columns that tell
PACKAGES = ("numpy", "pandas")  # whose docstrings are told apart

Floats = NDArray[np.float64]


class Files(NamedTuple):
    """Examples as VW text."""

    train: Path
    test: Path


class Rows(NamedTuple):
    """A set in the order that a seed gives; labels are -1 and 1."""

    train: csr_array
    test: csr_array
    label: Floats
    test_label: Floats
    scaled: tuple[csr_array, csr_array] | None = None  # for those who need columns of one scale
    random: int = 0  # the last columns are random features, so many
    log: Callable[[Path], tuple[Path, Path]] | None = None  # writes text that has products

    def write(self, folder: Path) -> Files:
        """Write both parts as VW text, in which column j is the feature j."""
        if self.log is not None:
            return Files(*self.log(folder))
        return _written(folder, (self.train, self.test), self.labels)

    def write_scaled(self, folder: Path) -> Files:
        """Write the same with columns of one scale."""
        if self.scaled is None:
            return self.write(folder)
        return _written(folder, self.scaled, self.labels)

    @property
    def comparable(self) -> tuple[csr_array, csr_array]:
        """Both parts with columns of one scale."""
        return (self.train, self.test) if self.scaled is None else self.scaled

    @property
    def labels(self) -> tuple[Floats, Floats]:
        """The labels of both parts."""
        return self.label, self.test_label


class Case(NamedTuple):
    """A set, where it stands on the page, and how often it is measured."""

    name: str
    rows: Callable[[int], Rows]
    part: str
    seeds: range = SEEDS
    but: tuple[str, ...] = ()  # methods that would take hours


def cases() -> Iterator[Case]:
    """Yield all sets: the paper's with and without random features, new ones, large ones."""
    for name, spec in data.SETS.items():
        if spec.task == "classification":
            part = "chosen" if name in TUNED_ON else "held"
            yield Case(name, partial(as_it_is, name), part)
            yield Case(f"{name}, {RANDOM} random", partial(with_random, name), part)
    for name, rows in NEW.items():
        yield Case(name, rows, "new")
    yield Case("rcv1", rcv1, "chosen", FEW)
    yield Case("a9a", a9a, "held", FEW)
    yield Case("ads", ads, "held", ONE, but=("liblinear", "sgd", "judged_cooled"))


def rcv1(seed: int) -> Rows:
    """Return documents on CCAT against the rest; those to learn from are shuffled."""
    return _of_batches(data.rcv1(seed))


def a9a(seed: int) -> Rows:
    """Return the census; the rows to learn from are shuffled."""
    (train, test), found = problems.matrices(problems.A9A, 0), problems.rows(problems.A9A, 0)
    order = np.random.default_rng(seed).permutation(train.shape[0])
    return Rows(train[order], test, _numbers(found.train.label)[order], _numbers(found.label))


def ads(seed: int) -> Rows:
    """Return a generated log of clicks on ads, with the products of words."""
    (train, test), found = problems.matrices(ADS, seed), problems.rows(ADS, seed)
    write = partial(problems.write, ADS, seed)
    return Rows(train, test, _numbers(found.train.label), _numbers(found.label), log=write)


def as_it_is(name: str, seed: int) -> Rows:
    """Return a set of the paper whose numbers are as in the file; a missing one is 0."""
    spec, table = data.SETS[name], data.load(name)
    order = np.random.default_rng(seed).permutation(spec.rows)
    return _split(table.x[order], table.label[order], spec.train, table.numeric)


def with_random(name: str, seed: int) -> Rows:
    """Return a set of the paper with standardised numbers and random features, as in the paper."""
    return _of_batches(data.split(name, seed, RANDOM))._replace(random=RANDOM)


def planted(seed: int, n: int = PLANTED, columns: int = 3000, telling: int = TELLING) -> Rows:
    """Generate rows of log-normal values, columns frequent by a power law, a few of which tell."""
    rng = np.random.default_rng(1000 + seed)
    often = np.minimum(0.5, 3.0 * np.arange(1, columns + 1) ** -0.8)
    x = csr_array((rng.random((n, columns)) < often) * rng.lognormal(0, 1, (n, columns)))
    weight = np.zeros(columns)
    weight[rng.choice(columns // 4, telling, replace=False)] = rng.normal(0, 1, telling)
    margin = x @ weight
    chance = 1 / (1 + np.exp(margin.mean() - margin))
    label = np.where(rng.random(n) < chance, 1.0, -1.0)
    cut = n - int(TEST * n)
    scaler = StandardScaler(with_mean=False).fit(x[:cut])
    scaled = csr_array(scaler.transform(x[:cut])), csr_array(scaler.transform(x[cut:]))
    return Rows(x[:cut], x[cut:], label[:cut], label[cut:], scaled)


def texts(seed: int) -> Rows:
    """Return the word counts of pieces of docstrings, of NumPy or of pandas."""
    x, label = _counted()
    order = np.random.default_rng(seed).permutation(len(label))
    cut = len(label) - int(TEST * len(label))
    x, label = x[order], label[order]
    return Rows(x[:cut], x[cut:], label[:cut], label[cut:])


@cache
def _counted() -> tuple[csr_array, Floats]:
    found = [(name, words) for name in PACKAGES for _, words in of_parts(_folder(name))]
    x = csr_array(DictVectorizer().fit_transform([words for _, words in found]))
    x.indices, x.indptr = (each.astype(np.int32) for each in (x.indices, x.indptr))
    return x, np.array([1.0 if name == PACKAGES[0] else -1.0 for name, _ in found])


def digits(seed: int) -> Rows:
    """Return scikit-learn's handwritten digits, odd or even."""
    x, digit = load_digits(return_X_y=True)
    return _shuffled(x, digit % 2 == 1, seed)


def wine(seed: int) -> Rows:
    """Return scikit-learn's wines, of the second grower or of others."""
    x, grower = load_wine(return_X_y=True)
    return _shuffled(x, grower == 1, seed)


def diabetes(seed: int) -> Rows:
    """Return scikit-learn's patients, as measured: got worse by more than half of them."""
    x, worse = load_diabetes(return_X_y=True, scaled=False)
    return _shuffled(x, worse > np.median(worse), seed)


NEW: dict[str, Callable[[int], Rows]] = {
    "planted": planted,
    "texts": texts,
    "digits": digits,
    "wine": wine,
    "diabetes": diabetes,
}


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _shuffled(x: Floats, positive: NDArray[np.bool_], seed: int) -> Rows:
    order = np.random.default_rng(seed).permutation(len(x))
    label = np.where(positive, 1.0, -1.0)
    numeric = np.ones(x.shape[1], bool)
    return _split(x[order], label[order], len(x) - int(TEST * len(x)), numeric)


def _split(x: Floats, label: Floats, cut: int, numeric: NDArray[np.bool_]) -> Rows:
    """Split a table at a row, as it is and with its numbers standardised."""
    raw, scaled = (csr_array(each) for each in (np.nan_to_num(x), data.scaled(x, numeric, cut)))
    both = scaled[:cut], scaled[cut:]
    return Rows(raw[:cut], raw[cut:], label[:cut], label[cut:], both)


def _of_batches(split: data.Split) -> Rows:
    """Return the matrices of a split, as they are."""

    def matrix(batch: Batch) -> csr_array:
        key, start = (each.astype(np.int32) for each in (batch.key, batch.start))
        shape = batch.n_examples, len(split.names)
        return csr_array((batch.x.astype(np.float64), key, start), shape=shape)

    train, test = split.train, split.test
    return Rows(matrix(train), matrix(test), _numbers(train.label), _numbers(test.label))


def _numbers(label: NDArray[np.float32] | None) -> Floats:
    assert label is not None
    return label.astype(np.float64)


def _written(
    folder: Path, both: tuple[csr_array, csr_array], labels: tuple[Floats, Floats]
) -> Files:
    files = Files(folder / "train.vw", folder / "test.vw")
    for path, x, label in zip(files, both, labels, strict=True):
        path.write_text("".join(peers.vw_lines(x, label)), encoding="ascii")
    return files
