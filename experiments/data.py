"""The data of the paper's section 6: eleven sets from UCI, and rcv1.

The files are looked for in the folder that the environment variable DWINDLE_DATA names, then in a
cache of the user's, into which they are downloaded if need be. Wherever they come from, rows,
columns and class balance must be the paper's.
"""

import gzip
import math
import os
import zlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack
from sklearn.datasets import fetch_openml, fetch_rcv1, load_breast_cancer

from dwindle._base.errors import DataError
from dwindle._base.files import replacing
from dwindle.data.stream import read
from dwindle.features.batch import Batch
from dwindle.features.names import shown

MISSING = "?"
SHARE = 0.05  # of the examples that have a random feature


class Spec(NamedTuple):
    """What the paper's table 1 says of a set, and how its raw file reads."""

    name: str
    features: int  # the paper's count, the constant among them
    train: int
    test: int
    task: Literal["classification", "regression"]
    file: str  # in the folder of data
    columns: int  # of the file
    label: int  # the column of it, from 0
    openml: int | None  # its number there, if that is where it is downloaded from
    positive: str = ""  # the label of the positive class
    positives: int = 0  # the examples with that label
    dropped: Collection[int] = ()  # columns that are no features
    categorical: Collection[int] = ()  # columns of words; all others are numbers
    separator: str | None = ","  # None is any blanks
    words: Mapping[str, str] = MappingProxyType({})  # what OpenML writes: what the file does

    @property
    def rows(self) -> int:
        """How many examples there are."""
        return self.train + self.test

    @property
    def inputs(self) -> list[int]:
        """The columns that become features."""
        return [j for j in range(self.columns) if j != self.label and j not in self.dropped]


_KINDS = ("mammal", "bird", "reptile", "fish", "amphibian", "insect", "invertebrate")

# fmt: off
_ALL = (
    Spec("ad", 1411, 2455, 824, "classification", "uci/ad/ad.data.gz", 1559, 1558, 40978,
         "ad.", 459),
    Spec("crx", 47, 526, 164, "classification", "uci/crx/crx.data", 16, 15, 29,
         "+", 307, categorical=(0, 3, 4, 5, 6, 8, 9, 11, 12)),
    Spec("housing", 14, 381, 125, "regression", "uci/housing/housing.data", 14, 13, 531,
         separator=None),
    Spec("krvskp", 74, 2413, 783, "classification", "uci/kr-vs-kp/kr-vs-kp.data", 37, 36, 3,
         "won", 1669, categorical=range(36)),
    Spec("magic04", 11, 14226, 4794, "classification", "uci/magic04/magic04.data.gz", 11, 10, 1120,
         "g", 12332),
    Spec("mushroom", 117, 6079, 2045, "classification", "uci/mushroom/agaricus-lepiota.data", 23, 0,
         24, "p", 3916, categorical=range(1, 23)),
    Spec("spambase", 58, 3445, 1156, "classification", "uci/spambase/spambase.data", 58, 57, 44,
         "1", 1813),
    Spec("wbc", 10, 520, 179, "classification", "uci/wbc/breast-cancer-wisconsin.data", 11, 10, 15,
         "4", 241, dropped=(0,)),
    Spec("wdbc", 31, 421, 148, "classification", "uci/wdbc/wdbc.data", 32, 1, None,
         "M", 212, dropped=(0,)),
    Spec("wpbc", 33, 153, 45, "classification", "uci/wpbc/wpbc.data", 35, 1, None,
         "R", 47, dropped=(0, 2)),
    Spec("zoo", 17, 77, 24, "regression", "uci/zoo/zoo.data", 18, 17, 62,
         dropped=(0,), words={"true": "1", "false": "0"}
         | {kind: str(i) for i, kind in enumerate(_KINDS, 1)}),
)
# fmt: on
SETS = {spec.name: spec for spec in _ALL}

