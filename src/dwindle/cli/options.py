"""What the commands share: names of ingredients, groups of options, and how errors are told."""

import functools
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import click

from dwindle._base.errors import DataError, DivergedError, SettingError

FORMATS = ("vw", "svmlight", "csv", "tsv", "jsonl", "parquet", "arrow")
AT_ONCE = 0.2  # seconds
COMPILING = "dwindle: compiling for this machine, once: that may take half a minute"

Command = Callable[..., Any]


def data(command: Command) -> Command:
    """The options of every command that reads data."""
    for option in (
        click.option(
            "--threads",
            type=click.IntRange(1),
            show_default="2, or 1 to learn on one or two cores",
            help="That parse the data.",
        ),
        click.option("--skip-bad", is_flag=True, help="Leave out malformed lines and count them."),
        click.option("--format", "format_", type=click.Choice(FORMATS), help="Of the data."),
        click.argument("data", nargs=-1, required=True),
    ):
        command = option(command)
    return command


def features(command: Command) -> Command:
    """The options that say what the features are: a model remembers them."""
    for option in (
        click.option(
            "--ignore", multiple=True, metavar="NS", help="Leave out a namespace or column."
        ),
        click.option(
            "--interactions",
            multiple=True,
            metavar="A*B",
            help="Multiply the features of two or three namespaces or columns.",
        ),
        click.option("--weight-column", help="Of importance, in tables."),
        click.option("--label-column", default="label", show_default=True, help="In tables."),
    ):
        command = option(command)
    return command


def reading(settings: dict[str, Any]) -> Any:
    """What the options in `data` and `features` say; they are taken out of ``settings``."""
    from dwindle.data.options import ReadOptions

    products = [tuple(product.split("*")) for product in settings.pop("interactions", ())]
    for product in products:
        if not 2 <= len(product) <= 3:
            raise click.BadParameter(f"expected A*B or A*B*C, got {'*'.join(product)}")
    return ReadOptions(
        format=settings.pop("format_"),
        label_column=settings.pop("label_column", "label"),
        weight_column=settings.pop("weight_column", None),
        interactions=tuple(products),
        ignore=frozenset(settings.pop("ignore", ())),
        threads=settings.pop("threads"),
    )


def for_json(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has no word for what is not a number."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in fields.items()
    }


def asked_to_stop() -> list[int]:
    """Where it will stand which signal asked the run to stop; a later one ends it at once.

    ``timeout`` sends its signal to the command and then to all of its group, which is one question
    and not two.
    """
    asked: list[int] = []
    since = 0.0

    def stop(number: int, _frame: Any) -> None:
        nonlocal since
        if not asked:
            since = time.monotonic()
        elif time.monotonic() > since + AT_ONCE:  # who asks twice does not want to wait
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        asked.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return asked


@contextmanager
def written_to(output: str) -> Iterator[BinaryIO]:
    """Standard output, or a file that is there only when it is whole."""
    from dwindle._base.files import replacing

    if output == "-":
        yield sys.stdout.buffer
    else:
        with replacing(output) as file:
            yield file


def _say_why_it_takes_long() -> None:
    """When code must be compiled, who sits at a terminal is told that it is for this once."""
    if sys.stderr.isatty():
        from dwindle.jit.compile import before_compiling

        # Not by click, which would write past a bar and into its line.
        before_compiling(lambda: sys.stderr.write(f"{COMPILING}\n"))


def told_in_one_line(command: Command) -> Command:
    """Report bad data in one line (exit code 1) and bad settings too (2); leave bugs a traceback.

    A closed pipe ends the command in silence. That code is compiled is told in one line too, unless
    no more than errors or JSON is wanted.
    """

    @functools.wraps(command)
    def told(*args: Any, **kwargs: Any) -> Any:
        if not (kwargs.get("quiet") or kwargs.get("as_json")):
            _say_why_it_takes_long()
        try:
            return command(*args, **kwargs)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except (DataError, DivergedError, OSError, SettingError) as error:
            click.echo(f"dwindle: {error}", err=True)
            sys.exit(2 if isinstance(error, SettingError) else 1)

    return told
