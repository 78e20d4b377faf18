"""What the workloads on files share: generated text that is kept, and a race on it."""

import json
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import Labels
from benchmarks.results import Figure, Row, row, speed
from benchmarks.side_by_side import Plan, Run, interleaved, placed
from benchmarks.split import split
from benchmarks.tools import (
    ADAPTIVE,
    DEFAULT_BITS,
    DWINDLE,
    FIT,
    OURS,
    PAIRS,
    PLAIN,
    PREDICT,
    VW_PREDICT,
    Input,
    Reading,
    bits_for,
    dwindle,
    learning,
    predicting,
    said_by,
    spoken,
    unfitted,
)
from dwindle.runs.metrics import auc

HERE = Path(__file__).parent
TEN = ", ten lines"
SMALL = 60  # megabytes
SPLIT = (ADAPTIVE, PLAIN, PREDICT)  # contestants of whom it is said where their time goes


class Text(NamedTuple):
    """A file of VW text, and what is known of it."""

    path: Path
    features: int  # that are different, interactions included

    @property
    def labels(self) -> Labels:
        """The label of each line."""
        found: Labels = np.load(self.path.with_suffix(".npy"))
        return found

    @property
    def megabytes(self) -> float:
        """Its size."""
        return self.path.stat().st_size / 1e6


class Case(NamedTuple):
    """A race on one text."""

    name: str
    text: Text
    reading: Reading = Reading()
    what: Input | None = None  # else the text itself
    ours: Mapping[str, list[str]] = OURS
    unfitted: bool = False  # Vowpal Wabbit also at its default -b
    predicts: bool = True
    fewer: int = 0  # rounds, for what takes long

    def commands(self, text: Path, what: Input, out: Path) -> dict[str, list[str]]:
        """All that take part."""
        out.mkdir(parents=True, exist_ok=True)
        bits = bits_for(self.text.features)
        found = learning(what, out, bits, self.reading, self.ours)
        if self.unfitted and bits != DEFAULT_BITS:
            found |= unfitted(what, out, self.reading)
        if self.predicts:
            found |= predicting(text, out, self.reading)
        return found


def stored(
    plan: Plan,
    name: str,
    write: Callable[[Path], Labels],
    reading: Reading = Reading(),  # noqa: B008  (it is never changed)
) -> Text:
    """Write a file, unless this code has written it before, and count its features."""
    code = b"".join((HERE / name).read_bytes() for name in ("data.py", "lines.py"))
    folder = plan.folder / sha256(code).hexdigest()[:12]
    path, facts = folder / f"{name}.vw", folder / f"{name}.json"
    if not facts.exists():
        print(f"writing {path}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path.with_suffix(".npy"), write(path))
        command = dwindle("train", path, "-m", plan.out / "all.parquet", "--gravity", "0", "--json")
        said = subprocess.run([*command, *reading.ours], capture_output=True, check=True).stdout  # noqa: S603  (ours)
        facts.write_bytes(said.splitlines()[-1])
    known = json.loads(facts.read_bytes())
    return Text(path, known["peak_live"])


def races(cases: Iterable[Case], plan: Plan) -> tuple[list[Row], list[Figure]]:
    """One race after the other, or only their data."""
    rows, figures = [], []
    for case in cases:
        if not plan.only_write:
            begin = time.monotonic()
            found, more = _raced(case, plan)
            rows += found
            figures += more
            said = next((f"{figure.value.median:.2f} {figure.what}" for figure in more), "")
            print(f"{case.name}: {said} ({time.monotonic() - begin:.0f} s)", flush=True)
    return rows, figures


def _raced(case: Case, plan: Plan) -> tuple[list[Row], list[Figure]]:
    """What each contestant takes for a case, and for its first ten lines in the same rounds."""
    text, ten = case.text.path, plan.out / "ten.vw"
    with text.open("rb") as file:
        ten.write_bytes(b"".join(file.readline() for _ in range(10)))
    whole = case.commands(text, case.what or Input(text, text), plan.out / "whole")
    tens = case.commands(ten, Input(ten, ten), plan.out / "ten")
    small = {f"{name}{TEN}": command for name, command in tens.items()}
    for each in case.what or (text,):
        _read(each)
    where = placed(whole[FIT])
    for commands in (whole, small):
        commands |= {
            name: [*where, *command]
            for name, command in commands.items()
            if not name.startswith(DWINDLE)
        }
    # The ten lines load what the whole text needs, unless it comes in another container, or many
    # of its features come and go. Of the first, a small one, all that learning needs is compiled.
    longer = case.reading.ours or case.text.megabytes < SMALL
    warm_up = [*small, *(whole if case.what else case.ours if longer else ())]
    found = interleaved(whole | small, max(1, plan.rounds - case.fewer), warm_up)
    runs = {name: found[name] for name in whole}
    starts = {name: found[f"{name}{TEN}"] for name in whole}
    more: dict[str, dict[str, Any]] = {FIT: {"b": bits_for(case.text.features)}}
    more |= _quality(case, plan) if case.predicts else {}
    folders = {each.parent: None for each in (text, *(case.what or ())) if isinstance(each, Path)}
    rows = [
        row(case.name, name, runs[name], starts[name], **more.get(name, {}))._replace(
            command=spoken(command, plan.out / "whole", *folders),
            split=split(command, plan.out) if name in SPLIT else {},
        )
        for name, command in whole.items()
    ]
    return rows, _figures(case.name, runs, starts)


def _read(path: object) -> None:
    """Read a file, so that every contestant finds it in memory."""
    if isinstance(path, Path):
        with path.open("rb") as file:
            while file.read(2**24):
                pass


def _figures(case: str, runs: dict[str, list[Run]], starts: dict[str, list[Run]]) -> list[Figure]:
    """How many times as fast ours is, like with like."""
    figures = []
    for what, (theirs, ours) in PAIRS.items():
        if theirs in runs and ours in runs:
            both = starts[theirs], starts[ours]
            figures.append(speed(case, what, runs[theirs], runs[ours], both))
    return figures


def _quality(case: Case, plan: Plan) -> dict[str, dict[str, float]]:
    """The AUC of what was predicted for the rows that were learned from: both tools did learn."""
    label = np.where(case.text.labels, 1, -1)
    found = {}
    for name, model in ((PREDICT, ADAPTIVE), (VW_PREDICT, FIT)):
        prediction = np.array(said_by(plan.out / "whole", model).read_bytes().split(), float)
        found[name] = {"auc_on_train": round(auc(prediction, label), 4)}
    return found