# The sets of figures 3 to 6.
CLASSIFICATION = tuple(
    name for name, spec in SETS.items() if spec.task == "classification" and name != "wpbc"
)

RCV1_TRAIN = "rcv1/rcv1_ccat_lyrl2004train_23149.vw.zst"
RCV1_TEST = "rcv1/rcv1_ccat_testsample_7965.vw.zst"
RCV1_ROWS = (23149, 7965)
RCV1_POSITIVES = 10786  # among those to learn from


class Split(NamedTuple):
    """A set ready to learn from: labels are -1 and 1, or numbers to be predicted."""

    train: Batch
    test: Batch
    features: int  # columns, and the constant
    source: str
    names: list[str]  # of the columns


class Table(NamedTuple):
    """A whole set in the order of its file: numbers not yet scaled, NaN where one is missing."""

    x: NDArray[np.float64]
    label: NDArray[np.float64]
    numeric: NDArray[np.bool_]  # whether a column is a number, else it is an indicator
    names: list[str]
    source: str


def split(name: str, seed: int, random: int = 0) -> Split:
    """The set in the paper's sizes, its rows shuffled by ``seed``, with random features if asked.

    A random feature is 1 in a twentieth of the examples, and 0 in the others.
    """
    spec, table = SETS[name], load(name)
    generator = np.random.default_rng(seed)
    order = generator.permutation(spec.rows)
    x = csr_array(scaled(table.x[order], table.numeric, spec.train), dtype=np.float32)
    if random:
        noise = generator.random((spec.rows, random), dtype=np.float32) < SHARE
        x = hstack([x, csr_array(noise, dtype=np.float32)], format="csr")
    label = table.label[order]
    names = table.names + [f"random{i}" for i in range(random)]
    return Split(
        Batch.from_csr(x[: spec.train], label[: spec.train]),
        Batch.from_csr(x[spec.train :], label[spec.train :]),
        len(names) + 1,
        table.source,
        names,
    )


def scaled(x: NDArray[np.float64], numeric: NDArray[np.bool_], train: int) -> NDArray[np.float64]:
    """Numbers have mean 0 and deviation 1 in the first ``train`` rows; a missing one is 0.

    A column that has only 0 and 1 in those rows stays as it is, and so sparse.
    """
    seen = x[:train]
    chosen = numeric & ~np.all((seen == 0) | (seen == 1) | np.isnan(seen), axis=0)
    mean, deviation = np.zeros(x.shape[1]), np.ones(x.shape[1])
    mean[chosen] = np.nanmean(seen[:, chosen], axis=0)
    deviation[chosen] = np.nanstd(seen[:, chosen], axis=0)
    deviation[deviation == 0] = 1  # a constant: nothing is left of it
    return np.nan_to_num((x - mean) / deviation)


def rcv1(seed: int) -> Split:
    """Documents on CCAT against the rest, those to learn from shuffled by ``seed``."""
    train, test, names, source = _rcv1()
    order = np.random.default_rng(seed).permutation(train.n_examples)
    return Split(train.take(order), test, len(names) + 1, source, names)


def available(name: str) -> bool:
    """Whether the set is here, so that nothing need be downloaded."""
    if name == "rcv1":
        both = all(find(file) for file in (RCV1_TRAIN, RCV1_TEST))
        return both or (_cache() / "RCV1").is_dir()
    return name == "wdbc" or find(SETS[name].file) is not None


def load(name: str) -> Table:
    """The whole set, from wherever it is to be had."""
    return _load(name, find(SETS[name].file))


@cache
def _load(name: str, path: Path | None) -> Table:
    spec = SETS[name]
    if path is None and name == "wdbc":
        return parse(spec, shipped(), "scikit-learn")
    path = path or _download(spec)
    return parse(spec, _words(path, spec.separator), str(path))._replace(source=spec.file)


