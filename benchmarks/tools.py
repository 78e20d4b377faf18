"""The command lines of dwindle and of Vowpal Wabbit: which settings are compared with which."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.bars import AS_LONG_AS_ONE, BY_DEFAULT, FASTER, PLAINLY, PREDICTING, UNFITTED

DWINDLE, ADAPTIVE, PLAIN = "dwindle", "dwindle, adaptive", "dwindle, plain"
FIT, SGD_FIT = "Vowpal Wabbit, -b that fits", "Vowpal Wabbit --sgd, -b that fits"
VW, SGD = "Vowpal Wabbit", "Vowpal Wabbit --sgd"
PREDICT, VW_PREDICT = "dwindle predict", "Vowpal Wabbit -t"

OURS: dict[str, list[str]] = {
    ADAPTIVE: ["--loss", "logistic", "--update", "adaptive", "--gravity", "1e-7"],
    PLAIN: ["--loss", "logistic", "--update", "plain", "--gravity", "1e-7"],
    DWINDLE: [],  # eight gravities at once
}
FITTED: dict[str, list[str]] = {FIT: [], SGD_FIT: ["--sgd"]}
THEIRS: dict[str, list[str]] = {VW: [], SGD: ["--sgd"]}
LOGISTIC = ["--loss_function", "logistic"]
DEFAULT_BITS = 18  # Vowpal Wabbit's

# What is said of two contestants: how many times as long the first takes.
PAIRS: dict[str, tuple[str, str]] = {
    FASTER: (FIT, ADAPTIVE),
    PLAINLY: (SGD_FIT, PLAIN),
    BY_DEFAULT: (FIT, DWINDLE),
    PREDICTING: (VW_PREDICT, PREDICT),
    UNFITTED: (VW, ADAPTIVE),
    AS_LONG_AS_ONE: (DWINDLE, ADAPTIVE),
}


class Input(NamedTuple):
    """A file as each tool is given it."""

    ours: Path
    theirs: Path
    through: Sequence[str] = ()  # a command whose output Vowpal Wabbit reads in its stead
    cache: Path | None = None  # of what Vowpal Wabbit has parsed


class Reading(NamedTuple):
    """Interactions, in the words of the tools."""

    ours: Sequence[str] = ()
    theirs: Sequence[str] = ()


def bits_for(features: int) -> int:
    """The -b that fits: the least whose table has room for half as many features again."""
    return max(1, (features * 3 // 2 - 1).bit_length())


def dwindle(*words: object) -> list[str]:
    """Ours."""
    return [sys.executable, "-m", "dwindle", *map(str, words)]


def vw(*words: object) -> list[str]:
    """Theirs, which prints nothing."""
    return [sys.executable, "-m", "vowpalwabbit", *map(str, words), "--quiet"]


def spoken(command: Sequence[str], *folders: Path) -> str:
    """A command as a user types it in the folder of the data."""
    said = command[-1] if command[:2] == ["sh", "-c"] else shlex.join(command)
    for folder in folders:
        said = said.replace(f"{folder}/", "")
    return said.replace(f"{sys.executable} -m dwindle", "dwindle").replace(sys.executable, "python")


def learning(
    what: Input,
    out: Path,
    bits: int,
    reading: Reading = Reading(),  # noqa: B008  (it is never changed)
    ours: Mapping[str, list[str]] = OURS,
) -> dict[str, list[str]]:
    """Each command from the data to a model; Vowpal Wabbit's with a table that fits."""
    commands = {
        name: dwindle("train", what.ours, "-m", model_of(out, name), *reading.ours, *how, "--quiet")
        for name, how in ours.items()
    }
    for name, how in FITTED.items():
        if PLAIN in ours or name != SGD_FIT:
            commands[name] = _vw_train(what, out, name, [*how, "-b", str(bits), *reading.theirs])
    return commands


def unfitted(what: Input, out: Path, reading: Reading) -> dict[str, list[str]]:
    """Vowpal Wabbit as it is without a -b."""
    return {
        name: _vw_train(what, out, name, [*how, *reading.theirs]) for name, how in THEIRS.items()
    }


def predicting(text: Path, out: Path, reading: Reading) -> dict[str, list[str]]:
    """Predict with the adaptive models: Vowpal Wabbit does not keep its interactions."""
    theirs = ["-t", "-i", model_of(out, FIT), "-d", text, "-p", said_by(out, FIT)]
    return {
        PREDICT: dwindle("predict", model_of(out, ADAPTIVE), text, "-o", said_by(out, ADAPTIVE)),
        VW_PREDICT: vw(*theirs, *LOGISTIC, *reading.theirs),
    }


def _vw_train(what: Input, out: Path, name: str, how: Sequence[str]) -> list[str]:
    options = ["-f", str(model_of(out, name)), *LOGISTIC, *how]
    if what.through:
        command = shlex.join(vw("-d", "/dev/stdin", *options))
        return ["sh", "-c", f"{shlex.join(what.through)} | {command}"]
    # Without its -d, Vowpal Wabbit reads nothing of its cache.
    cache = ["--cache_file", str(what.cache)] if what.cache else []
    return vw("-d", what.theirs, *cache, *options)


def model_of(out: Path, name: str) -> Path:
    """Where a contestant writes what it learns."""
    slug = name.lower().replace(",", "").replace(" ", "-")
    return out / (f"{slug}.parquet" if name.startswith(DWINDLE) else f"{slug}.model")


def said_by(out: Path, name: str) -> Path:
    """Where what a model predicts is written."""
    return model_of(out, name).with_suffix(".txt")
