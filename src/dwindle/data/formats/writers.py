"""Writers of VW text and svmlight, which are read back as the same examples, to the bit.

Arrow does the work, a column at a time: only distinct names and what stands before the features of
a line become Python objects.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.tables.distinct import distinct
from dwindle.data.formats.tables.vocabulary import keys_of
from dwindle.data.text.errors import quoted
from dwindle.features.batch import Batch
from dwindle.features.keys import seed_of
from dwindle.features.names import decoded, shown, spelled, split

BYTES = pa.large_binary()

# The only float32 whose shortest text, 7.038531e-26, is read as its neighbour by parsers that round
# to double precision first, as ours and most others do.
UNLUCKY = np.float32("7.0385307e-26")

_ENDS_NAME = "[ \t\r\n:|\x00]"
_ENDS_TAG = re.compile("[ \t\r\n|\0]")
_ENDS_COMMENT = re.compile("[\r\n\0]")


def number_texts(x: NDArray[np.float32]) -> pa.Array:
    """Write each number with the fewest digits that are read as the same number.

    >>> number_texts(np.float32([1, 0.1, 1e-30, 16777216])).to_pylist()
    [b'1', b'0.1', b'1e-30', b'16777216']
    """
    text = pa.array(x).cast(pa.large_string()).cast(BYTES)
    unlucky = np.abs(x) == UNLUCKY
    if unlucky.any():
        exact = pa.array([b"%.9g" % number for number in x[unlucky].tolist()], BYTES)
        text = pc.replace_with_mask(text, pa.array(unlucky), exact)
    return text


def vw(parsed: Parsed) -> memoryview:
    r"""Write examples as lines of VW text; raise DataError if they cannot be expressed.

    >>> key = keys_of(pa.array(["hour", "color=red"], pa.large_string()))
    >>> batch = Batch.from_arrays([0, 2], key, [0.5, 1], [1], names=["hour", "color=red"])
    >>> bytes(vw(Parsed(batch, np.array([1]), [], ["today"])))
    b"1 'today | hour:0.5 color=red\n"
    """
    batch = parsed.batch
    known = _distinct_features(batch)
    pairs = [split(name) for name in known.names]
    spaces = {namespace: s for s, namespace in enumerate(dict.fromkeys(ns for ns, _ in pairs))}
    space = np.array([spaces[namespace] for namespace, _ in pairs], np.int64)
    names = _raw([feature for _, feature in pairs])
    _check_names(parsed, known, names, list(spaces), space)
    # A namespace is named where an example or another namespace begins.
    here = space[known.code]
    opens = np.ones(len(here), np.bool_)
    opens[1:] = here[1:] != here[:-1]
    opens[batch.start[:-1][np.diff(batch.start) > 0]] = True
    headers = pa.concat_arrays([_raw([""]), _raw(f"|{namespace} " for namespace in spaces)])
    valued = batch.x != 1
    spelt = pa.concat_arrays([names, _joined(names, _scalar(b":"))])
    tokens = _joined(
        headers.take(pa.array(np.where(opens, here + 1, 0))),
        spelt.take(pa.array(np.where(valued, known.code + len(names), known.code))),
        pc.if_else(pa.array(valued), number_texts(batch.x), _scalar(b"")),
    )
    empty = pa.array(np.diff(batch.start) == 0)
    features = pc.if_else(empty, _scalar(b"|"), _listed(batch, tokens))
    return _lines(_vw_heads(parsed), features)


def svmlight(parsed: Parsed) -> memoryview:
    r"""Write examples as lines of svmlight, tags as comments; raise DataError if it cannot.

    >>> batch = Batch.from_arrays([0, 2], np.array([3, 12]), [0.5, 1], [-1])
    >>> bytes(svmlight(Parsed(batch, np.array([1]), [])))
    b'-1 3:0.5 12:1\n'
    """
    batch = parsed.batch
    _check_svmlight(parsed)
    index = pa.array(batch.key).cast(pa.large_string()).cast(BYTES)
    tokens = _joined(index, _scalar(b":"), number_texts(batch.x))
    tags = _tags(parsed, _ENDS_COMMENT, "svmlight has no comments of several lines")
    comments = _raw(f" # {tag}" if tag else "" for tag in tags)
    space = pa.array(np.diff(batch.start) > 0).cast(pa.int8())
    return _lines(
        number_texts(_said(batch)[0]), _raw(["", " "]).take(space), _listed(batch, tokens), comments
    )


class DistinctFeatures(NamedTuple):
    """The distinct features of a batch: which one each is, where each first is, and its name."""

    code: NDArray[np.int32]
    first: NDArray[np.int64]
    names: Sequence[str]


def _distinct_features(batch: Batch) -> DistinctFeatures:
    """List them in the order of the batch; without names, they are called by their keys."""
    first, code = distinct(batch.key)
    if batch.names is None:
        return DistinctFeatures(code, first, [str(key) for key in batch.key[first]])
    return DistinctFeatures(code, first, decoded(*spelled(batch.names, first)))


def _said(batch: Batch) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the label, the importance and the base of each example."""
    zeros = np.zeros(batch.n_examples, np.float32)
    base = zeros if batch.base is None else batch.base
    if batch.label is None:
        return zeros, zeros, base
    return batch.label, batch.importances(), base


