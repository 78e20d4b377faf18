"""How results are put into words, on the screen and on the page."""

from typing import Any

ROWS = ("case", "contestant", "wall s", "ten lines s", "CPU s", "peak MB", "more")
FIGURES = ("case", "figure", "least to most", "of work alone", "bar", "")


def cells_of_row(row: dict[str, Any]) -> list[str]:
    """What one contestant took, as in `ROWS`."""
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
    """A figure and its bar, as in `FIGURES`."""
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
    """Three digits, or nothing."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine(about: dict[str, Any]) -> str:
    """Where it was measured."""
    it = about["machine"]
    return f"{it['processor']}, {it['cores']} cores, {it['memory_gb']} GB, {it['system']}"


def versions(about: dict[str, Any]) -> str:
    """With what."""
    return ", ".join(f"{name} {version}" for name, version in about["versions"].items())


def _plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
