"""Dates and times as parts: hour, day of the week and month, each a category."""

from collections.abc import Callable
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dwindle.features.arrow import is_text

# A date as ISO 8601 writes it, perhaps with a time, perhaps with the time's zone.
ISO = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?"
    r" ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$"
)
_MIDNIGHT = r"^.{10}[T ]00:00(?::00(?:[.,]0+)?)? ?(?:Z|[+-][0-9:]+)?$"

# What other programs write for a missing value, in a column of numbers or dates.
MISSING = r"(?i)^\s*(?:na|n/a|#n/a|nan|null|none|nil|\?|-|\.)?\s*$"

_EPOCH = date(1970, 1, 1).toordinal()
_DAYS = (date(1, 1, 2).toordinal() - _EPOCH, date(9999, 12, 30).toordinal() - _EPOCH)
_PER_DAY = {pa.date32(): 1, pa.date64(): 86_400_000} | {
    unit: 86_400 * 1000**k for k, unit in enumerate(("s", "ms", "us", "ns"))
}

PARTS = {
    "hour": pa.array([str(hour) for hour in range(24)]),
    "weekday": pa.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]),
    "month": pa.array([str(month) for month in range(13)]),
}


def date_parts(column: pa.Array, fault: Callable[[int, bytes], None]) -> dict[str, pa.Array]:
    """Return the parts of dates, null where there is none; strings are ISO dates.

    The hour is that of the column's own time zone, or as it is written. Midnight to the second has
    no hour, because that is how dates without a time are stored. ``fault`` is told of each row that
    is no date, and of its cell.

    >>> parts = date_parts(pa.array(["2024-05-31T13:45:00+02:00", "2024-06-01", None]), print)
    >>> {part: column.to_pylist() for part, column in parts.items()}
    {'hour': ['13', None, None], 'weekday': ['Fri', 'Sat', None], 'month': ['5', '6', None]}
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = _of_known_years(column, fault)
    if is_text(kind):
        day, hour = _read(column, fault)
    elif pa.types.is_timestamp(kind):
        local = pc.local_timestamp(column) if kind.tz else column
        whole = pc.floor_temporal(local, unit="day")
        day = whole.cast(pa.date32())
        hour = pc.if_else(pc.equal(local, whole), None, pc.hour(local))
    elif pa.types.is_date(kind):
        day, hour = column.cast(pa.date32()), pa.nulls(len(column), pa.int64())
    else:
        for i in np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)):
            fault(int(i), str(column[int(i)].as_py()).encode())
        day, hour = pa.nulls(len(column), pa.date32()), pa.nulls(len(column), pa.int64())
    number = {"hour": hour, "weekday": pc.day_of_week(day), "month": pc.month(day)}
    return {
        part: pa.DictionaryArray.from_arrays(number[part].cast(pa.int32()), names)
        for part, names in PARTS.items()
    }


def _of_known_years(column: pa.Array, fault: Callable[[int, bytes], None]) -> pa.Array:
    """Return dates and times of the years 1 to 9999; others, which calendars lack, are null."""
    kind = column.type
    unit = kind.unit if pa.types.is_timestamp(kind) else kind
    number = column.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(pa.int64())
    first, last = (day * _PER_DAY[unit] for day in _DAYS)
    odd = pc.or_(pc.less(number, max(first, -(2**63))), pc.greater(number, min(last, 2**63 - 1)))
    if not pc.any(odd).as_py():
        return column
    for i in np.flatnonzero(pc.coalesce(odd, False).to_numpy(zero_copy_only=False)):
        fault(int(i), str(number[int(i)].as_py()).encode())
    return pc.if_else(odd, None, column)


def _read(column: pa.Array, fault: Callable[[int, bytes], None]) -> tuple[pa.Array, pa.Array]:
    """Read the days and the hours of ISO dates."""
    given = pc.utf8_trim_whitespace(column)
    given = pc.if_else(pc.match_substring_regex(given, MISSING), None, given)
    good = pc.match_substring_regex(given, ISO)
    cells = pc.if_else(good, given, None)
    day = pc.strptime(pc.utf8_slice_codeunits(cells, 0, 10), "%Y-%m-%d", "s").cast(pa.date32())
    same = pc.equal(pc.day(day), pc.utf8_slice_codeunits(cells, 8, 10).cast(pa.int64()))
    day = pc.if_else(same, day, None)  # February 30 was read as a day in March
    for i in np.flatnonzero(pc.and_(given.is_valid(), day.is_null()).to_numpy(False)):
        fault(int(i), given[int(i)].as_py().encode())
    timed = pc.and_(pc.greater(pc.utf8_length(cells), 10), day.is_valid())
    timed = pc.and_(timed, pc.invert(pc.match_substring_regex(cells, _MIDNIGHT)))
    hour = pc.if_else(timed, pc.utf8_slice_codeunits(cells, 11, 13), None)
    return day, hour.cast(pa.int64())
