"""Load on loopback: wrk for HTTP, and a socket that speaks Vowpal Wabbit's lines."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

THREADS = 1  # of wrk: the server has the other core
LUA = """
local requests, at, n = {}, 0, 0
local pause = tonumber(os.getenv("PAUSE_MS") or "0")
function init(args)
  local file = io.open(args[1], "rb")
  local headers = { ["content-type"] = args[2] }
  while true do
    local size = file:read("*l")
    if not size then break end
    table.insert(requests, wrk.format("POST", nil, headers, file:read(tonumber(size))))
    file:read(1)
  end
  n = #requests
  at = math.random(n)
end
function request()
  at = at % n + 1
  return requests[at]
end
if pause > 0 then
  function delay() return math.floor(pause * (0.5 + math.random())) end
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\\n{"requests": %d, "seconds": %f, "p50_ms": %f, "p99_ms": %f, "errors": %d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, e.connect + e.read + e.write + e.status + e.timeout))
end
"""


class Load(NamedTuple):
    """What came of some seconds of requests."""

    examples_per_second: float
    requests_per_second: float
    p50_ms: float
    p99_ms: float
    server_cpu_us_per_example: float
    errors: int


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_seconds(int(child)) for child in children)


def wrk(
    address: str,
    bodies: Sequence[bytes],
    media_type: str,
    *,
    pid: int,
    examples: int,
    connections: int,
    seconds: int,
    folder: Path,
    rate: float | None = None,
) -> Load:
    """Send bodies in turn, as fast as they are answered or about ``rate`` requests a second."""
    if shutil.which("wrk") is None:
        raise SystemExit("wrk is needed: apt install wrk")
    script, data = folder / "load.lua", folder / "bodies"
    script.write_text(LUA)
    data.write_bytes(b"".join(b"%d\n%s\n" % (len(body), body) for body in bodies))
    pause = 0.0 if rate is None else 1000 * connections / rate
    command = ["wrk", f"-t{THREADS}", f"-c{connections}", f"-d{seconds}s", "-s", str(script)]
    before = cpu_seconds(pid)
    done = subprocess.run(  # noqa: S603  (commands of ours)
        [*command, address, str(data), media_type],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PAUSE_MS": f"{pause:.3f}"},
        timeout=seconds + 60,
    )
    used = cpu_seconds(pid) - before
    found = json.loads(done.stdout.strip().splitlines()[-1])
    n = found["requests"]
    return Load(
        examples * n / found["seconds"],
        n / found["seconds"],
        found["p50_ms"],
        found["p99_ms"],
        1e6 * used / max(n * examples, 1),
        found["errors"],
    )


def lines(
    port: int,
    bodies: Sequence[bytes],
    *,
    pid: int,
    examples: int,
    connections: int,
    seconds: int,
) -> Load:
    """Send lines to Vowpal Wabbit's daemon, and wait for as many lines of answers."""
    end = time.monotonic() + seconds
    took: list[float] = []

    def client(first: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            k = first
            while time.monotonic() < end:
                begin = time.perf_counter()
                link.sendall(bodies[k % len(bodies)])
                left = examples
                while left:
                    some = link.recv(1 << 16)
                    if not some:
                        return
                    left -= some.count(b"\n")
                took.append(time.perf_counter() - begin)
                k += 1

    begin, before = time.monotonic(), cpu_seconds(pid)
    clients = [threading.Thread(target=client, args=(7 * c,)) for c in range(connections)]
    for each in clients:
        each.start()
    for each in clients:
        each.join(seconds + 30)
    passed, used = time.monotonic() - begin, cpu_seconds(pid) - before
    took.sort()
    n = len(took)
    return Load(
        examples * n / passed,
        n / passed,
        1000 * took[n // 2],
        1000 * took[int(0.99 * n)],
        1e6 * used / max(n * examples, 1),
        0,
    )
