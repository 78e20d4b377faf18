"""How fast the server answers, beside River behind FastAPI and Vowpal Wabbit's daemon.

``python -m benchmarks.serve`` measures in about three minutes and writes docs/serving.json and the
tables of docs/serving.md; ``--soak 600`` runs the server at half load for ten minutes instead and
adds how its memory went, ``--servers`` what servers and frameworks cost alone. All load goes to
loopback; wrk sends it, on the same two cores.
"""

import argparse
import json
import os
import platform
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import orjson

from benchmarks import serve_choice
from benchmarks.serve_load import Load, lines, wrk
from benchmarks.serve_page import write_page

RESULTS = Path(__file__).parents[1] / "docs" / "serving.json"
DWINDLE, RIVER, VW = "dwindle", "River + FastAPI", "vw --daemon"
JSON_TYPE, VW_TYPE = "application/json", "text/x-vw"
BATCH = 100
BODIES = 200  # different ones
ROUNDS = 3
SECONDS = 3  # of a measurement
DAEMON = """
import vowpalwabbit

words = "--daemon --foreground --num_children 1 --port 8313 --loss_function logistic -b 20 --quiet"
vowpalwabbit.Workspace(arg_list=words.split()).run_parser()
"""  # `python -m vowpalwabbit` does not read what comes in; a child serves one connection at a time
LEARN = ("--loss", "logistic", "--gravity", "1e-5", "--update", "adaptive")


def example(chance: random.Random) -> dict[str, Any]:
    """Make an impression of an ad: eight features, of which four are text."""
    return {
        "label": chance.choice([-1, 1]),
        "features": {
            "ad": f"a{chance.randrange(1000)}",
            "site": f"s{chance.randrange(5000)}",
            "user": f"u{chance.randrange(100_000)}",
            "device": chance.choice(["ios", "android", "web"]),
            "hour": chance.randrange(1, 25),
            "price": round(chance.random(), 4),
            "recency": round(chance.random(), 4),
            "position": chance.randrange(1, 9),
        },
    }


def vw_line(each: dict[str, Any]) -> str:
    """Write an example as VW text."""
    features = " ".join(
        f"{name}={value}" if isinstance(value, str) else f"{name}:{value}"
        for name, value in each["features"].items()
    )
    return f"{each['label']} | {features}\n"


class Bodies:
    """The same examples in both formats, one by one and in batches."""

    def __init__(self) -> None:
        chance = random.Random(0)  # noqa: S311  (nothing is secret)
        batches = [[example(chance) for _ in range(BATCH)] for _ in range(BODIES)]
        singles = [batch[0] for batch in batches]
        self.json = [orjson.dumps(batch) for batch in batches]
        self.vw = ["".join(map(vw_line, batch)).encode() for batch in batches]
        self.json_single = [orjson.dumps(each) for each in singles]
        self.vw_single = [vw_line(each).encode() for each in singles]


@contextmanager
def started(command: list[str], is_up: Callable[[], bool], **how: Any) -> Iterator[int]:
    """Start a server; end it, and only it, afterwards."""
    process = subprocess.Popen(  # noqa: S603  (commands of ours)
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **how
    )
    try:
        end = time.monotonic() + 90
        while not is_up():
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{' '.join(command)}: does not answer")
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


def answers(address: str) -> Callable[[], bool]:
    """Return what tells whether a server answers."""

    def ask() -> bool:
        try:
            with urllib.request.urlopen(address, timeout=5):  # noqa: S310  (loopback)
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    return ask


def listens(port: int) -> Callable[[], bool]:
    """Return what tells whether somebody listens on a port."""

    def ask() -> bool:
        with socket.socket() as link:
            return link.connect_ex(("127.0.0.1", port)) == 0

    return ask


def dwindle(folder: Path, port: int, *options: str) -> list[str]:
    """Return the command of our server."""
    words = ["serve", "--learn", str(folder), "--port", str(port), *LEARN, *options]
    return [sys.executable, "-m", "dwindle", *words]


class Case(NamedTuple):
    """A kind of request to a server."""

    name: str
    who: str
    path: str  # "" of a socket that speaks lines
    bodies: list[bytes]
    kind: str
    examples: int = 1

    def title(self) -> str:
        """Return how the case is called in results."""
        return f"{self.name}, {self.who}, {'JSON' if self.kind == JSON_TYPE else 'VW text'}"


PORTS = {DWINDLE: 8311, RIVER: 8312, VW: 8313}


def cases(b: Bodies) -> list[Case]:
    """List what is measured."""
    both = "predict and learn"
    return [
        Case("predict 1", DWINDLE, "/predict", b.json_single, JSON_TYPE),
        Case("predict 1", RIVER, "/predict", b.json_single, JSON_TYPE),
        Case("predict 1", DWINDLE, "/predict", b.vw_single, VW_TYPE),
        Case(f"{both} 1", VW, "", b.vw_single, VW_TYPE),
        Case("predict 100", DWINDLE, "/predict", b.json, JSON_TYPE, BATCH),
        Case("predict 100", RIVER, "/predict_many", b.json, JSON_TYPE, BATCH),
        Case("predict 100", DWINDLE, "/predict", b.vw, VW_TYPE, BATCH),
        Case(f"{both} 100", VW, "", b.vw, VW_TYPE, BATCH),
        Case("learn 1, fsync", DWINDLE, "/learn", b.json_single, JSON_TYPE),
        Case("learn 100, fsync", DWINDLE, "/learn", b.json, JSON_TYPE, BATCH),
        Case("learn 100, fsync", DWINDLE, "/learn", b.vw, VW_TYPE, BATCH),
        Case("learn 100, in memory", RIVER, "/learn_many", b.json, JSON_TYPE, BATCH),
    ]


