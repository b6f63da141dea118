"""Frozen values that cost little to define.

`dataclasses.dataclass(frozen=True, slots=True)` writes and compiles six functions for each class
that it defines. Four hundred classes are defined before a small plan begins, and few of them ever
get an object: compiling took a third of the command's start. `frozen` gives a class the same
fields, slots, equality, hash, text, immutability and pickled state by functions that all classes
share, and compiles `__init__` alone, when it is first looked up.

`dataclasses.replace`, `fields` and `asdict` take such values, and static checks see a dataclass. A
dataclass that inherits from one of them is made by `frozen` too.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

Class = TypeVar("Class")
_Values = Callable[[Any], tuple[Any, ...]]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[Class]) -> type[Class]:
    """Return the class with slots for its fields: compared by value, never changed."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # else dataclasses takes long to make one up
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    compared = _values_of([each.name for each in _fields(made) if each.compare])
    given: dict[str, object] = {
        "__init__": _Init(made),
        "__repr__": _repr,
        "__eq__": _equality(compared),
        "__hash__": _hashing(compared),
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
        "__getstate__": _state,
        "__setstate__": _restore,
    }
    for name, function in given.items():
        if cls.__dict__.get(name) is None:  # who compares otherwise and says no hash has None
            setattr(made, name, function)
    return made


class _Init:
    """Stands for a class's `__init__` until it is looked up; then that is compiled.

    A descriptor: whoever asks a class or one of its objects for `__init__` gets the function.
    """

    def __init__(self, owner: type) -> None:
        self.owner = owner

    def __get__(self, instance: object, _: object = None) -> Callable[..., None]:
        init = _compiled_init(self.owner)
        self.owner.__init__ = init  # type: ignore[misc]
        return init if instance is None else init.__get__(instance)


def _compiled_init(owner: type) -> Callable[..., None]:
    """Write and compile `__init__`: every field is set in its slot, then comes `__post_init__`."""
    known: dict[str, Any] = {"missing": MISSING}
    plain: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for each in _fields(owner):
        name = each.name
        known[f"set_{name}"] = getattr(owner, name).__set__
        value = name
        if each.default is not MISSING:
            known[f"default_{name}"] = each.default
        elif each.default_factory is not MISSING:
            known[f"new_{name}"] = each.default_factory
            value = f"new_{name}() if {name} is missing else {name}"
        if each.init:
            known[f"type_{name}"] = each.type
            (by_name if each.kw_only else plain).append(_parameter(each))
        elif each.default is MISSING and each.default_factory is MISSING:
            continue
        else:
            value = f"default_{name}" if each.default is not MISSING else f"new_{name}()"
        lines.append(f"    set_{name}(self, {value})")
    if hasattr(owner, "__post_init__"):
        lines.append("    self.__post_init__()")
    parameters = ", ".join(["self", *plain, *(["*", *by_name] if by_name else [])])
    exec("\n".join([f"def __init__({parameters}):", *(lines or ["    pass"])]), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{owner.__qualname__}.__init__"
    init.__module__ = owner.__module__
    return init


def _fields(owner: Any) -> tuple["Field[Any]", ...]:
    return dataclasses.fields(owner)


def _parameter(each: "Field[Any]") -> str:
    typed = f"{each.name}: type_{each.name}"
    if each.default is not MISSING:
        return f"{typed} = default_{each.name}"
    return typed if each.default_factory is MISSING else f"{typed} = missing"


def _values_of(names: list[str]) -> _Values:
    """Return what gives the values of an object's fields, in order."""
    if not names:
        return lambda _: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda value: (get(value),)


def _equality(values: _Values) -> Callable[[object, object], Any]:
    def equals(self: object, other: object) -> Any:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return equals


def _hashing(values: _Values) -> Callable[[object], int]:
    def hash_of(self: object) -> int:
        return hash(values(self))

    return hash_of


def _repr(self: Any) -> str:
    shown = [f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
