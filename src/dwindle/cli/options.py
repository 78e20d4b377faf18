"""Options that commands share, made out of the table of settings, and how errors are shown."""

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
from dwindle.algorithm.settings import default_of, options_of

FORMATS = ("vw", "svmlight", "csv", "tsv", "jsonl", "parquet", "arrow")
AT_ONCE = 0.2  # seconds
COMPILING = "dwindle: compiling for this machine, once: that may take half a minute"

Function = Callable[..., Any]


SECTIONS = {
    "Loss": ("loss", "margin", "tau", "delta"),
    "Sparsity": (
        *("gravity", "truncate_every", "threshold", "shrinkage"),
        *("max_live", "memory", "keep", "cooldown", "tolerance"),
    ),
    "Learning": (
        *("update", "learning_rate", "power_t", "initial_t", "pass_decay", "beta"),
        *("intercept", "normalize", "passes"),
    ),
    "Holdout and search": ("holdout", "patience", "folds", "metric", "jobs"),
    "Data": (
        *("format_", "label_column", "weight_column", "interactions", "ignore"),
        *("skip_bad", "threads"),
    ),
}


class Command(click.Command):
    """A command whose help has its options in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section, and then the options that are in none."""
        params = (each for each in self.get_params(ctx) if isinstance(each, click.Option))
        rows = {each.name: each.get_help_record(ctx) for each in params}
        for title, names in SECTIONS.items():
            if found := [row for name in names if (row := rows.pop(name, None)) is not None]:
                with formatter.section(title):
                    formatter.write_dl(found)
        with formatter.section("Other options"):
            formatter.write_dl([row for row in rows.values() if row is not None])


def decorated(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Combine options into one decorator; help shows them in this order."""

    def decorate(command: Function) -> Function:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


data = decorated(
    click.argument("data", nargs=-1, required=True),
    click.option("--format", "format_", type=click.Choice(FORMATS),
                 help="Format of the data.  [default: by extension, or by the first line]"),
    click.option("--skip-bad", is_flag=True, help="Skip malformed lines and count them."),
    click.option("--threads", type=click.IntRange(1), help="Number of parser threads.",
                 show_default="2; 1 when learning on one or two cores"),
)  # fmt: skip

features = decorated(
    click.option("--label-column", default="label", show_default=True,
                 help="Column of the labels, in tables."),
    click.option("--weight-column", help="Column of the importance weights, in tables."),
    click.option("--interactions", multiple=True, metavar="A*B",
                 help="Add the products of the features of two or three namespaces or columns."),
    click.option("--ignore", multiple=True, metavar="NS", help="Ignore a namespace or column."),
)  # fmt: skip

model_file = click.option("--model", "-m", required=True, help="Model file to write.")
quiet = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")


def as_json(what: str) -> Callable[[Function], Function]:
    """Make the option ``--json``, which prints ``what`` as JSON."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


class _Text(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3
    """A value that a function reads from text."""

    def __init__(self, kind: Callable[[str], Any]) -> None:
        self.kind, self.name = kind, kind.__name__

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read the text, or say what was expected."""
        try:
            return self.kind(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def setting(settings: type, name: str, *, several: str = "") -> Callable[[Function], Function]:
    """Make the option of a setting out of the table.

    With ``several`` it takes a list of values, and that is what its help says of the default.
    """
    about, default = options_of(settings)[name], default_of(settings, name)
    flags = ["--" + name.replace("_", "-"), *([f"-{about.short}"] if about.short else [])]
    if several:
        told = f"{about.help}  [default: {several}]"
        return click.option(*flags, name, metavar="V,V,...", help=told)
    if about.kind is bool:
        flag = f"{flags[0]}/--no-{flags[0][2:]}" if default else flags[0]
        return click.option(flag, name, is_flag=True, default=default, help=about.help)
    kind: Any = about.kind if about.kind in (float, int, str) else _Text(about.kind)
    if about.choices:
        kind = click.Choice(about.choices)
    elif about.kind is int and about.least is not None:
        kind = click.IntRange(about.least)
    shown = about.default_text or default is not None
    return click.option(
        *flags, name, type=kind, default=default, show_default=shown, metavar=about.metavar,
        help=about.help,
    )  # fmt: skip


def separated(settings: type, name: str, text: str) -> tuple[Any, ...]:
    """Read the values of a setting, separated by commas."""
    kind = options_of(settings)[name].kind
    try:
        return tuple(kind(part.strip()) for part in text.split(","))
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        option = name.replace("_", "-")
        raise SettingError(
            f"--{option}: expected {what} separated by commas, got {text!r}"
        ) from None


def taken(settings: type, options: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of a class out of the options that were given."""
    return {name: options.pop(name) for name in options_of(settings) if name in options}


def reading(settings: dict[str, Any]) -> Any:
    """Take out of ``settings`` what the options in `data` and `features` say."""
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
    """Replace what is not finite by None, since JSON has no NaN."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in fields.items()
    }


def stop_signals() -> list[int]:
    """Return a list that SIGINT and SIGTERM append to; a second signal ends the run at once.

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
    """Open standard output, or a file that appears only when it is whole."""
    from dwindle._base.files import replacing

    if output == "-":
        yield sys.stdout.buffer
    else:
        with replacing(output) as file:
            yield file


def _say_why_it_takes_long() -> None:
    """On a terminal, say before compiling that it happens only once."""
    if sys.stderr.isatty():
        from dwindle.jit.compile import before_compiling

        # Not by click, which would write past a bar and into its line.
        before_compiling(lambda: sys.stderr.write(f"{COMPILING}\n"))


def told_in_one_line(command: Function) -> Function:
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
