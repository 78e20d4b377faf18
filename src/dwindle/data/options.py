"""Options for reading data, and the part of them that a model remembers."""

from dataclasses import dataclass, replace
from typing import Any

BLOCK = 2**21  # bytes of text parsed at a time


@dataclass(frozen=True)
class ReadOptions:
    """How to read data; by default the format is found from each file's name or first line."""

    format: str | None = None
    label_column: str | None = "label"
    weight_column: str | None = None
    labelled: bool = True  # False: tables may lack the label and weight columns
    interactions: tuple[tuple[str, ...], ...] = ()
    ignore: frozenset[str] = frozenset()
    threads: int | None = None  # parser threads; default 2, or 1 on one or two cores
    block_size: int = BLOCK


def kept_reading(options: ReadOptions) -> dict[str, Any]:
    """Return the options that decide what the features are, as a model's metadata keeps them."""
    return {
        "label_column": options.label_column,
        "weight_column": options.weight_column,
        "interactions": [list(product) for product in options.interactions],
        "ignore": sorted(options.ignore),
    }


def as_before(kept: dict[str, Any], options: ReadOptions) -> ReadOptions:
    """Return ``options`` with what `kept_reading` kept, so that the features are the same."""
    return replace(
        options,
        label_column=kept["label_column"],
        weight_column=kept["weight_column"],
        interactions=tuple(tuple(product) for product in kept["interactions"]),
        ignore=frozenset(kept["ignore"]),
    )
