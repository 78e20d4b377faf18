"""The two text formats as plain Python reads them, slowly: what the kernels must equal."""

import itertools
import math
import re
from collections import Counter
from typing import NamedTuple

import numpy as np
import xxhash

LARGEST = 2**64 - 2
MOST_PRODUCTS = 2**21
NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
ENDLESS = {b"inf", b"infinity", b"nan"}


class Fault(Exception):  # noqa: N818 - it is what a line has
    """Says what is wrong with a line."""


class Example(NamedTuple):
    line: int
    label: np.float32
    importance: np.float32
    base: np.float32 | None
    tag: bytes
    features: list[tuple[bytes, bytes, int, np.float32]]  # namespace, name, key, x


class Outcome(NamedTuple):
    examples: list[Example]
    bad: list[tuple[int, str]]


def vw(data, first_line=1, interactions=(), ignore=frozenset()):
    return _read(data, first_line, lambda line: _vw_line(line, interactions, ignore))


def svmlight(data, first_line=1):
    return _read(data, first_line, _svmlight_line)


def _read(data, first_line, parse):
    if first_line == 1:
        data = data.removeprefix(b"\xef\xbb\xbf")
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    examples, bad = [], []
    for number, line in enumerate(lines, first_line):
        try:
            example = parse(_clean(line.removesuffix(b"\r")))
        except Fault as fault:
            bad.append((number, str(fault)))
        else:
            if example is not None:
                examples.append(Example(number, *example))
    return Outcome(examples, bad)


def _clean(line):
    if b"\0" in line:
        raise Fault("NUL byte in the line: remove it")
    if b"\r" in line:
        raise Fault("carriage return inside the line: end lines with \\n or \\r\\n")
    return line


def show(raw):
    text = raw.decode("utf-8", "surrogateescape")
    return repr(text) if len(text) <= 40 else repr(text[:40]) + "..."


def tokens(raw):
    return [token for token in re.split(rb"[ \t]", raw) if token]


def key_of(name, namespace):
    if not namespace and re.fullmatch(rb"0|[1-9][0-9]{0,19}", name) and int(name) <= LARGEST:
        return int(name)
    return min(xxhash.xxh64_intdigest(name, xxhash.xxh64_intdigest(namespace)), LARGEST)


def mix(a, b):
    return min(xxhash.xxh64_intdigest(b.to_bytes(8, "little"), a), LARGEST)


def single(text):
    with np.errstate(over="ignore"):
        return np.float32(float(text))


def endless(text):
    return text.lower().removeprefix(b"+" if text[:1] == b"+" else b"-") in ENDLESS


def number_of(text, role, instead):
    if endless(text):
        raise Fault(f"{role} {show(text)} is not finite: write a finite number")
    if not NUMBER.fullmatch(text):
        raise Fault(f"expected a number as {role}, got {show(text)}: write {instead}")
    value = single(text)
    if role == "importance" and value < 0:
        raise Fault(f"importance {show(text)} is negative: write 0 to learn nothing from the line")
    if not math.isfinite(value):
        raise Fault(
            f"{role} {show(text)} is too large for single precision: "
            "write a number below 3.4e38 in size"
        )
    return value


# VW text


def _vw_line(line, interactions, ignore):
    if not tokens(line):
        return None
    head, bar, body = line.partition(b"|")
    if not bar:
        raise Fault(
            f"expected 'label |namespace features', got {show(line)}: write '|' before the features"
        )
    label, importance, base, tag = _vw_head(head)
    features = _vw_features(b"|" + body, ignore)
    return label, importance, base, tag, features + _products(features, interactions)


