"""``dwindle serve``: the command of `dwindle.serving`."""

import signal
from contextlib import suppress
from typing import Any

import click
from click.core import ParameterSource

from dwindle._base.errors import SettingError
from dwindle.cli.errors import one_line_errors
from dwindle.cli.options import (
    FILE,
    Command,
    decorated,
    features,
    n_bytes,
    quiet,
    reading,
    setting,
    taken,
)
from dwindle.runs.settings import ONLINE, TrainSettings

DURABILITIES = ("fsync", "os", "none")
NEEDS = "dwindle serve needs Starlette and uvicorn: pip install 'dwindle[serve]'"

server = decorated(
    click.option("--learn", metavar="FOLDER",
                 help="Also learn, and keep everything in this folder: settings, log, snapshots."),
    click.option("--host", default="127.0.0.1", show_default=True,
                 help="Address to listen on; one that others reach needs a token."),
    click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True,
                 help="Port to listen on; 0 takes any that is free."),
    click.option("--durability", type=click.Choice(DURABILITIES), default="fsync",
                 show_default=True,
                 help="What is learned survives, once answered: a loss of power (fsync), the end "
                 "of the process (os), or neither, but for snapshots (none)."),
    click.option("--snapshot-every", metavar="64MB", default="64MB", show_default=True,
                 help="Size of the log after which a snapshot is written."),
    click.option("--token-file", metavar="FILE",
                 help="File with the token that requests must carry.  [default: DWINDLE_TOKEN in "
                 "the environment, if set]"),
    click.option("--insecure", is_flag=True,
                 help="Listen on any address without a token: whoever reaches it may learn."),
    click.option("--certificate", metavar="FILE", help="TLS certificate, in PEM."),
    click.option("--key", metavar="FILE", help="Its private key."),
    click.option("--max-body", metavar="16MB", default="16MB", show_default=True,
                 help="Largest request."),
    click.option("--max-features", type=click.IntRange(1), default=65536, show_default=True,
                 help="Most features of an example to learn from."),
    click.option("--max-name", type=click.IntRange(1), default=1024, show_default=True,
                 help="Longest name of a feature to learn, in bytes."),
    click.option("--max-waiting", type=click.IntRange(1), default=200000, show_default=True,
                 help="Most examples that wait to be learned; more are answered 429."),
    click.option("--timeout", type=click.FloatRange(0.001), default=30.0, show_default=True,
                 metavar="SECONDS",
                 help="Longest time for a request to come in, and for its answer."),
    click.option("--connections", type=click.IntRange(1), default=1000, show_default=True,
                 help="Most connections at once; more are answered 503."),
)  # fmt: skip


@click.command(name="serve", cls=Command)
@click.argument("model", required=False, type=FILE)
@server
@decorated(*(setting(TrainSettings, name) for name in ONLINE))
@features
@quiet
@click.pass_context
@one_line_errors
def command(ctx: click.Context, *, quiet: bool, **options: Any) -> None:
    """Answer predictions of MODEL over HTTP, or learn in a folder from what is sent.

    With --learn, an example is in a log on disk before it is answered, and learned in that order:
    after a crash the server goes on with the same weights to the bit. With a MODEL too, a new
    folder begins from it. The page at / shows how it goes, the one at /docs sends requests.

    \b
    Example:
      dwindle serve ads.parquet
      dwindle serve --learn state/ --loss logistic
      dwindle serve ads.parquet --learn state/ --port 9000
      curl -H 'content-type: text/x-vw' -d '1 |ad shoes |user age:30' localhost:8080/learn
    """
    try:
        from dwindle.serving.app import app
        from dwindle.serving.run import serve
    except ImportError as error:
        raise SettingError(f"{NEEDS} ({error})") from None
    from dwindle.serving.security import LOOPBACK, check_address, read_token

    model, learn = options.pop("model"), options.pop("learn")
    if model is None and learn is None:
        raise SettingError("name a MODEL to serve, or with --learn a folder to learn in")
    given = {
        name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    if learn is None and (idle := sorted(given & {*ONLINE} - {"keep"})):
        option = idle[0].replace("_", "-")
        raise SettingError(f"--{option} says how to learn, and without --learn nothing is learned")
    host, port = options.pop("host"), options.pop("port")
    token = read_token(options.pop("token_file"))
    insecure = options.pop("insecure")
    check_address(host, token, insecure=insecure)
    tls = {"certificate": options.pop("certificate"), "key": options.pop("key")}
    if (tls["certificate"] is None) != (tls["key"] is None):
        raise SettingError("TLS needs both --certificate and --key")
    connections = options.pop("connections")
    how = {
        "durability": options.pop("durability"),
        "snapshot_bytes": n_bytes("--snapshot-every", options.pop("snapshot_every")),
        "limits": _limits(options),
        "token": token,
        "hosts": None if insecure else {*LOOPBACK, host},
    }
    read = reading(options)
    settings = TrainSettings(**taken(TrainSettings, options), reading=read)
    made = app(
        *(model,), learn=learn, settings=settings, given=given, reading=read,
        keep=settings.keep if learn is None else None, **how,
    )  # fmt: skip

    def told(address: str) -> None:
        if not quiet:
            what = f"learns in {learn}" if learn is not None else f"serves {model}"
            click.echo(f"dwindle {what}: {address}", err=True)

    for number in (signal.SIGINT, signal.SIGTERM):  # the server's own handlers end it in order
        signal.signal(number, signal.default_int_handler)
    with suppress(KeyboardInterrupt):  # a server is asked to stop by a signal: that is no failure
        serve(made, host, port, told=told, connections=connections, **tls)


def _limits(options: dict[str, Any]) -> Any:
    from dwindle.serving.online import Limits

    return Limits(
        body=n_bytes("--max-body", options.pop("max_body")),
        features=options.pop("max_features"),
        name=options.pop("max_name"),
        waiting=options.pop("max_waiting"),
        seconds=options.pop("timeout"),
    )
