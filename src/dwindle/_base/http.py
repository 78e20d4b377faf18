"""Files over HTTP, by the standard library; imported when a URL of it is met."""

from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import Any, BinaryIO, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

TIMEOUT = 30.0  # seconds without a byte
BLOCK = 2**20
GONE = {404, 410}
FORBIDDEN = {401, 403}
AGENT = {"User-Agent": "dwindle"}


def connection(url: str) -> Callable[[int], tuple[BinaryIO, int | None, Any]]:
    """Return what connects at an offset, for `remote.Resumed`.

    A server that does not know ranges is read again from the beginning, up to there.
    """

    def connect(done: int) -> tuple[BinaryIO, int | None, Any]:
        answer = _asked(Request(url, headers=AGENT | _range(done)))  # noqa: S310  (checked above)
        length = answer.headers["Content-Length"]
        whole = None if length is None else int(length)
        if answer.status == 206:
            whole = None if whole is None else whole + done
        else:
            _skip(answer, done)
        version = answer.headers["ETag"] or answer.headers["Last-Modified"]
        return cast("BinaryIO", answer), whole, version

    return connect


def size(url: str) -> int | None:
    """Return the bytes of a file; None if the server does not say."""
    try:
        with _asked(Request(url, method="HEAD", headers=AGENT)) as answer:  # noqa: S310
            length = answer.headers["Content-Length"]
            return None if length is None else int(length)
    except (OSError, HTTPException, ValueError):
        return None


def _range(done: int) -> dict[str, str]:
    return {"Range": f"bytes={done}-"} if done else {}


def _asked(request: Request) -> HTTPResponse:
    """Ask a server; what it refuses is raised as of a file."""
    try:
        answer: HTTPResponse = urlopen(request, timeout=TIMEOUT)  # noqa: S310
    except HTTPError as error:
        code, told = error.code, f"{error.code} {error.reason}"
        error.close()
        if code in GONE:
            raise FileNotFoundError(told) from None
        if code in FORBIDDEN:
            raise PermissionError(told) from None
        raise OSError(told) from None
    return answer


def _skip(answer: HTTPResponse, left: int) -> None:
    """Read on, up to what was read before."""
    while left:
        some = len(answer.read(min(left, BLOCK)))
        if not some:
            answer.close()
            raise HTTPException(f"cut again, {left:,} bytes before")
        left -= some
