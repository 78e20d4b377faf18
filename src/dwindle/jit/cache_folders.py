"""Where compiled code is kept: the first of several folders that can be written.

Loading it is running it. So of folders that others might reach, the user's own and a temporary one,
only those are taken that nobody else can have written to.
"""

import functools
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from dwindle.jit import settings

log = logging.getLogger("dwindle")


class Folder:
    """The folder for the code of one kernel, as Numba asks for it; see `numba.core.caching`."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        self.beside = Path(file).parent / "__pycache__"

    @functools.cached_property
    def path(self) -> Path | None:
        """The folder itself, which can be written; None if there is none."""
        return _folder_for(self.beside.parent)

    @property
    def looks_beside(self) -> bool:
        """Whether code may be beside its source too, where an administrator compiled it."""
        return not settings.CACHE_DIR and self.path != self.beside

    def places(self) -> Iterator[Path]:
        """Yield where code may be; last the folder that can be written, which takes time."""
        if not settings.CACHE_DIR:
            yield self.beside
        if self.path is not None and (settings.CACHE_DIR or self.path != self.beside):
            yield self.path

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "Folder":
        """Make the one for a function of that file."""
        return cls(function, file)

    def get_cache_path(self) -> str:
        """Return the folder itself."""
        return str(self.path or self.beside)

    def ensure_cache_path(self) -> None:
        """Make the folder, which may have been removed meanwhile."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """Return what must be as it was for code to be valid: nothing, for names have digests."""
        return ""

    def get_disambiguator(self) -> str:
        """Return what tells apart functions of the same name and file."""
        return str(self._line)


@functools.cache
def _folder_for(package: Path) -> Path | None:
    """Find the folder for kernels of a package; None if nothing can be written."""
    name = f"{package.name}-{sha256(str(package.absolute()).encode()).hexdigest()[:16]}"
    choices: list[Callable[[], Path]] = [
        lambda: package / "__pycache__",
        lambda: _users() / name,
        lambda: _temporary() / name,
    ]
    if settings.CACHE_DIR:  # NUMBA_CACHE_DIR
        choices.insert(0, lambda: Path(settings.CACHE_DIR, name))
    for choice in choices:
        with suppress(OSError):
            folder = choice()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()  # so it can be written
            return folder
    cannot_keep("no folder can be written")
    return None


def _users() -> Path:
    """Return the user's folder for caches (XDG_CACHE_HOME, ~/.cache, ...)."""
    usual = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA", "")}
    own = os.path.expanduser(usual.get(sys.platform, "~/.cache"))  # noqa: PTH111  (would raise)
    folder = Path(os.environ.get("XDG_CACHE_HOME") or own, "dwindle")
    if not folder.is_absolute():  # no HOME, and no such user
        raise FileNotFoundError(folder)
    return _private(folder)


@functools.cache
def _temporary() -> Path:
    """Return a folder among the temporary ones that has this user's name."""
    if not hasattr(os, "getuid"):
        raise FileNotFoundError  # Windows, where users always have a folder
    folder = Path(tempfile.gettempdir()).absolute() / f"dwindle-{os.getuid()}"
    is_new = not folder.exists()
    _private(folder)
    if is_new:
        log.warning("compiled code is kept in %s; NUMBA_CACHE_DIR may name another folder", folder)
    return folder


def _private(folder: Path) -> Path:
    """Make a folder for this user alone, or refuse one that others could have written to."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if hasattr(os, "getuid"):
        found = folder.lstat()
        if (
            not stat.S_ISDIR(found.st_mode)  # but a link
            or found.st_uid != os.getuid()
            or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            or any(map(_is_anyones, folder.resolve().parents))
        ):
            raise PermissionError(folder)
    return folder


def _is_anyones(folder: Path) -> bool:
    """Tell whether anyone may rename what is in a folder."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


_told: list[str] = []


def cannot_keep(reason: object) -> None:
    """Say, once, that compiled code is not kept."""
    if not _told:
        _told.append(str(reason))
        log.warning(
            "compiled code cannot be kept (%s), so each run compiles anew: "
            "let NUMBA_CACHE_DIR name a folder that can be written",
            reason,
        )
