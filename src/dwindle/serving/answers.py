"""Requests as endpoints see them, and what is answered."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import orjson

from dwindle.features.names import shown
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.serving.scoring import Answers, Scores

JSON = "application/json"
PARQUET = "application/vnd.apache.parquet"
SIZE_DIGITS = 15  # of a content length, at most: more are not even made a number
_DUMP = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
_GUARDED = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]


class Asked:
    """A request whose body has come in."""

    def __init__(
        self, method: str, query: bytes, headers: Mapping[bytes, bytes], body: bytes
    ) -> None:
        self.method, self.body = method, body
        self._headers, self._query = headers, query

    @property
    def media_type(self) -> str:
        """The content type, without its parameters."""
        said = self._headers.get(b"content-type", JSON.encode())
        return said.partition(b";")[0].strip().lower().decode("latin-1")

    @property
    def query(self) -> dict[str, str]:
        """What follows the question mark."""
        text = self._query.decode("latin-1")
        return dict(parse_qsl(text, keep_blank_values=True)) if text else {}

    def flag(self, name: str) -> bool:
        """Whether something is asked for in the query."""
        value = self.query.get(name)
        if value not in {None, "", "true", "false", "1", "0"}:
            raise refused(400, f"{name} must be true or false, got {value!r}")
        return value in {"", "true", "1"}

    def accepts(self, media_type: str) -> bool:
        """Whether a media type is named as one to answer with."""
        said = self._headers.get(b"accept", b"").decode("latin-1").lower()
        return media_type in (part.partition(";")[0].strip() for part in said.split(","))


class Answer:
    """A status, a body or a stream of parts, and headers."""

    def __init__(
        self,
        status: int,
        body: bytes | AsyncIterator[bytes],
        media_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status, self.body = status, body
        self.headers = [(b"content-type", media_type.encode()), *_GUARDED]
        if headers:
            self.headers += [(k.encode(), v.encode()) for k, v in headers.items()]

    @classmethod
    def json(
        cls, said: Any, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> "Answer":
        """Answer with JSON; a number that is not finite is null."""
        return cls(status, orjson.dumps(said, option=_DUMP), JSON, headers)

    @classmethod
    def html(cls, page: str) -> "Answer":
        """Answer with a page, which says itself what it may load."""
        headers = {"x-frame-options": "DENY", "referrer-policy": "no-referrer"}
        return cls(200, page.encode(), "text/html; charset=utf-8", headers)

    async def send(self, send: Any) -> None:
        """Send it."""
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        if isinstance(self.body, bytes):
            self.headers.append((b"content-length", str(len(self.body)).encode()))
            await send(start)
            await send({"type": "http.response.body", "body": self.body})
            return
        await send(start)
        async for part in self.body:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class Refused(Exception):  # noqa: N818  (it is an answer)
    """A request is answered with a reason."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


def refused(status: int, reason: str, headers: Mapping[str, str] | None = None) -> Refused:
    """Make what is raised to answer with a status and a reason."""
    if status == 401:
        headers = {"www-authenticate": "Bearer"}
    return Refused(Answer.json({"error": reason}, status, headers))


def answer_of(
    answers: Answers | None,
    scores: Scores | None,
    places: Sequence[int] = (),
    refusals: Mapping[int, str] | None = None,
    *,
    alone: bool = False,
    status: int = 200,
    **more: Any,
) -> Answer:
    """Answer with a column for each figure, and an entry in it for each example that was sent.

    An example that was refused has null there, and its place and reason in ``errors``. Of a single
    object the figures stand alone.
    """
    found: dict[str, Any] = dict(more)
    columns = {} if answers is None or scores is None else answers.columns(scores)
    classes = columns.pop("classes", None)
    if refusals:
        columns = {name: _spread(column, places, refusals) for name, column in columns.items()}
        found["errors"] = [{"place": at, "reason": refusals[at]} for at in sorted(refusals)]
        if not len(places):
            status = 422
    if alone:
        columns = {name: column[0] for name, column in columns.items()}
    found |= columns
    if classes is not None:
        found["classes"] = classes
    return Answer.json(found, status)


def _spread(column: Any, places: Sequence[int], refusals: Mapping[int, str]) -> list[Any]:
    """Put null where an example was refused."""
    values = column.tolist() if isinstance(column, np.ndarray) else column
    by_place = dict(zip(places, values, strict=True)) | dict.fromkeys(refusals)
    return [by_place[at] for at in sorted(by_place)]


def model_json(model: Model | ClassModels) -> dict[str, Any]:
    """Return a model as JSON: its weights by name, heaviest first."""
    if isinstance(model, ClassModels):
        names = map(str, model.classes)
        body = {"classes": dict(zip(names, map(_body, model.members), strict=True))}
    else:
        body = _body(model)
    return {
        "features": len(model),
        "settings": model.settings,
        "metadata": model.metadata,
        **body,
    }


def _body(model: Model) -> dict[str, Any]:
    """Return the intercept and the weights of one model."""
    return {"intercept": model.intercept, "weights": _weights(model)}


def _weights(model: Model) -> dict[str, float]:
    names = (shown(name).encode(errors="replace").decode() for name in model.names)
    return dict(zip(names, model.weight.tolist(), strict=True))
