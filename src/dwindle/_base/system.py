"""What differs between operating systems and builds of Python, each with a fallback."""

import mmap
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    HAS_LOCKS = True
except ImportError:  # on Windows
    HAS_LOCKS = False

_STATUS = Path("/proc/self/status")  # of Linux


def cores() -> int:
    """Count the cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # of Linux
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def peak_memory() -> int:
    """Return the most memory this process has had resident, in bytes; 0 if the system cannot tell.

    On Linux ``getrusage`` begins with the peak of the process that started this one, so it is asked
    only where there is no /proc.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    try:
        import resource  # noqa: PLC0415  (Windows has none)
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def memory() -> int:
    """Return the memory this process has resident, in bytes; its peak if only that is known."""
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return peak_memory()


def drop_pages(memory: mmap.mmap, begin: int, size: int) -> None:
    """Let the system take back whole pages of a mapped file; it reads them again when needed.

    Where Python cannot ask for that, as on Windows, the system decides by itself.
    """
    if hasattr(mmap, "MADV_DONTNEED"):
        memory.madvise(mmap.MADV_DONTNEED, begin, size)


def set_permissions(path: Path, like: Path) -> None:
    """Give a temporary file, which is private, the permissions and the owner of another file.

    If there is none, or another may not be made the owner, it gets those of any new file.
    """
    try:
        given = like.stat()
    except FileNotFoundError:
        umask = os.umask(0)  # there is no way to read it without setting it
        os.umask(umask)
        path.chmod(0o666 & ~umask)
        return
    if hasattr(os, "chown"):  # not on Windows
        with suppress(PermissionError):
            os.chown(path, given.st_uid, given.st_gid)
    path.chmod(stat.S_IMODE(given.st_mode))


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold a lock on a file, which ends with this process however that ends.

    Windows has no such lock, and needs none: it removes no file that is open.
    """
    if not HAS_LOCKS:
        yield
        return
    file = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            flock(file, LOCK_EX)
        yield
    finally:
        os.close(file)


def lock_handle(handle: int) -> None:
    """Lock an open file until it is closed or the process ends; OSError if another has the lock."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415  (only Windows has it)

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        flock(handle, LOCK_EX | LOCK_NB)


def is_locked(path: str) -> bool:
    """Tell whether a process holds the `locked` file; True if that cannot be known."""
    if not HAS_LOCKS:
        return False
    file = os.open(path, os.O_RDONLY)
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def sync_folder(folder: Path) -> None:
    """Make sure that what was renamed in a folder is so after a loss of power, too."""
    if os.name == "nt":  # which opens no folder
        return
    with suppress(OSError):  # not every file system can
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def has_known_object_layout() -> bool:
    """Whether compiled code may read Python's dicts, strings and floats by their addresses.

    That holds for CPython of 64 bits with a global interpreter lock: an object begins with its
    reference count and its type, eight bytes each, and nothing moves while a kernel runs.
    """
    return (
        sys.implementation.name == "cpython"
        and sys.maxsize == 2**63 - 1
        and object.__basicsize__ == 16
        and "t" not in getattr(sys, "abiflags", "")  # of a build without that lock
    )
