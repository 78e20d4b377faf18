"""A server that predicts and learns over HTTP, and the live page of a run.

`app` is an ASGI application; ``dwindle serve`` runs it. It needs the extra ``dwindle[serve]``.
"""

from typing import Any


def app(*args: Any, **kwargs: Any) -> Any:
    """Make the ASGI application: see `dwindle.serving.app.app`, which is imported when called."""
    from dwindle.serving.app import app as make  # noqa: PLC0415  (Starlette is optional)

    return make(*args, **kwargs)
