"""Takes out of a body what our definitions do not know, as an API server that serves them does.

A server refuses or drops what its own definitions do not know. So what is unknown in a body from a
server is of a later release: its definitions were applied before its operator, or this operator is
the one that was gone back to. Most of it are defaults, which are in every resource and which nobody
wrote. A server that serves our definitions would drop all of it, and so it is dropped here.

In a file an unknown field is a mistake of its author, and stays a problem (`schemas`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from poolkeeper.resources.parse import schemas

_STATUS = frozenset(("status",))


def prune(kind: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body with known fields alone, and what else it had: `spec.tier`, `spec.a[].b`.

    Its status is as it was.
    """
    schema = schemas.kinds()[kind].schema
    unknown = tuple(dict.fromkeys(_unknown(schema, body, "", _STATUS)))
    return (_known(schema, body, _STATUS) if unknown else dict(body)), unknown


def _unknown(
    schema: Mapping[str, Any], value: Any, path: str, kept: frozenset[str] = frozenset()
) -> Iterator[str]:
    properties = schema.get("properties")
    if properties is not None and isinstance(value, Mapping):
        for name, inner in value.items():
            at = f"{path}.{name}" if path else str(name)
            if name in properties:
                yield from _unknown(properties[name], inner, at)
            elif schema.get("additionalProperties") is False and name not in kept:
                yield at
    elif isinstance(value, list) and "items" in schema:
        for item in value:
            yield from _unknown(schema["items"], item, f"{path}[]")


def _known(schema: Mapping[str, Any], value: Any, kept: frozenset[str] = frozenset()) -> Any:
    properties = schema.get("properties")
    if properties is not None and isinstance(value, Mapping):
        is_open = schema.get("additionalProperties") is not False
        return {
            name: _known(properties[name], inner) if name in properties else inner
            for name, inner in value.items()
            if name in properties or is_open or name in kept
        }
    if isinstance(value, list) and "items" in schema:
        return [_known(schema["items"], item) for item in value]
    return value
