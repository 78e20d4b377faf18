"""Objects whose members are features: of JSON lines, of structs and of maps."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from dwindle.data.formats.tables.several import Several
from dwindle.data.formats.tables.vocabulary import Vocabulary, keys_of
from dwindle.data.text.errors import LONGEST
from dwindle.features.arrow import not_finite, single, strings_of, text_of_strings
from dwindle.features.keys import seed_of


class Fault(Exception):  # noqa: N818 - it never reaches the user
    """An object cannot be read; the message says why."""


class Space:
    """The words of one namespace (None for no namespace), by name, or by name and text."""

    def __init__(self, namespace: str | None = None) -> None:
        self.namespace = namespace
        self.seed = seed_of(namespace or "")
        self.numbers: dict[str, int] = {}
        self.texts: defaultdict[str, dict[str, int]] = defaultdict(dict)


class ObjectReader:
    """The features of the lines read so far, as numbers of words in a vocabulary."""

    def __init__(self) -> None:
        self.word: list[int] = []
        self.x: list[float] = []
        self.bare: list[str] = []  # names without their namespaces
        self.space: list[Space] = []
        self.group: list[int] = []
        self.groups: dict[str, int] = {}
        self.top = Space()
        self.spaces: dict[str, Space] = {}

    def read(self, features: Mapping[str, Any], space: Space) -> None:  # noqa: C901  (by type)
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
                    self.spaces[name] = Space(name)
                self.read(value, self.spaces[name])
            elif kind is list and all(type(each) is str for each in value):
                for each in dict.fromkeys(value):
                    self.read({name: each}, space)
            elif value is not None:
                raise Fault(_bad_value(name, value, space.namespace))

    def _new(self, word: str, name: str, space: Space, known: dict[str, int], entry: str) -> int:
        """Number a new word and remember it as ``known[entry]``."""
        namespace = space.namespace
        if "\0" in word or (namespace and "\0" in namespace):
            raise Fault(f"NUL character in feature {short(word)}: remove it")
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


def too_large(
    start: NDArray[np.int64], word: NDArray[np.int32], given: NDArray[np.float64], words: Vocabulary
) -> dict[int, str]:
    """Say which rows have a number that single precision cannot hold."""
    faults: dict[int, str] = {}
    for k in np.flatnonzero(~np.isfinite(single(given))):
        i = int(np.searchsorted(start, k, side="right")) - 1
        name = _shown(words.name[word[k]])
        faults.setdefault(i, f"feature {name} {not_finite(float(given[k]), 'null')}")
    return faults


def members(
    objects: Iterable[Mapping[str, Any] | None], namespace: str, wrong: dict[int, str]
) -> Several:
    r"""Return the members of each object as features of a namespace; None is an empty object.

    What is wrong with row i is added to ``wrong[i]``.

    >>> found = members([{"age": 30, "city": "Rome"}, None], "user", {})
    >>> found.names.to_pylist(), found.x.tolist(), found.start.tolist()
    (['user\x00age', 'user\x00city=Rome'], [30.0, 1.0], [0, 2, 2])
    """
    reader, space, ends = ObjectReader(), Space(namespace), [0]
    for i, each in enumerate(objects):
        try:
            reader.read(each or {}, space)
        except Fault as fault:
            wrong.setdefault(i, str(fault))
            del reader.word[ends[-1] :], reader.x[ends[-1] :]
        ends.append(len(reader.word))
    words, given = reader.words(), np.array(reader.x, np.float64)
    start, word = np.array(ends, np.int64), np.array(reader.word, np.int32)
    for i, message in too_large(start, word, given, words).items():
        wrong.setdefault(i, message)
    names = strings_of(words.name.bound, words.name.text)
    return Several(names, words.key, start, word, single(given)).without_zeros()


def _bad_value(name: str, value: Any, namespace: str | None) -> str:
    shown = _shown(f"{namespace}\0{name}" if namespace is not None else name)
    if type(value) is dict:
        return f"feature {shown} is an object inside a namespace: write namespaces one level deep"
    return (
        f"expected a number, a string, true, false, null or a list of strings as feature {shown}, "
        f'got {short(value)}: write an object, like {{"a": 1, "b": 1}}'
    )


def _shown(name: str) -> str:
    """Show a feature's name in a message."""
    return short(name.replace("\0", "."))


def short(value: Any) -> str:
    """Show a value as JSON, cut short."""
    text = orjson.dumps(value, default=str).decode()
    return text[:LONGEST] + ("..." if len(text) > LONGEST else "")
