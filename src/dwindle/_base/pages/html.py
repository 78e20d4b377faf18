"""HTML that is escaped by construction: text becomes markup only through `tag`."""

from collections.abc import Iterable
from html import escape
from typing import Any

EMPTY = frozenset({"br", "col", "input", "meta"})  # elements without an end
# Control characters are shown as their pictures: a terminal's or a parser's meaning is taken away.
_PICTURES = {c: 0x2400 + c for c in range(32) if chr(c) not in "\t\n"} | {0x7F: 0x2421}
_PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


def escaped(text: Any) -> Markup:
    r"""Return text as HTML; what is `Markup` stays as it is.

    >>> escaped("<b>"), escaped(Markup("<b>")), escaped("\x1b[2J")
    ('&lt;b&gt;', '<b>', '␛[2J')
    """
    if isinstance(text, Markup):
        return text
    whole = str(text).encode("utf-8", "replace").decode()  # names may have lone surrogates
    return Markup(escape(whole.translate(_PICTURES)))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Return an element; children and the values of attributes are escaped, these also if markup.

    An underscore of an attribute's name is a hyphen, one at its end is left out. An attribute that
    is True has no value; one that is None or False is left out, and so is a child that is None.

    >>> tag("a", "R&D", href="#x", class_="y", aria_label='"', hidden=True, title=None)
    '<a href="#x" class="y" aria-label="&quot;" hidden>R&amp;D</a>'
    """
    said = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escaped(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in EMPTY:
        return Markup(f"<{name}{said}>")
    return Markup(f"<{name}{said}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Put markup and text one after another."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def stranger(name: Any) -> Markup:
    """Return a name out of somebody's data, whose direction of writing ends with it."""
    return tag("bdi", name)
