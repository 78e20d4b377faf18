"""Files behind a URL: read in one go, resumed after a cut connection; written whole or not at all.

``http(s)://`` is read with the standard library (`_base.http`). ``s3://``, ``gs://``, ``hf://`` and
every other scheme that fsspec knows are read and written through it.
"""

import io
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, cast

from dwindle._base.errors import DataError, SettingError
from dwindle._base.threads import POLL, check_wanted

TRIES = 5  # in a row, without a byte between them
PAUSE = 0.5  # seconds before the second try; twice as many before each further one
BLOCK = 2**23  # bytes asked for at once
Connect = Callable[[int], tuple[BinaryIO, "int | None", Any]]  # see `Resumed`


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is a URL.

    >>> is_remote("s3://bucket/ads.vw"), is_remote("ads.vw"), is_remote("c:/ads.vw")
    (True, False, False)
    """
    return re.match(r"[a-z][a-z0-9+.-]+://", os.fspath(path)) is not None


def is_http(url: str) -> bool:
    """Tell whether a URL is read over HTTP, which only reads."""
    return url.startswith(("http://", "https://"))


def shown(path: str | os.PathLike[str]) -> str:
    """Return a URL without what may be secret in it: a password, or the query of a signed one.

    >>> shown("https://me:word@host/ads.vw?signature=1")
    'https://host/ads.vw'
    """
    path = os.fspath(path)
    if not is_remote(path):
        return path
    address = without_user(path)[0]
    return re.split("[?#]", address, maxsplit=1)[0] if is_http(path) else address


def without_user(url: str) -> tuple[str, str]:
    """Return a URL without its user and password, and those as they stand there.

    >>> without_user("ftp://me:word@host/ads.vw")
    ('ftp://host/ads.vw', 'me:word')
    """
    scheme, _, rest = url.partition("://")
    host = re.split("[/?#]", rest, maxsplit=1)[0]
    user = host.rpartition("@")[0]
    return (f"{scheme}://{rest[len(user) + 1 :]}", user) if "@" in host else (url, "")


def filesystem(url: str) -> tuple[Any, str]:
    """Return fsspec's file system of a URL, and the path in it; HTTP has none."""
    if is_http(url):
        raise SettingError(
            f"{shown(url)}: files are read over HTTP, not written: use s3:// or a file"
        )
    scheme = url.partition("://")[0]
    needs = f'{shown(url)}: {scheme}:// needs packages: pip install "dwindle[remote]"'
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError:
        raise SettingError(needs) from None
    try:
        found, path = url_to_fs(url)
    except ImportError:
        raise SettingError(needs) from None
    except ValueError:
        raise SettingError(f"{shown(url)}: there are no files at {scheme}://") from None
    except Exception as error:  # noqa: BLE001  (file systems raise what they like)
        raise DataError(f"{shown(url)}: cannot be reached: {error}") from None
    return found, path


# Reading


def opened(url: str, begin: int = 0) -> io.BufferedReader:
    """Open a URL for reading from the byte ``begin`` to its end."""
    connect = import_module("dwindle._base.http").connection if is_http(url) else _through_fsspec
    return io.BufferedReader(Resumed(shown(url), connect(url), begin), 2**16)


