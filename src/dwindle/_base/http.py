"""Files over HTTP, by the standard library; imported when a URL of it is met."""

from base64 import b64encode
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse, InvalidURL
from typing import Any, BinaryIO, cast
from urllib.error import HTTPError
from urllib.parse import unquote_to_bytes
from urllib.request import Request, urlopen

from dwindle._base.remote import without_user

TIMEOUT = 30.0  # seconds without a byte
BLOCK = 2**20
GONE = {404, 410}
FORBIDDEN = {401, 403}
AGENT = {"User-Agent": "dwindle"}


def connection(url: str) -> Callable[[int], tuple[BinaryIO, int | None, Any]]:
    """Return what connects at an offset, for `remote.Resumed`.

    A server that does not know ranges, or sends another than was asked for, is read again from the
    beginning, up to there.
    """

    def connect(done: int) -> tuple[BinaryIO, int | None, Any]:
        answer = _asked(url, begin=done)
        if answer.status == 206 and not _is_from(answer, done):
            answer.close()
            answer = _asked(url)
            if answer.status == 206:
                answer.close()
                raise HTTPException("the server sends a part of the file that was not asked for")
        before = done if answer.status == 206 else 0
        length = answer.headers["Content-Length"]
        whole = None if length is None else before + int(length)
        _skip(answer, done - before)
        version = answer.headers["ETag"] or answer.headers["Last-Modified"]
        return cast("BinaryIO", answer), whole, version

    return connect


def size(url: str) -> int | None:
    """Return the bytes of a file; None if the server does not say."""
    try:
        with _asked(url, method="HEAD") as answer:
            length = answer.headers["Content-Length"]
            return None if length is None else int(length)
    except (OSError, HTTPException, ValueError):
        return None


def _is_from(answer: HTTPResponse, done: int) -> bool:
    """Tell whether a part of a file is the one that was asked for, from this offset on."""
    return done > 0 and (answer.headers["Content-Range"] or "").startswith(f"bytes {done}-")


def _asked(url: str, *, begin: int = 0, method: str = "GET") -> HTTPResponse:
    """Ask a server for a file from an offset on; what it refuses is raised as of a file."""
    address, user = without_user(url)
    request = Request(address, method=method, headers=AGENT)  # noqa: S310  (`address` is http or https)
    if begin:
        request.add_header("Range", f"bytes={begin}-")
    if user:  # for this server, not for another to which it may refer
        word = b64encode(unquote_to_bytes(user)).decode()
        request.add_unredirected_header("Authorization", f"Basic {word}")
    try:
        answer: HTTPResponse = urlopen(request, timeout=TIMEOUT)  # noqa: S310  (as above)
    except HTTPError as error:
        code, told = error.code, f"{error.code} {error.reason}"
        error.close()
        if code in GONE:
            raise FileNotFoundError(told) from None
        if code in FORBIDDEN:
            raise PermissionError(told) from None
        raise OSError(told) from None
    except InvalidURL:  # whose message has what may be secret
        raise HTTPException("not a URL: a space, or a port that is no number") from None
    return answer


def _skip(answer: HTTPResponse, left: int) -> None:
    """Read on, up to what was read before."""
    while left:
        some = len(answer.read(min(left, BLOCK)))
        if not some:
            answer.close()
            raise HTTPException(f"cut again, {left:,} bytes before")
        left -= some
