"""JSON lines: one object per line, flat or with the features in an object of their own.

{"label": 1, "price": 3.5, "color": "red"}
{"label": 1, "weight": 2.0, "tag": "a", "features": {"price": 3.5, "user": {"city": "x"}}}
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import orjson

from dwindle._base.errors import SettingError
from dwindle._base.threads import prefetch
from dwindle.data.formats.block import BadLine, Block, Parsed, are_words, coded_labels, joined
from dwindle.data.formats.interactions import in_parts
from dwindle.data.formats.json_columns import FlatLines, not_a_number
from dwindle.data.formats.tables.objects import Fault, ObjectReader, short, too_large
from dwindle.data.formats.tables.vocabulary import Interactions, WordRows, finished
from dwindle.data.options import ReadOptions
from dwindle.data.schema import ColumnKinds, Kind
from dwindle.data.sources import Opened
from dwindle.data.text.errors import quoted
from dwindle.data.text.lines import blocks_of, parsed_blocks, searched
from dwindle.features.arrow import not_finite, single
from dwindle.features.batch import Batch

Raw = Any  # the text of an object, in bytes, or what was loaded from it
Cells = Callable[[Raw], tuple[dict[str, Any], str]]
KNOWN = frozenset({"label", "weight", "tag", "features"})
TOO_LARGE = (2 - 2.0**-24) * 2.0**127  # from here on, single precision rounds to infinity
SAMPLE = '{"label": 1, "features": {"price": 3.5, "color": "red"}}'
FLAT_SAMPLE = '{"label": 1, "price": 3.5, "color": "red"}'


def batches(source: Opened, options: ReadOptions, kinds: ColumnKinds) -> Iterator[Parsed]:
    """Read a file of JSON lines, flat or not, as its first object is.

    Members of flat lines are columns. Those of "features" are so only if their kinds are known;
    else each value says itself what it is, so that any number of names may occur.
    """
    found = blocks_of(source, options)
    first = next(found, None)
    if first is None:
        return iter(())
    every = chain([first], found)
    if is_flat(raw for _, raw in _lines(first)):
        lines = FlatLines(source.name, options, kinds)
        read = (parsed for block in every for parsed in _read(block, lines, _flat))
        return prefetch(read) if options.ahead else read
    if kinds.remembered is None and set(options.columns.values()) <= {Kind.DROP}:
        part = partial(parse, interactions=options.interactions, ignore=options.dropped)
        blocks = searched(every, mentions, kinds)
        return parsed_blocks(part, blocks, options, at_once=source.small)
    roles = replace(options, label_column="label", weight_column="weight")
    lines = FlatLines(source.name, roles, kinds)
    read = (parsed for block in every for parsed in _read(block, lines, _flattened))
    return prefetch(read) if options.ahead else read


def is_flat(objects: Iterable[Raw]) -> bool:
    """Tell whether the first object that has members is flat."""
    for raw in objects:
        try:
            example = object_in(raw, FLAT_SAMPLE)
        except Fault:
            continue
        if example:
            return "features" not in example
    return False


def _flat(raw: Raw) -> tuple[dict[str, Any], str]:
    """Return the cells of a flat line, and its tag: it has none."""
    example = object_in(raw, FLAT_SAMPLE)
    if type(example.get("features")) is dict:
        raise Fault('"features" is an object, but the first line is flat: write all lines alike')
    return example, ""


def _flattened(raw: Raw) -> tuple[dict[str, Any], str]:
    """Return the cells of a line whose features are columns, and its tag."""
    example = _loaded(raw)
    features: dict[str, Any] = example["features"]
    for name in ("label", "weight"):
        if name in features:
            raise Fault(f'feature "{name}" has the name of another member: rename it')
        features[name] = example.get(name)
    return features, _said(example)[2]


def _read(block: Block, lines: FlatLines, cells: Cells) -> Iterator[Parsed]:
    """Parse a block, with a function that returns the cells and the tag of a line."""
    for parsed in _read_objects(_lines(block), block.source, lines, cells):
        yield parsed._replace(end=block.end)


def read_objects(
    objects: Sequence[tuple[int, Raw]], source: str, options: ReadOptions, kinds: ColumnKinds
) -> Parsed:
    """Read objects, each with the number of its line, as rows of a table, flat as the first is."""
    if is_flat(raw for _, raw in objects):
        read = _read_objects(objects, source, FlatLines(source, options, kinds), _flat)
    else:
        roles = replace(options, label_column="label", weight_column="weight")
        read = _read_objects(objects, source, FlatLines(source, roles, kinds), _flattened)
    return joined([*read])


def _read_objects(
    objects: Iterable[tuple[int, Raw]], source: str, lines: FlatLines, cells: Cells
) -> Iterator[Parsed]:
    rows: list[dict[str, Any]] = []
    tag: dict[int, str] = {}
    bad: list[BadLine] = []
    for number, raw in objects:
        try:
            row, tag[number] = cells(raw)
        except Fault as fault:
            bad.append(BadLine(source, number, str(fault)))
        else:
            rows.append(row)
    line = np.array(list(tag), np.int64)
    nothing = [Parsed(Batch.from_dicts([], []), line, [])]
    read = in_parts(lambda a, b: lines.read(rows[a:b], line[a:b]), 0, len(rows))
    for parsed in read if rows else nothing:
        yield parsed._replace(
            bad=sorted(parsed.bad + bad, key=lambda fault: fault.line),
            tags=[tag[line] for line in parsed.line.tolist()] if any(tag.values()) else parsed.tags,
            source=source,
        )
        bad = []


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a block that are not blank, with their numbers."""
    text = block.data.tobytes()
    if block.line == 1:
        text = text.removeprefix(b"\xef\xbb\xbf")
    for line, raw in enumerate(text.split(b"\n"), block.line):
        if raw and not raw.isspace():
            yield line, raw