def measure(folder: Path, rounds: int, seconds: int) -> dict[str, Any]:
    """Measure every case in turn, several times; keep all rounds."""
    bodies = Bodies()
    with ExitStack() as running:
        uvicorn = [sys.executable, "-m", "uvicorn", "benchmarks.serve_peers:app", "--port", "8312"]
        pids = {
            DWINDLE: running.enter_context(
                started(dwindle(folder / "state", 8311), answers("http://127.0.0.1:8311/healthz"))
            ),
            RIVER: running.enter_context(
                started([*uvicorn, "--no-access-log"], answers("http://127.0.0.1:8312/docs"))
            ),
            VW: running.enter_context(started([sys.executable, "-c", DAEMON], listens(8313))),
        }

        def loaded(case: Case, seconds: int, rate: float | None = None) -> Load:
            how: dict[str, Any] = {"examples": case.examples, "seconds": seconds}
            pid, port = pids[case.who], PORTS[case.who]
            if not case.path:
                load = lines(port, case.bodies, pid=pid, connections=1, **how)
            else:
                at = f"http://127.0.0.1:{port}{case.path}"
                how |= {"pid": pid, "folder": folder, "rate": rate, "connections": 16}
                load = wrk(at, case.bodies, case.kind, **how)
            rates = f"{load.examples_per_second:10,.0f}/s  p99 {load.p99_ms:7.2f} ms"
            print(f"{case.title():45} {rates}  {load.errors} errors")
            return load

        listed = cases(bodies)
        for case in listed:  # all have learned something before they are asked
            if case.examples == BATCH and ("learn" in case.name):
                loaded(case, 2)
        found: dict[str, list[Load]] = {case.title(): [] for case in listed}
        for _ in range(rounds):
            for case in listed:
                found[case.title()].append(loaded(case, seconds))
        halves = [listed[0], listed[4], listed[10]]
        rates = {
            case.title(): statistics.median(x.requests_per_second for x in found[case.title()])
            for case in halves
        }
        for _ in range(rounds):
            for case in halves:
                load = loaded(case, seconds, rates[case.title()] / 2)
                found.setdefault(f"{case.title()}, at half load", []).append(load)
    return {name: [load._asdict() for load in loads] for name, loads in found.items()}


def soak(folder: Path, seconds: float) -> dict[str, Any]:
    """Learn and predict at half load, and watch the memory."""
    bodies = Bodies()
    address = "http://127.0.0.1:8311"
    with started(dwindle(folder / "state", 8311), answers(f"{address}/healthz")) as pid:
        how: dict[str, Any] = {"pid": pid, "folder": folder, "connections": 8, "examples": BATCH}
        wrk(f"{address}/learn", bodies.vw, VW_TYPE, seconds=5, **how)
        full = wrk(f"{address}/learn", bodies.vw, VW_TYPE, seconds=5, **how)
        memory: list[tuple[float, int]] = []
        learned, begin = [], time.monotonic()
        while time.monotonic() - begin < seconds:
            rate = full.requests_per_second / 2
            load = wrk(f"{address}/learn", bodies.vw, VW_TYPE, seconds=5, rate=rate, **how)
            learned.append(load.examples_per_second)
            wrk(f"{address}/predict", bodies.json, JSON_TYPE, seconds=5, rate=rate, **how)
            status = Path(f"/proc/{pid}/status").read_text()
            kilobytes = int(status.partition("VmRSS:")[2].split()[0])
            memory.append((round(time.monotonic() - begin, 1), 1024 * kilobytes))
            print(f"{memory[-1][0]:7.1f} s  {memory[-1][1] / 1e6:8.1f} MB  {load.errors} errors")
    third = len(memory) // 3
    return {
        "seconds": seconds,
        "learned_per_second": statistics.median(learned),
        "memory": memory,
        "first_third_bytes": statistics.median(n for _, n in memory[: third or 1]),
        "last_third_bytes": statistics.median(n for _, n in memory[-third or -1 :]),
    }


def main() -> None:
    """Measure, and write the results and the page."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument(
        "--soak", type=float, metavar="SECONDS", help="watch the memory for so long"
    )
    options.add_argument("--servers", action="store_true", help="what servers alone cost")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--seconds", type=int, default=SECONDS)
    options.add_argument("--output", type=Path, default=RESULTS)
    told = options.parse_args()
    results = json.loads(told.output.read_text()) if told.output.exists() else {}
    folder = Path(mkdtemp(prefix="dwindle-serve-"))
    try:
        begin = os.getloadavg()[0]
        if told.servers:
            results["servers"] = serve_choice.measure(started, answers, wrk, folder, told.rounds)
        elif told.soak:
            results["soak"] = soak(folder, told.soak) | {"load_before": begin}
        else:
            results["cases"] = measure(folder, told.rounds, told.seconds)
            results["machine"] = {
                "processor": _processor(),
                "cores": os.cpu_count(),
                "python": platform.python_version(),
                "load_before": begin,
                "load_after": os.getloadavg()[0],
                "rounds": told.rounds,
                "seconds": told.seconds,
            }
    finally:
        shutil.rmtree(folder)
    told.output.write_text(json.dumps(results, indent=1) + "\n")
    if told.output == RESULTS:
        write_page(results)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
