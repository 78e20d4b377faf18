"""How commands end on errors: one line for bad data and bad usage, a traceback for bugs."""

import functools
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

import click

from dwindle._base.errors import DataError, DivergedError, SettingError

SIGPIPE = 13  # its number: Windows has no such signal
Function = Callable[..., Any]
log = logging.getLogger("dwindle")


class _Notes(logging.Handler):
    """One line on standard error for what the library logs, such as that it is compiling."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it; not by click, which would write past a bar and into its line."""
        sys.stderr.write(f"dwindle: {record.getMessage()}\n")


def one_line_errors(command: Function) -> Function:
    """Report bad data in one line (exit code 1) and bad settings too (2); leave bugs a traceback.

    A closed pipe ends the command in silence, with the code of a program that SIGPIPE ended, as
    ``cat`` has. What the library logs, such as that it
    is compiling, is a line on standard error unless only errors or JSON are wanted.
    """

    @functools.wraps(command)
    def told(*args: Any, **kwargs: Any) -> Any:
        is_quiet = kwargs.get("quiet") or kwargs.get("as_json")
        notes = logging.NullHandler() if is_quiet else _Notes()
        log.addHandler(notes)
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            os._exit(128 + SIGPIPE)  # at once: a thread may be waiting for what is to be read
        except (DataError, DivergedError, OSError, SettingError) as error:
            click.echo(f"dwindle: {error}", err=True)
            sys.exit(2 if isinstance(error, SettingError) else 1)
        except MemoryError as error:
            click.echo(f"dwindle: out of memory{f': {error}' if str(error) else ''}", err=True)
            sys.exit(1)
        finally:
            log.removeHandler(notes)

    return told
