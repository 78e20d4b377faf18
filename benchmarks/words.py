"""Results as cells of tables, on the screen and on the page."""

from typing import Any

ROWS = ("case", "program", "wall s", "start-up s", "CPU s", "peak MB", "more")
FIGURES = ("case", "figure", "smallest to largest", "excluding start-up", "goal", "")


def cells_of_row(row: dict[str, Any]) -> list[str]:
    """Return the time and memory of one program, in the columns `ROWS`."""
    return [
        row["case"],
        row["contestant"],
        number(row["seconds"]["median"]),
        number(row["start"]),
        number(row["processor"]),
        "" if row["peak_mb"] is None else f"{row['peak_mb']:,.0f}",
        ", ".join(f"{key.replace('_', ' ')} {_plain(v)}" for key, v in row["more"].items()),
    ]


def cells_of_figure(figure: dict[str, Any]) -> list[str]:
    """Return a figure and its goal, in the columns `FIGURES`."""
    value, bar = figure["value"], figure["bar"]
    what = f"{number(value['median'])} {figure['what']}"
    return [
        figure["case"],
        what,
        f"{number(value['least'])} to {number(value['most'])}",
        number(figure["work"]),
        f"{bar['sense']} {number(bar['limit'])}" if bar else "",
        figure["verdict"],
    ]


def number(value: float | None) -> str:
    """Format with three significant digits; nothing for None."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine(about: dict[str, Any]) -> str:
    """Describe the machine."""
    it = about["machine"]
    return f"{it['processor']}, {it['cores']} cores, {it['memory_gb']} GB, {it['system']}"


def versions(about: dict[str, Any]) -> str:
    """List the versions of Python and the packages."""
    return ", ".join(f"{name} {version}" for name, version in about["versions"].items())


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
