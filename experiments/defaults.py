"""``python -m experiments.defaults``: what comes of no options, ours and Vowpal Wabbit's.

Both learn from the same file in the same order, in one pass. What they are told is only what they
cannot know: Vowpal Wabbit that the labels are classes, and both which features to multiply.
"""

import bz2
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from vowpalwabbit import Workspace

from benchmarks import data as generated
from dwindle._base.errors import DataError
from dwindle.data.options import ReadOptions
from dwindle.datasets.ads import Ads
from dwindle.features.batch import Batch
from dwindle.runs.evaluate import evaluate
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from experiments import data
from experiments.defaults_page import page
from experiments.storing import measure_and_store, versions

PACKAGES = ("dwindle", "numpy", "numba", "vowpalwabbit")
A9A = ("a9a/adult.trn.bz2", "a9a/adult.tst.bz2")
SHUFFLES = 5  # of the small sets: where one order of the rows is luck
WIDE = "-b 24"  # so that hardly any two features share a weight

Floats = NDArray[np.float64]


class Files(NamedTuple):
    """What is learned from, and what is held out."""

    train: Path
    test: Path


class Case(NamedTuple):
    """A set, written as VW text in the order that a seed gives."""

    name: str
    write: Callable[[Files, int], None]
    shuffles: int = 1
    regression: bool = False
    crossed: str = ""  # two namespaces whose features are multiplied
    wide: bool = False  # has more features than Vowpal Wabbit has weights unless told

    @property
    def reading(self) -> ReadOptions:
        """How we are told what to multiply."""
        return ReadOptions(interactions=(tuple(self.crossed),) if self.crossed else ())

    @property
    def told(self) -> str:
        """What Vowpal Wabbit is told."""
        loss = "" if self.regression else "--loss_function logistic"
        return f"{loss} --interactions {self.crossed}" if self.crossed else loss


class Found(NamedTuple):
    """How good a model is."""

    progressive: float  # the mean loss of predictions made before learning
    loss: float  # the mean loss on the test part
    auc: float | None  # on the test part, of two classes


def main() -> None:
    """Measure, write defaults.json and the page."""
    measure_and_store("defaults", __doc__, results, page)


def results() -> dict[str, Any]:
    """Compare on all sets."""
    found = [_shown(compared(case)) for case in cases()]
    defaults = TrainSettings().ingredients()
    about = {
        "learning_rate": defaults.schedule.learning_rate,
        "update": repr(defaults.update),
        "shrinkage": repr(defaults.shrinkage),
        "versions": versions(PACKAGES),
    }
    return {"about": about, "sets": found}


def cases() -> Iterator[Case]:
    """All sets: what was logged or written, then the paper's small ones as they are, and scaled."""
    yield Case("rcv1", _rcv1)
    yield Case("a9a", _a9a)
    yield Case("ads", partial(_generated, generated.ads, (200_000, 50_000)), wide=True)
    yield Case(
        "eat", partial(_generated, generated.eat, (1_000_000, 200_000)), crossed="AB", wide=True
    )
    yield Case("clicks", partial(_clicks, (30_000, 10_000)), crossed="qa", wide=True)
    for name, spec in data.SETS.items():
        small = partial(Case, shuffles=SHUFFLES, regression=spec.task == "regression")
        yield small(name, partial(_uci, name, scaled=False))
        if len(spec.categorical) < len(spec.inputs):
            yield small(f"{name}, scaled", partial(_uci, name, scaled=True))


def compared(case: Case) -> dict[str, Any]:
    """What both make of a set, as means over its shuffles."""
    ours, theirs, wide = [], [], []
    with TemporaryDirectory() as folder:
        files = Files(Path(folder) / "train.vw", Path(folder) / "test.vw")
        for seed in range(case.shuffles):
            case.write(files, seed)
            ours.append(our(files, case.reading))
            theirs.append(their(files, case.told, regression=case.regression))
            if case.wide:
                told = f"{case.told} {WIDE}"
                wide.append(their(files, told, regression=case.regression))
        examples = files.train.read_bytes().count(b"\n")
    return {
        "set": case.name,
        "examples": examples,
        "shuffles": case.shuffles,
        "regression": case.regression,
        "crossed": case.crossed,
        "ours": _mean(ours),
        "theirs": _mean(theirs),
        "theirs_wide": _mean(wide) if wide else None,
    }


