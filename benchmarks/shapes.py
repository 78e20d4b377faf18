"""Text in every shape that strangers bring, next to Vowpal Wabbit.

Values, names and lines are spelled in different ways; each shape has 400 MB of text, some 77
features a line out of 40,000 unless it says otherwise (of *a model of ten*, whose lines are short,
100 MB). *Real text* is rcv1, repeated. Then smaller and larger files, and the text with %.7e in
other containers: Vowpal Wabbit reads zst and svmlight through `zstd -dc` and `sed`, and its own
cache where dwindle reads Arrow.

*Adaptive* is a learning rate for each feature, the default of both; *plain* is one for all, which
is --sgd there. dwindle's gravity is on, Vowpal Wabbit's --l1 is off, which is faster for it. Its
table has the least -b with room for half as many features again as there are. dwindle *without
options* learns eight models at once; it is shown next to Vowpal Wabbit's adaptive. When predicting,
Vowpal Wabbit writes each prediction by a system call of its own, which is most of its time where
lines are short.
"""

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.data import Labels
from benchmarks.files import Case, Text, races, stored
from benchmarks.lines import Shape, Writer
from benchmarks.results import Found
from benchmarks.side_by_side import Plan, once
from benchmarks.tools import ADAPTIVE, DWINDLE, OURS, Input, bits_for, dwindle, vw


class Size(NamedTuple):
    """Megabytes."""

    base: float
    small: float
    large: float


FULL, SMALL = Size(400, 50, 1000), Size(1, 0.5, 2)
EXPONENTS = "values %.7e"
SHAPES = {
    EXPONENTS: Shape("%.7e"),
    "values %.4f": Shape("%.4f"),
    "values %.6g": Shape("%.6g"),
    "values repr": Shape("repr"),
    "values of both signs": Shape("negative"),
    "values integer": Shape("integer"),
    "values mixed": Shape("mixed"),
    "values none": Shape("none"),
    "words": Shape("%.6g", "words"),
    "names above 16 bytes": Shape("%.4f", "names above 16 bytes"),
    "names above 32 bytes": Shape("none", "names above 32 bytes"),
    "words without namespace": Shape("none", "words", space=""),
    "integers without namespace": Shape("repr", space=""),
    "12 namespaces of one feature": Shape("none", "words", spaces=12, drawn=12, vocabulary=60_000),
    "1,000 features a line and more": Shape("%.7e", drawn=1600),
    "a model of ten": Shape("integer", drawn=8, vocabulary=10),
    "a model of a million": Shape("%.6g", vocabulary=10**6),
}
PART = {"a model of ten": 0.25}  # of the text: its lines are short, and there are millions
REAL = "real text"
RESIZED = (EXPONENTS, "words")
CONTAINED = {name: OURS[name] for name in (DWINDLE, ADAPTIVE)}  # who takes part from containers


def measure(size: Size, plan: Plan) -> Found:
    """Race each case."""
    return Found(f"shapes of text: {size.base:g} MB of each", *races(cases(size, plan), plan))


def cases(size: Size, plan: Plan) -> Iterator[Case]:
    """All that are wanted, their data written."""
    for shape in RESIZED:
        if plan.wants(name := f"{shape}, 50 MB"):
            yield Case(name, written(plan, shape, size.small))
    for shape in SHAPES:
        if plan.wants(shape):
            text = written(plan, shape, size.base * PART.get(shape, 1))
            yield Case(shape, text, unfitted=shape in {EXPONENTS, "a model of a million"})
    if plan.wants(REAL):
        yield from _real(size, plan)
    for shape in RESIZED:
        if plan.wants(name := f"{shape}, 1 GB"):
            yield Case(name, written(plan, shape, size.large), predicts=False, fewer=1)
    yield from _contained(size, plan)


def _contained(size: Size, plan: Plan) -> Iterator[Case]:
    for container, pack in CONTAINERS.items():
        program = PROGRAMS.get(container)
        if plan.wants(container) and (program is None or shutil.which(program)):
            text = written(plan, EXPONENTS, size.base)
            what = None if plan.only_write else pack(text, plan)
            yield Case(container, text, what=what, ours=CONTAINED, predicts=False)


def written(plan: Plan, shape: str, megabytes: float) -> Text:
    """The text of a shape."""

    def write(path: Path) -> Labels:
        with path.open("wb") as file:
            return Writer(SHAPES[shape]).write(file, megabytes)

    slug = shape.replace(" ", "-").replace("%", "").replace(",", "")
    return stored(plan, f"{slug}-{megabytes:g}", write)


# Real text


def real_text() -> Path | None:
    """The part of rcv1 in the folder DWINDLE_DATA, if there is one."""
    found = sorted(Path(os.environ.get("DWINDLE_DATA", "")).glob("rcv1/*train*.vw.zst"))
    return found[0] if found and "DWINDLE_DATA" in os.environ else None


def _real(size: Size, plan: Plan) -> Iterator[Case]:
    if real := real_text():
        text = stored(plan, f"rcv1-{size.base:g}", partial(_repeated, real, size.base))
        yield Case(REAL, text, unfitted=True)
    else:
        print(f"{REAL}: skipped, since DWINDLE_DATA names no folder with rcv1", flush=True)


def _repeated(real: Path, megabytes: float, path: Path) -> Labels:
    with pa.input_stream(real, compression="zstd") as file:
        text = file.read()
    lines = text.splitlines(keepends=True)
    label = np.array([line[:1] != b"-" for line in lines])
    times, rest = divmod(int(megabytes * 10**6), len(text))
    some = np.searchsorted(np.cumsum([len(line) for line in lines]), rest) + 1
    with path.open("wb") as file:
        for _ in range(times):
            file.write(text)
        file.write(b"".join(lines[:some]))
    return np.concatenate([*[label] * times, label[:some]])


# Containers


def _gz(text: Text, plan: Plan) -> Input:
    packed = _packed(text, ".gz", "gzip", plan)
    return Input(packed, packed)


def _zst(text: Text, plan: Plan) -> Input:
    packed = _packed(text, ".zst", "zstd", plan)
    return Input(packed, packed, through=["zstd", "-dc", "-q", str(packed)])


def _packed(text: Text, suffix: str, compression: str, plan: Plan) -> Path:
    path = plan.out / f"{text.path.name}{suffix}"
    with text.path.open("rb") as file, pa.output_stream(path, compression=compression) as packed:
        shutil.copyfileobj(file, packed, 2**20)
    return path


def _svmlight(text: Text, plan: Plan) -> Input:
    """The same without the namespace, which Vowpal Wabbit cannot do without."""
    path = plan.out / text.path.with_suffix(".svm").name
    with text.path.open("rb") as lines, path.open("wb") as file:
        file.writelines(line.replace(b" |f ", b" ") for line in lines)
    return Input(path, path, through=["sed", "s/ / |f /", str(path)])


def _arrow(text: Text, plan: Plan) -> Input:
    """What each tool keeps of what it has parsed."""
    arrow, cache = (plan.out / f"{text.path.stem}.{suffix}" for suffix in ("arrow", "cache"))
    once(
        [
            dwindle("convert", text.path, arrow, "--quiet"),
            vw("-d", text.path, "--cache_file", cache, "-k", "-b", bits_for(text.features)),
        ]
    )
    return Input(arrow, text.path, cache=cache)


CONTAINERS = {"gz": _gz, "zst": _zst, "svmlight": _svmlight, "Arrow": _arrow}
PROGRAMS = {"zst": "zstd", "svmlight": "sed"}  # that Vowpal Wabbit cannot do without
