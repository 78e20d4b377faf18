"""Docstrings for the API reference: fence the examples in them, so that Markdown shows them as code.

A Griffe extension, named in mkdocs.yml.
"""

import re
from typing import Any

try:
    from griffe import Extension
except ImportError:  # pytest imports every file here, also where the site is not built
    Extension = object

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)  # up to the next blank line


class FencedExamples(Extension):
    """Wrap each run of ``>>>`` lines and their output in a code fence."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"\n```pycon\n\g<0>\n```", obj.docstring.value)
