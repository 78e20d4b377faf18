"""What kind a column is, if nobody said so: by its type, or by the first cells of text."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwindle.data.formats.tables.dates import ISO, MISSING
from dwindle.data.schema import NONE, Kind
from dwindle.data.text.errors import quoted
from dwindle.features.arrow import is_list, is_text

MOSTLY = 0.9  # a column is of numbers if at least so many of its cells are; the others are bad
DOUBTFUL = 0.5  # if so many are numbers and it is not of numbers, the user is told

SPACE = b" \t\n\r\f"  # as in the patterns below
WORDY = 5  # words in a cell of text, on average
MANY = 0.5  # share of the cells of a text that are distinct, at least
ENOUGH = 100  # cells after which a category should have begun to repeat itself

YES = [b"true", b"True", b"TRUE"]
NO = [b"false", b"False", b"FALSE"]
NUMBER = r"^\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity))\s*$"
CODE = r"^\s*0[0-9]+\s*$"
ZEROS = "numbers with leading zeros"  # why they are a category
COMMA = r"^\s*[+-]?[0-9]+(?:[.,][0-9]{3})*(?:,[0-9]+)?\s*$"  # 3,5 or 1.234,5 or 1,234
DAY = r"^\s*[0-9]{1,2}[/.-][0-9]{1,2}[/.-](?:[0-9]{2}){1,2}(?:[ T][0-9:.]+(?: ?[AaPp][Mm])?)?\s*$"
NO_CODE = r"^\s*[+-]|[.eE]"  # of a number

READ_NUMBERS = {Kind.NUMBER: "reads numbers"}  # what it would do to say so
LEAVE_OUT = {Kind.DROP: "leaves them out"}


def _is_list_of_strings(kind: pa.DataType) -> bool:
    return is_list(kind) and is_text(getattr(kind.value_type, "value_type", kind.value_type))


BY_TYPE = {
    pa.types.is_dictionary: Kind.CATEGORY,
    _is_list_of_strings: Kind.CATEGORY,
    pa.types.is_boolean: Kind.NUMBER,
    pa.types.is_integer: Kind.NUMBER,
    pa.types.is_floating: Kind.NUMBER,
    pa.types.is_decimal: Kind.NUMBER,
    pa.types.is_timestamp: Kind.DATE,
    pa.types.is_date: Kind.DATE,
    pa.types.is_struct: Kind.OBJECT,
    pa.types.is_map: Kind.OBJECT,
}


class Guess(NamedTuple):
    """The kind of a column, and why.

    If something speaks against it, there is a note to the user, and what other kinds would do.
    """

    kind: Kind
    why: str
    note: str = ""
    others: Mapping[Kind, str] = NONE


def kind_by_type(column: pa.Array, name: str) -> Guess | None:
    """Tell the kind of a column of a typed source; None if its type is no feature."""
    kind = column.type
    if is_text(kind):
        return kind_of_words(column, name)
    for holds, found in BY_TYPE.items():
        if holds(kind):
            note = _doubt_of_ids(column, name) if pa.types.is_integer(kind) else ""
            return Guess(found, f"its type is {kind}", note, LEAVE_OUT)
    return None


def kind_of_words(column: pa.Array, name: str) -> Guess:
    """Tell the kind of strings that are not numbers: a category, a date or a text.

    A text has some words, and hardly any is there twice, as few things of a list of products or
    places are.

    >>> kind_of_words(pa.array(["New York City", "Los Angeles"]), "city").kind.value
    'category'
    >>> kind_of_words(pa.array(["Win a free phone now", "See you at the gate"]), "sms").kind.value
    'text'
    """
    cells = column.drop_null()
    n, n_distinct = len(cells), len(cells.unique())
    there = n - (pc.sum(pc.match_substring_regex(cells, MISSING)).as_py() or 0)
    n_dates = pc.sum(pc.match_substring_regex(cells, ISO)).as_py() or 0
    if n_dates and n_dates >= MOSTLY * there:
        return Guess(Kind.DATE, f"{n_dates} of {there} cells are ISO dates")
    n_words = 1 + pc.mean(pc.count_substring(cells[: 10 * ENOUGH], " ")).as_py()
    if n_words >= WORDY and n_distinct >= MANY * n:
        why = f"{n_words:.0f} words in a cell, {n_distinct} of {n} cells distinct"
        note = f"column {name!r}: {why}: taken as text"
        return Guess(Kind.TEXT, why, note, {Kind.CATEGORY: "for one feature a cell"})
    if note := _doubt_of_spelling(cells, name, MOSTLY * there):
        return Guess(Kind.CATEGORY, "strings", note)
    if n >= ENOUGH and n_distinct > MOSTLY * n:
        note = f"column {name!r}: {n_distinct} of {n} cells distinct: hardly of use as a category"
        others = {Kind.DROP: "leaves it out", Kind.TEXT: "takes its words"}
        return Guess(Kind.CATEGORY, "strings", note, others)
    return Guess(Kind.CATEGORY, "strings")


def kind_by_cells(column: pa.Array, name: str, line: NDArray[np.int64]) -> Guess | None:
    """Tell the kind of a column of cells as they stand in a file, null where empty.

    None if no cell has a value. ``line`` has the number of each cell's line.

    >>> cells = pa.array(["1", "2"] * 10 + ["abc"])
    >>> kind_by_cells(cells, "x", np.arange(2, 23)).why
    '20 of 21 cells are numbers'
    >>> kind_by_cells(pa.array(["94110", "02139"]), "zip", np.arange(2, 4)).kind.value
    'category'
    """
    cells = column.cast(pa.binary())
    number, code, missing = (_match(cells, pattern) for pattern in (NUMBER, CODE, MISSING))
    there = pc.and_(pc.is_valid(cells), pc.invert(missing))
    truth = pc.is_in(cells, pa.array(YES + NO))
    n, n_numbers, n_missing = (
        pc.sum(each).as_py() or 0 for each in (there, number, pc.and_(missing, pc.is_valid(cells)))
    )
    if not n:
        return None
    if _any(code) and not _any(pc.and_(number, _match(cells, NO_CODE))):
        shown = quoted(cells[pc.index(code, True).as_py()].as_py())
        what = f"{ZEROS}, as {shown}"
        note = f"column {name!r}: {what}: taken as a category"
        return Guess(Kind.CATEGORY, what, note, READ_NUMBERS)
    odd = pc.and_(there, pc.invert(pc.or_(number, truth)))
    if not _any(odd):
        note = _doubt_of_ids(cells, name)
        if n_missing:
            shown = quoted(cells[pc.index(missing, True).as_py()].as_py())
            note = f"column {name!r}: {n_missing} of {n + n_missing} cells, as {shown}, are missing"
        why = "true and false" if not n_numbers else f"all of the first {n} are"
        return Guess(Kind.NUMBER, why, note, NONE if n_missing else LEAVE_OUT)
    counted = f"{n_numbers} of {n} cells are numbers"
    if n_numbers >= MOSTLY * n:
        return Guess(Kind.NUMBER, counted)
    guess = kind_of_words(column, name)
    if n_numbers < DOUBTFUL * n:
        return guess
    first = pc.index(odd, True).as_py()
    note = (
        f"column {name!r}: {counted}; line {line[first]}: {quoted(cells[first].as_py())}: "
        f"taken as a {guess.kind}"
    )
    return Guess(guess.kind, counted, note, READ_NUMBERS)


def _doubt_of_spelling(cells: pa.Array, name: str, most: float) -> str:
    """Say so if strings look like numbers or dates that are spelt another way than is read."""
    looks = {
        "numbers with a comma": (COMMA, "3.5", "be numbers"),
        "dates": (DAY, "2024-05-31", "give weekday and month"),
    }
    for what, (pattern, better, gain) in looks.items():
        found = _match(cells, pattern)
        odd = pc.and_(found, pc.invert(_match(cells, NUMBER)))
        if _any(odd) and pc.sum(found).as_py() >= most:
            shown = quoted(cells[pc.index(odd, True).as_py()].as_py().encode())
            return (
                f"column {name!r}: looks like {what}, as {shown}: taken as a category "
                f"(spelt as {better} they would {gain})"
            )
    return ""


def _doubt_of_ids(column: pa.Array, name: str) -> str:
    """Say so if whole numbers look like the numbers of rows: each is there once, without gaps."""
    n = len(column)
    if n < ENOUGH or column.null_count:
        return ""
    try:
        number = column if pa.types.is_integer(column.type) else column.cast(pa.string())
        x = np.sort(number.cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:  # not all are whole, or one is too large
        return ""
    if int(x[-1]) - int(x[0]) >= 2 * n or (x[1:] == x[:-1]).any():
        return ""
    what = f"{n} whole numbers, all distinct, as ids are"
    return f"column {name!r}: {what}: taken as numbers all the same"


def _match(cells: pa.Array, pattern: str) -> pa.Array:
    """Tell which cells match; a missing one does not."""
    return pc.fill_null(pc.match_substring_regex(cells, pattern), False)


def _any(mask: pa.Array) -> bool:
    return bool(pc.any(mask).as_py())
