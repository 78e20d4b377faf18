"""What a request costs before anything is predicted: servers and frameworks that echo its size."""

import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import orjson

CASES = {  # module of the server, its words, and the application
    "uvicorn, no framework": ("uvicorn", "plain"),
    "uvicorn, Starlette": ("uvicorn", "starlette"),
    "uvicorn, Litestar": ("uvicorn", "litestar"),
    "uvicorn, FastAPI": ("uvicorn", "fastapi"),
    "granian, no framework": ("granian", "plain"),
    "granian, Starlette": ("granian", "starlette"),
}
WORDS = {
    "uvicorn": ["--no-access-log", "--port", "8314"],
    "granian": ["--interface", "asgi", "--no-access-log", "--port", "8314"],
}
BODY = b'{"features": {"ad": "a1", "site": "s2", "hour": 4, "price": 0.5}}'


def commands() -> dict[str, list[str]]:
    """Return the command of each case whose packages are installed."""
    found = {}
    for name, (server, framework) in CASES.items():
        needed = [server] if framework == "plain" else [server, framework]
        if all(importlib.util.find_spec(each) for each in needed):
            words = [*WORDS[server], f"benchmarks.serve_choice:{framework}"]
            found[name] = [sys.executable, "-m", server, *words]
    return found


def measure(started: Any, is_up: Any, wrk: Any, folder: Path, rounds: int) -> dict[str, float]:
    """Return the least processor time of a request, in microseconds, of each case."""
    least: dict[str, float] = {}
    for name, command in commands().items():
        with started(command, is_up("http://127.0.0.1:8314/predict")) as pid:
            for _ in range(rounds):
                load = wrk(
                    "http://127.0.0.1:8314/predict", [BODY], "application/json",
                    pid=pid, examples=1, connections=16, seconds=2, folder=folder,
                )  # fmt: skip
                cpu = load.server_cpu_us_per_example
                least[name] = min(cpu, least.get(name, cpu))
        print(f"{name:30} {least[name]:6.1f} us")
    return least


async def plain(scope: Any, receive: Any, send: Any) -> None:
    """Echo the size of a body, as bare ASGI."""
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    text = orjson.dumps({"score": len(body)})
    size = str(len(text)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def __getattr__(name: str) -> Any:
    """Make the application of a framework when a server asks for it."""
    if name == "starlette":
        from starlette.applications import Starlette  # noqa: PLC0415  (only this server needs it)
        from starlette.requests import Request  # noqa: PLC0415  (only this server needs it)
        from starlette.responses import Response  # noqa: PLC0415  (only this server needs it)
        from starlette.routing import Route  # noqa: PLC0415  (only this server needs it)

        async def echo(request: Request) -> Response:
            text = orjson.dumps({"score": len(await request.body())})
            return Response(text, media_type="application/json")

        return Starlette(routes=[Route("/predict", echo, methods=["POST"])])
    if name == "litestar":
        import litestar  # noqa: PLC0415  (only this server needs it)

        async def echo_size(request: litestar.Request[Any, Any, Any]) -> litestar.Response[bytes]:
            text = orjson.dumps({"score": len(await request.body())})
            return litestar.Response(text, media_type="application/json")

        return litestar.Litestar([litestar.post("/predict")(echo_size)])
    if name == "fastapi":
        from fastapi import Body, FastAPI  # noqa: PLC0415  (only this server needs it)

        made = FastAPI()

        @made.post("/predict")
        async def echo_json(example: Annotated[dict[str, Any], Body()]) -> dict[str, int]:
            return {"score": len(example)}

        return made
    raise AttributeError(name)
