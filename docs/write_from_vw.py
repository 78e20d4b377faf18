"""Write the tables of docs/from-vowpal-wabbit.md out of what ``dwindle vw`` does.

python docs/write_from_vw.py
"""

from collections.abc import Iterable
from pathlib import Path

from dwindle.cli.vw_flags import DONE, REFUSED, UNNEEDED, Flag

PAGE = Path(__file__).parent / "from-vowpal-wabbit.md"
BEGIN, END = "<!-- written by docs/write_from_vw.py -->\n", "<!-- end -->\n"
TITLES = {
    "Flags that are done": ("becomes", DONE),
    "Flags that are taken and not needed": ("why", UNNEEDED),
    "Flags that are refused": ("instead", REFUSED),
}


def table(title: str, flags: Iterable[Flag]) -> str:
    """Write a row for each flag."""
    rows = [f"| flag | {title} |", "|---|---|"]
    for flag in flags:
        names = ", ".join(f"`{name}`" for name in flag.names)
        value = f" {flag.value}".replace("|", "\\|") if flag.value else ""
        rows.append(f"| {names}{value} | {flag.becomes} |")
    return "\n".join(rows) + "\n"


def tables() -> str:
    """Write all tables."""
    return "\n".join(
        f"### {heading}\n\n{table(title, flags)}" for heading, (title, flags) in TITLES.items()
    )


def main() -> None:
    """Replace the tables of the page."""
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{after}")


if __name__ == "__main__":
    main()