class Resumed(io.RawIOBase):
    """The bytes of a file behind a connection, which is made anew where it was cut.

    ``connect`` opens it at an offset, and says how long the whole file is, if that is known, and
    what tells it from a later one of the same name: if that changes, the parts would not fit.
    """

    def __init__(self, name: str, connect: Connect, begin: int = 0) -> None:
        self._name, self._connect = name, connect
        self._stream: BinaryIO | None = None
        self._size: int | None = None
        self._version: Any = None
        self._begin = self._done = begin
        with _named(name):
            self._reach()  # so that a file that is not there is refused at once

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def tell(self) -> int:
        """Count the bytes read so far."""
        return self._done

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; 0 at the end of the file."""
        for k in range(TRIES):
            try:
                if self._stream is None:
                    self._reach()
                some = cast("BinaryIO", self._stream).read(min(len(buffer), BLOCK))
                if some or self._size is None or self._done >= self._size:
                    buffer[: len(some)] = some
                    self._done += len(some)
                    return len(some)
                error: Exception = EOFError(f"cut after {self._done:,} of {self._size:,} bytes")
            except (DataError, SettingError, MemoryError):
                raise
            except Exception as cut:  # noqa: BLE001  (file systems raise what they like)
                error = cut
            self._drop()
            _wait(k)
        raise OSError(f"the connection was cut {TRIES} times: {error}") from None

    def close(self) -> None:
        """End the connection."""
        self._drop()
        super().close()

    def _drop(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(Exception):
                stream.close()

    def _reach(self) -> None:
        """Connect where reading goes on."""
        with _refused(self._name):
            stream, size, version = self._connect(self._done)
        if self._done > self._begin and (size, version) != (self._size, self._version):
            stream.close()
            raise DataError(f"{self._name}: changed while it was read: begin anew")
        self._stream, self._size, self._version = stream, size, version


@contextmanager
def _refused(name: str) -> Iterator[None]:
    """Say in one line what no second try would change."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{name}: no such file") from None
    except PermissionError as error:
        raise DataError(f"{name}: access is denied: {error}") from None


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say in one line why a file cannot be read, whatever was raised."""
    try:
        with _refused(name):
            yield
    except (DataError, SettingError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  (file systems raise what they like)
        raise DataError(f"{name}: cannot be read: {error}") from None


def _wait(k: int) -> None:
    """Wait before another try, the longer the more there were."""
    until = time.monotonic() + PAUSE * 2**k
    while (left := until - time.monotonic()) > 0:
        check_wanted()
        time.sleep(min(left, POLL))


def _through_fsspec(url: str) -> Connect:
    files, path = filesystem(url)

    def connect(done: int) -> tuple[BinaryIO, int | None, Any]:
        files.invalidate_cache(path)
        about = files.info(path)
        if about["type"] == "directory":
            raise DataError(f"{shown(url)}: is a folder")
        stream = files.open(path, "rb", block_size=BLOCK, cache_type="readahead")
        stream.seek(done)
        return stream, about["size"], about.get("ETag") or about.get("mtime")

    return connect


@contextmanager
def local(path: str | os.PathLike[str]) -> Iterator[str]:
    """Return the path itself or, of a URL, that of a copy that is gone afterwards."""
    name = os.fspath(path)
    if not is_remote(name):
        yield name
        return
    with NamedTemporaryFile(prefix="dwindle-", delete=False) as copy:
        try:
            try:
                with opened(name) as file:
                    shutil.copyfileobj(file, copy, BLOCK)
            except OSError as error:
                raise DataError(f"{shown(name)}: cannot be read: {error}") from None
            copy.close()
            yield copy.name
        finally:
            copy.close()
            with suppress(OSError):
                os.unlink(copy.name)  # noqa: PTH108  (pathlib is not imported at start)


def size(url: str) -> int | None:
    """Return the bytes of a file; None if nobody says."""
    if is_http(url):
        length: int | None = import_module("dwindle._base.http").size(url)
        return length
    files, path = filesystem(url)
    try:
        return int(files.info(path)["size"])
    except (OSError, TypeError):
        return None


def version(url: str) -> str:
    """Return what tells a file from a later one of the same name; "" if nobody says."""
    if is_http(url):
        return ""
    files, path = filesystem(url)
    with _named(shown(url)):
        about = files.info(path)
    return str(about.get("ETag") or about.get("mtime") or about.get("LastModified") or "")


def listed(url: str) -> list[str]:
    """List the files that a URL names: one, those of a folder, or those that a pattern matches.

    Names are sorted. Over HTTP there are neither folders nor patterns.
    """
    if is_http(url):
        return [url]
    files, path = filesystem(url)
    with _named(shown(url)):
        if any(c in path for c in "*?["):
            found = files.glob(path)
        elif url.endswith("/") or files.isdir(path):
            found = files.find(path)
        else:
            files.info(path)
            return [url]
    kept = [p for p in sorted(found) if not p.rpartition("/")[2].startswith(".")]
    if not kept:
        raise DataError(f"{shown(url)}: no such file or folder")
    return [files.unstrip_protocol(each) for each in kept]


# Writing


def check_place(url: str) -> None:
    """Refuse a URL that could not be written to."""
    files, path = filesystem(url)
    bucket = path.partition("/")[0]
    try:
        there = "/" not in path or not bucket or files.exists(bucket)
    except Exception as error:  # noqa: BLE001  (file systems raise what they like)
        raise OSError(f"{shown(url)}: cannot be reached: {error}") from None
    if not there:
        with _named(shown(url)), suppress(FileNotFoundError):  # some could only not ask
            files.ls(bucket)
        raise DataError(f"{shown(url)}: there is no bucket {bucket} to write to")


def upload(path: str | os.PathLike[str], url: str) -> None:
    """Copy a local file to a URL, where it appears only when it is whole."""
    files, there = filesystem(url)
    for k in range(TRIES):
        try:
            files.put_file(os.fspath(path), there)
            files.invalidate_cache(there)
        except (FileNotFoundError, PermissionError):
            raise
        except Exception as cut:  # noqa: BLE001  (file systems raise what they like)
            error = cut
        else:
            return
        _wait(k)
    raise OSError(f"tried {TRIES} times: {error}")


class RemotePath(os.PathLike[str]):
    """A URL with what runs ask of a `pathlib.Path`."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self._url = os.fspath(url)

    def __fspath__(self) -> str:
        return self._url

    def __str__(self) -> str:
        return shown(self._url)  # as messages name it

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other._url == self._url

    def __hash__(self) -> int:
        return hash(self._url)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._url.rpartition("/")[2]

    def with_name(self, name: str) -> "RemotePath":
        """Return the URL of a file beside this one."""
        return RemotePath(f"{self._url.rpartition('/')[0]}/{name}")

    def exists(self) -> bool:
        """Tell whether there is such a file."""
        files, path = filesystem(self._url)
        files.invalidate_cache()
        with _named(str(self)):
            return bool(files.exists(path))

    def size(self) -> int:
        """Return the bytes of the file."""
        return size(self._url) or 0

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Remove the file."""
        files, path = filesystem(self._url)
        try:
            files.rm_file(path)
        except FileNotFoundError:
            if not missing_ok:
                raise