def parse(spec: Spec, rows: list[list[str]], source: str) -> Table:
    """Rows of words as numbers, once their counts are what they must be."""
    _check(source, "rows", spec.rows, len(rows))
    for i, row in enumerate(rows, 1):
        _check(f"{source}:{i}", "columns", spec.columns, len(row))
    columns = list(zip(*rows, strict=True))
    label = _labels(spec, columns[spec.label], source)
    x, numeric, names = [], [], []
    for j in spec.inputs:
        if j in spec.categorical:
            words = sorted(set(columns[j]) - {MISSING})
            x += [np.array([word == each for word in columns[j]], float) for each in words]
            numeric += [False] * len(words)
            names += [f"column{j + 1}={word}" for word in words]
        else:
            x.append(_numbers(columns[j], f"{source}: column {j + 1}"))
            numeric.append(True)
            names.append(f"column{j + 1}")
    return Table(np.column_stack(x), label, np.array(numeric), names, source)


def _labels(spec: Spec, words: Sequence[str], source: str) -> NDArray[np.float64]:
    if spec.task == "regression":
        return _numbers(words, f"{source}: column {spec.label + 1}")
    positive = np.array([word == spec.positive for word in words])
    _check(source, f"examples of class {spec.positive!r}", spec.positives, int(positive.sum()))
    return np.where(positive, 1.0, -1.0)


def _numbers(words: Sequence[str], where: str) -> NDArray[np.float64]:
    try:
        return np.array([np.nan if word == MISSING else float(word) for word in words])
    except ValueError as error:
        raise DataError(f"{where}: {error}") from None


def _check(where: str, what: str, expected: int, found: int) -> None:
    if found != expected:
        raise DataError(f"{where}: expected {expected} {what}, found {found}")


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "dwindle"


