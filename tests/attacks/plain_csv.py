"""CSV as plain Python reads it, a byte at a time: the dialect that docs/formats.md promises.

A quote opens a cell as its first byte; two inside are one; what follows the closing one belongs to
the cell. Lines end in a newline, with or without a carriage return before it, or in a carriage
return alone. A line of empty cells is skipped. A byte
order mark is skipped before the header and before the first row. A quote that is not closed refuses the whole file.
"""

import re

from helpers.reference_columns import (
    SPACE,
    TRUTH,
    Fault,
    is_missing,
    number,
    reading,
)
from helpers.reference_parsers import NUMBER

DATE = re.compile("^[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Refused(Exception):  # noqa: N818  (as the readers say it)
    """The file is refused as a whole."""


def decoded(raw):
    return raw.decode("utf-8", "surrogateescape")


def is_unicode(cell):
    return not any("\ud800" <= c <= "\udfff" for c in cell)


def endless(cell):
    """Whether a cell is a number, perhaps an infinite one."""
    bare = cell.strip(SPACE)
    raw = bare.encode("utf-8", "surrogateescape")
    return bool(NUMBER.fullmatch(raw)) or bare.lower().lstrip("+-") in {"inf", "infinity"}


def numeric(cell):
    return None if is_missing(cell) else strictly_numeric(cell)


def strictly_numeric(cell):
    if cell in TRUTH:
        return TRUTH[cell]
    if not endless(cell):
        raise Fault
    return float(cell)


def split(data, delimiter):
    """Return the rows as [(line, [cell, ...]), ...]; an empty line has no cell."""
    rows, row, cell = [], [], bytearray()
    line = begin = 1
    state = "start"  # of a cell; "bare", "quoted"
    i, n = 0, len(data)
    while i < n:
        c = data[i]
        i += 1
        if state == "quoted":
            if c == 0x22 and data[i : i + 1] == b'"':
                cell.append(c)
                i += 1
            elif c == 0x22:
                state = "bare"
            else:
                line += c == 0x0A
                cell.append(c)
        elif state == "start" and c == 0x22:
            state = "quoted"
        elif c == ord(delimiter):
            row.append(bytes(cell))
            cell, state = bytearray(), "start"
        elif c in b"\r\n":
            i += c == 0x0D and data[i : i + 1] == b"\n"
            rows.append((begin, [*row, bytes(cell)] if row or cell or state != "start" else []))
            row, cell, state = [], bytearray(), "start"
            line += 1
            begin = line
        else:
            cell.append(c)
            state = "bare"
    if state == "quoted":
        raise Refused("a quote is not closed")
    if row or cell or state != "start":
        rows.append((begin, [*row, bytes(cell)]))
    return rows


def header_of(data, delimiter):
    """Return the names of the columns, and the rest of the file."""
    first, _, rest = data.partition(b"\n")
    first = first.removeprefix(b"\xef\xbb\xbf")
    try:
        text = first.decode()
    except UnicodeDecodeError:
        raise Refused("not UTF-8") from None
    text = text.rstrip("\r")
    if not text.strip() or "\r" in text or "\0" in text:
        raise Refused("no header")
    ((_, cells),) = split(text.encode(), delimiter)
    names = [cell.decode() for cell in cells]
    if len(names) == 1 and any(each in text for each in ";\t|,"):
        raise Refused("another delimiter")
    if "" in names or len(set(names)) < len(names) or "label" not in names:
        raise Refused("columns without a name, of the same name, or no label")
    return names, rest


def tables(data, delimiter):
    """Return the names, and the rows with their lines: None for one with too few or many cells."""
    names, rest = header_of(data, delimiter)
    rows = []
    for line, raw in split(rest.removeprefix(b"\xef\xbb\xbf"), delimiter):
        cells = [decoded(cell) for cell in raw]
        if len(cells) == len(names):  # a line of empty cells is skipped
            rows += [(line + 1, cells)] if any(cells) else []
        elif cells:
            if not all(map(is_unicode, cells)):
                raise Refused("too few or too many cells, and not UTF-8")
            rows.append((line + 1, None))
    return names, rows


def needs_kinds(rows):
    """Whether some column could be taken for text or for dates: then its kind is to be said."""
    return any(
        cells and any(cell.count(" ") >= 3 or DATE.match(cell) for cell in cells)
        for _, cells in rows
    )


def guessed(cells):
    """The kind of a column, by its cells: number or category."""
    there = [cell for cell in cells if cell and not is_missing(cell)]
    odd = [cell for cell in there if not (endless(cell) or cell in TRUTH)]
    codes = any(re.fullmatch("0[0-9]+", cell.strip(SPACE)) for cell in cells)
    codes &= not any(re.search(r"^[+-]|[.eE]", c.strip(SPACE)) for c in cells if endless(c))
    if codes and there:
        return "category"
    return (
        "number"
        if len([c for c in there if endless(c)]) >= 0.9 * len(there) or not odd
        else "category"
    )


def category(cell):
    if not is_unicode(cell) or "\0" in cell:
        raise Fault
    return cell


def read(data, delimiter, kinds=None):
    """({line: example}, [bad line, ...]) of a file; labels that are words are numbered."""
    names, rows = tables(data, delimiter)
    whole = [cells for _, cells in rows if cells is not None]
    labels = [cells[names.index("label")] for cells in whole]
    given = [cell for cell in labels if cell]
    odd = [c for c in given if not (endless(c) or is_missing(c) or c in TRUTH)]
    words = len(odd) > 0.1 * len(given)
    kinds = kinds or {}
    kinds = {n: kinds.get(n) or guessed([cells[c] for cells in whole]) for c, n in enumerate(names)}
    places = {}

    def label_of(cell):
        if not cell or (words and not cell.strip()):
            return None
        if not words:
            return strictly_numeric(cell)
        return places.setdefault(category(cell).strip(), len(places))

    def row_of(cells):
        if cells is None:
            raise Fault
        named = dict(zip(names, cells, strict=True))
        label = label_of(named.pop("label"))
        convert = {"number": numeric, "category": category}
        members = {n: convert[kinds[n]](cell) if cell else None for n, cell in named.items()}
        for n, value in members.items():
            if kinds[n] == "number" and value is not None:
                number(value)
        return label, None, members

    return reading(((line, lambda cells=cells: row_of(cells)) for line, cells in rows)), places
