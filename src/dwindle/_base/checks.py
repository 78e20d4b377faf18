"""Checks of what a file says: one that somebody made up may say anything, under a right digest."""

import math
from typing import Any

from dwindle._base.errors import DataError
from dwindle._base.remote import shown

LARGEST = 2**62  # of counts, so that sums of two still fit into 64 bits
# What taking apart a file that says nonsense raises.
NONSENSE = (
    ArithmeticError,
    AttributeError,
    KeyError,
    IndexError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def whole(value: Any, name: str, least: int = 0, most: int = LARGEST) -> int:
    """Return a whole number; refuse anything else.

    >>> whole(3, "passes")
    3
    >>> whole(-3, "passes")
    Traceback (most recent call last):
    ...
    dwindle._base.errors.DataError: passes is -3: expected a whole number of 0 or more
    """
    if type(value) is not int or not least <= value <= most:
        bounds = f"of {least} or more" if most == LARGEST else f"from {least} to {most}"
        raise DataError(f"{name} is {_short(value)}: expected a whole number {bounds}")
    return value


def number(value: Any, name: str, least: float = -math.inf) -> float:
    """Return a finite number; refuse anything else."""
    is_number = type(value) in {int, float} and abs(value) <= LARGEST**16 and math.isfinite(value)
    if not is_number or value < least:
        bound = "" if least == -math.inf else f" of {least:g} or more"
        raise DataError(f"{name} is {_short(value)}: expected a finite number{bound}")
    return float(value)


def mapping(value: Any, name: str) -> dict[str, Any]:
    """Return a dict; refuse anything else."""
    if type(value) is not dict:
        raise DataError(f"{name} is {_short(value)}: expected an object")
    return value


def flag(value: Any, name: str) -> bool:
    """Return true or false; refuse anything else."""
    if type(value) is not bool:
        raise DataError(f"{name} is {_short(value)}: expected true or false")
    return value


def real(value: Any, name: str) -> float:
    """Return a number, which need not be finite; refuse anything else."""
    return value if type(value) is float else number(value, name)


def numbers(values: Any, name: str, n: int | None = None, least: float = -math.inf) -> list[float]:
    """Return a list of finite numbers, of n if that is given; refuse anything else."""
    if not isinstance(values, list | tuple) or (n is not None and len(values) != n):
        wanted = "a list" if n is None else f"a list of {n}"
        raise DataError(f"{name} is {_short(values)}: expected {wanted}")
    return [number(value, f"{name}[{i}]", least) for i, value in enumerate(values)]


class reading_from:  # noqa: N801  (it reads as a statement)
    """Refuse by name a file that says nonsense: whatever that raises becomes a `DataError`."""

    def __init__(self, path: Any) -> None:
        self._path = shown(str(path))

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        if isinstance(error, DataError):
            said = str(error)
            begin = f"{self._path}: "
            raise DataError(said if said.startswith(begin) else begin + said) from None
        if isinstance(error, NONSENSE):
            what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            raise DataError(f"{self._path}: damaged: {what}") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
