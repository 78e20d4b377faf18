"""Counts as words of a sentence, and the ASCII codes that kernels look for."""

TAB, NEWLINE, RETURN, SPACE = b"\t\n\r "
HASH, QUOTE, STAR, PLUS, COMMA, MINUS, DOT, COLON, EQUALS, BAR = b"#'*+,-.:=|"
ZERO = ord("0")


def counted(number: float, what: str) -> str:
    """Write a rounded number with its noun, in the plural unless it is 1.

    >>> counted(1, "feature"), counted(0.4, "feature"), counted(1234, "feature")
    ('1 feature', '0 features', '1,234 features')
    """
    shown = f"{number:,.0f}"
    return f"{shown} {what}" if shown == "1" else f"{shown} {what}s"
