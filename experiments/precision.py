"""``python -m experiments.precision``: `Adaptive` beside the same in double precision.

All but the weights of `Adaptive` is in single precision. Here both learn from the same examples.
As controls, the one in double precision learns again with two neighbours among them swapped, in the
middle, and again with all of them in another order: what that changes is noise, and no more may
single precision change.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import data as generated
from dwindle._base.errors import DataError
from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.losses import Logistic, Squared
from dwindle.algorithm.shrinkage import Truncation, shrink_in_units
from dwindle.algorithm.units import measure, per_unit
from dwindle.algorithm.updates import cell_layout, owed, weight_at
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from dwindle.datasets.ads import Ads
from dwindle.engine.kernels import values
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from experiments import data
from experiments.precision_page import KINDS, page
from experiments.storing import measure_and_store, versions

PACKAGES = ("dwindle", "numpy", "numba")
A9A = "a9a/adult.trn.bz2"
PASSES = 3
WEAK, STRONG = (1e-5, 1e-4), (1e-3,)


class Double(Adaptive):
    """`Adaptive`, all of it in double precision."""

    def cell(self) -> np.dtype[np.void]:
        """Return the layout of `Adaptive`, with twice as many bits."""
        return cell_layout(64, norm="f8", inverse="f8", seen="u8")

    def owed(self, cell: Any, now: float) -> Any:
        return now - cell.settled

    def weight_at(self, shrinkage: Any, cell: Any, now: float, size: float) -> Any:
        due, each = owed(self, cell, now), per_unit(self, cell)
        if due == 0.0:
            return cell.weight
        own = size * each / (self.beta + cell.norm)
        return shrink_in_units(shrinkage, cell.weight, due, own, each)

    def settle(self, shrinkage: Any, cell: Any, now: float, size: float, x: float) -> Any:
        w = weight_at(self, shrinkage, cell, now, size)
        ratio = measure(self, cell, x)
        cell.norm *= ratio
        w *= ratio
        cell.weight = w
        cell.settled = now
        return w

    def squared(self, cell: Any, x: float) -> Any:
        part = x * cell.inverse
        return part * part

    def step(self, cell: Any, rate: float, slope: float, x: float) -> None:
        s = slope * x * cell.inverse
        cell.norm = np.sqrt(cell.norm * cell.norm + s * s)
        cell.weight -= rate * s * cell.inverse / (self.beta + cell.norm)


class Case(NamedTuple):
    """A set, and how to come by its examples."""

    name: str
    load: Callable[[], Batch]
    gravities: tuple[float, ...] = WEAK + STRONG
    loss: Any = Logistic()


class Found(NamedTuple):
    """What was learned."""

    loss: float  # the mean of the first pass, before learning
    kept: int
    prediction: NDArray[np.float64]  # in the last pass

    def beside(self, other: "Found") -> dict[str, float]:
        """Describe it in JSON; ``apart`` is how far predictions are from another's."""
        apart = float(np.sqrt(np.mean(np.square(self.prediction - other.prediction))))
        return {"loss": self.loss, "kept": self.kept, "apart": apart}


def main() -> None:
    """Measure, write precision.json and the page."""
    measure_and_store("precision", __doc__, results, page)


def results() -> dict[str, Any]:
    """Compare on all sets."""
    rows = [_shown(row) for case in cases() for row in compared(case)]
    return {"about": {"versions": versions(PACKAGES), "passes": PASSES}, "rows": rows}


def cases() -> Iterator[Case]:
    """All sets at hand."""
    yield Case("rcv1", lambda: data.rcv1(0).train)
    yield Case("a9a", _a9a)
    yield Case("eat", partial(_of_text, partial(generated.eat, rows=300_000), ("A", "B")))
    yield Case("ads", partial(_of_text, partial(generated.ads, rows=50_000), None))
    yield Case("clicks", partial(_of_text, _log, ("q", "a")))
    for name, spec in data.SETS.items():
        loss = Squared() if spec.task == "regression" else Logistic()
        yield Case(name, partial(_small, name), STRONG, loss)


def compared(case: Case) -> Iterator[dict[str, Any]]:
    """Learn in both precisions, with each gravity."""
    batch = case.load()
    n = batch.n_examples
    as_is, other = np.arange(n), np.random.default_rng(0).permutation(n)
    for gravity in case.gravities:
        learn = partial(learned, batch, case.loss, gravity)
        double = learn(Double(), as_is)
        yield {
            "set": case.name,
            "examples": n,
            "gravity": gravity,
            "double": double.beside(double),
            "single": learn(Adaptive(), as_is).beside(double),
            "swapped": learn(Double(), swapped(n)).beside(double),
            "shuffled": learn(Double(), other).beside(double),
        }


def swapped(n: int) -> NDArray[np.int64]:
    """Return an order of n examples that is theirs but for two in the middle."""
    order = np.arange(n)
    order[[n // 2, n // 2 + 1]] = n // 2 + 1, n // 2
    return order


def learned(
    batch: Batch, loss: Any, gravity: float, update: Any, order: NDArray[np.int64]
) -> Found:
    """Learn in several passes, in an order; predictions are in that of the batch."""
    learner = Learner(loss, Truncation(gravity), update)
    taken = batch.take(order)
    first, *_, last = (learner.learn(taken) for _ in range(PASSES))
    mean = values(loss, first, taken.label).mean().item()
    return Found(mean, len(learner), last[np.argsort(order)])


def _small(name: str) -> Batch:
    return data.split(name, seed=0).train


def _a9a() -> Batch:
    found = data.find(A9A)
    if found is None:
        raise DataError(f"{A9A}: is not here, and is not downloaded for you")
    return _read(str(found), ReadOptions(format="svmlight"))


def _of_text(write: Callable[[Path], Any], crossed: tuple[str, str] | None) -> Batch:
    """Read what is written as VW text, with the products of two namespaces."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text.vw"
        write(path)
        return _read(str(path), ReadOptions(interactions=(crossed,) if crossed else ()))


def _read(path: str, reading: ReadOptions) -> Batch:
    """Read a file as one batch, whose features have no names."""
    labels = Labels()
    return Batch.joined(
        [
            parsed.batch._replace(label=labels.mapped(parsed, Logistic()), names=None)
            for parsed in read([path], reading)
        ]
    )


def _log(path: Path) -> None:
    path.write_bytes(b"".join(Ads().text(5_000)))


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """The same, once it is on the screen."""
    parts = (f"{row[kind]['loss']:.6f} {row[kind]['kept']:7}" for kind in KINDS)
    print(f"{row['set']:10} {row['gravity']:g}", *parts, sep="  ", flush=True)
    return row


if __name__ == "__main__":
    main()