def our(files: Files, reading: ReadOptions) -> Found:
    """What comes of ``dwindle train``."""
    model = files.train.with_suffix(".parquet")
    summary = train([str(files.train)], model, TrainSettings(reading=reading))
    found = evaluate(model, [str(files.test)])
    return Found(summary.loss, found["loss"], found.get("auc"))


def their(files: Files, told: str, *, regression: bool) -> Found:
    """What comes of ``vw``, from its predictions, each made before it learns from the example."""
    model, said = str(files.train.with_suffix(".model")), files.train.with_suffix(".said")

    def losses(options: str, path: Path) -> tuple[Floats, Floats, float]:
        Workspace(f"--quiet {options}", arg_list=["-d", str(path), "-p", str(said)]).finish()
        p, y = np.loadtxt(said), _labels(path)
        each = (p - y) ** 2 if regression else np.logaddexp(0.0, -p * y)
        return p, y, float(each.mean())

    *_, progressive = losses(f"{told} -f {model}", files.train)
    loss = "" if regression else "--loss_function logistic"  # which the model does not keep
    p, y, held_out = losses(f"{loss} -t -i {model}", files.test)
    return Found(progressive, held_out, None if regression else float(roc_auc_score(y, p)))


def _labels(path: Path) -> Floats:
    with path.open() as file:
        return np.array([float(line.split(None, 1)[0]) for line in file])


def _mean(found: Sequence[Found]) -> dict[str, float | None]:
    def mean(each: Sequence[float | None]) -> float | None:
        known = [value for value in each if value is not None]
        return float(np.mean(known)) if known else None

    return {
        name: mean(each) for name, each in zip(Found._fields, zip(*found, strict=True), strict=True)
    }


# What is learned from


def _rcv1(files: Files, seed: int) -> None:
    split = data.rcv1(seed)
    for path, batch in zip(files, (split.train, split.test), strict=True):
        _write(path, _lines(batch))


def _a9a(files: Files, seed: int) -> None:
    for path, file in zip(files, A9A, strict=True):
        found = data.find(file)
        if found is None:
            raise DataError(f"{file}: is not here, and is not downloaded for you")
        with bz2.open(found, "rt") as text:
            lines = [f"{line.replace(' ', ' | ', 1)}\n" for line in text.read().splitlines()]
        order = np.random.default_rng(seed).permutation(len(lines))
        _write(path, (lines[i] for i in order.tolist()))


def _generated(
    make: Callable[[Path, int, int], Any], sizes: tuple[int, int], files: Files, seed: int
) -> None:
    for part, (path, size) in enumerate(zip(files, sizes, strict=True)):
        make(path, size, 2 * seed + part)


def _clicks(sizes: tuple[int, int], files: Files, seed: int) -> None:
    log, first = Ads(seed), 0
    for path, size in zip(files, sizes, strict=True):
        path.write_bytes(b"".join(log.text(size, first)))
        first += size


def _uci(name: str, files: Files, seed: int, *, scaled: bool) -> None:
    spec, table = data.SETS[name], data.load(name)
    order = np.random.default_rng(seed).permutation(spec.rows)
    x, label = table.x[order], table.label[order]
    x = data.scaled(x, table.numeric, spec.train) if scaled else np.nan_to_num(x)
    lines = list(_lines(Batch.from_csr(csr_array(x), label)))
    _write(files.train, lines[: spec.train])
    _write(files.test, lines[spec.train :])


def _lines(batch: Batch) -> Iterator[str]:
    """The examples, in which column j is called j."""
    assert batch.label is not None
    tokens = [f"{j}:{v:.8g}" for j, v in zip(batch.key.tolist(), batch.x.tolist(), strict=True)]
    bounds = zip(batch.start[:-1].tolist(), batch.start[1:].tolist(), strict=True)
    for label, (begin, end) in zip(batch.label.tolist(), bounds, strict=True):
        yield f"{label:g} | {' '.join(tokens[begin:end])}\n"


def _write(path: Path, lines: Any) -> None:
    path.write_text("".join(lines), encoding="ascii")


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """The same, once it is on the screen."""
    ours, theirs = row["ours"]["progressive"], row["theirs"]["progressive"]
    print(f"{row['set']:20} {ours:9.4f} {theirs:9.4f}  {ours / theirs:.3f}", flush=True)
    return row


if __name__ == "__main__":
    main()
