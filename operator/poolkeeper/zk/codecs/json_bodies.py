"""JSON bodies of znodes, read strictly and written compactly; and what a request must never hold.

Readers raise `Refused` with a sentence that names the key, what was found and what was expected.
`True` and `"1"` are no integers here, although one is in Python and the other was in Kafka.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from poolkeeper.errors import Refused
from poolkeeper.jsontext import compact
from poolkeeper.model.topology import Replicas

INTEGER_MAX = 2**31 - 1
"""Of what Kafka writes as an integer."""
DIGITS_MAX = 18
PARTITION_DIGITS_MAX = 9


def encode(body: Mapping[str, Any]) -> bytes:
    """Write the keys in their order, without spaces, as UTF-8."""
    return compact(body, ascii_only=False).encode()


def parse(data: bytes) -> dict[str, Any]:
    """Read a JSON object."""
    if not data:
        raise Refused("the node is empty (expected a JSON object)")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as wrong:
        raise Refused(f"the node is not JSON: {wrong}") from wrong
    if not isinstance(body, dict):
        raise Refused(f"the node is {excerpt(body)} (expected a JSON object)")
    # Python's parser takes halves of surrogate pairs as escapes, and as bytes that UTF-8 forbids.
    if b"\\u" in data or b"\0" in data or not data.isascii():
        _require_text(body)
    return body


def _require_text(body: dict[str, Any]) -> None:
    """Refuse texts that cannot be written as UTF-8."""
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("the node holds half a character (expected text that UTF-8 has)") from None
    except RecursionError:
        raise Refused("the node is nested too deeply") from None


def plain_integer(data: bytes) -> int:
    """Read a decimal number that is no JSON document."""
    text = data.decode(errors="replace").strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX):
        raise Refused(f"the node is {text[:80]!r} (expected a number)")
    return int(text)


def integer(body: Mapping[str, Any], key: str) -> int:
    """Return the integer at `key`."""
    value = body.get(key)
    if type(value) is not int or not -INTEGER_MAX <= value <= INTEGER_MAX:
        raise Refused(f"{key} is {excerpt(value)} (expected an integer)")
    return value


def replicas(name: str, value: Any) -> Replicas:
    """Return a list of broker ids; `name` says which in errors."""
    if not isinstance(value, list):
        raise Refused(f"{name} is {excerpt(value)} (expected a list)")
    for item in value:
        if type(item) is not int or not 0 <= item <= INTEGER_MAX:
            raise Refused(f"{name} holds {excerpt(item)} (expected integers)")
    return tuple(value)


def lists(name: str, value: Any) -> dict[int, Replicas]:
    """Return replica lists by ascending partition; `name` says which map in errors."""
    if not isinstance(value, dict):
        raise Refused(f"{name} is {excerpt(value)} (expected an object)")
    found: dict[int, Replicas] = {}
    for key, items in value.items():
        if not (key.isascii() and key.isdecimal() and len(key) <= PARTITION_DIGITS_MAX):
            raise Refused(f"{name} has the partition {excerpt(key)} (expected a number)")
        if int(key) in found:
            raise Refused(f"{name} has the partition {int(key)} twice")
        found[int(key)] = replicas(f"{name} {key}", items)
    return dict(sorted(found.items()))


def by_text(items: Iterable[tuple[int, Replicas]]) -> dict[str, list[int]]:
    """Return the map that JSON can hold."""
    return {str(partition): list(ids) for partition, ids in items}


def excerpt(value: Any) -> str:
    """Return a value for a message: JSON, cut short, or "absent"."""
    try:
        text = "absent" if value is None else json.dumps(value, default=str)
    except (ValueError, RecursionError):  # thousands of digits, or of levels
        text = f"a {type(value).__name__} that is too large"
    return text if len(text) <= 80 else f"{text[:77]}..."


def require_request(named: Sequence[tuple[str, int]]) -> None:
    """Refuse an empty request (it would stay for ever) and one that names a partition twice."""
    if not named:
        raise Refused("a request names no partition")
    seen: set[tuple[str, int]] = set()
    for topic, partition in named:
        if type(partition) is not int or partition < 0:
            raise Refused(f"a request names {topic}-{partition}, which is no partition")
        if (topic, partition) in seen:
            raise Refused(f"a request names {topic}-{partition} twice")
        seen.add((topic, partition))


def require_replicas(name: str, ids: Replicas) -> None:
    """Refuse a list that a controller takes and is hurt by; `name` is the partition's."""
    problem = ""
    if not ids:
        problem = "is empty"
    elif any(type(id_) is not int or id_ < 0 for id_ in ids):
        problem = "holds what is no broker id"
    elif len(set(ids)) < len(ids):
        problem = "names a broker twice"
    if problem:
        raise Refused(f"the list {excerpt(list(ids))} of {name} {problem}")
