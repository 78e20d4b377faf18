"""A whole page in one file, and a fragment for notebooks: both carry stylesheet and script."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from dwindle._base.pages.html import Markup, tag


@cache
def asset(name: str) -> Markup:
    """Read a file of the folder ``assets``; it is ours, and markup."""
    return Markup((files("dwindle._base.pages") / "assets" / name).read_text("utf-8"))


class Contents(NamedTuple):
    """An entry of a page's list of contents: the id of a section, and its title."""

    id: str
    title: str


def document(
    title: str,
    subtitle: Any,
    parts: Sequence[Markup],
    contents: Sequence[Contents] = (),
    *,
    script: str = "",
    allow: str = "",
) -> Markup:
    """Return a page that needs nothing from elsewhere.

    Its security policy allows no request and no script but its own, whose digest it gives. A page
    that is served may have more ``script``, and ``allow`` what that needs: ``connect-src 'self'``.
    """
    code = Markup(asset("page.js") + script)  # of our own files
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    rules = ["default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'"]
    policy = "; ".join([*rules, "base-uri 'none'", "form-action 'none'", *([allow] * bool(allow))])
    links = [tag("a", each.title, href=f"#{each.id}") for each in contents]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", asset("page.css")),
    )
    body = tag(
        "body",
        tag("header", tag("h1", title), tag("p", subtitle)),
        tag("nav", *links, aria_label="Contents") if links else None,
        tag("main", *parts),
        tag("script", code),
        class_="dwindle page",
    )
    return Markup(f"<!doctype html>\n{tag('html', head, body, lang='en')}\n")


def fragment(*parts: Any) -> Markup:
    """Return parts of a page for a notebook, in whose colours they appear."""
    style, script = tag("style", asset("page.css")), tag("script", asset("page.js"))
    return tag("div", style, *parts, script, class_="dwindle")
