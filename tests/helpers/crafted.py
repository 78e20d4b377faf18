"""Files with a right digest and wrong contents, as somebody might make them up."""

import copy
import json
import math
import os
import signal
import warnings

import numpy as np
import pyarrow as pa

from dwindle._base.errors import DataError, DivergedError, SettingError
from dwindle.features.arrow import is_text
from dwindle.features.names import Text
from dwindle.model import storage

ABSURD = (
    *(0, 1, -1, -5, 7, 1000, 2**31, 2**40, 2**62, 2**63 - 1, 2**64, 10**400, True, False),
    *(0.5, -0.5, 1e-300, 1e308, math.nan, math.inf, -math.inf, "", "x", "nan", "AAAA", None),
    *([], [0], [[]], {}, {"x": 1}, "eJwDAAAAAAE=", [1e9] * 3, [-1] * 6),
)
GONE = object()
LONGEST = 20  # seconds for one file


def contents(path, *kinds):
    """Columns and metadata of a file, to be written again by `storage.write`."""
    table, about = storage.read(path, *kinds)
    columns = {
        name: storage.texts(table[name]) if is_text(table[name].type) else _numbers(table[name])
        for name in table.column_names
    }
    return columns, about


def _numbers(column):
    if pa.types.is_dictionary(column.type):
        return storage.texts(column.cast(pa.string()))
    return storage.numbers(column)


def places(about, at=()):
    """Every place in JSON: that of each member and element, and of what holds them."""
    members = about.items() if isinstance(about, dict) else enumerate(about)
    for name, value in members:
        yield (*at, name)
        if isinstance(value, dict | list) and len(at) < 6:
            yield from list(places(value, (*at, name)))[:40]


def with_value(about, place, value):
    """The same JSON with another value at a place, or without it."""
    found = copy.deepcopy(about)
    holder = found
    for name in place[:-1]:
        holder = holder[name]
    if value is GONE:
        del holder[place[-1]]
    else:
        holder[place[-1]] = copy.deepcopy(value)
    return found


def other_columns(column):
    """Columns in place of this one, by what is wrong with them."""
    if isinstance(column, Text):
        yield "other names", Text.of(["x" * 50] * len(column))
        yield "numbers", np.zeros(len(column))
        return
    for value in (0, 1, -1, math.nan, math.inf, -math.inf, 1e38, 2**32, 2**63):
        with np.errstate(all="ignore"):
            if column.dtype.kind == "f" or math.isfinite(value):
                wide = np.full(len(column), value, np.float64)
                yield f"all {value}", wide.astype(column.dtype)
    yield "text", Text.of(["x"] * len(column))
    yield "other type", column.astype(np.int8 if column.dtype.kind == "f" else np.float32)
    yield "reversed", column[::-1].copy()


def mutations(columns, about, n, seed=0):
    """Yield n of all crafted files, or all if n is None: what is wrong, columns and metadata."""
    kept = {"format", "kind"}
    said = {name: value for name, value in about.items() if name not in kept}
    cases = [
        (f"{'.'.join(map(str, place))} = {_short(value)}", columns, (place, value))
        for place in places(said)
        for value in (*ABSURD, GONE)
    ]
    for name, column in columns.items():
        cases += [
            (f"column {name}: {what}", columns | {name: other}, None)
            for what, other in other_columns(column)
        ]
        rest = {each: columns[each] for each in columns if each != name}
        cases.append((f"no column {name}", rest, None))
    shorter = {name: column[: len(column) // 2] for name, column in columns.items()}
    longer = {name: _twice(column) for name, column in columns.items()}
    cases += [("half of the rows", shorter, None), ("all rows twice", longer, None)]
    chosen = range(len(cases))
    if n is not None and n < len(cases):
        chosen = np.random.default_rng(seed).choice(len(cases), n, replace=False)
    for k in chosen:
        what, new, change = cases[int(k)]
        yield what, new, said if change is None else with_value(said, *change)


def _twice(column):
    if isinstance(column, Text):
        return Text.concatenated([column, column])
    return np.concatenate([column, column])


def _short(value):
    return "gone" if value is GONE else repr(value)[:30]


def write(path, kind, columns, about):
    """Write a crafted file, with the digest of what it says."""
    storage.write(path, kind, columns, json.loads(json.dumps(about)))


def harmless(kind, path, columns, about, act):
    """Write a file and use it; return what is wrong with what happens, if anything."""
    try:
        write(path, kind, columns, about)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None  # no such file can be
    try:
        act(path)
    except DataError as error:
        if not str(error).startswith(f"{path}: ") or "\n" in str(error):
            return f"DataError without the file's name: {error}"
    except (DivergedError, SettingError):
        pass
    except BaseException as error:  # noqa: BLE001  (whatever it is)
        return f"{type(error).__name__}: {error}"[:200]
    return None


def harmed(kind, path, cases, act):
    """Try each case in a forked process, many in one; return what went wrong."""
    cases, faults = list(cases), []
    while cases:
        out, into = os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                warnings.simplefilter("ignore")
                for what, *contents in cases:
                    signal.alarm(LONGEST)
                    fault = harmless(kind, path, *contents, act)
                    os.write(into, f"{what}\t{fault or ''}\n".encode())
                code = 0
            finally:
                os._exit(code)
        os.close(into)
        with os.fdopen(out) as told:
            lines = told.read().splitlines()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        faults += [line for line in lines if not line.endswith("\t")]
        if len(lines) < len(cases):
            faults.append(f"{cases[len(lines)][0]}: ended with {status}")
        cases = cases[len(lines) + 1 :]
    return faults
