"""What is declared and what is remembered of a cluster, as canonical JSON and back.

    to_text(desired)                 {"version":1,"value":{"cluster":{"name":"main",…},"pools":[…]}}
    from_text(Desired, text)         equals what was written, but for where it was declared

Frozen dataclasses become objects of those fields that differ from their defaults, so that a field
that is new to a release changes nothing about older texts. Keys are sorted, there are no blanks,
and sets are sorted: equal values give equal texts. `source`, a place in somebody's files, is left
out. A field that a release does not know is refused: it may be a law.
"""

import dataclasses
import hashlib
import json
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar, cast

from poolkeeper.errors import Refused
from poolkeeper.jsontext import canonical
from poolkeeper.model.specs import SourceLocation

VERSION = 1
ONE_RELEASE = "operator, planners and executors need one release of Poolkeeper"
"""What to do where one of them cannot read what another one wrote."""

_canonical = partial(canonical, ascii_only=False)

T = TypeVar("T")
Read = Callable[[Any], Any]


def to_text(value: object) -> str:
    """Return the canonical text."""
    return _canonical({"version": VERSION, "value": _plain(value)})


def from_text(kind: type[T], text: str) -> T:
    """Return the value; raises `Refused` for another version, or what is no such value."""
    try:
        data = json.loads(text)
        if data["version"] != VERSION:
            found = data["version"]
            raise Refused(f"specs have version {found} (expected {VERSION}): {ONE_RELEASE}")
        value = _reader(cast(Any, kind))(data["value"])
    except (KeyError, TypeError, ValueError) as wrong:
        raise Refused(f"specs of a fleet cannot be read: {wrong!r}; {ONE_RELEASE}") from wrong
    assert isinstance(value, kind)
    return value


def digest(*texts: str) -> str:
    """`sha256:` and the hexadecimal digest of the texts, each with its length."""
    total = hashlib.sha256()
    for text in texts:
        body = text.encode()
        total.update(f"{len(body)}:".encode())
        total.update(body)
    return f"sha256:{total.hexdigest()}"


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not isinstance(getattr(value, field.name), SourceLocation)
            and getattr(value, field.name) != _default(field)
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(map(_plain, value), key=_canonical)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _default(field: "dataclasses.Field[Any]") -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


@cache
def _reader(kind: Hashable) -> Read:
    """The function that reads a value of this type, as annotated."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType or origin is typing.Union:
        return _optional(inner)
    if origin is tuple:
        return _tuple(_reader(inner[0]))
    if origin is frozenset:
        return _frozenset(_reader(inner[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(inner[0], _reader(inner[1]))
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return lambda value: kind(*value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return _as_is


def _as_is(value: Any) -> Any:
    return value


def _optional(kinds: tuple[Any, ...]) -> Read:
    (read,) = (_reader(kind) for kind in kinds if kind is not types.NoneType)
    return lambda value: None if value is None else read(value)


def _tuple(read: Read) -> Read:
    return lambda value: tuple(map(read, value))


def _frozenset(read: Read) -> Read:
    return lambda value: frozenset(map(read, value))


def _mapping(key: type, read: Read) -> Read:
    as_key = int if key is int else _as_is
    return lambda value: {as_key(name): read(item) for name, item in value.items()}


def _dataclass(kind: Any) -> Read:
    annotated = typing.get_type_hints(kind)
    readers: dict[str, Read] = {}  # filled when first used: kinds may hold themselves

    def read(value: Mapping[str, Any]) -> Any:
        if not readers:
            readers.update({name: _reader(of) for name, of in annotated.items()})
        for name in value:
            if name not in readers:
                field = f"{kind.__name__}.{name}"
                raise Refused(f"specs have {field}, which is unknown here: {ONE_RELEASE}")
        return kind(**{name: readers[name](item) for name, item in value.items()})

    return read
