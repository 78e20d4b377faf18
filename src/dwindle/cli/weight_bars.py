"""Weights as a picture: the name of each, its number, and a bar to one side of zero."""

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text

WIDEST = 24  # columns from the end of the longest bar below zero to that of the one above
SHORTEST = 8  # columns of a name, however narrow the terminal
LONGEST = 60  # columns to which names are padded in a file


class Output(Console):
    """Standard output; a pipe that was closed is told as everywhere else."""

    def on_broken_pipe(self) -> None:
        """Leave it to `cli.errors` to end the command."""
        raise BrokenPipeError


def show(weights: Sequence[tuple[str, float]], out: Console) -> None:
    """Print a line for each weight, of at least one; on a terminal long names lose their middle.

    In a file names are whole; bars are aligned after names that are not too long.
    """
    marks = _Marks(out.encoding)
    names = [plain(name, out.encoding) for name, _ in weights]
    values = [w for _, w in weights]
    numbers = _aligned(values)
    scale = WIDEST / (max(0.0, *values) - min(0.0, *values) or 1.0)
    bars = [marks.bar(scale * w) for w in values]
    before = max(len(bar) if w < 0 else 0 for bar, w in zip(bars, values, strict=True))
    wide = max(map(cell_len, names))
    room = out.width - len(numbers[0]) - WIDEST - len("  | ") - 1  # a half is rounded up
    wide = min(wide, max(SHORTEST, room) if out.is_terminal else LONGEST)
    for name, number, bar, w in zip(names, numbers, bars, values, strict=True):
        short = _short(name, wide, marks.gap) if out.is_terminal else name
        line = Text(" " * (wide - cell_len(short)) + f"{short} {number} ")
        line.append(f"{'' if w > 0 else bar:>{before}}", "blue")
        line.append(marks.zero)
        line.append(bar if w > 0 else "", "red")
        out.print(line, soft_wrap=True)


class _Marks:
    """Characters for bars: blocks, or ASCII where the encoding has none."""

    def __init__(self, encoding: str) -> None:
        self.full, self.half_below, self.half_above, self.zero, self.gap = "█▐▌│…"
        try:
            "█▐▌│…".encode(encoding)
        except UnicodeEncodeError:
            self.full, self.half_below, self.half_above, self.zero, self.gap = "#--|~"

    def bar(self, columns: float) -> str:
        """Draw a bar of so many columns, rounded to half a column, at least one half unless 0."""
        halves = max(1, round(2 * abs(columns))) if columns else 0
        full, half = self.full * (halves // 2), halves % 2
        return full + self.half_above * half if columns > 0 else self.half_below * half + full


def _aligned(weights: list[float]) -> list[str]:
    """Format weights with six digits, aligned at the decimal point."""
    parts = [f"{w:+#.6g}".split(".") for w in weights]
    before, after = (max(len(part[k]) for part in parts) for k in (0, 1))
    return [f"{whole:>{before}}.{rest:<{after}}" for whole, rest in parts]


def plain(name: str, encoding: str) -> str:
    """Escape control characters and what the encoding cannot show."""
    seen = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
    return seen.encode(encoding, "backslashreplace").decode(encoding)


def _short(name: str, columns: int, gap: str) -> str:
    """Shorten a name to so many columns by its middle, since names differ at their ends."""
    if cell_len(name) <= columns:
        return name
    tail = (columns - 1) // 2
    head = chop_cells(name, columns - 1 - tail)[0]
    return head + gap + chop_cells(name[::-1], tail)[0][::-1]
