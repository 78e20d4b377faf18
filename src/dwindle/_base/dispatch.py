"""Functions whose code is chosen by the class of their first argument.

``functools.singledispatch`` for code that must also run inside a kernel: `jit.compile.teach` lets
Numba make the same choice while it compiles. This module does not import Numba, so that a loss or a
shrinkage can be made and shown without the time that takes.
"""

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

from dwindle._base.errors import DataError

Body = TypeVar("Body", bound=Callable[..., Any])


class Generic(NamedTuple):
    """A function with one body per class of its first argument, whose name is its ``role``."""

    name: str
    role: str
    bodies: dict[type, FunctionType]


_GENERICS: dict[Callable[..., Any], Generic] = {}


def by_class(stub: Body) -> Body:
    """Make ``stub`` dispatch on the class of its first argument.

    ``stub`` only documents; `body_of` registers the code that runs. A body registered for
    ``object`` is that of all classes without one of their own.
    """
    assert isinstance(stub, FunctionType)
    bodies: dict[type, FunctionType] = {}

    @functools.wraps(stub)
    def generic(chosen: Any, *args: Any) -> Any:
        return body_for(type(chosen), bodies)(chosen, *args)

    _GENERICS[generic] = Generic(stub.__name__, stub.__code__.co_varnames[0], bodies)
    return cast("Body", generic)


def body_of(generic: Callable[..., Any], *classes: type) -> Callable[[Body], Body]:
    """Register the decorated function as ``generic`` for ``classes``."""

    def add(body: Body) -> Body:
        assert isinstance(body, FunctionType)
        for cls in classes:
            _GENERICS[generic].bodies[cls] = body
        return body

    return add


def bodies(generic: Any) -> dict[type, FunctionType] | None:
    """Return the bodies of a generic by class; None for anything else."""
    try:
        found = _GENERICS.get(generic)
    except TypeError:  # not hashable
        return None
    return None if found is None else found.bodies


def body_for(cls: type, known: Mapping[type, Body]) -> Body:
    """Return the body of a class, or that of all others; KeyError if there is none."""
    return known[cls if cls in known else object]


def all_bodies(cls: type) -> list[FunctionType]:
    """List every body registered for a class."""
    return [g.bodies[cls] for g in _GENERICS.values() if cls in g.bodies]


def known_class(name: str) -> type | None:
    """Find the class of that name among those that have a body registered."""
    registered = (cls for generic in _GENERICS.values() for cls in generic.bodies)
    return next((cls for cls in registered if cls.__name__ == name), None)


def json_number(value: Any) -> Any:
    """Convert a number for JSON, which has no infinity and no NaN: these become their names."""
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


def require(chosen: Mapping[str, object], *callers: FunctionType, bodies_too: bool) -> None:
    """Refuse, by name, ingredients whose classes lack a body of a generic that would be called.

    ``chosen`` has the ingredients by role. The generics are those that the code of ``callers``
    refers to; with ``bodies_too``, also those that the bodies so found refer to.
    """
    found: dict[Callable[..., Any], str] = {}  # generics, with the class whose body calls them
    waiting: list[tuple[FunctionType, str]] = [(caller, "") for caller in callers]
    for function, whose in waiting:  # which grows
        for name in names_in(function.__code__):
            called: Any = function.__globals__.get(name)
            if bodies(called) is not None and called not in found:
                found[called] = whose
                cls = type(chosen[_GENERICS[called].role])
                known = _GENERICS[called].bodies
                if bodies_too and not known.keys().isdisjoint({cls, object}):
                    waiting.append((body_for(cls, known), cls.__name__))
    for role, ingredient in chosen.items():
        cls = type(ingredient)
        missing = {
            g.name: found[generic]
            for generic, g in _GENERICS.items()
            if generic in found and g.role == role and g.bodies.keys().isdisjoint({cls, object})
        }
        if missing:
            article = "an" if role[0] in "aeiou" else "a"
            by = sorted({whose for whose in missing.values() if whose})
            raise TypeError(
                f"{ingredient!r} is not {article} {role}"
                f"{' for ' + ' and '.join(by) if by else ''}: no {' and no '.join(missing)} "
                f"registered for {cls.__name__} (docs/own-loss.md shows how)"
            )


def exact(ingredient: Any) -> Any:
    """Cast every field of an ingredient to its annotation.

    To Numba ``threshold=1`` and ``threshold=1.0`` are two types, and so two compilations.
    """
    hints = get_type_hints(type(ingredient))
    values = zip(hints.values(), ingredient, strict=True)
    return type(ingredient)(*(hint(value) for hint, value in values))
