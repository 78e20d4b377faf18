"""Read a model of Vowpal Wabbit from the text that ``vw --invert_hash`` writes."""

import math
import os
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.losses import Logistic, Squared
from dwindle.algorithm.settings import LOSSES
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, kept_reading
from dwindle.engine.learner import Learner
from dwindle.features.keys import key_of
from dwindle.features.names import Text
from dwindle.model.classes import ClassModels
from dwindle.model.export.linear import Feature, cuts, product_key
from dwindle.model.export.vw_hash import feature_number, product_number
from dwindle.model.model import Model
from dwindle.model.order import heaviest_first

_LINE = re.compile(r"(?P<name>.+?)(?:\[(?P<k>\d+)\])?:(?P<place>\d+):(?P<weight>[^ ]+)(?: .*)?")
_NAMELESS = re.compile(r"\d+:[^ :]+(?: .*)?")
_SAID = re.compile(r"(Min label|Max label|bits|options|l1_state|l2_state|example_number)[: ] ?(.*)")


class _Header(NamedTuple):
    """What the text says before the weights."""

    bits: int
    options: list[str]
    l1: float  # what VW takes off each weight when it predicts,
    l2: float  # and the factor on the prediction
    labels: tuple[float, float]  # the least and the largest
    examples: int

    def of(self, *flags: str) -> list[str]:
        """Return the values of an option."""
        return [b for a, b in zip(self.options, self.options[1:], strict=False) if a in flags]

    @property
    def classes(self) -> int:
        """The number of classes of --oaa, 0 if it is not there."""
        return int((self.of("--oaa") or ["0"])[0])


def import_vw(path: str | os.PathLike[str], loss: str | None = None) -> Model | ClassModels:
    """Make a model of what ``vw --invert_hash FILE`` wrote; its predictions are VW's.

    VW does not write the loss: it is logistic if the link is, or if all labels were -1 and 1 or
    there are several classes; else squared.
    """
    lines = Path(path).read_text("utf-8", "surrogateescape").split("\n")
    header, first = _header(path, lines)
    losses = _loss(header, loss)
    rows: list[dict[tuple[Feature, ...], float]] = [{} for _ in range(header.classes or 1)]
    intercepts = [0.0] * len(rows)
    for number, line in enumerate(lines[first:], first + 1):
        if not line:
            continue
        where = f"{path}:{number}"
        found = _LINE.fullmatch(line)
        if found is None:
            told = f"expected name:number:weight, got {line[:80]!r}"
            if _NAMELESS.fullmatch(line):
                told = "a weight without a name: write the text with vw --invert_hash"
            raise DataError(f"{where}: {told}")
        weight = _weight(found["weight"], header, where)
        k = int(found["k"] or 0)
        if k >= len(rows):
            raise DataError(f"{where}: class {k + 1} of {len(rows)}")
        if found["name"] == "Constant":
            intercepts[k] = weight
        elif weight != 0.0:
            rows[k][_factors(found["name"], int(found["place"]) - k, header, where)] = weight
    used = {factor.namespace for row in rows for factors in row for factor in factors}
    settings = Learner(losses, intercept="--noconstant" not in header.options).settings()
    metadata: dict[str, Any] = {
        "reading": kept_reading(ReadOptions(interactions=_interactions(header, used))),
        "examples": header.examples,
        "importance": float(header.examples),
    }
    if header.classes:
        metadata |= Labels.of([float(k + 1) for k in range(header.classes)]).metadata()
    models = [
        _model(row, intercept, settings, metadata)
        for row, intercept in zip(rows, intercepts, strict=True)
    ]
    return ClassModels(models) if header.classes else models[0]


def _model(
    row: dict[tuple[Feature, ...], float], intercept: float, settings: Any, metadata: Any
) -> Model:
    names, keys = [], []
    for factors in row:
        spaces = [factor.namespace for factor in factors]
        own = "*".join(factor.name for factor in factors)
        names.append(f"{'*'.join(spaces)}\0{own}" if any(spaces) else own)
        keys.append(product_key([key_of(f.name, f.namespace) for f in factors]))
    key, weight = np.array(keys, np.uint64), np.array(list(row.values()), np.float64)
    order = heaviest_first(key, weight)
    text = Text(*Text.of(names).spelled(order))
    return Model(key[order], weight[order], text, intercept, settings, metadata)


