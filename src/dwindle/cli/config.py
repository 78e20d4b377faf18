"""``dwindle config``: the defaults that the project's ``dwindle.toml`` gives."""

import json

import click

from dwindle.cli import project
from dwindle.cli.options import as_json


@click.command(name="config")
@as_json("the defaults")
@click.pass_context
def command(ctx: click.Context, *, as_json: bool) -> None:
    """Print the defaults that dwindle.toml gives to commands in this folder.

    Keys are the names of options. Those before the first table hold for every command that has
    such an option; a table is for the command of its name. What is given on the command line comes
    first. DWINDLE_CONFIG names another file, or none if it is empty.

    \b
    Example:
      dwindle config

    \b
    Example of a dwindle.toml:
      label-column = "clicked"
      drop = ["session_*"]

    \b
      [train]
      gravity = 1e-6
      passes = 3
    """
    path = project.file()
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    said = {} if path is None else project.loaded(path)
    if path is not None:
        project.check(path, said, group, ctx)
    found = {}
    for name in group.list_commands(ctx):
        if name != "config" and path is not None and (own := group.get_command(ctx, name)):
            defaults = project.defaults_of(path, said, own, ctx)
            flags = {option.name: max(option.opts, key=len)[2:] for option in own.params}
            if defaults:
                found[name] = {flags[each]: value for each, value in defaults.items()}
    if as_json:
        click.echo(json.dumps({"file": None if path is None else str(path), "defaults": found}))
        return
    if path is None:
        click.echo(f"# there is no {project.NAME} in this folder: dwindle config --help shows one")
        return
    click.echo(f"# {path}")
    for name, defaults in found.items():
        click.echo(f"\n[{name}]")
        for option, value in defaults.items():
            click.echo(f"{option} = {json.dumps(value)}")
