"""The short way of predictions answers as the usual one does, and takes only what is plain."""

import asyncio
import socket

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs dwindle[serve]")

import uvicorn
from uvicorn.server import ServerState

import dwindle
from dwindle import Batch, Learner
from dwindle.serving.protocol import BEGIN, plain_request, with_short_way
from helpers.serving import running

BODY = b'{"features": {"price": 3.5, "color": "red"}}'
HEADERS = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(BODY)
WHOLE = BEGIN + HEADERS + b"\r\n" + BODY


def test_a_whole_request_is_taken_apart():
    headers, body = plain_request(WHOLE)
    assert body == BODY
    assert headers[b"content-type"] == b"application/json"


@pytest.mark.parametrize(
    "data",
    [
        WHOLE[:-1],
        WHOLE + b"x",
        WHOLE + WHOLE,
        BEGIN + HEADERS + b"Content-Length: 5\r\n\r\n" + BODY,
        BEGIN + HEADERS + b"Transfer-Encoding: chunked\r\n\r\n" + BODY,
        BEGIN + HEADERS + b"Expect: 100-continue\r\n\r\n" + BODY,
        BEGIN + HEADERS + b"Connection: close\r\n\r\n" + BODY,
        BEGIN + HEADERS + b" folded\r\n\r\n" + BODY,
        BEGIN + HEADERS + b"no colon\r\n\r\n" + BODY,
        BEGIN + HEADERS + b"space before : 1\r\n\r\n" + BODY,
        BEGIN + HEADERS + b"a: b\x01\r\n\r\n" + BODY,
        BEGIN + HEADERS + b"a: \x00\r\n\r\n" + BODY,
        BEGIN + HEADERS.replace(b"Length: ", b"Length: " + b"0" * 5000) + b"\r\n" + BODY,
        BEGIN + HEADERS + b"a: b\nc: d\r\n\r\n" + BODY,
        BEGIN + HEADERS.replace(b"Content-Length: ", b"Content-Length: +") + b"\r\n" + BODY,
        BEGIN + b"Host: x\r\n\r\n",
    ],
)
def test_whatever_is_unusual_is_left_to_the_server(data):
    assert plain_request(data) is None


def replies(link, n):
    """Read n answers off a connection: their status and body."""
    text, found = b"", []
    while len(found) < n:
        text += link.recv(1 << 16)
        while b"\r\n\r\n" in text:
            head, _, rest = text.partition(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].split()[0])
            if len(rest) < size:
                break
            found.append((int(head.split()[1]), rest[:size]))
            text = rest[size:]
    return found


def test_an_answer_that_fails_is_told_and_the_connection_goes_on(caplog):
    config = uvicorn.Config(lambda: None, log_config=None, lifespan="off")
    config.load()
    short = with_short_way(lambda _headers, _body: 1 / 0)

    async def told():
        loop = asyncio.get_running_loop()
        state = ServerState()
        server = await loop.create_server(lambda: short(config, state, {}), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        heads = []
        for _ in range(2):
            writer.write(WHOLE)
            heads.append(await asyncio.wait_for(reader.readuntil(b"Internal Server Error\r\n"), 20))
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\nInternal Server Error"), 20)
        writer.close()
        server.close()
        return heads

    assert all(head.startswith(b"HTTP/1.1 500 ") for head in asyncio.run(told()))
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.slow
def test_the_same_request_is_answered_alike_however_it_comes(tmp_path):
    path = tmp_path / "m.parquet"
    learner = Learner()
    learner.learn(Batch.from_dicts([{"price": 3.5, "color": "red"}, {"price": 1}], [1, -1]))
    dwindle.Model.of(learner).save(path)
    expected = dwindle.Model.load(path).predict({"price": 3.5, "color": "red"})[0]
    bad = BEGIN + HEADERS.replace(b"%d" % len(BODY), b"3") + b"\r\n" + b"foo"
    odd = WHOLE.replace(b"application/json", b"application/what")
    ways = {
        "whole": ([WHOLE], 1),
        "in two parts": ([WHOLE[:50], WHOLE[50:]], 1),
        "byte by byte": ([WHOLE[i : i + 1] for i in range(len(WHOLE))], 1),
        "two at once": ([WHOLE + WHOLE], 2),
        "one and a half": ([WHOLE + WHOLE[:70], WHOLE[70:]], 2),
        "after an unusual one": ([WHOLE.replace(b"Host", b"Expect: x\r\nHost"), WHOLE], 2),
        "many after each other": ([WHOLE] * 20, 20),
    }
    with running(path) as server:
        address = server.address.rpartition("/")[2].split(":")
        for name, (parts, n) in ways.items():
            with socket.create_connection((address[0], int(address[1])), timeout=20) as link:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                found = []
                for part in parts:
                    link.sendall(part)
                    if name.startswith(("many", "after")):
                        found += replies(link, 1)
                found += replies(link, n - len(found))
                link.sendall(bad)
                refused = replies(link, 1)
                link.sendall(odd)
                strange = replies(link, 1)
            assert [status for status, _ in found] == [200] * n, name
            scores = [float(body.partition(b'"score":')[2].split(b",")[0]) for _, body in found]
            assert np.array_equal(scores, [expected] * n), name
            assert (refused[0][0], strange[0][0]) == (422, 415), name