def parse(
    block: Block, *, interactions: Interactions = (), ignore: frozenset[str] = frozenset()
) -> Parsed:
    r"""Parse a block of JSON lines, as `parse_objects` does.

    A number is a feature, true is 1 and false 0, text is the feature ``name=text`` of value 1, null
    and "" are absent, and an object is a namespace. What ``ignore`` and ``interactions`` name are
    members of "features": single ones, as columns of a table are, or whole namespaces.

    >>> data = b'{"label": 1, "features": {"on": true, "user": {"city": "x"}}}\n{"on": 1}'
    >>> parsed = parse(Block(np.frombuffer(data, np.uint8), "data.jsonl"))
    >>> [name.replace("\0", "^") for name in parsed.batch.names], parsed.batch.x.tolist()
    (['on', 'user^city=x'], [1.0, 1.0])
    >>> print(parsed.bad[0])
    data.jsonl:2: unknown member "on": write it inside "features"
    """
    return parse_objects(_lines(block), block.source, interactions=interactions, ignore=ignore)


def parse_objects(
    lines_of_objects: Iterable[tuple[int, Raw]],
    source: str,
    *,
    interactions: Interactions = (),
    ignore: frozenset[str] = frozenset(),
) -> Parsed:
    """Parse objects whose features are objects of their own, each with the number of its line."""
    for names in interactions:
        if len(names) not in {2, 3}:
            raise SettingError(f"an interaction is of 2 or 3 members, got {names!r}")
    reader = ObjectReader()
    faults: dict[int, str] = {}
    lines: list[int] = []
    labels: list[float | str] = []
    importances: list[float] = []
    tags: list[str] = []
    start = [0]
    for line, raw in lines_of_objects:
        try:
            example = _loaded(raw)
            label, importance, tag = _said(example)
            features = example["features"]
            for name in ignore:
                features.pop(name, None)
            reader.read(features, reader.top)
        except Fault as fault:
            faults[line] = str(fault)
            del reader.word[start[-1] :], reader.x[start[-1] :]
            continue
        lines.append(line)
        labels.append(label)
        importances.append(importance)
        tags.append(tag)
        start.append(len(reader.word))
    words = reader.words()
    odd = _odd_words(labels, importances, lines, faults)
    codes, label_names = coded_labels(labels)
    given = np.array(reader.x, np.float64)
    rows = WordRows(
        np.array(lines, np.int64),
        codes,
        np.array(importances, np.float32),
        np.array(start, np.int64),
        np.array(reader.word, np.int32),
        single(given),
    )
    wrong = too_large(rows.start, rows.word, given, words)
    if odd or wrong:
        good = np.ones(len(lines), np.bool_)
        good[[*odd, *wrong]] = False
        faults |= {lines[i]: message for i, message in wrong.items() if lines[i] not in faults}
        rows = rows.only(good)
        tags = [tag for tag, is_good in zip(tags, good, strict=True) if is_good]
    parsed = finished(
        rows.without_zeros(), words, source, faults, interactions, tags if any(tags) else None
    )
    return parsed._replace(label_names=label_names)


