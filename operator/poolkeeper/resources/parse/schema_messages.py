"""JSON schema errors as our messages: the value found, and what was expected.

A field is missing, unknown, empty, of the wrong type, or out of bounds. For a misspelt field the
nearest known name is suggested. Values are shortened, and omitted where they may be secret.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from poolkeeper import near_names
from poolkeeper.model import topic_patterns
from poolkeeper.resources.parse.locations import Path
from poolkeeper.resources.parse.scalars import resolve
from poolkeeper.resources.parse.schema_validator import first_repeated
from poolkeeper.text import first

if TYPE_CHECKING:
    from jsonschema import ValidationError

_SHOWN_MAX = 60
_LIKENESS = 0.7
_NAMES_MAX = 16
_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}


def messages_of(error: "ValidationError", secret: bool = False) -> Iterator[tuple[Path, str]]:
    """The path and message of every problem that one schema error stands for."""
    path = tuple(error.absolute_path)
    schema: Any = error.schema
    body: Any = error.instance
    match error.validator:
        case "required":
            for name in schema["required"]:
                if name not in body:
                    inner = schema["properties"][name]
                    yield (*path, name), f"is missing (expected {expectation(inner)})"
        case "additionalProperties":
            known = schema["properties"]
            for name in body:
                if name not in known:
                    yield (*path, name), f"is no known field {suggestion(name, known)}"
        case "enum" if not isinstance(body, str):
            return  # the type error is reported instead
        case _:
            yield path, _about_value(error, secret)


def guess(name: str, known: Iterable[str]) -> str:
    """The most similar known name as a question, or an empty text."""
    lowered = {each.lower(): each for each in known}
    near = near_names.nearest(name.lower(), lowered, 1, _LIKENESS)
    return f"did you mean {lowered[near[0]]!r}?" if near else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The most similar known name, or all known names, in parentheses."""
    names = list(known)
    if near := guess(name, names):
        return f"({near})"
    if not names:
        return "(there are none)"
    return f"(expected one of {first(names, _NAMES_MAX)})"


def excerpt(value: Any) -> str:
    """A value, shortened for a message."""
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case str() if len(value) > _SHOWN_MAX:
            return f"{quote(value[:_SHOWN_MAX])}…"
        case str():
            return quote(value)
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return repr(value)


def pattern_problem(text: str) -> str | None:
    """Why a text is no regular expression of RE2, or None."""
    wrong = topic_patterns.problem(text)
    if wrong is None:
        return None
    return f"{quote(text)} is no regular expression of RE2: {wrong} (expected such as a.*)"


def quote(text: str) -> str:
    """The text in quotes, unescaped if it is printable."""
    return f"'{text}'" if text.isprintable() else repr(text)


def expectation(schema: Mapping[str, Any]) -> str:
    """What a schema accepts, as a noun."""
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    kind = schema.get("type")
    noun = "a size" if isinstance(kind, list) else _TYPES.get(kind or "", "a value")
    if kind == "object" and schema.get("required"):
        noun = f"a mapping with {', '.join(schema['required'])}"
    return f"{noun} such as {schema['example']}" if "example" in schema else noun


def _about_value(error: "ValidationError", secret: bool) -> str:
    value: Any = error.instance
    bound: Any = error.validator_value
    schema: Any = error.schema
    came = "the value" if secret else excerpt(value)
    match error.validator:
        case "type":
            return _about_type(value, came, schema)
        case "enum":
            return f"{came} is unknown {suggestion(str(value), bound)}"
        case "minimum":
            return f"{came} is too small (expected at least {bound})"
        case "maximum":
            return f"{came} is too large (expected at most {bound})"
        case "minLength" | "minItems":
            return f"is empty (expected {expectation(schema)})"  # no bound is above 1
        case "maxLength":
            return f"has {len(value)} characters (expected at most {bound})"
        case "maxItems" | "maxProperties":
            return f"has {len(value)} entries (expected at most {bound})"
        case "uniqueItems":
            return f"{excerpt(_twice(value))} is listed twice (expected once)"
        case "pattern":
            return f"{came} does not fit (expected {expectation(schema)})"
    return f"{came} is not possible (expected {expectation(schema)})"


def _about_type(value: Any, came: str, schema: Mapping[str, Any]) -> str:
    if value is None:
        return f"is empty (expected {expectation(schema)})"
    number = isinstance(value, int | float)
    if schema["type"] == "string" and number:
        like_text = isinstance(resolve(schema.get("example", "1")), str)
        return f"{came} is not text (expected {expectation(schema) if like_text else 'quotes'})"
    return f"is {came} (expected {expectation(schema)})"


def _twice(values: Sequence[Any]) -> Any:
    index = first_repeated(values)
    assert index is not None, "the schema's error says that a value comes twice"
    return values[index]
