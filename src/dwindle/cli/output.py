"""Where results go: standard output or a file, as text or JSON."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from dwindle._base.files import replacing


def for_json(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace what is not finite by None, since JSON has no NaN."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in fields.items()
    }


@contextmanager
def written_to(output: str) -> Iterator[BinaryIO]:
    """Open standard output, or a file that appears only when it is whole."""
    if output == "-":
        yield sys.stdout.buffer
    else:
        with replacing(output) as file:
            yield file
