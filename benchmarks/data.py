"""The data of the benchmarks: generated from a seed, written as VW text some rows at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

CHUNK = 5_000  # rows written at once
TRUTH = 12345  # the seed of what is to be learned, the same for training and test data

Labels = NDArray[np.bool_]


def ten_lines(path: Path) -> Path:
    """A file with the first ten lines of another."""
    ten = path.with_name(f"ten-{path.name}")
    with path.open("rb") as file:
        ten.write_bytes(b"".join(file.readline() for _ in range(10)))
    return ten


# Who eats what: fwumious_wabbit's benchmark

ANIMALS, FOODS, KINDS, OTHERS = ("Herbivore", "Carnivore"), ("Plant", "Meat"), 1000, 10_000


def eat(path: Path, rows: int, seed: int = 0, *, every_pair: bool = False) -> Labels:
    """Whether an animal eats a food, both of 1,000 kinds, with ten features that tell nothing.

    Herbivores eat plants, carnivores meat, 500 kinds of each. In each row the animal or the food is
    of the first quarter of its kinds, so that some pairs never come, unless every pair may.
    """
    rng = np.random.default_rng(seed)
    animal, food = (
        pa.array([f"|{space} {of[k % 2]}-{k // 2}" for k in range(KINDS)])
        for space, of in (("A", ANIMALS), ("B", FOODS))
    )
    others = [pa.array([f"|{s} {s}{k}" for k in range(OTHERS)]) for s in "CDEFGHIJKL"]
    labels = []
    with path.open("wb") as file:
        for first in range(0, rows, CHUNK):
            n = min(CHUNK, rows - first)
            a, b = rng.integers(0, KINDS, (2, n))
            if not every_pair:
                is_animal_rare = rng.random(n) < 0.5
                a, b = np.where(is_animal_rare, a, a // 4), np.where(is_animal_rare, b // 4, b)
            labels.append(a % 2 == b % 2)
            noise = rng.integers(0, OTHERS, (len(others), n))
            columns = [animal.take(pa.array(a)), food.take(pa.array(b))]
            columns += [each.take(pa.array(k)) for each, k in zip(others, noise, strict=True)]
            write_lines(file, labels[-1], *columns)
    return np.concatenate(labels)


# Like rcv1, in memory


def rcv1_matrix(n: int) -> tuple[csr_array, NDArray[Any]]:
    """Rows of 70 features drawn out of 40,000, as a sparse matrix and labels -1, 1."""
    d, drawn = 40_000, 70
    rng = np.random.default_rng(0)
    column = rng.permutation(d).astype(np.int32)[power_law(rng, d, n * drawn)]
    value = rng.random(n * drawn).astype(np.float32)
    start = np.arange(0, n * drawn + 1, drawn, dtype=np.int32)
    table = csr_array((value, column, start), shape=(n, d))
    table.sum_duplicates()
    truth = np.where(rng.random(d) < 0.05, rng.normal(size=d), 0.0)
    margin = table @ truth
    return table, np.where(drawn_labels(rng, margin - np.median(margin)), 1, -1)


def rcv1_dicts(n: int) -> list[tuple[dict[str, float], bool]]:
    """The same as dicts and labels."""
    d, drawn = 40_000, 70
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(d) < 0.05, rng.normal(size=d), 0.0)
    examples = []
    for _ in range(n):
        word, x = power_law(rng, d, drawn), rng.random(drawn)
        label = bool(drawn_labels(rng, truth[word] @ x))
        examples.append((dict(zip([f"word{j}" for j in word], x.tolist(), strict=True)), label))
    return examples


# Like a log of clicks on advertisements

SPACES, EACH, VOCABULARY, TELLING = ("user", "query", "site"), 10, 3 * 10**7, 10**4


def ads(path: Path, rows: int, seed: int = 0, vocabulary: int = VOCABULARY) -> Labels:
    """Names whose r-th most frequent comes up as 1/r, ten in each of three namespaces.

    Of a large vocabulary most are seen once, of a small one all are met soon. The frequent ones
    tell.
    """
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(TRUTH).normal(scale=0.5, size=(len(SPACES), TELLING))
    labels = []
    with path.open("wb") as file:
        for first in range(0, rows, CHUNK):
            shape = min(CHUNK, rows - first), EACH
            margin = np.zeros(shape[0])
            columns = []
            for space, weights in zip(SPACES, truth, strict=True):
                rank = np.exp(rng.random(shape) * np.log(vocabulary)).astype(np.int64)
                margin += np.where(rank < TELLING, weights[rank % TELLING], 0).sum(axis=1)
                columns.append(_names(space, rank))
            labels.append(drawn_labels(rng, margin))
            write_lines(file, labels[-1], *columns)
    return np.concatenate(labels)


def _names(space: str, rank: NDArray[np.int64]) -> pa.Array:
    """A namespace of names in each row; no two ranks have the same name."""
    number = pc.cast(pa.array(rank.ravel() * 2654435761 % 2**30), pa.string())
    tokens = pc.binary_join_element_wise(space[0], number, "")
    bound = np.arange(0, rank.size + 1, rank.shape[1], dtype=np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(bound), tokens), " ")
    return pc.binary_join_element_wise(f"|{space}", joined, " ")


# Wide, of which little stays alive


def wide(width: int, n: int, batch: int) -> Iterator[tuple[csr_array, NDArray[Any]]]:
    """Rows of 30 of 300 telling columns and 3 of all the others, with labels, batch by batch."""
    telling, of_them, noise = 300, 30, 3
    rng = np.random.default_rng(0)
    truth = rng.normal(size=telling)
    for _ in range(n // batch):
        block = telling // of_them
        known = np.arange(0, telling, block) + rng.integers(0, block, (batch, of_them))
        others = np.sort(rng.integers(telling, width, (batch, noise)), axis=1)
        column = np.hstack([known, others]).astype(np.int32)
        score = truth[known].sum(axis=1)
        label = (score + rng.logistic(size=batch) > 0).astype(np.int64)
        start = np.arange(0, column.size + 1, of_them + noise, dtype=np.int32)
        value = np.ones(column.size, np.float32)
        yield csr_array((value, column.ravel(), start), shape=(batch, width)), label


# What they share


def power_law(rng: np.random.Generator, d: int, shape: int | tuple[int, ...]) -> NDArray[np.int32]:
    """Ranks below d; rank r comes up as r^(-2/3)."""
    drawn: NDArray[np.float64] = rng.random(shape)
    return (d * drawn**3).astype(np.int32)


def drawn_labels(rng: np.random.Generator, margin: Any) -> Any:
    """Labels of a logistic model."""
    return rng.random(np.shape(margin)) < 1 / (1 + np.exp(-margin))


def write_lines(file: IO[bytes], label: Labels, *columns: pa.Array) -> int:
    """Write a line for each row; returns the bytes."""
    label = pa.array(["-1", "1"]).take(pa.array(label.astype(np.int32)))
    lines = pc.binary_join_element_wise(label, *columns, " ")
    lines = pc.binary_join_element_wise(lines, "", "\n")
    bound = pa.array([0, len(lines)], pa.int32())
    [text] = pc.binary_join(pa.ListArray.from_arrays(bound, lines), "")
    return file.write(text.as_buffer())