def _vw_heads(parsed: Parsed) -> pa.Array:
    """Write what stands before the features of each line."""
    columns = _said(parsed.batch)
    # Defaults are left out; the bits of -0 are not those of 0.
    has_label, has_base = (columns[k].view(np.int32) != 0 for k in (0, 2))
    has_label |= (columns[1] != 0) | has_base
    has_importance = has_label & ((columns[1] != 1) | has_base)
    said = [
        [text + b" " if is_said else b"" for text, is_said in zip(texts, those, strict=True)]
        for texts, those in zip(
            (number_texts(column).to_pylist() for column in columns),
            (mask.tolist() for mask in (has_label, has_importance, has_base)),
            strict=True,
        )
    ]
    tags = _tags(parsed, _ENDS_TAG, "VW text has no tags with spaces, tabs or '|'")
    said.append([_bytes(f"'{tag} ") if tag else b"" for tag in tags])
    return pa.array(map(b"".join, zip(*said, strict=True)), BYTES)


def _tags(parsed: Parsed, ends: re.Pattern[str], rule: str) -> Sequence[str]:
    """Return the tags, if none holds a character that would end it."""
    if parsed.tags is None:
        return [""] * parsed.batch.n_examples
    for line, tag in zip(parsed.line.tolist(), parsed.tags, strict=True):
        if ends.search(tag):
            raise DataError(
                f"{parsed.source}:{line}: {rule}, got {_quoted(tag)}: "
                "write it without, or convert to arrow"
            )
    return parsed.tags


def _check_names(
    parsed: Parsed,
    known: DistinctFeatures,
    names: pa.Array,
    spaces: list[str],
    space: NDArray[np.int64],
) -> None:
    """Check that each name, written as it is, is read as the same feature."""
    seed = np.array([seed_of(namespace) for namespace in spaces], np.uint64)
    key = parsed.batch.key[known.first].astype(np.uint64)
    torn = pc.match_substring_regex(_raw(spaces), _ENDS_NAME).to_numpy(zero_copy_only=False)[space]
    torn |= pc.match_substring_regex(names, _ENDS_NAME).to_numpy(zero_copy_only=False)
    torn |= pc.equal(pc.binary_length(names), 0).to_numpy(zero_copy_only=False)
    other = keys_of(names, seed[space]) != key
    if not (torn | other).any():
        return
    w = int(np.argmax(torn | other))
    name = _quoted(shown(known.names[w]))
    if torn[w]:
        raise _cannot(
            parsed,
            known.first[w],
            f"VW text has no names that are empty or hold spaces, tabs, ':' or '|', got {name}: "
            "rename it, or convert to arrow",
        )
    raise _cannot(
        parsed,
        known.first[w],
        f"VW text has no products of features, got {name}: "
        "convert without interactions, or to arrow",
    )


def _check_svmlight(parsed: Parsed) -> None:
    """Check that examples have only a label, and features whose names are integers."""
    batch = parsed.batch
    label, importance, base = _said(batch)
    odd = (importance != 1) | (base.view(np.int32) != 0)
    if odd.any():
        i = int(np.argmax(odd))
        if importance[i] == 1:
            what = f"has no base, and this example has {base[i]:g}"
        elif importance[i] == 0 and label[i] == 0:
            what = "has no examples without a label, and this is one"
        else:
            what = f"has no importance but 1, and this example has {importance[i]:g}"
        where = f"{parsed.source}:{parsed.line[i]}"
        raise DataError(f"{where}: svmlight {what}: convert to vw or to arrow")
    if batch.names is None:
        return
    known = _distinct_features(batch)
    for k, name in zip(known.first.tolist(), known.names, strict=True):
        if name != str(batch.key[k]):
            raise _cannot(
                parsed,
                k,
                "svmlight has integers as names of features, "
                f"got {_quoted(shown(name))}: convert to vw or to arrow",
            )


def _cannot(parsed: Parsed, k: Any, what: str) -> DataError:
    """Make an error about feature k, with its place."""
    i = int(np.searchsorted(parsed.batch.start, k, side="right")) - 1
    return DataError(f"{parsed.source}:{parsed.line[i]}: {what}")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    return quoted(_bytes(text))


def _raw(texts: Iterable[str]) -> pa.Array:
    return pa.array(map(_bytes, texts), BYTES)


def _scalar(raw: bytes) -> pa.Scalar:
    return pa.scalar(raw, BYTES)


def _joined(*parts: pa.Array) -> pa.Array:
    """Join the parts of each row."""
    return pc.binary_join_element_wise(*parts, _scalar(b""))


def _listed(batch: Batch, tokens: pa.Array) -> pa.Array:
    """Join the tokens of each example with spaces."""
    rows = pa.ListArray.from_arrays(pa.array(batch.start, pa.int32()), tokens)
    return pc.binary_join(rows, _scalar(b" "))


def _lines(*parts: pa.Array) -> memoryview:
    """Join the parts of each line, and all lines."""
    text = _joined(*parts, _scalar(b"\n"))
    offset = np.frombuffer(text.buffers()[1], np.int64)[text.offset :]
    return memoryview(text.buffers()[2])[offset[0] : offset[len(text)]]
