"""Who may ask: tokens, and on loopback only what this machine's own programs send."""

import hmac
import ipaddress
import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from dwindle._base.errors import DataError, SettingError

VARIABLE = "DWINDLE_TOKEN"
SHORTEST = 16  # characters of a token
OPEN = frozenset({"/", "/docs", "/healthz", "/openapi.json"})  # that say nothing of the model
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def read_token(file: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Read the token from a file, or from the environment; None if there is none."""
    if file is None:
        token = environment.get(VARIABLE, "")
        return _checked(token, VARIABLE) if token else None
    path = Path(file)
    try:
        token = path.read_text("utf-8").strip()
        open_to = stat.S_IMODE(path.stat().st_mode) & (stat.S_IROTH | stat.S_IWOTH)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: no token can be read: {error}") from None
    if open_to and os.name != "nt":
        raise DataError(f"{file}: others can read the token: chmod 600 {file}")
    return _checked(token, file)


def _checked(token: str, where: str) -> str:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise DataError(
            f"{where}: a token has {SHORTEST} or more printable characters and no space: make one "
            "with: openssl rand -hex 24"
        )
    return token


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(host: str, token: str | None, *, insecure: bool) -> None:
    """Refuse to be reached from elsewhere by anybody, unless that was said out loud."""
    if token is None and not insecure and not is_loopback(host):
        raise SettingError(
            f"--host {host} can be reached from other machines: give a token with --token-file or "
            f"{VARIABLE}, or say --insecure"
        )


class Guard:
    """Decides on each request by its headers.

    Without a token, a web page of somebody else's could send requests to loopback through the
    browser of who looks at it: they are told by their ``Origin``, or by a ``Host`` that is not one
    of ``hosts``. Where ``hosts`` is None, who runs the application decides on that.
    """

    def __init__(self, token: str | None, hosts: Collection[str] | None) -> None:
        self._token = None if token is None else f"Bearer {token}".encode()
        self._hosts = None if hosts is None else frozenset(hosts)

    def refusal(self, path: str, headers: Mapping[bytes, bytes]) -> tuple[int, str] | None:
        """Return the status and the reason if a request is refused; None if it is not."""
        if self._token is not None:
            given = headers.get(b"authorization", b"")
            if path in OPEN or hmac.compare_digest(given, self._token):
                return None
            return 401, "a token is needed: Authorization: Bearer ..."
        if self._hosts is None:
            return None
        host = headers.get(b"host", b"").decode("latin-1")
        if _name(host) not in self._hosts:
            return (
                403,
                f"the server is not called {host!r}: without a token it answers loopback only",
            )
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and origin.partition("://")[2] != host:
            return 403, "a page of another server may not ask without a token"
        return None


def _name(host: str) -> str:
    """Return the name in a ``Host`` header, without the port.

    >>> _name("localhost:8080"), _name("[::1]:8080"), _name("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
