"""Running the application: a server of its own, or one beside a run that is watched."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette

from dwindle._base.errors import DataError
from dwindle.runs.checkpoint import Reached
from dwindle.runs.observer import Observer
from dwindle.serving.app import application
from dwindle.serving.live import Feed
from dwindle.serving.online import Limits
from dwindle.serving.protocol import with_short_way
from dwindle.serving.security import LOOPBACK, Guard
from dwindle.serving.service import Service

GRACE = 5  # seconds that requests have to end when the server stops
IDLE = 75  # seconds after which a connection without a request is closed
BACKLOG = 2048  # connections that wait to be accepted


class _Server(uvicorn.Server):
    """A server that tells its address, and lets those who watch go when it stops."""

    def __init__(self, config: uvicorn.Config, feed: Feed, told: Callable[[str], None]) -> None:
        super().__init__(config)
        self._feed, self._told = feed, told
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then tell where."""
        await super().startup(sockets)
        if self.started:
            self._told(address_of(self.config, sockets))
        self.is_up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams of the live page, which would not end by themselves."""
        self._feed.close()
        await super().shutdown(sockets)


def address_of(config: uvicorn.Config, sockets: list[socket.socket] | None) -> str:
    """Return the address that a browser asks for."""
    assert sockets
    host, port, *_ = sockets[0].getsockname()
    scheme = "https" if config.is_ssl else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(
    app: Starlette,
    host: str = "127.0.0.1",
    port: int = 8080,
    *,
    told: Callable[[str], None] = lambda _address: None,
    certificate: str | None = None,
    key: str | None = None,
    connections: int | None = None,
) -> None:
    """Serve an application until a signal comes; then end what was begun, and write a snapshot."""
    short = with_short_way(app.state.at_once)
    tls = {"ssl_certfile": certificate, "ssl_keyfile": key}
    config = _config(app, http=short, limit_concurrency=connections, **tls)
    server = _Server(config, app.state.service.feed, told)
    with _listening(host, port) as listener:
        try:
            server.run([listener])
        finally:
            app.state.service.close()


def _config(app: Any, **options: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
        backlog=BACKLOG,
        **options,
    )


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Open the socket; what is wrong with the address is told before anything is begun."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise DataError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
        yield listener


class LiveObserver(Observer):
    """Shows a run on a page, as it goes on."""

    def __init__(self, title: str, port: int, told: Callable[[str], None]) -> None:
        self._service = Service(title, Limits())
        self.feed = self._service.feed
        self._port, self._told = port, told

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve the page on loopback, on a thread of its own."""
        app = application(self._service, Guard(None, LOOPBACK), ("/", "/events", "/healthz"))
        with _listening("127.0.0.1", self._port) as listener:
            server = _Server(_config(app), self.feed, self._told)
            thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
            thread.start()
            server.is_up.wait(GRACE)
            try:
                yield
            finally:
                server.should_exit = True
                thread.join(2 * GRACE)

    def learned(self, run: Reached) -> None:
        """Add a point, if it is time."""
        self.feed.take(run)

    def note(self, text: str) -> None:
        """Leave notes to the terminal."""
