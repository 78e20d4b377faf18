"""The pages of a server: the live one, and the one to try requests."""

import json
from functools import cache
from importlib.resources import files

from dwindle._base.pages.document import Contents, document
from dwindle._base.pages.html import Markup, tag
from dwindle._base.pages.tables import section, table
from dwindle.serving.drawing import page_parts
from dwindle.serving.openapi import SAMPLES, rows

ALLOWED = "connect-src 'self'"


@cache
def _script(name: str) -> str:
    return (files("dwindle.serving") / "assets" / name).read_text("utf-8")


def live_page(title: str) -> str:
    """Return the live page, which fetches what it shows."""
    contents = [
        Contents("good", "How good it is"),
        Contents("gravities", "Gravities"),
        Contents("weights", "Weights"),
        Contents("service", "Service"),
    ]
    told = tag(
        "span",
        "Every figure is of predictions made before learning. ",
        tag("a", "Try requests", href="docs"),
    )
    return document(
        f"dwindle: {title}", told, page_parts(), contents,
        script=_script("live.js"), allow=ALLOWED,
    )  # fmt: skip


def try_page(*, learns: bool) -> str:
    """Return the page that lists the endpoints and sends requests."""
    listed = rows(learns)
    paths = [tag("option", f"{method} {path}") for method, path, _ in listed if path != "/events"]
    types = [tag("option", each) for each in SAMPLES]
    samples = json.dumps(SAMPLES).replace("<", "\\u003c")
    form = tag(
        "form",
        tag("p", tag("label", "Request ", tag("select", *paths, name="path"))),
        tag("p", tag("label", "Content type ", tag("select", *types, name="type"))),
        tag(
            "p",
            tag(
                "label",
                "Token, if there is one ",
                tag("input", type="password", name="token", autocomplete="off"),
            ),
        ),
        tag(
            "p",
            tag(
                "label", "Body ", tag("textarea", name="body", rows=8, cols=70, spellcheck="false")
            ),
        ),
        tag("p", tag("button", "Send", type="submit")),
        id="try",
    )
    answer = tag("pre", id="answer", role="status", aria_label="The answer", tabindex=0)
    parts = [
        section("Try it", form, answer, id_="try-it"),
        section(
            "Endpoints",
            table("What the server answers", ["method", "path", "what"], listed),
            id_="endpoints",
        ),
        tag("script", Markup(samples), type="application/json", id="samples"),
    ]
    told = tag("span", "The same in ", tag("a", "openapi.json", href="openapi.json"), ".")
    return document("dwindle: requests", told, parts, script=_script("try.js"), allow=ALLOWED)
