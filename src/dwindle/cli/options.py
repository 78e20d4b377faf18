"""Options that commands share, made of the tables in `runs.settings` and `algorithm.settings`."""

from collections.abc import Callable
from typing import Any

import click

from dwindle._base import remote
from dwindle._base.errors import SettingError
from dwindle.algorithm.settings import default_of, options_of
from dwindle.data.formats import registry
from dwindle.runs.settings import PAPER

Function = Callable[..., Any]


SECTIONS = {
    "Loss": ("loss", "classes", "class_weight", "margin", "tau", "delta"),
    "Sparsity": (
        *("gravity", "dense", "sigmas", "choose_by", "tolerance", "keep", "path", "picture"),
        *("truncate_every", "threshold", "shrinkage", "order", "max_live", "memory", "cooldown"),
    ),
    "Learning": (
        *("paper", "update", "learning_rate", "power_t", "initial_t", "pass_decay", "beta"),
        *("intercept", "normalize", "passes"),
    ),
    "Holdout and search": ("holdout", "patience", "probes", "folds", "metric", "jobs"),
    "Going on": ("start_from", "save_state", "resume", "checkpoint_every"),
    "Server": (
        *("learn", "host", "port", "durability", "snapshot_every", "token_file", "insecure"),
        *("certificate", "key", "max_body", "max_features", "max_name", "max_waiting"),
        *("timeout", "connections"),
    ),
    "Data": (
        *("format_", "delimiter", "header", "label_column", "weight_column", "interactions"),
        *("categorical", "numeric", "text", "ngrams", "counts", "date", "drop"),
        *("shuffle", "seed", "skip_bad", "allow_unknown", "threads"),
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


FILE = click.Path(readable=False)  # a path, a URL or a query: for the completion of file names

how_read = decorated(
    click.option("--format", "format_", type=click.Choice(registry.names()),
                 help="Format of the data.  [default: by extension, or by the first line]"),
    click.option("--delimiter", metavar="C",
                 help="What separates the cells of a CSV file.  [default: a comma]"),
    click.option("--header", metavar="NAME,...",
                 help="Names of the columns of a CSV file that begins without them."),
    click.option("--skip-bad", is_flag=True, help="Skip malformed lines and count them."),
    click.option("--threads", type=click.IntRange(1), help="Number of parser threads.",
                 show_default="2; 1 when learning on one or two cores"),
)  # fmt: skip
data = decorated(click.argument("data", nargs=-1, required=True, type=FILE), how_read)

features = decorated(
    click.option("--label-column", default="label", show_default=True,
                 help="Column of the labels, in tables."),
    click.option("--weight-column", help="Column of the importance weights, in tables."),
    click.option("--interactions", multiple=True, metavar="A*B",
                 help="Add the products of the features of two or three namespaces or columns."),
    click.option("--categorical", multiple=True, metavar="COLUMN,...",
                 help="Columns whose values are categories; names or patterns, as in id_*."),
    click.option("--numeric", multiple=True, metavar="COLUMN,...",
                 help="Columns of numbers; other cells are malformed."),
    click.option("--text", multiple=True, metavar="COLUMN,...",
                 help="Columns of text: each word is a feature."),
    click.option("--ngrams", type=click.IntRange(1), default=1, show_default=True, metavar="N",
                 help="Of a text, also take each run of 2 to N words."),
    click.option("--counts", is_flag=True, help="Of a text, count how often a word occurs."),
    click.option("--date", multiple=True, metavar="COLUMN,...",
                 help="Columns of ISO dates: hour, weekday and month are features."),
    click.option("--drop", multiple=True, metavar="NAME,...",
                 help="Columns or namespaces to leave out."),
)  # fmt: skip

allow_unknown = click.option(
    "--allow-unknown", is_flag=True,
    help="Go on even if the model knows none of the columns or features.",
)  # fmt: skip
id_column = click.option(
    "--id-column", metavar="NAME",
    help="Column whose cells name the rows of a table, instead of tags.",
)  # fmt: skip
threshold = click.option(
    "--threshold", type=float, default=0.5, show_default=True, metavar="P",
    help="With two classes: positive is what has a probability above P.",
)  # fmt: skip

keep = click.option(
    "--keep", type=click.IntRange(0), metavar="N",
    help="Of a model written with --path: take the best gravity that keeps at most N features.",
)  # fmt: skip


def _model_file(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse the name of a data file that a model is not."""
    stem, dot, extension = value.rpartition(".")
    if registry.by_extension(dot + extension) not in {None, "parquet"}:
        told, better = remote.shown(value), f"{remote.shown(stem)}.parquet"
        raise click.BadParameter(f"{told}: a model is a Parquet file: name it {better}", ctx, param)
    return value


model_file = click.option(
    "--model", "-m", required=True, type=FILE, callback=_model_file, help="Model file to write."
)
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


def _number_or(words: tuple[str, ...]) -> Callable[[str], Any]:
    """Make a function that reads a number, or one of the words."""

    def number(text: str) -> Any:
        try:
            return text if text in words else float(text)
        except ValueError:
            raise SettingError(f"expected a number or {' or '.join(words)}, got {text!r}") from None

    return number


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
    if about.words:
        kind = _Text(_number_or(about.words))
    if about.choices:
        kind = click.Choice(about.choices)
    elif about.kind is int and about.least is not None:
        kind = click.IntRange(about.least)
    shown = about.default_text or default is not None
    return click.option(
        *flags, name, type=kind, default=default, show_default=shown, metavar=about.metavar,
        help=about.help,
    )  # fmt: skip


def paper(**instead: Any) -> Callable[[Function], Function]:
    """Make the option ``--paper``: other defaults, some of which may be others still."""

    def apply(ctx: click.Context, _param: click.Parameter, value: bool) -> bool:
        if value:
            known = {name: each for name, each in ({**PAPER} | instead).items() if each is not None}
            ctx.default_map = {**(ctx.default_map or {}), **known}
        return value

    told = (
        "The paper's own system as defaults: clipped squared loss, normalised predictions, plain "
        "updates, a learning rate that halves after each pass, no cooldown."
    )
    return click.option("--paper", is_flag=True, is_eager=True, callback=apply, help=told)


BYTES = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def n_bytes(option: str, text: str) -> int:
    """Read a size such as 500MB; 2G is 2GB."""
    try:
        size = text.upper().removesuffix("B")
        return int(float(size[:-1]) * BYTES[size[-1:]])
    except (KeyError, ValueError, OverflowError):
        raise SettingError(f"{option}: expected a size like 500MB or 2GB, got {text!r}") from None


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
            raise SettingError(f"--interactions: expected A*B or A*B*C, got {'*'.join(product)}")
    header = settings.pop("header", None)
    return ReadOptions(
        format=settings.pop("format_", None),
        label_column=settings.pop("label_column", "label"),
        weight_column=settings.pop("weight_column", None),
        id_column=settings.pop("id_column", None),
        interactions=tuple(products),
        columns=_columns(settings),
        allow_unknown=settings.pop("allow_unknown", None),
        delimiter=_delimiter(settings.pop("delimiter", None)),
        header=tuple(header.split(",")) if header else (),
        ngrams=settings.pop("ngrams", 1),
        counts=settings.pop("counts", False),
        threads=settings.pop("threads", None),
    )


def _delimiter(given: str | None) -> str | None:
    r"""Check a delimiter; a tab may be written ``\t``."""
    found = "\t" if given == r"\t" else given
    if found is not None and (len(found) != 1 or found in '\r\n"'):
        raise SettingError(f"--delimiter: expected one character, as ';', got {given!r}")
    return found


def _columns(settings: dict[str, Any]) -> dict[str, str]:
    """Take out of ``settings`` the kinds of columns."""
    kinds = {"categorical": "category", "numeric": "number"}
    kinds |= {kind: kind for kind in ("text", "date", "drop")}
    found: dict[str, str] = {}
    for option, kind in kinds.items():
        for name in ",".join(settings.pop(option, ())).split(","):
            if found.get(name, kind) != kind:
                raise SettingError(f"--{option} {name}: it is already said to be {found[name]}")
            if name:
                found[name] = kind
    return found
