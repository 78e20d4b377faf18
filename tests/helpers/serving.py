"""Servers to test: an application in process, and a real one in a process of its own."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import orjson

BODY = {"json": "application/json", "vw": "text/x-vw", "lines": "application/x-ndjson"}


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return orjson.loads(self.body)


async def asked(app, method, path, body=b"", headers=()):
    """Ask an ASGI application, in its own event loop, without a socket."""
    path, _, query = path.partition("?")
    given = [(b"host", b"localhost"), *((k.lower().encode(), v.encode()) for k, v in headers)]
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
    scope |= {"query_string": query.encode(), "headers": given, "root_path": "", "scheme": "http"}
    scope |= {"http_version": "1.1", "server": ("localhost", 80), "client": ("127.0.0.1", 1)}
    sent = []
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        return parts.pop(0) if parts else await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    text = b"".join(m.get("body", b"") for m in sent[1:])
    return Reply(sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, text)


def ask(app, method, path, body=b"", headers=()):
    return asyncio.run(asked(app, method, path, body, headers))


def post(app, path, body, kind="json", headers=()):
    text = body if isinstance(body, bytes) else orjson.dumps(body)
    return ask(app, "POST", path, text, [("content-type", BODY.get(kind, kind)), *headers])


@contextmanager
def closing(app):
    try:
        yield app
    finally:
        app.state.service.close()


class Server:
    """``dwindle serve`` in a process of its own."""

    def __init__(self, *options, env=None):
        command = [sys.executable, "-m", "dwindle", "serve", "--port", "0", *map(str, options)]
        env = {**os.environ, **(env or {})}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
        self.notes = []
        for line in self.process.stderr:
            self.notes.append(line)
            if "http://" in line:
                self.address = "http" + line.rpartition("http")[2].strip().rstrip("/")
                return
        raise AssertionError("".join(self.notes))

    def ask(self, path, body=None, kind="json", headers=(), timeout=30):
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        named = {"content-type": BODY.get(kind, kind), **dict(headers)}
        request = urllib.request.Request(self.address + path, data, named)  # noqa: S310  (a server of ours)  (our own)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as reply:  # noqa: S310  (a server of ours)
                return Reply(reply.status, dict(reply.headers), reply.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, dict(error.headers), error.read())

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def stop(self):
        self.process.terminate()
        notes = self.process.stderr.read()
        self.process.wait(30)
        self.process.stderr.close()
        return notes


@contextmanager
def running(*options, env=None):
    server = Server(*options, env=env)
    try:
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError, ValueError):
            server.kill()


def until(condition, seconds=30):
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


def weights(reply):
    """Return a model's intercept and weights, as the server tells them, to the bit."""
    found = json.loads(reply.body)
    return found["intercept"], found["weights"]
