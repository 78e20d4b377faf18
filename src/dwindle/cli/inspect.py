"""``dwindle inspect``: the face of `Model.load`."""

import json
from typing import Any

import click

from dwindle.cli.options import told_in_one_line

BAR = 24  # columns of the longest bar


@click.command(name="inspect")
@click.argument("model")
@click.option("--top", default=20, show_default=True, help="How many weights to show.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, all weights.")
@told_in_one_line
def command(model: str, *, top: int, as_json: bool) -> None:
    """Show what MODEL kept and what it was made with.

    \b
    Example:
      dwindle inspect ads.parquet --top 10
    """
    from rich.console import Console
    from rich.text import Text

    from dwindle.model import Model

    found = Model.load(model)
    if as_json:
        about: dict[str, Any] = {"settings": found.settings, "facts": found.facts}
        said = about | {
            "intercept": found.intercept,
            "kept": len(found),
            "weights": found.weights(),
        }
        click.echo(json.dumps(said))
        return
    out = Console(highlight=False)
    for name, value in found.settings.items():
        out.print(f"{name:<12} {_told(value)}", markup=False)
    for name, value in found.facts.items():
        out.print(f"{name.replace('_', ' '):<12} {_told(value)}", markup=False)
    out.print(f"{'intercept':<12} {found.intercept:+.6g}")
    out.print(f"{'kept':<12} {len(found):,}\n")
    heaviest = list(found.weights().items())[:top]
    wide = max((len(name) for name, _ in heaviest), default=0)
    for name, w in heaviest:
        bar = "█" * max(1, round(BAR * abs(w) / abs(heaviest[0][1])))
        out.print(
            Text(f"{name:>{wide}} {w:+12.6g} "), Text(bar, "red" if w > 0 else "blue"), sep=""
        )
    if len(found) > top:
        out.print(f"\nand {len(found) - top:,} more: --top {len(found)} shows all")


def _told(value: Any) -> str:
    """A setting as one would write it."""
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(next(iter(value.values())), dict):
            [(name, fields)] = value.items()
            return f"{name}({', '.join(f'{k}={v}' for k, v in fields.items())})"
        return ", ".join(f"{k}: {v}" for k, v in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
