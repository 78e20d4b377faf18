"""Tables and JSON lines as plain Python reads them, a cell at a time: what the parsers must equal."""

import csv as python_csv
import io
import itertools
import json
import math
import re

import numpy as np
import xxhash

from dwindle.features.keys import LARGEST, key_of
from helpers.reference_parsers import NUMBER, same

SPACE = " \t\n\r\f"
MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."}
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class Fault(Exception):  # noqa: N818 - it is what a row has
    """Something is wrong with a row."""


def mix(a, b):
    return min(xxhash.xxh64_intdigest(b.to_bytes(8, "little"), a), LARGEST)


def number(value):
    with np.errstate(over="ignore"):
        single = np.float32(float(value))
    if not math.isfinite(single):
        raise Fault
    return single


def features_of(members, namespace=None):
    """(group, namespace, name, key, x) of each feature of {name: value}."""
    for name, value in members.items():
        if value is None or value == "":
            continue
        if isinstance(value, dict) and namespace is None:
            yield from features_of(value, name)
            continue
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            for each in dict.fromkeys(value):
                yield from features_of({name: each}, namespace)
            continue
        if not isinstance(value, str | bool | int | float):
            raise Fault
        group = name if namespace is None else namespace
        full, x = (f"{name}={value}", 1) if isinstance(value, str) else (name, value)
        if "\0" in full or "\0" in group:
            raise Fault
        if number(x) != 0:
            yield group, namespace or "", full, key_of(full, namespace or ""), number(x)


def products_of(features, interactions):
    for groups in interactions:
        chosen = [[f for f in range(len(features)) if features[f][0] == g] for g in groups]
        for place in itertools.product(*chosen):
            # of equal groups, each combination once: their features in the order of the row
            pairs = itertools.combinations(range(len(groups)), 2)
            if any(groups[a] == groups[b] and place[a] > place[b] for a, b in pairs):
                continue
            parts = [features[f] for f in place]
            key, x = parts[0][3], parts[0][4]
            for part in parts[1:]:
                key = mix(key, part[3])
                with np.errstate(over="ignore", under="ignore"):
                    x = x * part[4]
            if not math.isfinite(x):
                raise Fault
            if x != 0:
                yield "*".join(groups) + "\0" + "*".join(part[2] for part in parts), key, x


def example(label, weight, members, interactions=(), ignore=frozenset()):
    """(label, importance, [(name, key, x), ...]), or a Fault."""
    y = np.float32(0) if label is None else number(label)
    importance = np.float32(1) if weight is None else number(weight)
    if importance < 0:
        raise Fault
    own = list(features_of({name: value for name, value in members.items() if name not in ignore}))
    features = [(f"{space}\0{name}" if space else name, key, x) for _, space, name, key, x in own]
    features += products_of(own, interactions)
    return y, importance if label is not None else np.float32(0), features


def reading(rows, **options):
    """({line: example}, [bad line, ...]) of (line, () -> (label, weight, members))."""
    good, bad = {}, []
    for line, row in rows:
        try:
            good[line] = example(*row(), **options)
        except Fault:
            bad.append(line)
    return good, bad


def wide(rows, label_column, weight_column=None, lines=None, **options):
    """The examples of rows given as {column: value}."""

    def row(cells):
        said = {label_column, weight_column}
        members = {name: value for name, value in cells.items() if name not in said}
        return cells[label_column], cells.get(weight_column), members

    lines = range(1, len(rows) + 1) if lines is None else lines
    numbered = zip(lines, rows, strict=True)
    return reading(((line, lambda cells=cells: row(cells)) for line, cells in numbered), **options)


def csv(text, label_column, weight_column=None, delimiter=",", **options):
    """The examples of a text without faults in its form."""
    header, *rows = python_csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    heights = (1 + sum(cell.count("\n") for cell in row) for row in rows[:-1])
    starts = itertools.accumulate(heights, initial=2)
    rows = [(line, row) for line, row in zip(starts, rows, strict=False) if any(row)]
    kinds = {}
    for c, name in enumerate(header):
        cells = [row[c] for _, row in rows if not is_missing(row[c])]
        odd = [cell for cell in cells if not (endless(cell) or cell in TRUTH)]
        codes = any(re.fullmatch("0[0-9]+", cell.strip(SPACE)) for cell in cells)
        codes &= not any(
            re.search("^[+-]|[.eE]", cell.strip(SPACE)) for cell in cells if endless(cell)
        )
        few = len([cell for cell in cells if endless(cell)]) >= 0.9 * len(cells)
        is_number = (not odd or few) and not codes
        kinds[name] = numeric if is_number else str
        if name in {label_column, weight_column}:
            kinds[name] = strictly_numeric

    def row_of(cells):
        named = dict(zip(header, cells, strict=True))
        typed = {
            name: kinds[name](cell) if cell else None
            for name, cell in named.items()
            if name not in options.get("ignore", ())
        }
        said = {label_column, weight_column}
        members = {name: value for name, value in typed.items() if name not in said}
        return typed[label_column], typed.get(weight_column), members

    return reading(((line, lambda cells=cells: row_of(cells)) for line, cells in rows), **options)


def is_missing(cell):
    return cell.strip(SPACE).lower() in MISSING


def endless(cell):
    bare = cell.strip(SPACE)
    return bool(NUMBER.fullmatch(bare.encode())) or bare.lower().lstrip("+-") in {"inf", "infinity"}


def numeric(cell):
    return None if is_missing(cell) else strictly_numeric(cell)


def strictly_numeric(cell):
    if cell in TRUTH:
        return TRUTH[cell]
    if not endless(cell):
        raise Fault
    return float(cell)


def jsonl(data, first_line=1, **options):
    """The examples of JSON lines."""

    def row(raw):
        try:
            given = json.loads(
                raw.decode(), parse_constant=lambda _: not_json(), object_pairs_hook=once
            )
        except ValueError:
            raise Fault from None
        if not isinstance(given, dict) or not isinstance(given.get("features"), dict):
            raise Fault
        if not given.keys() <= {"label", "weight", "tag", "features"}:
            raise Fault
        if not isinstance(given.get("tag"), str | None):
            raise Fault
        for role in ("label", "weight"):
            if not isinstance(given.get(role), int | float | None):
                raise Fault
        return given.get("label"), given.get("weight"), given["features"]

    lines = [(line, raw) for line, raw in enumerate(data.split(b"\n"), first_line) if raw.strip()]
    return reading(((line, lambda raw=raw: row(raw)) for line, raw in lines), **options)


def not_json():
    raise Fault


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise Fault
    return dict(pairs)


def check(parsed, expected):
    """The parser gave what the reference read, to the bit."""
    good, bad = expected
    batch = parsed.batch
    features = [feature for _, _, features in good.values() for feature in features]
    same(parsed.line, list(good), np.int64)
    same(batch.label, [label for label, _, _ in good.values()], np.float32)
    same(batch.importance, [importance for _, importance, _ in good.values()], np.float32)
    same(batch.start, np.cumsum([0, *(len(f) for _, _, f in good.values())]), np.int64)
    assert list(batch.names) == [name for name, _, _ in features]
    same(batch.key, [key for _, key, _ in features], np.uint64)
    same(batch.x, [x for _, _, x in features], np.float32)
    assert [fault.line for fault in parsed.bad] == bad
    for array in batch[:5]:
        assert array.flags.writeable  # to Numba a read-only array is another type
        assert array.flags.c_contiguous
