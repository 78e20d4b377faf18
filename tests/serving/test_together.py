"""Predicting while learning: one state of the weights for each request, and no growth."""

import asyncio

import pytest

pytest.importorskip("starlette", reason="needs dwindle[serve]")

from dwindle._base.system import memory
from dwindle.runs.settings import TrainSettings
from dwindle.serving import app
from helpers.serving import ask, asked, closing

HOW = TrainSettings(loss="logistic", gravity=1e-4, update="adaptive")
VW = [("content-type", "text/x-vw")]


def lines(n, first=0):
    return b"".join(
        b"%d | same x%d y%d:0.5\n" % (1 if i % 3 else -1, i % 50, i % 7)
        for i in range(first, first + n)
    )


@pytest.mark.slow
def test_a_request_is_predicted_by_one_state_of_the_weights(tmp_path):
    many = b"| same x1 y2:0.5\n" * 300

    async def both():
        learning = [
            asyncio.create_task(asked(served, "POST", "/learn", lines(2000, 7 * k), VW))
            for k in range(20)
        ]
        found = []
        while not all(task.done() for task in learning):
            reply = await asked(served, "POST", "/predict", many, VW)
            found.append(set(reply.json["score"]))
            await asyncio.sleep(0)
        assert all(task.result().json["learned"] == 2000 for task in learning)
        return found

    with closing(app(learn=str(tmp_path), settings=HOW, durability="none")) as served:
        ask(served, "POST", "/learn", lines(10), VW)
        states = asyncio.run(both())
    assert all(len(each) == 1 for each in states)  # all examples of a request alike
    assert len(set.union(*states)) > 1  # and not all requests: it was learning meanwhile


@pytest.mark.slow
def test_a_server_at_work_does_not_grow(tmp_path):
    async def work(n):
        for k in range(n):
            await asked(served, "POST", "/learn", lines(200, k), VW)
            await asked(served, "POST", "/predict", lines(50, k), VW)

    # Small segments, so that snapshots are written too.
    how = {"durability": "os", "snapshot_bytes": 200_000}
    with closing(app(learn=str(tmp_path), settings=HOW, **how)) as served:
        asyncio.run(work(100))
        before = memory()
        asyncio.run(work(300))
        grown = memory() - before
    assert grown < 15e6
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 10e6
