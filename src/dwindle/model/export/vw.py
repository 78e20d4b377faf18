"""Vowpal Wabbit's texts of a model: its readable model, and the one with names (invert_hash).

VW writes them and does not read them; programs that serve or inspect its models do. The text with
names is also read here, so that a model of VW becomes one of dwindle.
"""

import json
from collections.abc import Iterator

from dwindle._base.errors import DataError, SettingError
from dwindle.data.formats.block import spelled_label
from dwindle.model.export.linear import LOGISTIC, Linear
from dwindle.model.export.vw_hash import CONSTANT, NAMELESS, feature_number, product_number

FEWEST_BITS, MOST_BITS = 18, 32  # VW's default, and all bits of its hash


def readable(linear: Linear, _table: str) -> Iterator[str]:
    """Yield VW's readable model: ``number:weight`` a line, by number."""
    return _text(linear, with_names=False)


def invert_hash(linear: Linear, _table: str) -> Iterator[str]:
    """Yield VW's text with names: ``name:number:weight`` a line."""
    return _text(linear, with_names=True)


def _text(linear: Linear, *, with_names: bool) -> Iterator[str]:
    names = [_spelled(linear, term) for term in linear.terms]
    numbers = [feature_number(*feature) for feature in linear.features]
    hashes = [product_number(numbers[j] for j in term) for term in linear.terms]
    n_classes = len(linear.intercept)
    shift = (n_classes - 1).bit_length()
    bits = _bits([*hashes, CONSTANT], shift, names)
    yield _header(linear, bits)
    mask = 2**bits - 1
    weights = [*linear.weight.tolist(), linear.intercept.tolist()]
    lines = []
    for name, h, own in zip([*names, "Constant"], [*hashes, CONSTANT], weights, strict=True):
        for k, weight in enumerate(own):
            if weight != 0.0:
                place = (h << shift) + k & mask
                lines.append((place, f"{name}[{k}]" if k else name, weight))
    for place, name, weight in sorted(lines):
        yield f"{name}:{place}:{weight!r}\n" if with_names else f"{place}:{weight!r}\n"


def _header(linear: Linear, bits: int) -> str:
    options = [f"--link {linear.link}"] if linear.link == LOGISTIC and not linear.classes else []
    options += [f"--oaa {len(linear.classes)}"] if linear.classes else []
    spaces = {
        tuple((linear.features[j].namespace or " ")[0] for j in term)
        for term in linear.terms
        if len(term) > 1
    }
    options += [f"--interactions {''.join(letters)}" for letters in sorted(spaces)]
    classes = [spelled_label(each) for each in linear.classes or ()]
    about = f"classes {json.dumps(classes)}" if classes else ""
    return (
        f"Version 9.11.0\nId {about}\nMin label:-50\nMax label:50\nbits:{bits}\nlda:0\n"
        f"0 ngram:\n0 skip:\noptions: {' '.join(options)}\nChecksum: 0\n:0\n"
    )


def _spelled(linear: Linear, term: tuple[int, ...]) -> str:
    factors = [linear.features[j] for j in term]
    for factor in factors:
        if len(factors) > 1 and not factor.namespace:
            raise SettingError(
                f"the product with {factor.shown!r}: Vowpal Wabbit multiplies namespaces, and it "
                "has none: export to json, js, c or sql-join"
            )
        for part in factor:
            if any(c in part for c in NAMELESS) or not factor.name:
                raise DataError(
                    f"feature {factor.shown!r}: a name in VW text has no space, colon or bar: "
                    "rename it in the data, or export to json"
                )
    return "*".join(factor.shown for factor in factors)


def _bits(hashes: list[int], shift: int, names: list[str]) -> int:
    """Return the fewest bits with which no two terms share a weight in VW."""
    for bits in range(FEWEST_BITS, MOST_BITS + 1):
        if len({(h << shift) & (2**bits - 1) for h in hashes}) == len(hashes):
            return bits
    at: dict[int, str] = {}
    for h, name in zip(hashes, [*names, "the intercept"], strict=True):
        place = (h << shift) & (2**MOST_BITS - 1)
        if place in at:
            raise DataError(
                f"{name!r} and {at[place]!r} have the same weight in Vowpal Wabbit, even with "
                f"{MOST_BITS} bits: train with --keep for fewer features"
            )
        at[place] = name
    raise AssertionError("some two are the same")
