"""Text like rcv1, of names that are numbers, with values, next to Vowpal Wabbit.

Some 77 features a row out of 40,000. From text, from a cache, predicting; with words for names;
compressed, next to the decompressor alone; and parsing alone, next to wc -l.
"""

import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path

from benchmarks import data
from benchmarks.bars import ALONE, MB_A_CORE, OF_WC
from benchmarks.files import TEN, against_vw, measured_three_ways, megabytes
from benchmarks.results import Figure, Found, Row, row
from benchmarks.side_by_side import Run, Spread, interleaved, ratio, seconds, spread
from benchmarks.tools import DWINDLE, Settings, spoken, train
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read

FULL, SMALL = 1_000.0, 2.0  # megabytes
SETTINGS = Settings(
    ours=["--loss", "logistic", "--gravity", "2e-7"],
    theirs=["--loss_function", "logistic", "--l1", "1e-6"],
)
PROGRAMS = {"gz": "gzip", "zst": "zstd"}
PLAIN = "dwindle, plain text"
DECOMPRESS = """import sys, pyarrow
with pyarrow.input_stream(sys.argv[1], compression={name!r}) as file:
    while file.read(2**20): pass"""


def measure(size: float, rounds: int, folder: Path) -> Found:
    """Every case."""
    text, test, words = (folder / f"rcv1{name}.vw" for name in ("", "-test", "-words"))
    with text.open("wb") as file, test.open("wb") as test_file, words.open("wb") as words_file:
        data.Rcv1().write(file, size)
        labels = data.Rcv1().write(test_file, size, seed=1)
        data.Rcv1("word").write(words_file, size)
    rows, figures = measured_three_ways(text, test, labels, SETTINGS, rounds)
    test.unlink()
    commands = train(words, SETTINGS), train(data.ten_lines(words), SETTINGS)
    found, faster = against_vw("words", *commands, rounds, folder)
    rows, figures = [*rows, *found], [*figures, faster]
    words.unlink()
    for suffix in PROGRAMS:
        found, figure = _compressed(text, suffix, rounds)
        rows, figures = [*rows, *found], [*figures, figure]
    found, both = _parsing(text, rounds)
    title = f"like rcv1: {megabytes([text]):,.0f} MB of text"
    return Found(title, [*rows, *found], [*figures, *both])


def _compressed(text: Path, suffix: str, rounds: int) -> tuple[list[Row], Figure]:
    """Learning from a compressed file, next to decompressing it to nowhere."""
    program = PROGRAMS[suffix]
    packed = text.with_name(f"{text.name}.{suffix}")
    alone = packed_by(program, text, packed)
    contestants = {
        DWINDLE: train(packed, SETTINGS)[DWINDLE],
        f"{program} -dc" if shutil.which(program) else f"pyarrow's {program}": alone,
        PLAIN: train(text, SETTINGS)[DWINDLE],
        f"{DWINDLE}{TEN}": train(data.ten_lines(text), SETTINGS)[DWINDLE],
    }
    runs = interleaved(contestants, rounds)
    ours, decompressor, plain, start = runs.values()
    slower = max(decompressor, plain, key=lambda each: seconds(each).median)
    begin = seconds(start).median
    work = (seconds(ours).median - begin) / max(
        seconds(decompressor).median, seconds(plain).median - begin
    )
    value = ratio([run.seconds for run in ours], [run.seconds for run in slower])
    packed_mb = round(megabytes([packed]), 1)
    packed.unlink()
    rows = [
        row(suffix, name, runs[name], start if name in {DWINDLE, PLAIN} else ())._replace(
            command=spoken(contestants[name], text.parent)
        )
        for name in [*contestants][:3]
    ]
    rows[0] = rows[0]._replace(more={"compressed_mb": packed_mb})
    return rows, Figure(suffix, ALONE, value, work)


def packed_by(program: str, text: Path, packed: Path) -> list[str]:
    """Compress a file; returns a command that decompresses it to nowhere."""
    if shutil.which(program):
        with packed.open("wb") as file:
            subprocess.run([program, "-c", text], stdout=file, check=True)  # noqa: S603  (ours)
        return [program, "-dc", str(packed)]
    import pyarrow as pa  # noqa: PLC0415  (only where the program is missing)

    with text.open("rb") as file, pa.output_stream(packed, compression=program) as out:
        shutil.copyfileobj(file, out)
    return [sys.executable, "-c", DECOMPRESS.format(name=program), str(packed)]


def _parsing(text: Path, rounds: int) -> tuple[list[Row], list[Figure]]:
    """Parsing on one thread, learning nothing, next to counting lines."""
    one = ReadOptions(threads=1)
    count = ["wc", "-l", str(text)]
    runs = interleaved(
        {DWINDLE: lambda: deque(read([str(text)], one), maxlen=0), "wc -l": count}, rounds
    )
    size = megabytes([text])
    rows = [
        row("parsing", name, each, mb_a_second=round(size / seconds(each).median))
        for name, each in runs.items()
    ]
    ours, counting = runs.values()
    figures = [
        Figure("parsing", MB_A_CORE, _speeds(size, ours), unit="MB/s"),
        Figure("parsing", OF_WC, ratio(_seconds(counting), _seconds(ours)), unit="x wc -l"),
    ]
    return rows, figures


def _speeds(size: float, runs: list[Run]) -> Spread:
    """Megabytes in a second of the processor, whatever number of threads."""
    return spread(size / run.processor for run in runs)


def _seconds(runs: list[Run]) -> list[float]:
    return [run.seconds for run in runs]
