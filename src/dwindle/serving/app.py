"""The ASGI application: endpoints over a `Service`."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route

from dwindle._base.errors import DataError, SettingError
from dwindle.data.options import ReadOptions
from dwindle.runs.settings import TrainSettings
from dwindle.serving.answers import (
    JSON,
    PARQUET,
    SIZE_DIGITS,
    Answer,
    Asked,
    Refused,
    answer_of,
    model_json,
    refused,
)
from dwindle.serving.bodies import CrowdedError, MediaTypeError
from dwindle.serving.log import FSYNC
from dwindle.serving.online import Limits
from dwindle.serving.openapi import document as openapi
from dwindle.serving.pages import live_page, try_page
from dwindle.serving.prometheus import sheet_of
from dwindle.serving.scoring import explained
from dwindle.serving.security import Guard
from dwindle.serving.service import (
    SNAPSHOT_BYTES,
    LearningService,
    ModelService,
    NothingLearnedError,
    Service,
    model_file,
)
from dwindle.serving.writer import BusyError, FailedError, Learned

INLINE = 2**16  # bytes of a body that are parsed at once; more on another thread
STATUS: dict[type[Exception], int] = {  # of what goes wrong with a request
    MediaTypeError: 415,
    CrowdedError: 413,
    NothingLearnedError: 409,
    DataError: 422,
    FailedError: 503,
}
EMPTY = "the body is empty: send an example"
HOT = frozenset({"/predict", "/learn"})
Scope = Any
Handler = Callable[[Asked], Awaitable[Answer]]


def app(
    model: str | None = None,
    *,
    learn: str | None = None,
    settings: TrainSettings | None = None,
    given: Collection[str] | None = None,
    reading: ReadOptions | None = None,
    limits: Limits | None = None,
    durability: str = FSYNC,
    snapshot_bytes: int = SNAPSHOT_BYTES,
    token: str | None = None,
    hosts: Collection[str] | None = None,
    keep: int | None = None,
) -> Starlette:
    """Make the application that serves a model file, or that learns in the folder ``learn``.

    It can be mounted in another application. ``app.state.service.close()`` writes a snapshot of
    what was learned; an application of its own does so when its server stops, and whatever was
    answered is in the log in any case. The folder goes on with what it learned before; with a model
    and an empty folder it begins from the model. ``token`` is what requests must carry; ``hosts``
    are the names that ``Host`` headers may have if there is none.
    """
    bounds = limits or Limits()
    if learn is not None:
        how = settings or TrainSettings()
        service: Service = LearningService(
            learn,
            model,
            how,
            given,
            bounds,
            durability=durability,
            snapshot_bytes=snapshot_bytes,
        )
    elif model is not None:
        service = ModelService(model, reading, bounds, keep)
    else:
        raise SettingError("name a model to serve, or with --learn a folder to learn in")
    service.warm_up()
    return application(service, Guard(token, hosts))


def application(service: Service, guard: Guard, only: Collection[str] | None = None) -> Starlette:
    """Make the application over a service, perhaps with only some of its endpoints."""
    ends = Endpoints(service)
    table: dict[str, tuple[str, Handler]] = {
        "/predict": ("POST", ends.predict),
        "/learn": ("POST", ends.learn),
        "/explain": ("GET POST", ends.explain),
        "/model": ("GET", ends.model),
        "/healthz": ("GET", ends.healthz),
        "/metrics": ("GET", ends.metrics),
        "/openapi.json": ("GET", ends.openapi),
        "/docs": ("GET", ends.docs),
        "/events": ("GET", ends.events),
        "/": ("GET", ends.live),
    }
    routes = [
        Route(path, _Endpoint(path, methods, handler, service, guard))
        for path, (methods, handler) in table.items()
        if only is None or path in only
    ]

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> Any:
        yield
        await asyncio.get_running_loop().run_in_executor(None, service.close)

    made = _Application(routes=routes, lifespan=lifespan)
    made.state.service = service
    made.hot = {each.path: each.endpoint for each in routes if each.path in HOT}
    if "/predict" in made.hot:
        made.state.at_once = partial(made.hot["/predict"].at_once, ends.predicted)
    return made


class _Application(Starlette):
    """An application that finds what is asked for most without a walk through its routes."""

    hot: dict[str, Any]

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        found = self.hot.get(scope["path"]) if scope["type"] == "http" else None
        if found is not None:
            await found(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class _Endpoint:
    """An endpoint as ASGI: it checks who asks, reads the body within the limits, and answers."""

    def __init__(
        self, path: str, methods: str, handler: Handler, service: Service, guard: Guard
    ) -> None:
        self._path, self._methods, self._handler = path, methods.split(), handler
        self._service, self._guard = service, guard

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        begin = time.perf_counter()
        try:
            answer = await self._answered(scope, receive)
        except Refused as error:
            answer = error.answer
        await answer.send(send)
        seconds = time.perf_counter() - begin
        self._service.figures.answered(self._path, answer.status, seconds)

    async def _answered(self, scope: Scope, receive: Any) -> Answer:
        headers = dict(scope["headers"])
        if found := self._guard.refusal(self._path, headers):
            raise refused(*found)
        method = scope["method"]
        if method not in self._methods:
            raise refused(405, f"{self._path} takes {', '.join(self._methods)}")
        body, seconds = b"", self._service.limits.seconds
        if method == "POST":
            try:
                async with asyncio.timeout(seconds):
                    body = await self._body(headers, receive)
            except TimeoutError:
                raise refused(408, f"the request did not come in within {seconds:g} s") from None
        try:
            return await self._handler(Asked(method, scope["query_string"], headers, body))
        except TimeoutError:
            raise refused(503, f"no answer within {seconds:g} s", {"retry-after": "1"}) from None
        except BusyError as error:
            after = {"retry-after": str(math.ceil(error.seconds))}
            raise refused(429, str(error), after) from None
        except tuple(STATUS) as error:
            raise refused(STATUS[type(error)], str(error)) from None

    def at_once(
        self, predicted: Callable[[Asked], Answer], headers: Mapping[bytes, bytes], body: bytes
    ) -> Answer:
        """Answer a whole request without waiting for anything."""
        begin = time.perf_counter()
        try:
            if found := self._guard.refusal(self._path, headers):
                raise refused(*found)
            if not body:
                raise refused(400, EMPTY)
            answer = predicted(Asked("POST", b"", headers, body))
        except Refused as error:
            answer = error.answer
        except tuple(STATUS) as error:
            answer = refused(STATUS[type(error)], str(error)).answer
        self._service.figures.answered(self._path, answer.status, time.perf_counter() - begin)
        return answer

    async def _body(self, headers: dict[bytes, bytes], receive: Any) -> bytes:
        most = self._service.limits.body
        told = f"the body is larger than {most:,} bytes: send the examples in several requests"
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise refused(415, "the body is compressed: send it as it is")
        said = headers.get(b"content-length", b"0")
        if said.isdigit() and (len(said) > SIZE_DIGITS or int(said) > most):
            raise refused(413, told)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise refused(400, "the request is cut short")
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise refused(413, told)
            parts.append(part)
            if not message.get("more_body"):
                break
        if not size:
            raise refused(400, EMPTY)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class Endpoints:
    """What each endpoint does."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def predict(self, asked: Asked) -> Answer:
        """Predict."""
        if len(asked.body) > INLINE:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(None, self.predicted, asked)
        return self.predicted(asked)

    def predicted(self, asked: Asked) -> Answer:
        """Predict, without waiting for anything."""
        service = self._service
        service.learner  # noqa: B018  (refuses if nothing is learned yet)
        plain = service.bodies.dicts(asked.media_type, asked.body)
        if plain and len(plain) <= service.limits.examples:
            alone = len(plain) == 1 and asked.body.lstrip()[:1] == b"{"
            with suppress(DataError):  # it is for the reader to say what is wrong
                row = service.row_of(plain[0]) if alone else None
                scores = service.scores_of_dicts(plain) if row is None else None
                service.figures.counted("/predict", len(plain), 0)
                if row is not None:
                    return Answer.json(row)
                return answer_of(service.answers, scores, alone=alone)
        body = service.bodies.read(asked.media_type, asked.body, labelled=False)
        self._check_count(body.n)
        scores = service.scores(body.parsed.batch)
        n, bad = body.parsed.batch.n_examples, body.parsed.bad
        service.figures.counted("/predict", n, len(bad))
        refusals = {fault.line: fault.message for fault in bad}
        places = body.parsed.line.tolist()
        return answer_of(service.answers, scores, places, refusals, alone=body.alone)

    async def learn(self, asked: Asked) -> Answer:
        """Predict, then learn."""
        service = self._service
        if service.writer is None:
            raise refused(404, "the server only predicts: start it with --learn FOLDER")
        atomic = asked.flag("atomic")
        read = service.bodies.read
        if len(asked.body) > INLINE:
            loop = asyncio.get_running_loop()
            body = await loop.run_in_executor(
                None, lambda: read(asked.media_type, asked.body, labelled=True)
            )
        else:
            body = read(asked.media_type, asked.body, labelled=True)
        self._check_count(body.n)
        parsed = body.parsed
        refusals = {fault.line: fault.message for fault in parsed.bad}
        if parsed.batch.n_examples and not (atomic and refusals):
            async with asyncio.timeout(service.limits.seconds):
                done = await service.writer.learn(parsed, len(asked.body), atomic=atomic)
        else:
            done = Learned(0, None, [], {})
        places = parsed.line.tolist()
        refusals |= {places[i]: why for i, why in done.refused.items()}
        service.figures.counted("/learn", len(done.rows), len(refusals))
        if done.scores is None:
            status = 422 if refusals else 200
            return answer_of(None, None, [], refusals, alone=body.alone, learned=0, status=status)
        more = {"learned": len(done.rows), "first": done.first}
        kept = [places[i] for i in done.rows]
        return answer_of(service.answers, done.scores, kept, refusals, alone=body.alone, **more)

    async def explain(self, asked: Asked) -> Answer:
        """Say what each feature adds."""
        service = self._service
        service.learner  # noqa: B018  (as in predict)
        media_type, body = asked.media_type, asked.body
        if asked.method != "POST":
            given = asked.query.get("json"), asked.query.get("vw")
            if (given[0] is None) == (given[1] is None):
                raise refused(400, "give one example as ?json={...} or as ?vw=...: or POST it")
            media_type = JSON if given[0] is not None else "text/x-vw"
            body = (given[0] or given[1] or "").encode()
        parsed = service.bodies.read(media_type, body, labelled=False).parsed
        parsed.n_bad(skip_bad=False)
        found = await self._between(
            lambda: explained(service.learner, service.labels, parsed.batch)
        )
        return Answer.json(found)

    async def model(self, asked: Asked) -> Answer:
        """Return the weights, or the file."""
        service, top = self._service, asked.query.get("top")
        if top is not None and not top.isdecimal():
            raise refused(400, f"top must be a whole number, got {top!r}")
        keep = None if top is None else int(top)
        if asked.accepts(PARQUET):
            body = await self._between(lambda: model_file(service.model(keep)))
            return Answer(
                200, body, PARQUET, {"content-disposition": "attachment; filename=model.parquet"}
            )
        return Answer.json(await self._between(lambda: model_json(service.model(keep))))

    async def _between(self, do: Callable[[], Any]) -> Any:
        """Do something with the names of features: where learning goes on, between two groups."""
        if self._service.writer is None:
            return await asyncio.get_running_loop().run_in_executor(None, do)
        async with asyncio.timeout(self._service.limits.seconds):
            return await self._service.writer.ask(do)

    async def healthz(self, _asked: Asked) -> Answer:
        """Say how it is."""
        said = self._service.about()
        return Answer.json(said, 200 if said["status"] == "ok" else 503)

    async def metrics(self, _asked: Asked) -> Answer:
        """Return counts for Prometheus."""
        text = sheet_of(self._service)
        return Answer(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, _asked: Asked) -> Answer:
        """Describe the endpoints."""
        return Answer.json(openapi(self._service.writer is not None))

    async def docs(self, _asked: Asked) -> Answer:
        """Return the page to try requests."""
        return Answer.html(try_page(learns=self._service.writer is not None))

    async def live(self, _asked: Asked) -> Answer:
        """Return the live page, empty: what it shows needs a token."""
        return Answer.html(live_page(self._service.feed.title))

    async def events(self, _asked: Asked) -> Answer:
        """Return the events of the live page, without end."""
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return Answer(200, self._service.feed.events(), "text/event-stream", headers)

    def _check_count(self, n: int) -> None:
        most = self._service.limits.examples
        if n > most:
            raise refused(413, f"{n:,} examples: send at most {most:,} in a request")
        if not n:
            raise refused(400, "the body has no examples")