def mentions(block: Block, name: str) -> bool:
    """Tell whether a block has a member of this name."""
    return orjson.dumps(name) in block.data.tobytes()


def object_in(raw: Raw, sample: str = SAMPLE) -> dict[str, Any]:
    """Load the object of a line, if it is not loaded yet; ``sample`` is how it could look."""
    if type(raw) is dict:
        return raw
    if not isinstance(raw, bytes):
        raise Fault(f"expected an object, got {short(raw)}: write one like {sample}")
    try:
        example = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        # The position counts characters, as the error's own copy of the text does.
        rest = error.doc[error.pos :].strip().encode("utf-8", "surrogateescape")
        at = f"from {quoted(rest)} on" if rest else "at its end"
        raise Fault(f"not JSON {at}: write one line like {sample}") from None
    if type(example) is not dict:
        raise Fault(f"expected an object, got {short(example)}: write one like {sample}")
    # A member that is there twice is lost: look closely if there are more quotes before colons.
    if raw.count(b'":') != _n_members(example):
        json.loads(raw, object_pairs_hook=_once)
    return example


def _n_members(example: dict[str, Any]) -> int:
    inner = (_n_members(value) for value in example.values() if type(value) is dict)
    return len(example) + sum(inner)


def _once(pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object in which a name is there twice."""
    for name, n in Counter(name for name, _ in pairs).items():
        if n > 1:
            raise Fault(f"member {short(name)} is there {n} times: write it once")


def _loaded(raw: Raw) -> dict[str, Any]:
    """Load the object of a line, and check that its features are an object."""
    example = object_in(raw, SAMPLE)
    if not example.keys() <= KNOWN:
        unknown = ", ".join(f'"{name}"' for name in example if name not in KNOWN)
        raise Fault(f'unknown member {unknown}: write it inside "features"')
    if "features" not in example:
        raise Fault(f'no "features", which the first line has: write one like {SAMPLE}')
    if type(example["features"]) is not dict:
        got = short(example["features"])
        raise Fault(f'expected an object as "features", got {got}: write {{"name": value}}')
    return example


def _said(example: dict[str, Any]) -> tuple[float | str, float, str]:
    """Return the label, the importance and the tag of an example."""
    label, weight = example.get("label"), _number(example, "weight")
    label = (label.strip() or None) if type(label) is str else _number(example, "label")
    tag = example.get("tag")
    if tag is not None and type(tag) is not str:
        raise Fault(f'expected a string as "tag", got {short(tag)}: write it in quotes')
    if weight is not None and weight < 0:
        raise Fault(f'"weight" is {weight}: write 0 to learn nothing from the line')
    if label is None:
        return 0.0, 0.0, tag or ""
    return label, 1.0 if weight is None else weight, tag or ""


def _number(example: dict[str, Any], role: str) -> float | None:
    value = example.get(role)
    if value is None:
        return None
    if type(value) not in {int, float, bool}:
        raise Fault(not_a_number(role, value))
    if abs(value) >= TOO_LARGE:
        raise Fault(f'"{role}" {not_finite(float(value), "null")}')
    return float(value)


def _odd_words(
    labels: list[float | str], importances: list[float], lines: list[int], faults: dict[int, str]
) -> list[int]:
    """Find labels that are text where nearly all are numbers; they become 0, and faults."""
    found = [i for i, label in enumerate(labels) if isinstance(label, str)]
    if are_words(len(found), sum(importance > 0 for importance in importances)):
        return []
    for i in found:
        faults[lines[i]] = not_a_number("label", labels[i])
        labels[i] = 0.0
    return found
