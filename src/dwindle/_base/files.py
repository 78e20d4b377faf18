"""Files that are whole or not there."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, cast

from dwindle._base.errors import DataError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` once it is whole; until then nothing changes.

    A pipe or a device has no place to take: it is written to as it stands.
    """
    target = Path(path)
    check_folder(target)
    if target.is_dir():
        raise DataError(f"{target}: is a folder: write to a file in it")
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as new:
        try:
            yield cast("BinaryIO", new)
            new.flush()
            os.fsync(new.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(new.name, 0o666 & ~umask)  # noqa: PTH101  (as any new file; temporary ones are private)
            Path(new.name).replace(target)
        except BaseException:
            Path(new.name).unlink(missing_ok=True)
            raise


def check_folder(target: Path) -> None:
    """Refuse to write where there is no folder."""
    if not target.absolute().parent.is_dir():
        raise DataError(f"{target}: there is no folder {target.parent} to write to")


def check_apart(target: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write where something is read: it would be gone."""
    for path in read:
        if Path(target).is_file() and Path(path).exists() and Path(target).samefile(path):
            raise DataError(f"{target}: is read here and would be written over: name another file")