def find(file: str) -> Path | None:
    """Where the file is, in the folder that DWINDLE_DATA names or in the cache."""
    given = os.environ.get("DWINDLE_DATA")
    folders = [Path(given), _cache()] if given else [_cache()]
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def _words(path: Path, separator: str | None) -> list[list[str]]:
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except (EOFError, OSError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read, or is cut short: {error}") from None
    lines = (line for line in text.splitlines() if line.strip())
    return [[word.strip() for word in line.split(separator)] for line in lines]


def shipped() -> list[list[str]]:
    """The wdbc that comes with scikit-learn, as the file has it, without the patients' numbers."""
    x, label = load_breast_cancer(return_X_y=True)
    return [["", "MB"[y], *map(str, row)] for row, y in zip(x.tolist(), label, strict=True)]


def _download(spec: Spec) -> Path:
    """Fetch a set from OpenML and write it into the cache as its file would be."""
    if spec.openml is None:
        raise DataError(
            f"{spec.file}: is not downloaded for you: get it from archive.ics.uci.edu and put it "
            f"into {_cache() / spec.file}, or name a folder that has it in DWINDLE_DATA"
        )
    source = f"OpenML {spec.openml} ({spec.name})"
    try:
        found = fetch_openml(
            data_id=spec.openml,
            as_frame=False,
            parser="liac-arff",
            data_home=_cache(),
            n_retries=1,  # who runs it again goes on where it was
        )
    except (OSError, ValueError) as error:
        raise DataError(f"{source}: cannot be downloaded: {error}") from None
    rows = _rewritten(spec, found, source)
    parse(spec, rows, source)  # what is wrong is not kept
    text = "".join((spec.separator or " ").join(row) + "\n" for row in rows).encode()
    path = _cache() / spec.file
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def _rewritten(spec: Spec, found: Any, source: str) -> list[list[str]]:
    """What OpenML has, in the columns and words of the file."""
    n = len(spec.inputs)  # the last; some have the row's number in front of them
    x, names = found.data[:, -n:], found.feature_names[-n:]
    _check(source, "features", n, len(names))
    columns = [["-"] * len(x) for _ in range(spec.columns)]
    for j, name, values in zip(spec.inputs, names, x.T.tolist(), strict=True):
        known = found.categories.get(name)  # values of such a column are places in its words
        words = [
            MISSING if math.isnan(v) else str(v) if known is None else known[int(v)] for v in values
        ]
        columns[j] = [spec.words.get(word, word) for word in words]
    columns[spec.label] = _classes(spec, found.target.tolist())
    return [list(row) for row in zip(*columns, strict=True)]


def _classes(spec: Spec, labels: list[Any]) -> list[str]:
    """The labels in the words of the file: a class, whatever its name, is told by its size."""
    if spec.task == "regression":
        return [spec.words.get(label, str(label)) for label in labels]
    sizes = Counter(labels)
    return [spec.positive if sizes[label] == spec.positives else "other" for label in labels]


@cache
def _rcv1() -> tuple[Batch, Batch, list[str], str]:
    paths = [find(file) for file in (RCV1_TRAIN, RCV1_TEST)]
    if all(paths):
        (train, names), (test, _) = (_documents(str(path)) for path in paths)
        source = RCV1_TRAIN
    else:
        train, test = _vectors()
        names, source = {}, "scikit-learn's fetch_rcv1"
    _check(source, "documents to learn from", RCV1_ROWS[0], train.n_examples)
    _check(source, "documents to test on", RCV1_ROWS[1], test.n_examples)
    assert train.label is not None
    _check(source, "documents on CCAT", RCV1_POSITIVES, int((train.label == 1).sum()))
    known = np.unique(train.key)
    called = [shown(names.get(key, str(key))) for key in known.tolist()]
    return _numbered(train, known), _numbered(test, known), called, source


def _vectors() -> tuple[Batch, Batch]:
    """The documents as scikit-learn downloads them, and always the same ones to test on."""
    try:
        train, rest = (fetch_rcv1(data_home=_cache(), subset=part) for part in ("train", "test"))
    except OSError as error:
        raise DataError(f"rcv1: cannot be downloaded: {error}") from None
    topic = list(train.target_names).index("CCAT")
    sample = np.random.default_rng(0).choice(rest.data.shape[0], RCV1_ROWS[1], replace=False)
    chosen = np.sort(sample)

    def batch(x: Any, topics: Any) -> Batch:
        return Batch.from_csr(x, np.where(topics[:, [topic]].toarray().ravel() == 1, 1, -1))

    return batch(train.data, train.target), batch(rest.data[chosen], rest.target[chosen])


def _numbered(batch: Batch, known: NDArray[Any]) -> Batch:
    """The same documents with column numbers for keys, and without the keys that are not known."""
    place = np.minimum(np.searchsorted(known, batch.key), len(known) - 1)
    x = np.where(known[place] == batch.key, batch.x, 0)  # a batch leaves out values of 0
    return Batch.from_arrays(batch.start, place.astype(np.int32), x, batch.label)


def _documents(path: str) -> tuple[Batch, dict[int, str]]:
    """All examples of a file as one batch, and the names of its keys."""
    batches: list[Batch] = []
    names: dict[int, str] = {}
    for parsed in read([path]):
        parsed.n_bad(skip_bad=False)
        batch = parsed.batch
        assert batch.names is not None
        for j, k in zip(*_firsts(batch.key), strict=True):
            if j not in names:
                names[j] = batch.names[k]
        batches.append(batch._replace(names=None))
    sizes = np.concatenate([np.diff(batch.start) for batch in batches])
    start = np.concatenate([[0], np.cumsum(sizes)])
    key, x, label = (
        np.concatenate([getattr(batch, part) for batch in batches])
        for part in ("key", "x", "label")
    )
    return Batch.from_arrays(start, key, x, label), names


def _firsts(keys: NDArray[Any]) -> tuple[list[int], list[int]]:
    """The distinct keys, and where each first is."""
    distinct, first = np.unique(keys, return_index=True)
    return distinct.tolist(), first.tolist()
