"""What measures, from its command to its results in JSON and the page that shows them."""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dwindle._base.errors import DataError
from dwindle._base.files import replacing

DOCS = Path(__file__).parent.parent / "docs"


def save(path: Path, text: str) -> None:
    """Write a file that is whole or not there."""
    with replacing(path) as file:
        file.write(text.encode())


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Tell the versions of packages and of Python."""
    return {name: version(name) for name in packages} | {"python": platform.python_version()}


@contextmanager
def data_is_here() -> Iterator[None]:
    """End the program with a sentence if data is missing."""
    try:
        yield
    except DataError as error:
        sys.exit(f"{error} (DWINDLE_DATA may name a folder that has it)")


def measure_and_store(
    name: str,
    description: str | None,
    measure: Callable[[], dict[str, Any]],
    page: Callable[[dict[str, Any]], str],
) -> None:
    """Run ``python -m experiments.NAME``: measure, then write NAME.json and NAME.md."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}", description=description)
    parser.add_argument("--output", type=Path, default=DOCS, help="a folder [default: docs]")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with data_is_here():
        results = measure()
    results["about"]["seconds"] = round(time.monotonic() - begin)
    save(folder / f"{name}.json", json.dumps(results, indent=1) + "\n")
    save(folder / f"{name}.md", page(results))
