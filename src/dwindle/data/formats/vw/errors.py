"""Errors of VW text: the kinds that the kernel tells apart, and their messages."""

from dwindle.data.formats.interactions import MOST_PRODUCTS
from dwindle.data.formats.vw.names import NUMERIC
from dwindle.data.text.errors import ODDITIES, bad_number, is_number, never_finite, quoted
from dwindle.data.text.scan import KINDS

# Why the kernel refused a line, after the kinds of `scan`. LABEL + 1 is IMPORTANCE, LABEL + 2 is
# BASE, and PRODUCT + c is a product of interaction c.
(
    BLANK,
    NO_BAR,
    LABEL_TAB,
    GLUED,
    LABEL,
    IMPORTANCE,
    BASE,
    FOURTH,
    HEADER,
    FEATURE,
    SCALED,
    CROWD,
    PRODUCT,
) = range(KINDS, KINDS + 13)


_ROLES = {LABEL: "label", IMPORTANCE: "importance", BASE: "base"}

_WORDS = ODDITIES | {
    NO_BAR: "expected 'label |namespace features', got {}: write '|' before the features",
    LABEL_TAB: "TAB before '|' in {}: write spaces between label, importance, base and tag",
    FOURTH: "expected at most label, importance and base, got {} too: write ' before a tag",
    SCALED: (
        "{} times the scale of its namespace is too large for single precision: "
        "scale one of them down"
    ),
    CROWD: (
        f"the interactions make more than {MOST_PRODUCTS} products of this line: "
        "leave one of them out, or split the line"
    ),
}


def why(what: int, raw: bytes, interactions: tuple[tuple[str, ...], ...]) -> str:
    """Say what was expected, what was found and what to write instead."""
    if what >= PRODUCT:
        return (
            f"a product of the interaction {'*'.join(interactions[what - PRODUCT])} is too large "
            "for single precision: scale its values down"
        )
    if what == GLUED:
        return f"label {quoted(raw)} touches '|': write {quoted(raw + b' |')}"
    if what in _ROLES:
        return _bad_label(_ROLES[what], raw)
    if what == HEADER:
        return _bad_header(raw)
    if what == FEATURE:
        return _bad_feature(raw)
    return _WORDS[what].format(quoted(raw))


def _bad_label(role: str, raw: bytes) -> str:
    if role == "importance" and is_number(raw) and raw.startswith(b"-"):
        return f"importance {quoted(raw)} is negative: write 0 to learn nothing from the line"
    return bad_number(role, raw, "a number, or ' before a tag")


def _bad_header(raw: bytes) -> str:
    name, _, scale = raw.partition(b":")
    if b"|" in raw[1:]:
        return f"'|' inside {quoted(raw)}: write a space before it"
    if b":" in scale:
        return f"second ':' in {quoted(raw)}: write |namespace:scale"
    if name == b"|":
        return f"scale of no namespace in {quoted(raw)}: write |namespace:scale"
    if not scale:
        return f"scale of nothing in {quoted(raw)}: write {quoted(name)}, or a number after ':'"
    if is_number(scale) and abs(float(scale)) < 1.0:
        return f"scale of 0 in {quoted(raw)}: ignore the namespace, or leave it out"
    return bad_number("scale", scale, "a number")


def _bad_feature(raw: bytes) -> str:
    name, _, value = raw.partition(b":")
    if b"|" in raw:
        return f"'|' inside {quoted(raw)}: write a space before it"
    if b":" in value:
        return f"second ':' in {quoted(raw)}: write name:value"
    if not value:
        instead = f"write {quoted(name)}, or a number after ':'" if name else "write name:value"
        return f"value of nothing in {quoted(raw)}: {instead}"
    if not name and value[0] not in NUMERIC and not never_finite(value):
        return f"text without a name in {quoted(raw)}: write name:text"
    return bad_number("value", value, "a number, or text that does not begin like one")
