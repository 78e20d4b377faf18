"""Files that are replaced only once they are whole, and never written over while being read."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, cast

from dwindle._base.errors import DataError
from dwindle._base.system import set_default_permissions


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` once it is whole; until then nothing changes.

    A pipe or a device cannot be replaced: it is written to directly.
    """
    target = Path(path)
    check_folder(target)
    if target.is_dir():
        raise DataError(f"{target}: is a folder: write to a file in it")
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    try:
        # Closed before it is moved: Windows does not move an open file.
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as new:
            yield cast("BinaryIO", new)
            new.flush()
            os.fsync(new.fileno())
        set_default_permissions(new.name)
        Path(new.name).replace(target)
    except BaseException:
        Path(new.name).unlink(missing_ok=True)
        raise


def check_folder(target: Path) -> None:
    """Refuse to write where there is no folder."""
    if not target.absolute().parent.is_dir():
        raise DataError(f"{target}: there is no folder {target.parent} to write to")


def check_apart(target: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write to a file that is also read."""
    for path in read:
        if Path(target).is_file() and Path(path).exists() and Path(target).samefile(path):
            raise DataError(f"{target}: is read here and would be written over: name another file")
