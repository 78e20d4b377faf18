"""Functions that run a method of their first argument: ``slope(loss, p, y)`` is the loss's own.

Inside a kernel too: `jit.compile.teach` lets Numba find the method while it compiles. This module
does not import Numba, so that a loss or a shrinkage can be made and shown without the time that
takes.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

from dwindle._base.errors import DataError

Stub = TypeVar("Stub", bound=Callable[..., Any])


class Generic(NamedTuple):
    """A function of an ingredient, whose ``role`` is the name of its first parameter."""

    name: str
    role: str
    default: Any  # the code for classes without a method of that name, or None

    def code(self, cls: type) -> FunctionType | None:
        """Return the code for a class: its method, or the default."""
        method = getattr(cls, self.name, None)
        return method if isinstance(method, FunctionType) else self.default  # it may be a field


_GENERICS: dict[Callable[..., Any], Generic] = {}


def by_class(stub: Stub) -> Stub:
    """Make ``stub``, which only documents, run the method of its name of its first argument."""
    return _generic(stub, None)


def by_class_or_default(stub: Stub) -> Stub:
    """Make ``stub`` run the method of its name of its first argument; its own code, if none."""
    return _generic(stub, stub)


def _generic(stub: Stub, default: Any) -> Stub:
    assert isinstance(stub, FunctionType)
    known = Generic(stub.__name__, stub.__code__.co_varnames[0].lstrip("_"), default)

    @functools.wraps(stub)
    def generic(chosen: Any, *args: Any) -> Any:
        return known.code(type(chosen))(chosen, *args)  # type: ignore[misc]  # `require` has looked

    _GENERICS[generic] = known
    return cast("Stub", generic)


def generic_of(function: Any) -> Generic | None:
    """Return what is known of a function that runs a method; None for anything else."""
    try:
        return _GENERICS.get(function)
    except TypeError:  # not hashable
        return None


def methods_of(cls: type) -> Iterator[FunctionType]:
    """Yield the code of every generic for a class."""
    return filter(None, (known.code(cls) for known in _GENERICS.values()))


def known_class(name: str) -> type | None:
    """Find the class of an ingredient, dwindle's or a user's own, by its name: the last defined."""
    needed = [known for known in _GENERICS.values() if known.default is None]
    found, waiting = None, tuple.__subclasses__()
    for cls in waiting:  # which grows
        waiting += cls.__subclasses__()
        if cls.__name__ == name and any(known.code(cls) for known in needed):
            found = cls
    return found


def json_number(value: Any) -> Any:
    """Convert numbers for JSON, which has no infinity and no NaN: these become their names."""
    if isinstance(value, tuple):
        return [*map(json_number, value)]
    plain = value.item() if hasattr(value, "item") else value
    return repr(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


def recipe(ingredient: Any) -> dict[str, dict[str, Any]]:
    """Describe an ingredient in JSON: the name of its class, and its fields."""
    fields = ingredient._asdict().items()
    return {type(ingredient).__name__: {name: json_number(value) for name, value in fields}}


def from_recipe(described: Mapping[str, Mapping[str, Any]]) -> Any:
    """Make the ingredient that `recipe` described."""
    [(name, fields)] = described.items()
    cls: Any = known_class(name)
    if cls is None:
        raise DataError(f"the class {name} is not known: import the module that defines it first")
    return cls(**{k: float(v) if isinstance(v, str) else v for k, v in fields.items()})


def difference(name: str, here: Any, there: Any) -> tuple[str, Any, Any]:
    """Find the first setting that differs: its name, and both values.

    >>> difference("loss", {"Hinge": {"margin": 1.0}}, {"Hinge": {"margin": 0.5}})
    ('margin', 1.0, 0.5)
    >>> difference("loss", {"Squared": {}}, {"Logistic": {}})
    ('loss', 'squared', 'logistic')
    """
    if not (isinstance(here, Mapping) and isinstance(there, Mapping)):
        return name, here, there
    if len(here) == len(there) == 1 and here.keys() != there.keys():  # recipes
        return name, *(next(iter(each)).lower() for each in (here, there))
    other = next(key for key in {**here, **there} if here.get(key) != there.get(key))
    return difference(other, here.get(other), there.get(other))


def check_recipes(settings: Mapping[str, Any], *others: type) -> None:
    """Refuse settings that this version does not know, of registered classes and of ``others``."""
    by_name = {cls.__name__: cls for cls in others}
    for described in settings.values():
        for name, fields in described.items() if isinstance(described, Mapping) else ():
            cls: Any = by_name.get(name) or known_class(name)
            if cls is not None and (unknown := fields.keys() - set(cls._fields)):
                raise DataError(
                    f"written by a newer dwindle: unknown setting {min(unknown)!r} of {name}; "
                    "upgrade"
                )


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the names that a function's code, or a function within it, refers to."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def require(chosen: Mapping[str, object], *callers: FunctionType, methods_too: bool) -> None:
    """Refuse, by name, ingredients that lack a method of a generic that would be called.

    ``chosen`` has the ingredients by role. The generics are those that the code of ``callers``
    and of defaults refers to; with ``methods_too``, also those that the methods refer to.
    """
    found: dict[Generic, str] = {}  # with the class whose method calls it
    waiting: list[tuple[FunctionType, str]] = [(caller, "") for caller in callers]
    for function, whose in waiting:  # which grows
        for name in names_in(function.__code__):
            called = generic_of(function.__globals__.get(name))
            if called is not None and called not in found:
                found[called] = whose
                cls = type(chosen[called.role])
                code = called.code(cls) if methods_too else called.default
                if code is not None:
                    waiting.append((code, "" if code is called.default else cls.__name__))
    for role, ingredient in chosen.items():
        cls = type(ingredient)
        missing = [each for each in found if each.role == role and each.code(cls) is None]
        if missing:
            article = "an" if role[0] in "aeiou" else "a"
            by = sorted({found[each] for each in missing if found[each]})
            raise TypeError(
                f"{ingredient!r} is not {article} {role}"
                f"{' for ' + ' and '.join(by) if by else ''}: {cls.__name__} has no method "
                f"{' and no '.join(each.name for each in missing)} (docs/own-loss.md shows how)"
            )


def exact(ingredient: Any) -> Any:
    """Cast every field of an ingredient to its annotation.

    To Numba ``threshold=1`` and ``threshold=1.0`` are two types, and so two compilations.
    """
    hints = get_type_hints(type(ingredient))
    values = zip(hints.values(), ingredient, strict=True)
    return type(ingredient)(*(hint(value) for hint, value in values))
