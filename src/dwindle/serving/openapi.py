"""The endpoints as OpenAPI describes them."""

from importlib.metadata import version
from typing import Any

SAMPLES = {  # of a body, by content type
    "application/json": '[{"label": 1, "features": {"price": 3.5, "color": "red"}},\n'
    ' {"label": 0, "features": {"price": 9.0, "color": "blue"}}]',
    "application/x-ndjson": '{"label": 1, "price": 3.5, "color": "red"}\n'
    '{"label": 0, "price": 9.0, "color": "blue"}\n',
    "text/x-vw": "1 | price:3.5 color=red\n-1 | price:9 color=blue\n",
}
ARROW = "application/vnd.apache.arrow.stream"
ENDPOINTS = {  # what each does; of those that take examples, whether it is only there with --learn
    ("post", "/predict"): "Predict each example.",
    ("post", "/learn"): "Predict each example, then learn from it; durable once answered.",
    (
        "get",
        "/explain",
    ): "What each feature of one example, ?json={...} or ?vw=..., adds to its score.",
    ("post", "/explain"): "The same for the one example of the body.",
    ("get", "/model"): "The weights as JSON, heaviest first, ?top=N of them; or the model file.",
    ("get", "/healthz"): "Whether it works; 503 if it can learn no more.",
    ("get", "/metrics"): "Counts and latencies, for Prometheus.",
    ("get", "/openapi.json"): "This description.",
    ("get", "/docs"): "A page to try requests.",
    ("get", "/events"): "The news of the live page, as server-sent events.",
    ("get", "/"): "The live page.",
}
ERRORS = {
    "400": "The request makes no sense.",
    "401": "A token is needed.",
    "403": "Another server's page asks, or another name was called.",
    "408": "The request did not come in within the time.",
    "409": "Nothing is learned yet.",
    "413": "Too large.",
    "415": "The content type is not read.",
    "422": "No example can be used; each is told its reason.",
    "429": "Too many examples wait to be learned: try again after Retry-After seconds.",
    "503": "It can learn no more, or has no time.",
}


def rows(learns: bool) -> list[tuple[str, str, str]]:
    """List method, path and purpose of the endpoints."""
    return [
        (method.upper(), path, about)
        for (method, path), about in ENDPOINTS.items()
        if learns or path != "/learn"
    ]


def document(learns: bool) -> dict[str, Any]:
    """Return the description, as version 3.1 has it."""
    paths: dict[str, dict[str, Any]] = {}
    for method, path, about in rows(learns):
        paths.setdefault(path, {})[method.lower()] = _operation(method, path, about)
    return {
        "openapi": "3.1.0",
        "info": {"title": "dwindle", "version": version("dwindle")},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Example": _EXAMPLE, "Answer": _ANSWER, "Error": _ERROR},
        },
        "security": [{"token": []}, {}],
    }


_EXAMPLE = {
    "description": "Features by name, flat or in `features`; a text is the feature name=text.",
    "type": "object",
    "properties": {
        "label": {"type": ["number", "string"]},
        "weight": {"type": "number", "minimum": 0},
        "features": {"type": "object"},
    },
    "additionalProperties": True,
}
_COLUMN = {"description": "One for each example sent, null where it was refused; alone if one was."}
_ANSWER = {
    "type": "object",
    "properties": {
        "score": _COLUMN,
        "probability": _COLUMN,
        "label": _COLUMN,
        "classes": {"type": "array", "items": {"type": "string"}},
        "learned": {"type": "integer", "description": "How many examples were learned from."},
        "first": {"type": "integer", "description": "How many were learned from before them."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"place": {"type": "integer"}, "reason": {"type": "string"}},
            },
        },
    },
}
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}}


def _operation(method: str, path: str, about: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": about,
        "operationId": f"{method.lower()}_{path.strip('/') or 'live'}".replace(".", "_"),
        "responses": {"200": {"description": "The answer."}},
    }
    if method == "POST":
        found["requestBody"] = {"required": True, "content": _contents()}
        schema = {"$ref": "#/components/schemas/Answer"}
        found["responses"]["200"]["content"] = {"application/json": {"schema": schema}}
        failure = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        for status, told in ERRORS.items():
            found["responses"][status] = {"description": told, "content": failure}
    if path == "/learn":
        found["parameters"] = [_query("atomic", "boolean", "Learn all of the examples, or none.")]
    if path == "/model":
        found["parameters"] = [_query("top", "integer", "Only so many of the heaviest features.")]
    if (method, path) == ("GET", "/explain"):
        found["parameters"] = [
            _query("json", "string", "An example as JSON."),
            _query("vw", "string", "An example as a line of VW text."),
        ]
    return found


def _contents() -> dict[str, Any]:
    example = {"$ref": "#/components/schemas/Example"}
    one_or_many = {"oneOf": [example, {"type": "array", "items": example}]}
    return {
        "application/json": {"schema": one_or_many},
        **{name: {"schema": {"type": "string"}} for name in SAMPLES if name != "application/json"},
        ARROW: {"schema": {"type": "string", "format": "binary"}},
    }


def _query(name: str, kind: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": {"type": kind}}
