"""Warnings that name the line of the caller outside of dwindle, in the words of Python."""

import re
import sys
import warnings

PACKAGE = __name__.partition(".")[0]
KINDS = {"categorical": "category", "numeric": "number"}  # options that have another name in Python
OPTION = r"--(categorical|numeric|text|date|drop) ([^\s,:;)]+)"


def warn(text: str) -> None:
    """Warn the caller outside of this package; options for columns are spelt as in Python."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001  (there is no other way before Python 3.12)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(in_python(text), stacklevel=level)


def in_python(text: str) -> str:
    """Spell the options that say what columns are as estimators and `ReadOptions` do.

    >>> in_python("taken as text (--categorical body for one feature a cell)")
    "taken as text (columns={'body': 'category'} for one feature a cell)"
    """
    return re.sub(OPTION, lambda m: f"columns={{{m[2]!r}: {KINDS.get(m[1], m[1])!r}}}", text)


def _is_inside(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE
