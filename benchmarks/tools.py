"""The command lines of dwindle and of Vowpal Wabbit."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

DWINDLE, VW = "dwindle", "Vowpal Wabbit"

Commands = dict[str, dict[str, list[str]]]  # by case and tool


class Settings(NamedTuple):
    """What the tools are told, in their words."""

    ours: Sequence[str]  # how to learn
    theirs: Sequence[str]
    reading: Sequence[str] = ()  # what of the data; told when it is parsed


def dwindle(*words: object) -> list[str]:
    """Ours."""
    return [sys.executable, "-m", "dwindle", *map(str, words)]


def vw(*words: object) -> list[str]:
    """Theirs, which prints nothing."""
    return [sys.executable, "-m", "vowpalwabbit", *map(str, words), "--quiet"]


def spoken(command: Sequence[str], folder: Path) -> str:
    """A command as a user types it in the folder of the data."""
    said = shlex.join(command).replace(f"{folder}/", "")
    return said.replace(f"{sys.executable} -m dwindle", "dwindle").replace(sys.executable, "python")


def train(data: Path, how: Settings, name: str = "text") -> dict[str, list[str]]:
    """From text to a model, which is called by the name."""
    ours, theirs = models(data, name)
    return {
        DWINDLE: dwindle("train", data, "-m", ours, *how.reading, *how.ours, "--quiet"),
        VW: vw("-d", data, "-f", theirs, *how.theirs),
    }


def models(data: Path, name: str = "text") -> tuple[Path, Path]:
    """Where the two tools write what they learn."""
    return data.with_suffix(f".{name}.parquet"), data.with_suffix(f".{name}.model")


def three_ways(data: Path, test: Path, how: Settings) -> Commands:
    """From text, from what was parsed before, and predicting from text."""
    (ours, theirs), (ours_cached, theirs_cached) = models(data), models(data, "cached")
    arrow, cache = data.with_suffix(".arrow"), data.with_suffix(".cache")
    # Without its -d, Vowpal Wabbit reads nothing of its cache.
    return {
        "text": train(data, how),
        "cached": {
            DWINDLE: dwindle("train", arrow, "-m", ours_cached, *how.ours, "--quiet"),
            VW: vw("-d", data, "--cache_file", cache, "-f", theirs_cached, *how.theirs),
        },
        "predict": {
            DWINDLE: our_predictions(ours, test),
            VW: their_predictions(theirs, test, how),
        },
    }


def our_predictions(model: Path, test: Path) -> list[str]:
    """Predict with a model of ours."""
    return dwindle("predict", model, test, "-o", said_by(model))


def their_predictions(model: Path, test: Path, how: Settings) -> list[str]:
    """Predict with a model of theirs, which does not keep all options."""
    return vw("-t", "-i", model, "-d", test, "-p", said_by(model), *how.theirs)


def said_by(model: Path) -> Path:
    """Where what a model predicts is written."""
    return model.with_suffix(f"{model.suffix}.txt")


def parsed(data: Path, how: Settings) -> dict[str, list[str]]:
    """What the tools keep of what they parse, made once."""
    arrow, cache = data.with_suffix(".arrow"), data.with_suffix(".cache")
    return {
        DWINDLE: dwindle("convert", data, arrow, *how.reading, "--quiet"),
        VW: vw("-d", data, "--cache_file", cache, "-k", *how.theirs),
    }