def _header(path: Any, lines: list[str]) -> tuple[_Header, int]:
    """Read what is said before the weights; return it and the number of their first line."""
    if not lines[0].startswith("Version "):
        raise DataError(
            f"{path}:1: expected a text that vw --invert_hash wrote, got {lines[0][:80]!r}"
        )
    said: dict[str, str] = {}
    first = next((i for i, line in enumerate(lines) if re.fullmatch(r":\d+", line)), None)
    if first is None:
        raise DataError(f"{path}: cut short: expected weights after a line :0 or :1")
    for line in lines[:first]:
        if found := _SAID.fullmatch(line):
            said[found[1]] = found[2]
    resumed = lines[first] != ":0"  # then the state of learning follows, as ``t 300``
    first += 1
    while (
        resumed
        and first < len(lines)
        and re.fullmatch(r"[\w:.]+(?: [\w ]+)? [-+.\w]+", lines[first])
    ):
        if found := _SAID.fullmatch(lines[first]):
            said[found[1]] = found[2]
        first += 1
    try:
        header = _Header(
            int(said["bits"]),
            said.get("options", "").split(),
            float(said.get("l1_state", 0.0)),
            float(said.get("l2_state", 1.0)),
            (float(said["Min label"]), float(said["Max label"])),
            int(float(said.get("example_number", 0))),
        )
    except (KeyError, ValueError) as error:
        raise DataError(f"{path}: its header cannot be read: {error}") from None
    for option in header.options:
        if option in UNKNOWN:
            raise DataError(f"{path}: a model of {option}, which is not a linear model here")
    return header, first


UNKNOWN = {  # options that make a prediction of more than one weight for each feature
    "--nn", "--lrq", "--lrqfa", "--boosting", "--bootstrap", "--cb", "--cb_adf", "--cb_explore",
    "--cb_explore_adf", "--csoaa", "--ect", "--ksvm", "--lda", "--log_multi", "--multilabel_oaa",
    "--new_mf", "--rank", "--search", "--stage_poly", "--wap", "--ngram", "--skips",
}  # fmt: skip


def _loss(header: _Header, name: str | None) -> Any:
    if name is not None:
        if name not in LOSSES:
            raise SettingError(f"loss must be one of {', '.join(LOSSES)}, got {name!r}")
        return LOSSES[name]()
    is_logistic = (
        header.of("--link") == ["logistic"]
        or header.of("--loss_function") == ["logistic"]
        or header.classes
        or header.labels in {(-1.0, 1.0), (-50.0, 50.0)}
    )
    return Logistic() if is_logistic else Squared()


def _weight(text: str, header: _Header, where: str) -> float:
    """Return the weight that VW predicts with: sign(w) max(|w| - l1, 0) l2."""
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise DataError(f"{where}: expected a weight, got {text!r}")
    return math.copysign(max(abs(weight) - header.l1, 0.0), weight) * header.l2


def _factors(name: str, place: int, header: _Header, where: str) -> tuple[Feature, ...]:
    """Find the features of a name, such that their number is the one beside it."""
    shift, mask = max(header.classes - 1, 0).bit_length(), 2**header.bits - 1
    digits = header.of("--hash") != ["all"]
    for n in (1, 2, 3):
        for parts in cuts(name, n):
            for candidates in product(*(_readings(part, digits=digits) for part in parts)):
                number = product_number(number for _, number in candidates)
                if (number << shift) & mask == place & mask:
                    return tuple(feature for feature, _ in candidates)
    raise DataError(f"{where}: {name!r} has another number than Vowpal Wabbit would give it")


def _readings(part: str, *, digits: bool) -> Iterator[tuple[Feature, int]]:
    """Yield what a name may be: a feature, in a namespace or not, perhaps with a text as value."""
    yield Feature("", part), feature_number("", part, digits=digits)
    first, *others = part.split("^")
    if others:
        own = "^".join(others)
        yield Feature(first, own), feature_number(first, own, digits=digits)
        yield Feature("", f"{first}={own}"), feature_number("", first, own, digits=digits)
    if len(others) > 1:
        name, text = others[0], "^".join(others[1:])
        yield Feature(first, f"{name}={text}"), feature_number(first, name, text, digits=digits)


def _interactions(header: _Header, namespaces: set[str]) -> tuple[tuple[str, ...], ...]:
    """Spell out the interactions, which VW knows by the first letters of namespaces."""
    found: dict[tuple[str, ...], None] = {}
    for letters in header.of("-q", "--quadratic", "--cubic", "--interactions"):
        each = [sorted(n for n in namespaces if (n or " ")[0] == c or c == ":") for c in letters]
        for names in product(*each):
            if tuple(reversed(names)) not in found or len(names) > 2:
                found[names] = None
    return tuple(found)
