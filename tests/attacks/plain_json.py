"""JSON lines with their features in an object, as plain Python reads them."""

import json

from helpers.reference_columns import Fault, not_json, number, once, reading

ROLES = {"label", "weight", "tag", "features"}


def read(data, first_line=1):
    """({line: example}, [bad line, ...]), and the labels if they are words, by what numbers them."""
    if first_line == 1:
        data = data.removeprefix(b"\xef\xbb\xbf")
    lines, bad = {}, []
    for line, raw in enumerate(data.split(b"\n"), first_line):
        if raw.strip():
            try:
                lines[line] = _line(raw)
            except Fault:
                bad.append(line)
    labels = [label for label, _, _ in lines.values() if label is not None]
    weights = [weight for label, weight, _ in lines.values() if label is not None]
    counted = sum(weight is None or number(weight) > 0 for weight in weights)
    words = sum(isinstance(label, str) for label in labels) > 0.1 * counted
    places = {}

    def row(line):
        label, weight, features = lines[line]
        if isinstance(label, str) and not words:
            raise Fault
        if words and label is not None:
            label = places.setdefault(_spelled(label), len(places))
        return label, weight, features

    good, worse = reading((line, lambda line=line: row(line)) for line in lines)
    return (good, sorted(bad + worse)), places if words else {}


def _spelled(label):
    if isinstance(label, str):
        return label
    return str(int(label)) if label == int(label) else f"{label:.9g}"


def _line(raw):
    try:
        given = json.loads(
            raw.decode(), parse_constant=lambda _: not_json(), object_pairs_hook=once
        )
        json.dumps(given, ensure_ascii=False).encode()  # which a lone surrogate is not
    except (ValueError, RecursionError):
        raise Fault from None
    if not isinstance(given, dict) or not isinstance(given.get("features"), dict):
        raise Fault
    if not given.keys() <= ROLES or not isinstance(given.get("tag"), str | None):
        raise Fault
    label, weight = given.get("label"), given.get("weight")
    if isinstance(label, str):
        label = label.strip() or None
    elif label is not None:
        _check_number(label)
    if weight is not None:
        _check_number(weight)
        if weight < 0:
            raise Fault
    _check(given["features"], None)
    return label, weight, given["features"]


def _check_number(value):
    if not isinstance(value, int | float):
        raise Fault
    try:
        number(value)
    except OverflowError:
        raise Fault from None


def _check(members, namespace):
    """Refuse what is no feature, whatever its value."""
    for name, value in members.items():
        if value is None or value == "":
            continue
        if isinstance(value, dict) and namespace is None:
            _check(value, name)
            continue
        texts = [each for each in value if each] if isinstance(value, list) else [value]
        if isinstance(value, list) and not all(isinstance(each, str) for each in value):
            raise Fault
        for each in texts:
            if not isinstance(each, str | int | float):
                raise Fault
            full = f"{name}={each}" if isinstance(each, str) else name
            if "\0" in full or (namespace and "\0" in namespace):
                raise Fault
