"""Files that are replaced only once they are whole, and never written over while being read."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile, mkdtemp
from typing import BinaryIO, cast

from dwindle._base import remote
from dwindle._base.errors import DataError
from dwindle._base.remote import RemotePath, is_remote, shown
from dwindle._base.system import is_locked, locked, set_permissions, sync_folder

PARTIAL = ".dwindle"  # ends the names of files that are not whole yet
FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}  # there is no more room


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` once it is whole; until then nothing changes.

    It gets the permissions of the file it replaces. Of a symbolic link, the file that it leads to
    is replaced. A pipe or a device cannot be replaced: it is written to directly.

    A process that is killed leaves a part of its new file behind: the next one to write to ``path``
    removes it. While it is written, it is locked.

    What ``path`` names by a URL is written to a temporary file and copied there once it is whole.
    """
    if is_remote(path):
        with _uploading(os.fspath(path)) as file:
            yield file
        return
    target = _followed(path)
    _check_place(target)
    _remove_left_behind(target)
    new, is_written = target, False
    try:
        if _is_device(target):
            with target.open("wb") as file:
                yield file
            return
        with ExitStack() as until_moved:
            # Closed before it is moved: Windows does not move an open file.
            with _new_file(target, until_moved) as aside:
                new = Path(aside.name)
                yield aside
                is_written = True
                aside.flush()
                os.fsync(aside.fileno())
            set_permissions(new, like=target)
            new.replace(target)
            sync_folder(target.absolute().parent)
    except OSError as error:
        # Another error is of what the caller read meanwhile.
        own = is_written or error.errno in FULL or target.name in Path(error.filename or "").name
        if own:
            raise unwritable(target, error) from None
        raise
    finally:
        if new != target:
            new.unlink(missing_ok=True)


@contextmanager
def _uploading(url: str) -> Iterator[BinaryIO]:
    remote.check_place(url)
    with NamedTemporaryFile(prefix="dwindle-", suffix=PARTIAL) as aside:
        yield cast("BinaryIO", aside)
        aside.flush()
        try:
            remote.upload(aside.name, url)
        except OSError as error:
            raise unwritable(url, error) from None


def _new_file(target: Path, until_moved: ExitStack) -> BinaryIO:
    """Open a file beside the target, locked until the stack is left."""
    while True:
        file = NamedTemporaryFile(  # noqa: SIM115  (the caller closes it)
            dir=target.parent, prefix=_prefix(target), suffix=PARTIAL, delete=False
        )
        with suppress(FileNotFoundError):  # another process took it for one left behind
            until_moved.enter_context(locked(file.name))
            Path(file.name).lstat()
            return cast("BinaryIO", file)
        file.close()


def _remove_left_behind(target: Path) -> None:
    """Remove what killed processes left of a new file for this target."""
    begin = _prefix(target)
    with suppress(OSError), os.scandir(target.absolute().parent) as entries:
        for entry in entries:
            if entry.name.startswith(begin) and entry.name.endswith(PARTIAL):
                with suppress(OSError):
                    if not is_locked(entry.path):
                        Path(entry.path).unlink()


def _prefix(target: Path) -> str:
    return f".{target.name}."


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path where `replacing` could not write, before any work is done for it."""
    if is_remote(path):
        remote.check_place(os.fspath(path))
        return
    target = _followed(path)
    _check_place(target)
    if _is_device(target):
        return
    _remove_left_behind(target)
    try:
        with TemporaryFile(dir=target.absolute().parent):
            pass
    except OSError as error:
        raise unwritable(target, error) from None


Place = Path | RemotePath


def place_of(path: str | os.PathLike[str]) -> Place:
    """Return the path of a file, which may be a URL."""
    return RemotePath(path) if is_remote(path) else Path(path)


def size_of(place: Place) -> int:
    """Return the bytes of a file."""
    return place.size() if isinstance(place, RemotePath) else place.stat().st_size


def written(
    path: Place, write: Callable[[Place], object]
) -> "tuple[Place, UnwritableError | None]":
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


def unwritable(target: str | Path, error: OSError) -> UnwritableError:
    """Return an error that names the file."""
    return UnwritableError(f"{shown(target)}: cannot be written: {error.strerror or error}")


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
    there = None
    if not is_remote(target) and Path(target).is_file():
        there = Path(target).stat()
    for path in read:
        if is_remote(target) or is_remote(path):
            if os.fspath(target) == os.fspath(path):
                raise _read_here(target)
        elif there is not None:
            with suppress(OSError):  # a query, say, is too long for the name of a file
                if os.path.samestat(there, os.stat(path)):  # noqa: PTH116  (there may be many)
                    raise _read_here(target)


def _read_here(target: str | os.PathLike[str]) -> DataError:
    return DataError(f"{shown(target)}: is read here and would be written over: name another file")
