"""What a value is, what was expected and where it stands, in words of bounded length."""

import json
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta

_WORDS = {
    str: "a string",
    bool: "true or false",
    int: "an integer",
    float: "a number",
    tuple: "a list",
    list: "a list",
    dict: "an object",
}
_VALUE_CHARACTERS_MAX = 60
PROBLEMS_MAX = 100
"""Problems that are told of one document."""


def place_below(place: str, key: object) -> str:
    """Return the place of a key's value, in characters that can be printed and of bounded length.

    A key of an object comes from the document, as anything else there.
    """
    name = str(key)
    if len(name) > _VALUE_CHARACTERS_MAX:
        name = f"{name[: _VALUE_CHARACTERS_MAX - 1]}…"
    if not name.isprintable():
        name = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return f"{place}.{name}" if place else name


def without_annotation(kind: Any) -> tuple[Any, Meta | None]:
    """Return a type without its annotation, and the annotation."""
    if get_origin(kind) is not Annotated:
        return kind, None
    bare, meta = get_args(kind)
    return bare, meta


def expectation(kind: Any) -> str:
    """Return in words what is expected, nothing where only msgspec has words for it."""
    bare, meta = without_annotation(kind)
    origin = get_origin(bare) or bare
    if meta is not None and meta.description:
        return meta.description
    if origin is Literal:
        return " or ".join(map(str, get_args(bare)))
    if origin in (UnionType, Union):
        return expectation(get_args(bare)[0])
    return "an object" if hasattr(origin, "__struct_fields__") else _WORDS.get(origin, "")


def word(value: object) -> str:
    """Say what a value read from JSON is, without the value."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return _WORDS[type(value)]


def description(value: object, expected: str) -> str:
    """Say what a value is and what was expected, in bounded length."""
    shown = _shown(value)
    if len(shown) > _VALUE_CHARACTERS_MAX:
        shown = f"{shown[: _VALUE_CHARACTERS_MAX - 1]}…"
    return f"is {shown} (expected {expected})"


def _shown(value: object) -> str:
    """Return a value for a message, as JSON writes it, but for texts in single quotes.

    Python refuses to print integers of thousands of digits.
    """
    try:
        return repr(value) if isinstance(value, str) else json.dumps(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too large"
