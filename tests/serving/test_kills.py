"""A server that is killed at any moment goes on with the weights of what it answered, to the bit."""

import os
import random
import threading
import time
from http.client import HTTPException

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs dwindle[serve]")

from dwindle import Adaptive, Learner, Logistic, Truncation
from dwindle.data.formats.block import Block
from dwindle.data.formats.vw.parser import parse
from dwindle.serving.log import Records
from dwindle.serving.records import unpacked
from helpers.effort import FULL
from helpers.serving import Server, until

KILLS = int(os.environ.get("DWINDLE_KILLS", "0")) or (200 if FULL else 3)
CLIENTS = 3
OPTIONS = ("--loss", "logistic", "--gravity", "1e-4", "--update", "adaptive")


class Client(threading.Thread):
    """Sends batches of numbered examples until the server is gone; remembers what was answered."""

    def __init__(self, server, name, stop, sent, answered):
        super().__init__()
        self.server, self.stop, self.sent, self.answered = server, stop, sent, answered
        self.random = random.Random(name)
        self.prefix = name

    def run(self):
        k = 0
        while not self.stop.is_set():
            n = self.random.choice([1, 2, 20])
            mark = f"{self.prefix}.{k}"
            k += 1
            lines = [
                f"{self.random.choice([-1, 1])} |id {mark}.{i} |f a{self.random.randrange(50)} "
                f"x:{self.random.random():.3f}"
                for i in range(n)
            ]
            self.sent[mark] = lines
            try:
                reply = self.server.ask("/learn", "\n".join(lines).encode() + b"\n", "vw")
            except (OSError, HTTPException):  # gone, perhaps in the midst of an answer
                return
            if reply.status == 200:
                assert reply.json["learned"] == n
                self.answered[mark] = reply.json["first"]


def marks_in(folder):
    """Return the marks of the batches that the log holds, in order."""
    found = []
    for path in sorted(folder.glob("log-*.wal")):
        records = Records(path, int(path.stem.split("-")[1]))
        for record in records:
            batch, _ = unpacked(record)
            for name in batch.names:
                if name.startswith("id\0"):
                    mark = name[3:].rpartition(".")[0]
                    if mark not in found[-1:]:
                        found.append(mark)
    return found


@pytest.mark.slow
def test_after_kills_under_load_the_weights_are_those_of_the_answered_stream(tmp_path):
    folder = tmp_path / "state"
    chance = random.Random(7)
    order, sent, answered = (
        [],
        {},
        {},
    )  # batches in the order of the log; what was sent; where it was
    for kill in range(KILLS + 1):
        # Small segments, so that kills also come in the midst of snapshots.
        server = Server("--learn", folder, *OPTIONS, "--snapshot-every", "20KB")
        n = server.ask("/healthz").json["examples"]
        assert n == sum(len(sent[mark]) for mark in order), "examples were lost or came twice"
        if kill == KILLS:
            break
        stop = threading.Event()
        clients = [Client(server, f"{kill}.{c}", stop, sent, answered) for c in range(CLIENTS)]
        for client in clients:
            client.start()
        before = len(answered)
        if kill % 5:  # every fifth comes while it begins, or replays
            until(lambda: len(answered) > before)  # noqa: B023  (called at once)
        time.sleep(chance.uniform(0.0, 0.4))
        server.kill()
        stop.set()
        for client in clients:
            client.join()
        order = in_order(order, marks_in(folder), sent, answered)
    reply = server.ask("/model")
    server.stop()
    learner = Learner(**settings())
    for mark in order:
        learner.learn(batch_of(sent[mark]))
    weights = {name.replace("\0", "^"): w for name, w in learner.weights().items()}
    assert set(answered) <= set(order)
    assert reply.json["intercept"] == learner.intercept
    assert reply.json["weights"] == weights
    assert len(order) > 2 * KILLS


def in_order(before, logged, sent, answered):
    """Put together the order of all batches: those known before, and those that the log adds.

    What a snapshot has swallowed since then is known by where its answer said it began.
    """
    known = set(before)
    at = {}
    total = 0
    for mark in before:
        at[mark] = total
        total += len(sent[mark])
    new = [mark for mark in logged if mark not in known]
    gone = sorted(
        (first, mark)
        for mark, first in answered.items()
        if mark not in known and mark not in set(new)
    )
    found = [*before, *(mark for _, mark in gone), *new]
    total = 0
    for mark in found:
        if mark in answered:
            assert answered[mark] == total, "an answered batch is not where its answer said"
        total += len(sent[mark])
    return found


def settings():
    return {"loss": Logistic(), "shrinkage": Truncation(1e-4), "update": Adaptive()}


def batch_of(lines):
    text = np.frombuffer(("\n".join(lines) + "\n").encode(), np.uint8)
    return parse(Block(text, "sent")).batch