def _vw_head(head):
    if b"\t" in head:
        raise Fault(
            f"TAB before '|' in {show(head)}: write spaces between label, importance, base and tag"
        )
    words = [word for word in head.split(b" ") if word]
    tag = b""
    if words and (words[-1].startswith(b"'") or not head.endswith(b" ")):
        tag = words.pop()
        if not words and (NUMBER.fullmatch(tag) or endless(tag)):
            raise Fault(f"label {show(tag)} touches '|': write {show(tag + b' |')}")
    values = []
    for role, word in itertools.zip_longest(("label", "importance", "base"), words):
        if role is None:
            raise Fault(
                f"expected at most label, importance and base, got {show(word)} too: "
                "write ' before a tag"
            )
        if word is not None:
            values.append(number_of(word, role, "a number, or ' before a tag"))
    label, importance, base = values + [None] * (3 - len(values))
    if label is None:
        label, importance = np.float32(0), np.float32(0)
    elif importance is None:
        importance = np.float32(1)
    return label, importance, base, tag.removeprefix(b"'")


def _vw_features(body, ignore):
    features = []
    namespace, scale, unnamed = b"", np.float32(1), 0
    for token in tokens(body):
        if b"|" in token[1:]:
            raise Fault(f"'|' inside {show(token)}: write a space before it")
        if token.startswith(b"|"):
            namespace, scale = _vw_header(token)
            unnamed = 0
            continue
        name, value = _vw_feature(token)
        if not name:
            name = b"%d" % unnamed
            unnamed += 1
        with np.errstate(over="ignore"):
            x = value * scale
        if not math.isfinite(x):
            raise Fault(
                f"{show(token)} times the scale of its namespace is too large for single "
                "precision: scale one of them down"
            )
        if x != 0 and namespace.decode("utf-8", "surrogateescape") not in ignore:
            features.append((namespace, name, key_of(name, namespace), x))
    return features


def _vw_header(token):
    name, colon, scale = token[1:].partition(b":")
    if not colon:
        return name, np.float32(1)
    if b":" in scale:
        raise Fault(f"second ':' in {show(token)}: write |namespace:scale")
    if not name:
        raise Fault(f"scale of no namespace in {show(token)}: write |namespace:scale")
    if not scale:
        raise Fault(
            f"scale of nothing in {show(token)}: write {show(b'|' + name)}, or a number after ':'"
        )
    value = number_of(scale, "scale", "a number")
    if value == 0:
        raise Fault(f"scale of 0 in {show(token)}: ignore the namespace, or leave it out")
    return name, value


def _vw_feature(token):
    name, colon, value = token.partition(b":")
    if not colon:
        return name, np.float32(1)
    if b":" in value:
        raise Fault(f"second ':' in {show(token)}: write name:value")
    if not value:
        instead = f"{show(name)}, or a number after ':'" if name else "name:value"
        raise Fault(f"value of nothing in {show(token)}: write {instead}")
    if value[:1] in b"0123456789+-." or endless(value):
        text = "a number, or text that does not begin like one"
        return name, number_of(value, "value", text)
    if not name:
        raise Fault(f"text without a name in {show(token)}: write name:text")
    return name + b"=" + value, np.float32(1)


def _products(features, interactions):
    members = {}
    for namespace, name, key, x in features:
        text = namespace.decode("utf-8", "surrogateescape")
        members.setdefault(text, []).append((name, key, x))
    if sum(_how_many(names, members) for names in interactions) > MOST_PRODUCTS:
        raise Fault(
            f"the interactions make more than {MOST_PRODUCTS} products of this line: "
            "leave one of them out, or split the line"
        )
    products = []
    for names in interactions:
        lists = [members.get(name, []) for name in names]
        for places in itertools.product(*(range(len(part)) for part in lists)):
            pairs = itertools.combinations(range(len(names)), 2)
            if any(names[s] == names[t] and places[s] > places[t] for s, t in pairs):
                continue
            parts = [part[place] for part, place in zip(lists, places, strict=True)]
            key, x = parts[0][1:]
            for _, other, value in parts[1:]:
                key = mix(key, other)
                with np.errstate(over="ignore", under="ignore"):
                    x = x * value
            if not math.isfinite(x):
                raise Fault(
                    f"a product of the interaction {'*'.join(names)} is too large for single "
                    "precision: scale its values down"
                )
            if x != 0:
                namespace = "*".join(names).encode("utf-8", "surrogateescape")
                products.append((namespace, b"*".join(part[0] for part in parts), key, x))
    return products


