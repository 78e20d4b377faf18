"""A short way for small predictions: from a connection's bytes to the answer, without a task.

Of the time of a single prediction most goes into making a request and a task of it. So if what
comes in is one whole plain request to ``/predict``, and nothing else, it is answered at once.
Anything that is the least unusual (another path, a header twice, a body in parts, a request before
the last one was answered) goes uvicorn's way, which gives the same answer.
"""

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dwindle.serving.answers import SIZE_DIGITS, Answer

BEGIN = b"POST /predict HTTP/1.1\r\n"
LONGEST = 2**16  # bytes of a request that is answered at once
UNUSUAL = frozenset(
    {b"transfer-encoding", b"expect", b"upgrade", b"connection", b"content-encoding", b"te"}
)
AtOnce = Callable[[Mapping[bytes, bytes], bytes], Answer]
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # not allowed in headers; a tab is
_STATUS = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}


def plain_request(data: bytes) -> tuple[dict[bytes, bytes], bytes] | None:
    r"""Return the headers and the body if these bytes are one whole plain request; else None.

    >>> plain_request(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
    ({b'host': b'x', b'content-length': b'2'}, b'{}')
    >>> plain_request(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n{}")
    """
    end = data.find(b"\r\n\r\n")
    if end < 0 or len(data) > LONGEST:
        return None
    headers: dict[bytes, bytes] = {}
    for line in data[len(BEGIN) : end].split(b"\r\n"):
        name, colon, value = line.partition(b":")
        name = name.lower()
        if not colon or not name.replace(b"-", b"").isalnum() or name in headers:
            return None
        if _CONTROL.search(value):
            return None
        headers[name] = value.strip(b" \t")
    size = headers.get(b"content-length", b"")
    if not size.isdigit() or len(size) > SIZE_DIGITS or not UNUSUAL.isdisjoint(headers):
        return None
    if len(data) != end + 4 + int(size):
        return None
    return headers, data[end + 4 :]


class ShortWay(HttpToolsProtocol):
    """uvicorn's protocol, which answers plain predictions at once."""

    at_once: AtOnce  # of the class that `with_short_way` makes
    _amid = False  # whether a request has begun to come in

    def on_message_begin(self) -> None:
        """Note that a request has begun."""
        self._amid = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Note that it has come in."""
        self._amid = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Answer a plain prediction at once, and leave anything else to uvicorn."""
        if data.startswith(BEGIN) and self._is_idle():
            found = plain_request(data)
            if found is not None:
                self._unset_keepalive_if_required()
                answer = self._answered(*found)
                self.transport.write(self._bytes_of(answer))
                self.server_state.total_requests += 1
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )
                return
        super().data_received(data)

    def _answered(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        """Answer, and if that fails say so, as uvicorn does."""
        try:
            return type(self).at_once(headers, body)
        except Exception:
            self.logger.exception("Exception in ASGI application")
            return Answer(500, b"Internal Server Error", "text/plain; charset=utf-8")

    def _is_idle(self) -> bool:
        """Tell whether nothing is under way on this connection, and not too many are open."""
        limit = self.limit_concurrency
        return (
            not self._amid
            and (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
            and (limit is None or len(self.connections) < limit)
        )

    def _bytes_of(self, answer: Answer) -> bytes:
        assert isinstance(answer.body, bytes)
        parts = [_STATUS[answer.status]]
        for name, value in (*self.server_state.default_headers, *answer.headers):
            parts += [name, b": ", value, b"\r\n"]
        parts += [b"content-length: %d\r\n\r\n" % len(answer.body), answer.body]
        return b"".join(parts)


def with_short_way(at_once: AtOnce) -> type[Any]:
    """Return the protocol for a function that answers the headers and body of a prediction."""
    return type("PredictingProtocol", (ShortWay,), {"at_once": staticmethod(at_once)})
