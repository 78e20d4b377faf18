"""JSON lines: one object per line, with the features in an object of their own.

{"label": 1, "weight": 2.0, "tag": "a", "features": {"price": 3.5, "user": {"city": "x"}}}
"""

from collections import defaultdict
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from dwindle._base.errors import SettingError
from dwindle.data.formats.block import Block, Parsed, are_words, coded_labels
from dwindle.data.formats.tables.vocabulary import (
    Interactions,
    Vocabulary,
    WordRows,
    finished,
    keys_of,
)
from dwindle.data.text.errors import LONGEST, quoted
from dwindle.features.arrow import not_finite, single, text_of_strings
from dwindle.features.keys import seed_of

KNOWN = frozenset({"label", "weight", "tag", "features"})
TOO_LARGE = (2 - 2.0**-24) * 2.0**127  # from here on, single precision rounds to infinity
SAMPLE = '{"label": 1, "features": {"price": 3.5, "color": "red"}}'


class _Fault(Exception):  # noqa: N818 - it does not leave this module
    """A line cannot be read; the message says why."""


class _Space:
    """The words of one namespace (None for no namespace), by name, or by name and text."""

    def __init__(self, namespace: str | None = None) -> None:
        self.namespace = namespace
        self.seed = seed_of(namespace or "")
        self.numbers: dict[str, int] = {}
        self.texts: defaultdict[str, dict[str, int]] = defaultdict(dict)


class _Reader:
    """The features of the lines read so far, as numbers of words in a vocabulary."""

    def __init__(self) -> None:
        self.word: list[int] = []
        self.x: list[float] = []
        self.bare: list[str] = []  # names without their namespaces
        self.space: list[_Space] = []
        self.group: list[int] = []
        self.groups: dict[str, int] = {}
        self.top = _Space()
        self.spaces: dict[str, _Space] = {}

    def read(self, features: dict[str, Any], space: _Space) -> None:
        """Add the features of a line, or of one of its namespaces."""
        word, x = self.word.append, self.x.append
        numbers, texts = space.numbers, space.texts
        for name, value in features.items():
            kind = type(value)
            if kind is float or kind is int or kind is bool:
                try:
                    word(numbers[name])
                except KeyError:
                    word(self._new(name, name, space, numbers, name))
                x(value)
            elif kind is str:
                if not value:
                    continue
                known = texts[name]
                w = known.get(value)
                word(self._new(f"{name}={value}", name, space, known, value) if w is None else w)
                x(1.0)
            elif kind is dict and space is self.top:
                if name not in self.spaces:
                    self.spaces[name] = _Space(name)
                self.read(value, self.spaces[name])
            elif value is not None:
                raise _Fault(_bad_value(name, value, space.namespace))

    def _new(self, word: str, name: str, space: _Space, known: dict[str, int], entry: str) -> int:
        """Number a new word and remember it as ``known[entry]``."""
        namespace = space.namespace
        if "\0" in word or (namespace and "\0" in namespace):
            raise _Fault(f"NUL character in feature {_short(word)}: remove it")
        group = name if namespace is None else namespace
        self.group.append(self.groups.setdefault(group, len(self.groups)))
        self.bare.append(word)
        self.space.append(space)
        known[entry] = len(self.bare) - 1
        return known[entry]

    def words(self) -> Vocabulary:
        """Return all words, in the order in which they were first seen."""
        names = [
            f"{space.namespace}\0{name}" if space.namespace else name
            for name, space in zip(self.bare, self.space, strict=True)
        ]
        return Vocabulary(
            text_of_strings(pa.array(names, pa.large_string())),
            keys_of(
                pa.array(self.bare, pa.large_string()),
                np.array([space.seed for space in self.space], np.uint64),
            ),
            np.array(self.group, np.int32),
            list(self.groups),
        )


