"""Whose a document is, by its `apiVersion` and `kind`: ours, another's, or ours spelt wrongly.

A checkout holds more than our resources, and documents of other API groups are nobody's error. One
that was meant as ours must not pass for them: its topic would count as no longer declared. So it is
a problem where any of these is the case:

- the API group resembles ours, or has a word that does: `poolkeeper.io`, `kafka.poolkeeper.dev`;
- the kind is like one of ours in a group that is Kubernetes' own: `v1` has no Topics;
- the kind is like one of ours, with all fields that ours must have: `poolRef` of a Topic;
- it is no list that is read, and has `items` that are ours.
"""

import difflib
import functools
import re
from collections.abc import Mapping
from typing import Any

from poolkeeper import near_names
from poolkeeper.errors import Problem
from poolkeeper.model.file_kinds import FileKind, mistaken_kind
from poolkeeper.model.names import API_VERSION, GROUP
from poolkeeper.resources.parse import schemas
from poolkeeper.resources.parse.locations import Places
from poolkeeper.resources.parse.schema_messages import excerpt, suggestion

_NEAR = 0.85
_NEAR_WORD = 0.9
"""More than `zookeeper` reaches: operators of ZooKeeper stand in the same checkouts."""
_WORD = GROUP.partition(".")[0]
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_ITEMS_MAX = 100
_HEAD_MAX = 120
_LIST = "List"


def is_ours(version: Any) -> bool:
    """Whether an `apiVersion` is of our API group."""
    return isinstance(version, str) and version.partition("/")[0] == GROUP


def is_list(body: Mapping[str, Any]) -> bool:
    """Whether the document is a list whose items are read."""
    kind, version = body.get("kind"), body.get("apiVersion")
    if not isinstance(kind, str):
        return False
    ours = is_ours(version) and kind in {f"{name}{_LIST}" for name in schemas.kinds()}
    return ours or (kind == _LIST and version == "v1")


def head_of(body: Mapping[str, Any]) -> str:
    """The kind and the `apiVersion` of a document that is another's, in one short line."""
    return " ".join(f"{body['kind']} of {body['apiVersion']}".split())[:_HEAD_MAX]


def head_problem(body: Mapping[str, Any], places: Places) -> Problem | None:
    """The problem with `apiVersion` and `kind`; None for our kinds, and for what is another's."""
    kind, version = body.get("kind"), body.get("apiVersion")
    if not isinstance(version, str):
        if said := mistaken_kind(body, FileKind.MANIFEST):
            return places.problem((), said)
        return _no_text(body, "apiVersion", API_VERSION, places)
    if not isinstance(kind, str):
        return _no_text(body, "kind", "the kind of resource", places)
    if not is_ours(version):
        if _resembles_ours(body, kind, version):
            hint = f"{excerpt(version)} is unknown (did you mean {API_VERSION!r}?)"
            return places.problem(("apiVersion",), hint)
        if _has_items_of_ours(body):
            message = f"{excerpt(kind)} of {excerpt(version)} holds resources of {GROUP}"
            return places.problem(("kind",), f"{message} (expected a {_LIST} of v1)")
        return None
    if version != API_VERSION:
        message = f"{excerpt(version)} is unknown (expected {API_VERSION})"
        return places.problem(("apiVersion",), message)
    if kind not in schemas.kinds():
        message = f"{excerpt(kind)} is unknown {suggestion(kind, schemas.kinds())}"
        return places.problem(("kind",), message)
    return None


def _no_text(body: Mapping[str, Any], name: str, expected: str, places: Places) -> Problem:
    found = "is missing" if body.get(name) is None else f"is {excerpt(body[name])}"
    return places.problem((name,), f"{found} (expected {expected})")


def _resembles_ours(body: Mapping[str, Any], kind: str, version: str) -> bool:
    group = version.rpartition("/")[0] or version
    if _is_near_group(group):
        return True
    near = _near_kind(kind)
    # Groups without a dot are Kubernetes' own, and have no kind of our names.
    return near is not None and ("." not in group or _has_our_fields(near, body))


@functools.lru_cache(maxsize=1024)
def _is_near_group(group: str) -> bool:
    lowered = group.lower()
    if _likeness(lowered, GROUP) >= _NEAR or _WORD in _NO_LETTER.sub("", lowered):
        return True
    return any(_likeness(word, _WORD) >= _NEAR_WORD for word in re.split(r"[./]", lowered))


def _likeness(name: str, known: str) -> float:
    return difflib.SequenceMatcher(None, name, known).ratio()


def _near_kind(kind: str) -> str | None:
    """The kind of ours that is most like this one, if any is."""
    lowered = {name.lower(): name for name in schemas.kinds()}
    near = near_names.nearest(kind.strip().lower(), lowered, 1, _NEAR)
    return lowered[near[0]] if near else None


def _has_our_fields(kind: str, body: Mapping[str, Any]) -> bool:
    """Whether the spec has all that ours must have, and ours must have anything."""
    schema = schemas.kinds()[kind].schema["properties"]["spec"]
    return bool(schema.get("required")) and _has_needed(schema, body.get("spec"))


def _has_needed(schema: Mapping[str, Any], value: Any) -> bool:
    needed = schema.get("required", ())
    if not needed:
        return True
    return isinstance(value, dict) and all(
        name in value and _has_needed(schema["properties"][name], value[name]) for name in needed
    )


def _has_items_of_ours(body: Mapping[str, Any]) -> bool:
    items = body.get("items")
    return isinstance(items, list) and any(map(_is_meant_as_ours, items[:_ITEMS_MAX]))


def _is_meant_as_ours(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    kind, version = item.get("kind"), item.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str):
        return False
    return is_ours(version) or _resembles_ours(item, kind, version)
