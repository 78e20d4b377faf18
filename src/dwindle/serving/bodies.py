"""Requests as examples: each content type is read by the reader of its format."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson

from dwindle._base.errors import DataError
from dwindle.data.formats import jsonl
from dwindle.data.formats.block import BadLine, Block, Parsed
from dwindle.data.formats.interactions import MOST_PRODUCTS, Crowded
from dwindle.data.formats.jsonl import Raw
from dwindle.data.formats.tables.arrow import stream_batches
from dwindle.data.formats.tables.objects import Fault
from dwindle.data.formats.vw import parser as vw
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.schema import ColumnKinds, Schema
from dwindle.features.batch import Batch

SOURCE = "body"  # what messages call a request
ROLES = ("label", "weight")


class MediaTypeError(Exception):
    """A content type that is not read."""


class CrowdedError(Exception):
    """Examples whose products of features are too many for one request."""


class Body(NamedTuple):
    """The examples of a request, the places of bad ones, and whether it was a single object."""

    parsed: Parsed
    alone: bool

    @property
    def n(self) -> int:
        """How many examples there were, bad ones too."""
        return self.parsed.batch.n_examples + len(self.parsed.bad)


class Bodies:
    """Reads requests with the options and columns of a model, or of what was learned so far.

    A model's columns decide alone. Without, if the user said of what kind some columns are, or if
    a table comes, the kind of each column is decided by the first values that are learned.
    Otherwise each value of a JSON object says itself what it is, as in ``learn_one``.
    """

    def __init__(
        self, options: ReadOptions, schema: Schema | None, note: Callable[[str], None]
    ) -> None:
        self._options = replace(options, ahead=False, allow_unknown=True, threads=1)
        fixed = options.schema
        self._is_fixed = fixed is not None
        self._said = any(kind != "drop" for kind in options.columns.values())
        self.kinds = kinds_for(self._options, note)
        if schema is not None and not self._is_fixed:
            self.kinds.go_on(schema)
        self._to_predict = (self._options, self.kinds) if self._is_fixed else None
        self._readers: dict[str, Callable[[bytes, bool], Body]] = {
            "application/json": self._json,
            "application/x-ndjson": self._json_lines,
            "application/jsonl": self._json_lines,
            "text/x-vw": self._vw,
            "application/vnd.apache.arrow.stream": self._arrow,
        }
        self.media_types = tuple(self._readers)

    def schema(self) -> Schema | None:
        """Return the columns met so far."""
        return self._options.schema if self._is_fixed else self.kinds.schema()

    def read(self, media_type: str, body: bytes, *, labelled: bool) -> Body:
        """Read a request; ``labelled`` if it is to be learned from."""
        reader = self._readers.get(media_type)
        if reader is None:
            known = ", ".join(self._readers)
            raise MediaTypeError(f"expected a content type of {known}, got {media_type!r}")
        try:
            return reader(body, labelled)
        except Crowded as crowded:  # a file is read in parts, but a request is learned as a whole
            raise CrowdedError(
                f"{crowded} of features: at most {MOST_PRODUCTS:,} are made of several examples: "
                "send them in several requests"
            ) from None

    # Formats

    def _vw(self, body: bytes, _labelled: bool) -> Body:
        block = Block(np.frombuffer(body, np.uint8), SOURCE)
        parsed = vw.parse(
            block, interactions=self._options.interactions, ignore=self._options.dropped
        )
        return Body(parsed._replace(source=SOURCE), alone=False)

    def _arrow(self, body: bytes, labelled: bool) -> Body:
        options, kinds = self._for(labelled)
        parts = list(stream_batches(body, SOURCE, options, kinds))
        if len(parts) == 1:
            return Body(parts[0], alone=False)
        return Body(_joined(parts), alone=False)

    def _json(self, body: bytes, labelled: bool) -> Body:
        try:
            found = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise DataError(f"not JSON: {error}") from None
        if isinstance(found, dict):
            # The text, in which a member that is there twice is seen.
            return Body(self._objects([(1, bytes(body))], labelled), alone=True)
        if not isinstance(found, list):
            raise DataError("expected an object, or an array of objects")
        return Body(self._objects(list(enumerate(found, 1)), labelled), alone=False)

    def _json_lines(self, body: bytes, labelled: bool) -> Body:
        lines = enumerate(body.split(b"\n"), 1)
        objects = [(number, raw) for number, raw in lines if raw and not raw.isspace()]
        return Body(self._objects(objects, labelled), alone=False)

    def _objects(self, objects: Sequence[tuple[int, Raw]], labelled: bool) -> Parsed:
        options, kinds = self._for(labelled)
        bad = {}
        good: list[tuple[int, Raw]] = []
        for place, raw in objects:
            try:
                good.append((place, jsonl.object_in(raw)))
            except Fault as fault:
                bad[place] = str(fault)
        if self.by_columns(kinds):
            parsed = jsonl.read_objects(good, SOURCE, options, kinds)
        else:
            rows = [(place, self.enveloped(each)) for place, each in good]
            parsed = jsonl.parse_objects(
                rows, SOURCE, interactions=options.interactions, ignore=options.dropped
            )._replace(source=SOURCE)
        if bad:
            faults = [*parsed.bad, *(BadLine(SOURCE, at, why) for at, why in bad.items())]
            parsed = parsed._replace(bad=sorted(faults, key=lambda fault: fault.line))
        return parsed

    def by_columns(self, kinds: ColumnKinds) -> bool:
        """Tell whether the members of JSON objects are columns."""
        return self._is_fixed or self._said or kinds.remembered is not None

    def enveloped(self, each: dict[str, Any]) -> dict[str, Any]:
        """Return an object with its features in an object of their own, if they are not."""
        if "features" in each:
            return each
        options = self._options
        columns = options.label_column, options.weight_column
        roles = {
            role: each[column]
            for role, column in zip(ROLES, columns, strict=True)
            if column in each
        }
        features = {name: value for name, value in each.items() if name not in columns}
        return {"features": features, **roles}

    def _for(self, labelled: bool) -> tuple[ReadOptions, ColumnKinds]:
        """Return how to read what is learned, or what is predicted, which decides no column."""
        if labelled:
            return self._options, self.kinds
        if self._is_fixed:
            return replace(self._options, labelled=False), kinds_for(self._options)
        known = self.kinds.schema()
        options = replace(self._options, labelled=False, schema=known)
        return options, kinds_for(options)

    def dicts(self, media_type: str, body: bytes) -> list[dict[str, Any]] | None:
        """Return the features of each example as a dict, if they are plain; else None.

        What `predict_one` takes is what the reader makes of plain names, numbers and texts; for
        anything else, the reader is asked.
        """
        how = self._options
        by_columns = self._is_fixed or self._said or self.kinds.is_used
        if media_type != "application/json" or by_columns or how.interactions or how.dropped:
            return None
        try:
            found = orjson.loads(body)
        except orjson.JSONDecodeError:
            return None
        several = found if type(found) is list else [found]
        examples = [self._features(each) for each in several]
        n_members = sum(len(each) for each in several if type(each) is dict)
        n_members += sum(
            len(features)
            for each, features in zip(several, examples, strict=True)
            if features is not None and each.get("features") is features
        )
        # As the reader, which looks closely if a member may be there twice, or a name has a NUL.
        if body.count(b'":') != n_members or b"\\u0000" in body:
            return None
        plain = [features for features in examples if features is not None]
        return plain if len(plain) == len(examples) else None

    def _features(self, each: Any) -> dict[str, Any] | None:
        """Return the features of an object, if there is nothing unusual about it."""
        if type(each) is not dict:
            return None
        if "features" in each and not each.keys() <= jsonl.KNOWN:
            return None
        features = self.enveloped(each)["features"]
        return None if type(features) is not dict or "" in features.values() else features


def _joined(parts: list[Parsed]) -> Parsed:
    """Make one of several batches of a stream."""
    if not parts:
        empty = Batch.from_dicts([], [])
        return Parsed(empty, np.empty(0, np.int64), [], source=SOURCE)
    if any(part.label_names is not None for part in parts):
        raise DataError("labels that are text must be in one batch of the stream: send it as one")
    return parts[0]._replace(
        batch=Batch.joined([part.batch for part in parts]),
        line=np.concatenate([part.line for part in parts]),
        bad=[bad for part in parts for bad in part.bad],
        tags=None,
    )
