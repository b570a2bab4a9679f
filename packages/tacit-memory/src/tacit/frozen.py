"""`@frozen` declares a class of values: fields by name, which nobody can change, compared and hashed by what they hold.

What it makes is a dataclass with slots, for `fields`, `replace` and `asdict` as well. `dataclass(frozen=True, slots=True, kw_only=True)` makes the
same, but compiles six methods for each class, whether a program uses it or not: for five hundred classes that took a quarter of the first
answer. Here only `__init__` is compiled, when the first value is made; the other methods are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make a class of values of `cls`, whose annotations are the fields."""
    made = dataclass(init=False, repr=False, eq=False, kw_only=True, slots=True)(cls)
    own = vars(made)
    methods = {**_methods(made), "__init__": _first_init(made)}
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and own[name] is None):
            setattr(made, name, method)
    return made


def _methods(cls: type) -> dict[str, Callable[..., Any]]:
    """Return what every class of values has besides its `__init__`."""
    names = frozenset(cls.__dataclass_fields__)  # type: ignore[attr-defined]
    compared = [one.name for one in fields(cls) if one.compare]
    get = attrgetter("__class__", *compared)  # with the class, so that one field makes a tuple, too

    def equals(self: Any, other: object) -> bool:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(get(self))

    def set_attribute(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete_attribute(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {
        "__eq__": equals,
        "__hash__": hash_of,
        "__repr__": _shown,
        "__setattr__": set_attribute,
        "__delattr__": delete_attribute,
        "__getstate__": _state,
        "__setstate__": _restore,
    }


@recursive_repr()
def _shown(self: Any) -> str:
    told = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({told})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


def _first_init(cls: type) -> Callable[..., None]:
    def init(self: Any, **given: Any) -> None:
        compiled = _compiled_init(cls)
        cls.__init__ = compiled
        compiled(self, **given)

    return init


def _compiled_init(cls: type) -> Callable[..., None]:
    """Return an `__init__` that takes the fields by name and puts each into its slot."""
    known: dict[str, Any] = {"__MISSING": MISSING}
    takes, does = list[str](), list[str]()
    for one in fields(cls):
        name = one.name
        known[f"__set_{name}"] = getattr(cls, name).__set__
        if not one.init and one.default is MISSING and one.default_factory is MISSING:
            continue  # `__post_init__` sets it
        does.append(f"__set_{name}(self, {_value(one, known)})")
        if one.init:
            takes.append(f"{name}{_default(one)}")
    if hasattr(cls, "__post_init__"):
        does.append("self.__post_init__()")
    head = f"def __init__(self{', *, ' if takes else ''}{', '.join(takes)}):"
    exec("\n ".join([head, *(does or ["pass"])]), known)  # noqa: S102 - names of fields alone, as in `dataclasses`
    made = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _default(one: Field[Any]) -> str:
    if one.default is not MISSING:
        return f"=__default_{one.name}"
    return "=__MISSING" if one.default_factory is not MISSING else ""


def _value(one: Field[Any], known: dict[str, Any]) -> str:
    """Return the expression for what a field gets, and put what it names into `known`."""
    name = one.name
    if one.default is not MISSING:
        known[f"__default_{name}"] = one.default
        return name if one.init else f"__default_{name}"
    if one.default_factory is not MISSING:
        known[f"__make_{name}"] = one.default_factory
        return f"__make_{name}() if {name} is __MISSING else {name}" if one.init else f"__make_{name}()"
    return name
