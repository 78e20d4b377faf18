"""Text to model, next to Vowpal Wabbit: wall time, processor time and memory of the whole command.

Two files like rcv1, of the same examples: 70 features each out of 47,000 whose frequency falls as
a power law, with a value of four digits, called by a number in one file and by a word in the other.
Both tools read a file once, logistic, each feature with a rate of its own, and write a model.

    python benchmarks/text.py [--megabytes 1000] [--rounds 5] [--folder FOLDER]
    python benchmarks/text.py --pipe 10

With --pipe, dwindle alone reads so many gigabytes from a pipe: its memory is the point.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from side_by_side import commands, ratio, report

NNZ, D, ROWS = 70, 47_000, 20_000
KINDS = {"numbers": "", "words": "word"}
SETTINGS = {
    "dwindle": ["dwindle", "train", "--gravity", "1e-6", "--loss", "logistic", "--quiet"],
    "vw": ["vowpalwabbit", "--l1", "1e-6", "--loss_function", "logistic", "--quiet"],
}


def write(
    file: IO[bytes], prefix: str, megabytes: int, seed: int = 0, *, once: bool = False
) -> None:
    """At least so many megabytes; with ``once``, each example has a feature that none other has."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(D) < 0.05, rng.normal(size=D), 0.0)
    column = rng.permutation(D)  # a vocabulary is not sorted by frequency
    name = pa.array([f"{prefix}{j}" for j in range(D)])
    number = pa.array([f"{v / 10**4:.4f}" for v in range(10**4)])
    bound = pa.array(np.arange(0, ROWS * NNZ + 1, NNZ, dtype=np.int32))
    written = 0
    for first in count(0, ROWS):
        j = column[(D * rng.random((ROWS, NNZ)) ** 3).astype(int)]
        v = rng.integers(1, 10**4, (ROWS, NNZ))
        chance = 1 / (1 + np.exp(-(truth[j] * v / 10**4).sum(axis=1)))
        is_positive = (rng.random(ROWS) < chance).tolist()
        head = pa.array(
            [
                f"{'1' if y else '-1'} |f" + (f" once{first + i}" if once else "")
                for i, y in enumerate(is_positive)
            ]
        )
        tokens = pc.binary_join_element_wise(
            name.take(pa.array(j.ravel())), number.take(pa.array(v.ravel())), ":"
        )
        rows = pc.binary_join(pa.ListArray.from_arrays(bound, tokens), " ")
        lines = pc.binary_join_element_wise(head, rows, " ")
        written += file.write("\n".join([*lines.to_pylist(), ""]).encode())
        if written >= megabytes * 10**6:
            return


def command(tool: str, data: Path, model: Path) -> list[str]:
    """The command line of a tool."""
    module, *options = SETTINGS[tool]
    files = ["-d", str(data), "-f", str(model)] if tool == "vw" else [str(data), "-m", str(model)]
    return [sys.executable, "-m", module, *options, *files]


def pipe(gigabytes: int, folder: str) -> None:
    """Train on a pipe that is written while it is read, and print what the run came to."""
    with tempfile.TemporaryDirectory(dir=folder) as here:
        model = str(Path(here, "m.parquet"))
        train = [sys.executable, "-m", "dwindle", "train", "-", "-m", model, "--json"]
        process = subprocess.Popen(  # noqa: S603  (our own command)
            [*train, "--gravity", "1e-4"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        write(process.stdin, "word", gigabytes * 1000, once=True)
        summary = json.loads(process.communicate()[0].splitlines()[-1])
    keys = "examples", "feature_count", "seen", "peak_live", "kept", "seconds", "peak_memory_bytes"
    report(
        f"a pipe of {gigabytes} GB, each example with a feature of its own",
        [{key: summary[key] for key in keys}],
        ("dwindle", "numba"),
    )


def main() -> None:
    """Write the files, measure, and print the ratios."""
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("--megabytes", type=int, default=1000)
    said.add_argument("--rounds", type=int, default=5)
    said.add_argument("--folder", default=tempfile.gettempdir())
    said.add_argument("--pipe", type=int, metavar="GB", help="train on a pipe instead")
    options = said.parse_args()
    if options.pipe:
        pipe(options.pipe, options.folder)
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind, prefix in KINDS.items():
            data, ten = Path(folder, f"{kind}.vw"), Path(folder, f"{kind}-ten.vw")
            with data.open("wb") as out:
                write(out, prefix, options.megabytes)
            with data.open("rb") as file:
                ten.write_bytes(b"".join(file.readline() for _ in range(10)))
            contestants = {
                f"{tool}{what}": command(tool, path, Path(folder, f"{tool}.model"))
                for tool in SETTINGS
                for what, path in (("", data), (", ten lines", ten))
            }
            runs = commands(contestants, options.rounds)
            seconds = {name: [run.seconds for run in each] for name, each in runs.items()}
            size = data.stat().st_size
            rows += [
                {
                    "data": kind,
                    "contestant": name,
                    "seconds": round(statistics.median(seconds[name]), 2),
                    "processor_seconds": round(statistics.median(r.processor for r in each), 2),
                    "peak_megabytes": round(max(r.peak_bytes for r in each) / 1e6),
                    "megabytes_per_second": round(size / statistics.median(seconds[name]) / 1e6)
                    if "ten" not in name
                    else None,
                }
                for name, each in runs.items()
            ]
            rows.append({"data": kind, "times_as_fast": ratio(seconds, "vw", "dwindle")})
            data.unlink()
    report(
        f"text to model, {options.megabytes} MB of VW text, medians of {options.rounds}",
        rows,
        ("dwindle", "numba", "vowpalwabbit"),
    )


if __name__ == "__main__":
    main()
