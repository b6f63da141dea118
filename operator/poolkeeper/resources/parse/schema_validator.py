"""Bodies held against a JSON schema: a short yes, or all errors.

Most bodies are sound, and the library that explains errors takes longer to import than a small plan
takes to make. So `_accepts` says yes where a schema uses keywords that it knows and the value meets
each; every doubt, an unknown keyword included, is left to the library.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import ValidationError

Schema = Mapping[str, Any]


class SchemaValidator:
    """A prepared schema; its integers are never written 1.0."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def iter_errors(self, body: Any) -> "Iterable[ValidationError]":
        """Return every error of the body."""
        return () if _accepts(self.schema, body) else self._library.iter_errors(body)

    def is_valid(self, body: Any) -> bool:
        """Whether the body has no error."""
        return _accepts(self.schema, body) or self._library.is_valid(body)

    @cached_property
    def _library(self) -> Any:
        import jsonschema  # only who has to explain needs it

        known = {"uniqueItems": _explain_unique}
        extend: Any = jsonschema.validators.extend
        return extend(jsonschema.Draft4Validator, known)(self.schema)


def first_repeated(values: Sequence[Any]) -> int | None:
    """The index of the first value that is in the list before, or None."""
    seen = set()
    for index, value in enumerate(values):
        identity = _identity(value)
        if identity in seen:
            return index
        seen.add(identity)
    return None


def _identity(value: Any) -> Hashable:
    """What two JSON values have in common exactly if they are equal; true is not 1."""
    if isinstance(value, list):
        return list, tuple(map(_identity, value))
    if isinstance(value, dict):
        return dict, frozenset((key, _identity(inner)) for key, inner in value.items())
    return isinstance(value, bool), value


def _explain_unique(
    validator: Any, asked: bool, value: Any, schema: Schema
) -> "Iterator[ValidationError]":
    """The error of a list with a value that comes twice.

    The library's own compares all pairs where the values are of several types, or mappings.
    """
    import jsonschema

    if asked and isinstance(value, list) and first_repeated(value) is not None:
        yield jsonschema.ValidationError("a value comes twice")


def _accepts(schema: Schema, value: Any) -> bool:
    """Whether the value surely meets the schema."""
    for keyword, asked in schema.items():
        if keyword in _SILENT:
            continue
        meets = _KEYWORDS.get(keyword)
        if meets is None or not meets(asked, value, schema):
            return False
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[object], bool]] = {
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def _has_type(asked: str | list[str], value: object, _: Schema) -> bool:
    names = [asked] if isinstance(asked, str) else asked
    return any(_TYPES[name](value) for name in names if name in _TYPES)


def _meets_properties(asked: Mapping[str, Schema], value: object, _: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    return all(_accepts(asked[name], inner) for name, inner in value.items() if name in asked)


def _meets_additional(asked: bool | Schema, value: object, schema: Schema) -> bool:
    if not isinstance(value, dict) or asked is True:
        return True
    others = value.keys() - schema.get("properties", {}).keys()
    return not others if asked is False else all(_accepts(asked, value[name]) for name in others)


def _is_unique(asked: bool, value: object, _: Schema) -> bool:
    if not asked or not isinstance(value, list):
        return True
    kinds = set(map(type, value))
    return len(kinds) < 2 and kinds <= {str, int} and len(set(value)) == len(value)


_SILENT = {"default", "example", "format"}
_KEYWORDS: Mapping[str, Callable[[Any, Any, Schema], bool]] = {
    "type": _has_type,
    "properties": _meets_properties,
    "additionalProperties": _meets_additional,
    "uniqueItems": _is_unique,
    "required": lambda asked, value, _: (
        not isinstance(value, dict) or all(name in value for name in asked)
    ),
    "items": lambda asked, value, _: (
        not isinstance(value, list) or all(_accepts(asked, inner) for inner in value)
    ),
    "enum": lambda asked, value, _: isinstance(value, str) and value in asked,
    "minimum": lambda asked, value, _: not _is_number(value) or value >= asked,
    "maximum": lambda asked, value, _: not _is_number(value) or value <= asked,
    "minLength": lambda asked, value, _: not isinstance(value, str) or len(value) >= asked,
    "maxLength": lambda asked, value, _: not isinstance(value, str) or len(value) <= asked,
    "pattern": lambda asked, value, _: not isinstance(value, str) or bool(re.search(asked, value)),
    "minItems": lambda asked, value, _: not isinstance(value, list) or len(value) >= asked,
    "maxItems": lambda asked, value, _: not isinstance(value, list) or len(value) <= asked,
    "maxProperties": lambda asked, value, _: not isinstance(value, dict) or len(value) <= asked,
}
