"""Any value at any place of a resource: it is read to the end, and what is wrong is told once."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from poolkeeper.resources.kinds import custom_resource
from poolkeeper.resources.parse import schemas

ODD = (
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "?",
    "é" * 300,
    [],
    [None],
    [[]],
    {},
    {"a": None},
    ["a", "a"],
)

EACH = 7
"""At each place one value in so many is tried, in turn; `make soak` tries all."""


def _examples(schema: Any) -> Any:
    """Give a value with every field, and two items in every list."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    if kind == "object":
        fields = {name: _examples(inner) for name, inner in schema.get("properties", {}).items()}
        others = schema.get("additionalProperties")
        return {**fields, "1": _examples(others)} if isinstance(others, dict) else fields
    if kind == "array":
        return [_examples(schema["items"]), _examples(schema["items"])]
    return {"boolean": False, "integer": 1, "number": 1}.get(str(kind), schema.get("example", "a"))


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _places(inner, (*path, number))


def _put(body: Any, path: tuple[str | int, ...], odd: object) -> Any:
    found = deepcopy(body)
    inside = found
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = odd
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", schemas.kinds())
def test_any_value_at_any_place_is_judged(kind: str) -> None:
    judged(kind, EACH)


def judged(kind: str, each: int) -> None:
    """Try one odd value in so many at each place of a resource."""
    read = custom_resource.READERS[kind]
    body = _examples(schemas.kinds()[kind].schema)
    for number, path in enumerate(_places(body)):
        for odd in ODD[number % each :: each] if path else ():
            found = read(_put(body, path, odd))
            said = [(problem.field, problem.message) for problem in found.problems]
            assert len(said) == len(set(said)), (path, odd)
            assert not any("?1" in message or "'-1'" in message for _, message in said), said
