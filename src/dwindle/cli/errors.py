"""How commands end on errors: one line for bad data and bad usage, a traceback for bugs."""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from dwindle._base.errors import DataError, DivergedError, SettingError

SIGPIPE = 13  # its number: Windows has no such signal
COMPILING = "dwindle: compiling for this machine, once: that may take half a minute"
Function = Callable[..., Any]


def _say_why_it_takes_long() -> None:
    """On a terminal, say before compiling that it happens only once."""
    if sys.stderr.isatty():
        from dwindle.jit.compile import before_compiling

        # Not by click, which would write past a bar and into its line.
        before_compiling(lambda: sys.stderr.write(f"{COMPILING}\n"))


def one_line_errors(command: Function) -> Function:
    """Report bad data in one line (exit code 1) and bad settings too (2); leave bugs a traceback.

    A closed pipe ends the command in silence, with the code of a program that SIGPIPE ended, as
    ``cat`` has. A one-line note says when code is being compiled,
    unless only errors or JSON are wanted.
    """

    @functools.wraps(command)
    def told(*args: Any, **kwargs: Any) -> Any:
        if not (kwargs.get("quiet") or kwargs.get("as_json")):
            _say_why_it_takes_long()
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            os._exit(128 + SIGPIPE)  # at once: a thread may be waiting for what is to be read
        except (DataError, DivergedError, OSError, SettingError) as error:
            click.echo(f"dwindle: {error}", err=True)
            sys.exit(2 if isinstance(error, SettingError) else 1)

    return told
