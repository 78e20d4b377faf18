"""Commands that write files, small enough to be run a thousand times."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dwindle.cli import main
from helpers.commands import dwindle

N_FILES, N_LINES = 6, 120


def examples(first, n):
    """Lines of VW text whose label some features tell."""
    return "".join(
        f"{1 if (i * 7) % 5 < 2 else -1} {1 + i % 3} |f a{i % 17}:{i % 5} b{i * i % 23} |g c{i % 3}\n"
        for i in range(first, first + n)
    )


@dataclass
class Scenario:
    """A command, the file it writes, and what it is run with again after it was stopped."""

    name: str
    args: list[str]
    target: str  # the file it writes
    again: tuple[str, ...] = ()  # more options, if there is a checkpoint

    def run(self):
        """Run the command in this process."""
        main([*self.args], prog_name="dwindle")

    def resume(self):
        """Run it again after it was stopped."""
        more = self.again if Path(f"{self.target}.checkpoint").exists() else ()
        main([*self.args, *more], prog_name="dwindle")


DATA = [f"d{k}.vw" for k in range(N_FILES)]
CLASSES = [f"k{k}.vw" for k in range(4)]
TRAIN = ["-m", "m.parquet", "--checkpoint-every", "100", "-q"]
SCENARIOS = [
    Scenario("train", ["train", *DATA, *TRAIN, "--gravity", "1e-3"], "m.parquet", ("--resume",)),
    Scenario(
        "train, two passes",
        ["train", *DATA, *TRAIN, "--gravity", "1e-3", "--passes", "2", "--max-live", "30"],
        "m.parquet",
        ("--resume",),
    ),
    Scenario("train, a path", ["train", *DATA, *TRAIN, "--path"], "m.parquet", ("--resume",)),
    Scenario(
        "train, classes",
        [
            "train",
            *CLASSES,
            *TRAIN,
            "--gravity",
            "1e-3",
            "--loss",
            "logistic",
            "--classes",
            "1,2,3",
        ],
        "m.parquet",
        ("--resume",),
    ),
    Scenario(
        "tune",
        [
            *("tune", "d0.vw", "d1.vw", "-m", "m.parquet", "-q", "--folds", "2", "--jobs", "1"),
            "--no-picture",
            *(
                "--gravity",
                "0,1e-3,1e-2",
                "--learning-rate",
                "0.2,0.5",
                "--passes",
                "1",
                "--cooldown",
                "0",
            ),
        ],
        "m.parquet",
    ),
    Scenario("convert", ["convert", *DATA[:2], "out.arrow", "-q"], "out.arrow"),
    Scenario("convert, compressed", ["convert", *DATA[:2], "out.vw.zst", "-q"], "out.vw.zst"),
    Scenario("predict", ["predict", "old.parquet", *DATA[:2], "-o", "scores.csv"], "scores.csv"),
    Scenario(
        "predict, Parquet",
        ["predict", "old.parquet", *DATA[:2], "-o", "scores.parquet"],
        "scores.parquet",
    ),
    Scenario(
        "merge", ["merge", "old.parquet", "other.parquet", "-m", "m.parquet", "-q"], "m.parquet"
    ),
]


def new_folder():
    """A folder for one attempt: in memory where there is such a place."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  (in memory, so fast)
    return Path(tempfile.mkdtemp(prefix="dwindle-attacks-", dir=place))


def inputs(folder):
    """Write what the commands read."""
    for k, name in enumerate(DATA):
        (folder / name).write_text(examples(k * N_LINES, N_LINES))
    lines = [f"{i % 3 + 1} |f a{i % 17}:{i % 5} k{i % 3}\n" for i in range(440)]
    for k, name in enumerate(CLASSES):
        (folder / name).write_text("".join(lines[k * 110 : k * 110 + 110]))
    for data, model in zip(DATA, ("old.parquet", "other.parquet"), strict=False):
        dwindle("train", data, "-m", model, "-q", "--gravity", "1e-3", cwd=folder)
