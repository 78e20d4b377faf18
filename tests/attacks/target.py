"""What is attacked: how inputs are made, and how it is found out that one does harm."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from dwindle._base.errors import DataError, DivergedError, SettingError

REFUSED = (DataError, DivergedError, SettingError)  # each says in one line what is wrong
CORPUS = Path(__file__).parent / "corpus"
GUIDED = "guided.json"  # inputs that were found by following coverage, as a list of Latin-1


def inputs_in(file):
    """The inputs that a file of the corpus holds: itself, or a list."""
    if file.name != GUIDED:
        return [file.read_bytes()]
    return [text.encode("latin-1") for text in json.loads(file.read_text())]


class Difference(Exception):  # noqa: N818 - it is what was found
    """An input was not read as the plain reference reads it, or failed with a traceback."""


@dataclass
class Target:
    """One thing that is attacked.

    ``make`` makes an input of a random generator and the inputs of the corpus. ``run`` reads it:
    it returns whether it was accepted, and raises what is wrong. The generator it is given decides
    the settings: how blocks are cut, how many threads there are, how the file is compressed.
    """

    name: str
    make: Callable[[Random, list[bytes]], bytes]
    run: Callable[[bytes, Random], bool]
    share: float  # of the inputs of a run
    against: str  # what the result is compared with, for the page
    warm_up: Callable[[], Any] | None = None  # loads code before it is forked

    def corpus(self):
        """The inputs that are kept: some to begin with, and those that once did harm."""
        files = sorted((CORPUS / self.name).glob("*"))
        return [data for file in files for data in inputs_in(file)]

    def attempt(self, data, rng):
        """Run one input; return whether it was accepted. Whatever else happens is a difference."""
        try:
            return self.run(data, rng)
        except REFUSED:
            return False
        except (Difference, AssertionError):
            raise
        except Exception as error:
            raise Difference(f"{type(error).__name__}: {error}") from error
