"""``dwindle.toml``: defaults of options for the project in whose folder a command runs.

Keys before the first table hold for every command that has such an option; a table is for the
command of its name. An option on the command line comes before both.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

NAME = "dwindle.toml"
VARIABLE = "DWINDLE_CONFIG"  # names another file; empty is none
NEVER = {"help", "flags"}


def file() -> Path | None:
    """Return the project's file, if there is one."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    return Path(NAME) if Path(NAME).is_file() else None


def loaded(path: Path) -> dict[str, Any]:
    """Read a file; refuse what is no TOML, with its line."""
    import tomllib

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path}: {error}") from None


def check(path: Path, said: Mapping[str, Any], group: click.Group, ctx: click.Context) -> None:
    """Refuse, by name, tables that are no command, and keys that no command has as an option."""
    commands = group.list_commands(ctx)
    for key, value in said.items():
        if isinstance(value, dict) and key not in commands:
            raise click.UsageError(f"{path}: [{key}] is no command{_near(key, commands)}")
    every = {name for command in commands for name in _options(_command(group, ctx, command))}
    for key, value in said.items():
        if isinstance(value, dict):
            defaults_of(path, said, _command(group, ctx, key), ctx)
        elif _plain(key) not in every:
            raise click.UsageError(f"{path}: {key} is an option of no command{_near(key, every)}")


def defaults_of(
    path: Path, said: Mapping[str, Any], command: click.Command, ctx: click.Context
) -> dict[str, Any]:
    """Return the defaults of a command's options, by the names of its parameters.

    Refuses keys that are none of its options, and values that such an option does not take.
    """
    options = _options(command)
    own = said.get(command.name or "", {})
    found: dict[str, Any] = {}
    for key, value in _shared(said):
        if _plain(key) in options:
            found |= _value(path, key, value, options[_plain(key)], command, ctx)
    for key, value in own.items():
        if _plain(key) not in options:
            near = _near(key, options)
            raise click.UsageError(f"{path}: [{command.name}] has no option {key}{near}")
        found |= _value(path, key, value, options[_plain(key)], command, ctx)
    return found


def _shared(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in said.items() if not isinstance(value, dict))


def _command(group: click.Group, ctx: click.Context, name: str) -> click.Command:
    found = group.get_command(ctx, name)
    assert found is not None
    return found


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their long names."""
    return {
        _plain(flag): param
        for param in command.params
        if isinstance(param, click.Option) and param.name not in NEVER
        for flag in param.opts
        if flag.startswith("--")
    }


def _value(
    path: Path, key: str, value: Any, option: click.Option, command: click.Command, ctx: Any
) -> dict[str, Any]:
    """Check a value as the command line does, which reads text."""
    where = f"{path}: {command.name}: {key}"
    assert option.name is not None
    if option.is_flag:
        if not isinstance(value, bool):
            raise click.UsageError(f"{where}: expected true or false, got {value!r}")
        return {option.name: value}
    if value is True and isinstance(option.flag_value, int | str):  # as the option without a value
        return {option.name: option.flag_value}
    if isinstance(value, bool | dict) or isinstance(value, list) != bool(option.multiple):
        what = "a list" if option.multiple else "one value"
        raise click.UsageError(f"{where}: expected {what}, got {value!r}")
    try:
        option.type_cast_value(ctx, as_typed(value))
    except click.BadParameter as error:
        raise click.UsageError(f"{where}: {error.message}") from None
    return {option.name: value}


def as_typed(value: Any) -> Any:
    """Return a value as it would be typed; true and false, which are not, as they are."""
    if isinstance(value, bool):
        return value
    return [str(each) for each in value] if isinstance(value, list) else str(value)


def _plain(key: str) -> str:
    return key.lstrip("-").replace("_", "-")


def _near(key: str, names: Any) -> str:
    from difflib import get_close_matches

    near = get_close_matches(_plain(key), list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""
