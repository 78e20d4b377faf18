"""What a model file says of its making, in words: settings, labels, columns, gravities."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dwindle._base.checks import mapping, real, whole
from dwindle._base.errors import DataError
from dwindle.data.options import ReadOptions, kept_reading
from dwindle.engine.lane_scores import Lane
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.model.path import Path

COLUMNS = 8  # named, of each kind
COUNTED = {"examples", "alive", "seen", "pass"}  # columns of a learning curve that are counts
CURVE = COUNTED | {"loss", "since_last"}  # those that every one has


def settings_of(model: Model | ClassModels | Path) -> Iterator[tuple[str, str]]:
    """Name the settings a model was trained with; of the reading options, those not default."""
    for name, value in model.settings.items():
        if name != "intercept" and value is not None:
            yield name.replace("_", " "), told(value)
    if labels := mapping_of(model.metadata.get("labels", {})):
        yield "labels", labels
    usual = kept_reading(ReadOptions())
    reading = dict(model.metadata.get("reading", usual))
    said, schema = reading.pop("columns", {}), reading.pop("schema", None)
    for name, value in reading.items():
        if value != usual.get(name):
            yield name.replace("_", " "), told(value)
    yield from _columns(said if schema is None else {c["name"]: c["kind"] for c in schema})


def _columns(kinds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Say which columns are of which kind."""
    for kind in dict.fromkeys(kinds.values()):
        names = [name for name, its in kinds.items() if its == kind]
        more = f" and {len(names) - COLUMNS:,} more" if len(names) > COLUMNS else ""
        yield kind, f"{', '.join(names[:COLUMNS])}{more}"


def mapping_of(labels: Mapping[str, float]) -> str:
    """Say which label stands for which class."""
    return ", ".join(f"{label} is {sign:+g}" for label, sign in labels.items())


def told(value: Any) -> str:
    """Format a setting as one would write it."""
    match value:
        case dict() if [*map(type, value.values())] == [dict]:  # an ingredient
            [(name, fields)] = value.items()
            return f"{name}({', '.join(f'{k}={v}' for k, v in fields.items())})"
        case dict():
            return ", ".join(f"{k}={told(v)}" for k, v in value.items() if v is not None)
        case list():
            return ", ".join("*".join(v) if isinstance(v, list) else str(v) for v in value)
        case int() if not isinstance(value, bool):
            return f"{value:,}"
        case float():
            return f"{value:.6g}"
    return str(value)


def lanes_in(told: list[dict[str, Any]]) -> list[Lane]:
    """Read the gravities that a model's metadata describes."""
    nothing = dict.fromkeys(Lane._fields, math.nan) | {"evidence": 0.0}
    return [Lane(**nothing | each) for each in told]


def frontiers_of(model: Model | ClassModels | Path) -> dict[Any, list[Lane]]:
    """Return the gravities that were learned at once, by class; the class is None if there is one.

    It is empty if there was one gravity.
    """
    if isinstance(model, Path):
        found = model.frontier()
        return found if isinstance(found, dict) else {None: found}
    said = model.metadata
    if "frontiers" in said:
        return dict(zip(said["classes"], map(lanes_in, said["frontiers"]), strict=True))
    return {None: lanes_in(said["frontier"])} if "frontier" in said else {}


def checked_curve(value: Any, name: str = "learning_curve") -> dict[str, list[Any]]:
    """Return the columns of a learning curve that a file has; refuse anything else."""
    found = mapping(value, name)
    if not found:
        return {}
    if not CURVE <= found.keys() <= {*CURVE, "auc", "accuracy"}:
        raise DataError(f"{name}: expected {', '.join(sorted(CURVE))}, got {', '.join(found)}")
    n = len(found["examples"]) if isinstance(found["examples"], list) else 0
    for column, values in found.items():
        if not isinstance(values, list) or len(values) != n:
            raise DataError(f"{name}: {column} is not a list of {n} numbers")
        for each in values:
            if column in COUNTED:
                whole(each, f"{name}: {column}")
            elif each is not None:
                real(each, f"{name}: {column}")
    return found


def judged_by(model: Model | ClassModels | Path) -> str:
    """Return by what gravities were compared: their AUC or their loss."""
    if isinstance(model, Path):
        return model.members[0].judged_by
    return str(model.metadata.get("chosen_by", "loss"))
