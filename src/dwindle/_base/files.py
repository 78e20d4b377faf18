"""Files that are replaced only once they are whole, and never written over while being read."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile, mkdtemp
from typing import BinaryIO, cast

from dwindle._base.errors import DataError
from dwindle._base.system import set_permissions

FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}  # there is no more room


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` once it is whole; until then nothing changes.

    It gets the permissions of the file it replaces. Of a symbolic link, the file that it leads to
    is replaced. A pipe or a device cannot be replaced: it is written to directly.
    """
    target = _followed(path)
    _check_place(target)
    new = target
    try:
        if _is_device(target):
            with target.open("wb") as file:
                yield file
            return
        # Closed before it is moved: Windows does not move an open file.
        with NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as aside:
            new = Path(aside.name)
            yield cast("BinaryIO", aside)
            aside.flush()
            os.fsync(aside.fileno())
        set_permissions(new, like=target)
        new.replace(target)
    except OSError as error:
        # Another error is of what the caller read meanwhile.
        if error.errno in FULL or target.name in Path(error.filename or "").name:
            raise _unwritable(target, error) from None
        raise
    finally:
        if new != target:
            new.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path where `replacing` could not write, before any work is done for it."""
    target = _followed(path)
    _check_place(target)
    if _is_device(target):
        return
    try:
        with TemporaryFile(dir=target.absolute().parent):
            pass
    except OSError as error:
        raise _unwritable(target, error) from None


def written(path: Path, write: Callable[[Path], object]) -> "tuple[Path, UnwritableError | None]":
    """Write a file at ``path`` or, if that fails, in a new temporary folder.

    Returns where it is, and why it is not where it should be.
    """
    try:
        write(path)
    except UnwritableError as error:
        elsewhere = Path(mkdtemp(prefix="dwindle-")) / path.name
        try:
            write(elsewhere)
        except UnwritableError as again:
            raise UnwritableError(f"{error}; nor can {again}") from None
        return elsewhere, error
    return path, None


class UnwritableError(OSError):
    """A file cannot be written; the message names it and says why."""


def _unwritable(target: Path, error: OSError) -> UnwritableError:
    return UnwritableError(f"{target}: cannot be written: {error.strerror or error}")


def _followed(path: str | os.PathLike[str]) -> Path:
    """Return the file that a symbolic link leads to, or the path itself."""
    return Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)


def _check_place(target: Path) -> None:
    """Refuse to write to a folder, or where there is none."""
    if not target.absolute().parent.is_dir():
        raise DataError(f"{target}: there is no folder {target.parent} to write to")
    if target.is_dir():
        raise DataError(f"{target}: is a folder: write to a file in it")


def _is_device(target: Path) -> bool:
    """Whether it is a pipe or a device, which cannot be replaced."""
    return target.exists() and not target.is_file()


def check_apart(target: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write to a file that is also read."""
    for path in read:
        if Path(target).is_file() and Path(path).exists() and Path(target).samefile(path):
            raise DataError(f"{target}: is read here and would be written over: name another file")