def _how_many(names, members):
    """Combinations with repetition, of each namespace as often as it is named."""
    return math.prod(
        math.comb(len(members.get(name, ())) + times - 1, times)
        for name, times in Counter(names).items()
    )


# svmlight


def _svmlight_line(line):
    words = tokens(line.partition(b"#")[0])
    if not words:
        return None
    target, *words = words
    if b"," in target:
        raise Fault(f"multi-label targets are not supported: got {show(target)}, write one number")
    if b":" in target:
        raise Fault(f"expected a target first, got {show(target)}: write a number before it")
    label = number_of(target, "target", "a number")
    if words and words[0].startswith(b"qid:"):
        qid = words.pop(0)
        if not re.fullmatch(rb"[+-]?[0-9]+", qid[4:]):
            raise Fault(f"expected an integer as qid, got {show(qid)}: write qid:1")
    features = []
    for word in words:
        index, x = _svmlight_feature(word)
        if x != 0:
            features.append((b"", b"%d" % index, index, x))
    return label, np.float32(1), None, b"", features


def _svmlight_feature(word):
    if word.startswith(b"qid:"):
        raise Fault(f"qid out of place: write {show(word)} after the target, once")
    index, colon, value = word.partition(b":")
    if not colon or not re.fullmatch(rb"[0-9]+", index):
        raise Fault(f"expected index:value, got {show(word)}: write an integer, ':' and a number")
    if len(index) > 1 and index.startswith(b"0"):
        plain = index.lstrip(b"0") or b"0"
        raise Fault(f"index {show(index)} has leading zeros: write {show(plain)}")
    if len(index) > 20 or int(index) > LARGEST:
        raise Fault(f"index {show(index)} is too large: write at most {LARGEST}")
    if b":" in value:
        raise Fault(f"second ':' in {show(word)}: write index:value")
    if not value:
        raise Fault(f"value of nothing in {show(word)}: write a number after ':'")
    return int(index), number_of(value, "value", "a number")


# Against the kernels


def shown(namespace, name):
    raw = namespace + b"\0" + name if namespace else name
    return raw.decode("utf-8", "surrogateescape")


def check(parsed, reading, source, *, named):
    """The parser gave what the reference read, to the bit."""
    batch, line, bad, tags, *_ = parsed
    examples = reading.examples
    features = [feature for example in examples for feature in example.features]
    sizes = [len(example.features) for example in examples]
    has_base = any(example.base is not None for example in examples)
    bases = [0 if example.base is None else example.base for example in examples]
    same(batch.start, np.cumsum([0, *sizes]), np.int64)
    same(batch.key, [key for _, _, key, _ in features], np.uint64)
    same(batch.x, [x for *_, x in features], np.float32)
    same(batch.label, [example.label for example in examples], np.float32)
    same(batch.importance, [example.importance for example in examples], np.float32)
    assert (batch.base is not None) == has_base
    if has_base:
        same(batch.base, bases, np.float32)
    same(line, [example.line for example in examples], np.int64)
    assert [tuple(fault) for fault in bad] == [(source, *fault) for fault in reading.bad]
    if named:
        assert list(batch.names) == [shown(namespace, name) for namespace, name, *_ in features]
    else:
        assert batch.names is None
    expected = [example.tag.decode("utf-8", "surrogateescape") for example in examples]
    assert (tags is None) == (not any(expected))
    if tags is not None:
        assert list(tags) == expected


def same(array, values, dtype):
    expected = np.array(values, dtype)
    assert array.dtype == dtype
    assert array.tobytes() == expected.tobytes(), (array, expected)
