"""Inputs run in a forked process, many in one; what ends the process is caught, and it goes on."""

import contextlib
import ctypes
import faulthandler
import gc
import json
import mmap
import os
import resource
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from attacks.target import Difference

BATCH = 5_000  # inputs of one process
PATIENCE = 60  # seconds one input may take
ROOM = 6 << 30  # bytes a process may map beyond what it has


@dataclass
class Tally:
    """What came of the inputs of one target."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    differences: int = 0
    crashes: int = 0
    hangs: int = 0
    cpu: float = 0.0
    found: list = field(default_factory=list)  # (number of the input, what happened)


class _Shared(ctypes.Structure):
    _fields_ = [("at", ctypes.c_long), ("accepted", ctypes.c_long), ("refused", ctypes.c_long)]


def random_for(target, seed, i):
    """The generator of the i-th input: an input can be made again without those before it."""
    return Random(f"{seed} {target.name} {i}")


def made(target, seed, i, corpus):
    """The i-th input, and the generator that decides its settings."""
    rng = random_for(target, seed, i)
    return target.make(rng, corpus), rng


def attack(target, seed, n, first=0, patience=PATIENCE):
    """Run n inputs; return a `Tally`."""
    tally, corpus = Tally(), target.corpus()
    if target.warm_up is not None:
        target.warm_up()
    at, end = first, first + n
    while at < end:
        at = _batch(target, seed, at, min(at + BATCH, end), corpus, tally, patience)
    return tally


def _batch(target, seed, first, end, corpus, tally, patience):
    """Run inputs in one process, until they are done or one ends it; return which is next."""
    memory = mmap.mmap(-1, ctypes.sizeof(_Shared))
    shared = _Shared.from_buffer(memory)
    shared.at = first
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reader)
        _child(target, seed, first, end, corpus, shared, writer)
    os.close(writer)
    said, ended = _watch(pid, reader, shared, patience)
    reported = [json.loads(line) for line in said.splitlines()]
    tally.found += [(each["input"], each["what"]) for each in reported if "what" in each]
    tally.differences += sum("what" in each for each in reported)
    tally.cpu += ended.cpu
    tally.accepted += shared.accepted
    tally.refused += shared.refused
    done = shared.at
    if ended.code:
        if ended.hung:
            tally.hangs += 1
        else:
            tally.crashes += 1
        why = "took too long" if ended.hung else f"ended the process: {ended.code}"
        tally.found.append((done, why))
        done += 1
    tally.inputs += done - first
    return done


def _child(target, seed, first, end, corpus, shared, writer):
    code = 70
    try:
        gc.freeze()
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        limit_memory(ROOM)
        kinds = Counter()
        with os.fdopen(writer, "w") as file:
            for i in range(first, end):
                shared.at = i
                data, rng = made(target, seed, i, corpus)
                try:
                    if target.attempt(data, rng):
                        shared.accepted += 1
                    else:
                        shared.refused += 1
                except (Difference, AssertionError) as found:
                    what = str(found)[:300] or "not what the reference reads"
                    kinds[what[:40]] += 1
                    print(json.dumps({"input": i, "what": what}), file=file, flush=True)
            shared.at = end
        code = 0
    finally:
        os._exit(code)


def limit_memory(room):
    """Let the process map so many bytes more, that a crafted size fails instead of swapping."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * mmap.PAGESIZE + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


@dataclass
class _End:
    code: int
    hung: bool
    cpu: float


def _watch(pid, reader, shared, patience):
    """Read what the process says until it ends; kill it if an input takes too long."""
    os.set_blocking(reader, False)
    said, at, since, hung = b"", -1, time.monotonic(), False
    while True:
        with contextlib.suppress(BlockingIOError):
            while more := os.read(reader, 2**16):
                said += more
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            break
        if shared.at != at:
            at, since = shared.at, time.monotonic()
        elif time.monotonic() - since > patience:
            os.kill(pid, signal.SIGKILL)
            hung = True
        time.sleep(0.005)
    while True:
        more = os.read(reader, 2**16)
        if not more:
            break
        said += more
    os.close(reader)
    return said, _End(os.waitstatus_to_exitcode(status), hung, used.ru_utime + used.ru_stime)