def parse(
    block: Block, *, interactions: Interactions = (), ignore: frozenset[str] = frozenset()
) -> Parsed:
    r"""Parse a block of JSON lines.

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
    for names in interactions:
        if len(names) not in {2, 3}:
            raise SettingError(f"an interaction is of 2 or 3 members, got {names!r}")
    reader = _Reader()
    faults: dict[int, str] = {}
    lines: list[int] = []
    labels: list[float | str] = []
    importances: list[float] = []
    tags: list[str] = []
    start = [0]
    text = block.data.tobytes()
    if block.line == 1:
        text = text.removeprefix(b"\xef\xbb\xbf")
    for line, raw in enumerate(text.split(b"\n"), block.line):
        if not raw or raw.isspace():
            continue
        try:
            example = _loaded(raw)
            label, importance, tag = _said(example)
            features = example["features"]
            for name in ignore:
                features.pop(name, None)
            reader.read(features, reader.top)
        except _Fault as fault:
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
    wrong = ~np.isfinite(rows.x)
    if odd or wrong.any():
        good = np.ones(len(lines), np.bool_)
        good[odd] = False
        for k in np.flatnonzero(wrong):
            i = int(np.searchsorted(rows.start, k, side="right")) - 1
            good[i] = False
            name = _shown(words.name[rows.word[k]])
            faults.setdefault(lines[i], f"feature {name} {not_finite(float(given[k]), 'null')}")
        rows = rows.only(good)
        tags = [tag for tag, is_good in zip(tags, good, strict=True) if is_good]
    parsed = finished(
        rows.without_zeros(), words, block.source, faults, interactions, tags if any(tags) else None
    )
    return parsed._replace(label_names=label_names)


def _loaded(raw: bytes) -> dict[str, Any]:
    """Load the object of a line, and check that its features are an object."""
    try:
        example = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        # The position counts characters, as the error's own copy of the text does.
        rest = error.doc[error.pos :].strip().encode("utf-8", "surrogateescape")
        at = f"from {quoted(rest)} on" if rest else "at its end"
        raise _Fault(f"not JSON {at}: write one line like {SAMPLE}") from None
    if type(example) is not dict:
        raise _Fault(f"expected an object, got {_short(example)}: write one like {SAMPLE}")
    if not example.keys() <= KNOWN:
        unknown = ", ".join(f'"{name}"' for name in example if name not in KNOWN)
        raise _Fault(f'unknown member {unknown}: write it inside "features"')
    if "features" not in example:
        raise _Fault(f'no "features": write a line like {SAMPLE}')
    if type(example["features"]) is not dict:
        got = _short(example["features"])
        raise _Fault(f'expected an object as "features", got {got}: write {{"name": value}}')
    return example


def _said(example: dict[str, Any]) -> tuple[float | str, float, str]:
    """Return the label, the importance and the tag of an example."""
    label, weight = example.get("label"), _number(example, "weight")
    label = (label.strip() or None) if type(label) is str else _number(example, "label")
    tag = example.get("tag")
    if tag is not None and type(tag) is not str:
        raise _Fault(f'expected a string as "tag", got {_short(tag)}: write it in quotes')
    if weight is not None and weight < 0:
        raise _Fault(f'"weight" is {weight}: write 0 to learn nothing from the line')
    if label is None:
        return 0.0, 0.0, tag or ""
    return label, 1.0 if weight is None else weight, tag or ""


def _number(example: dict[str, Any], role: str) -> float | None:
    value = example.get(role)
    if value is None:
        return None
    if type(value) not in {int, float, bool}:
        raise _Fault(_not_a_number(role, value))
    if abs(value) >= TOO_LARGE:
        raise _Fault(f'"{role}" {not_finite(float(value), "null")}')
    return float(value)


def _odd_words(
    labels: list[float | str], importances: list[float], lines: list[int], faults: dict[int, str]
) -> list[int]:
    """Find labels that are text where nearly all are numbers; they become 0, and faults."""
    found = [i for i, label in enumerate(labels) if isinstance(label, str)]
    if are_words(len(found), sum(importance > 0 for importance in importances)):
        return []
    for i in found:
        faults[lines[i]] = _not_a_number("label", labels[i])
        labels[i] = 0.0
    return found


def _not_a_number(role: str, value: Any) -> str:
    return f'expected a number as "{role}", got {_short(value)}: write a number or null'


def _bad_value(name: str, value: Any, namespace: str | None) -> str:
    shown = _shown(f"{namespace}\0{name}" if namespace is not None else name)
    if type(value) is dict:
        return f"feature {shown} is an object inside a namespace: write namespaces one level deep"
    return (
        f"expected a number, a string, true, false or null as feature {shown}, "
        f'got {_short(value)}: write an array as an object, like {{"a": 1, "b": 1}}'
    )


def _shown(name: str) -> str:
    """Show a feature's name in a message."""
    return _short(name.replace("\0", "."))


def _short(value: Any) -> str:
    """Show a value as JSON, cut short."""
    text = orjson.dumps(value).decode()
    return text[:LONGEST] + ("..." if len(text) > LONGEST else "")
