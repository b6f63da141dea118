"""The resource definitions, used offline: unknown fields, types and bounds, then defaults.

The definitions in `crds/` are the only source. The checks are those of the API server, a little
stricter: an unknown field is a problem (the server would drop it), and so is an empty one (`drain:`
with nothing after it). Sizes, durations and topic names are checked by their own parsers, which
give better messages than a pattern.

Fields with problems are removed from the body, and what is left makes a spec if it still is a
resource. So that one problem hides no others, all is judged further in a body that is whole: there
a stand-in takes the place of an item of a list, or of a field that must be there.
"""

import functools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from pathlib import Path as FilePath
from typing import Any

from poolkeeper.frozen import frozen
from poolkeeper.resources.parse import schema_messages, yaml_documents
from poolkeeper.resources.parse.locations import Findings, Path
from poolkeeper.resources.parse.quantities import DURATION_PATTERN
from poolkeeper.resources.parse.schema_validator import SchemaValidator

TOPIC_PATTERN = "^[a-zA-Z0-9._-]+$"

_JUDGED_ELSEWHERE = (DURATION_PATTERN, TOPIC_PATTERN)
_FILES = {
    "KafkaCluster": "kafkaclusters",
    "ResourcePool": "resourcepools",
    "Topic": "topics",
    "Rebalance": "rebalances",
}
_TEXT = {"type": "string"}
_WHOLE_NUMBER = {"type": "integer"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_SERVER_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "labels": _TEXTS,
    "annotations": _TEXTS,
    "creationTimestamp": _TEXT,
    "deletionGracePeriodSeconds": _WHOLE_NUMBER,
    "deletionTimestamp": _TEXT,
    "finalizers": {"type": "array", "items": _TEXT},
    "generateName": _TEXT,
    "generation": _WHOLE_NUMBER,
    "managedFields": _OBJECTS,
    "ownerReferences": _OBJECTS,
    "resourceVersion": _TEXT,
    "selfLink": _TEXT,
    "uid": _TEXT,
}
_METADATA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 253},
        "namespace": {"type": "string", "minLength": 1, "maxLength": 63},
        **_SERVER_FIELDS,
    },
    "additionalProperties": False,
}


@frozen
class ResourceKind:
    """One kind of our API group; `schema` is the schema of its body without status."""

    name: str
    namespaced: bool
    schema: Mapping[str, Any]
    validator: SchemaValidator


@frozen
class CheckedBody:
    """A body as far as it meets its schema.

    `sound` has no field with problems, and is None if it is too incomplete. `whole` has stand-ins,
    integers below zero and texts that are no names, and serves to find more problems.
    """

    sound: dict[str, Any] | None
    whole: dict[str, Any]


class _Kinds(Mapping[str, ResourceKind]):
    """Every kind by name; its definition is read where the kind is asked for.

    To read all of them takes longer than a small plan.
    """

    def __init__(self) -> None:
        self._read: dict[str, ResourceKind] = {}

    def __getitem__(self, name: str) -> ResourceKind:
        if name not in self._read:
            self._read[name] = _kind(definition(_FILES[name]))
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in _FILES

    def __iter__(self) -> Iterator[str]:
        return iter(_FILES)

    def __len__(self) -> int:
        return len(_FILES)


@functools.cache
def kinds() -> Mapping[str, ResourceKind]:
    """Every kind by name."""
    return _Kinds()


def definition(plural: str) -> Mapping[str, Any]:
    """The CustomResourceDefinition of that plural name."""
    file = f"{plural}.yaml"
    documents, _ = yaml_documents.parse((_folder() / file).read_text(encoding="utf-8"), file)
    found: Mapping[str, Any] = documents[0].body
    return found


def check_body(kind: ResourceKind, body: Mapping[str, Any], findings: Findings) -> CheckedBody:
    """The body with defaults; every problem is added to the findings."""
    kept = {key: value for key, value in body.items() if key != "status"}
    if isinstance(metadata := kept.get("metadata"), dict):
        kept["metadata"] = {
            key: value
            for key, value in metadata.items()
            # `creationTimestamp: null` is what kubectl writes, `labels:` what a chart may leave.
            if value is not None or key not in _SERVER_FIELDS
        }
    found = check_against(kind.schema, kind.validator, kept, findings)
    whole = with_defaults(kind.schema, found.whole)
    if found.sound is found.whole:
        return CheckedBody(whole, whole)
    sound = None if found.sound is None else with_defaults(kind.schema, found.sound)
    return CheckedBody(sound, whole)


def check_against(
    schema: Mapping[str, Any],
    validator: SchemaValidator,
    body: dict[str, Any],
    findings: Findings,
    secret: bool = False,
) -> CheckedBody:
    """The body as far as it meets the schema; `secret` values are not shown."""
    errors = list(validator.iter_errors(body))
    if not errors:
        return CheckedBody(body, body)
    # With several missing fields, each error names all of them.
    told = {
        (path, message): error.validator == "uniqueItems"
        for error in errors
        for path, message in schema_messages.messages_of(error, secret)
    }
    for (path, message), judged_further in told.items():
        (findings.tell if judged_further else findings.drop)(path, message)
    remainder = _without(body, [path for path, _ in told])
    wrong = {path for (path, _), judged_further in told.items() if not judged_further}
    whole = _with_stand_ins(schema, body, wrong, count(1))
    return CheckedBody(remainder if validator.is_valid(remainder) else None, whole)


def with_defaults(schema: Mapping[str, Any], value: Any) -> Any:
    """The value with the schema's defaults where a field is absent, at every depth."""
    properties = schema.get("properties")
    if properties and isinstance(value, dict):
        filled = {
            name: with_defaults(properties[name], inner) if name in properties else inner
            for name, inner in value.items()
        }
        for name, default in _defaults(schema):
            if name not in filled:
                filled[name] = with_defaults(properties[name], default)
        return filled
    items = schema.get("items")
    if items and "properties" in items and isinstance(value, list):
        return [with_defaults(items, item) for item in value]
    return value


def prepare_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The structural schema as JSON schema, strict about unknown fields."""
    plain = {
        key: value
        for key, value in schema.items()
        if key not in {"description", "anyOf", "pattern"} and not key.startswith("x-kubernetes-")
    }
    if schema.get("x-kubernetes-int-or-string"):
        plain.pop("minimum", None)  # `quantities` says of any size what is wrong with it
        return {**plain, "type": ["integer", "string"]}
    pattern = schema.get("pattern")
    if pattern in _JUDGED_ELSEWHERE:
        return {key: plain[key] for key in ("type", "default", "example") if key in plain}
    if pattern:
        # Python's $ also matches before a line break at the end.
        plain["pattern"] = pattern.removesuffix("$") + r"\Z" if pattern[-1] == "$" else pattern
    return {**plain, **_prepared_list(schema), **_prepared_object(schema)}


def _prepared_list(schema: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if schema.get("x-kubernetes-list-type") == "set":
        found["uniqueItems"] = True
    if "items" in schema:
        found["items"] = prepare_schema(schema["items"])
        # A list in a list is the replicas of a partition; the Topic's parser checks them.
        found["items"].pop("uniqueItems", None)
    return found


def _prepared_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "properties" in schema:
        found["properties"] = {name: prepare_schema(s) for name, s in schema["properties"].items()}
        found["additionalProperties"] = schema.get("additionalProperties", False)
    if isinstance(schema.get("additionalProperties"), dict):
        found["additionalProperties"] = prepare_schema(schema["additionalProperties"])
    return found


def _kind(crd: Mapping[str, Any]) -> ResourceKind:
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema = prepare_schema(root)
    del schema["properties"]["status"]
    schema["properties"]["metadata"] = _METADATA
    schema["required"] = ["apiVersion", "kind", "metadata", "spec"]
    names = crd["spec"]["names"]
    return ResourceKind(
        names["kind"], crd["spec"]["scope"] == "Namespaced", schema, SchemaValidator(schema)
    )


def _folder() -> FilePath:
    """The folder `crds`: `poolkeeper/crds` in a wheel, beside `operator/` in a checkout."""
    here = FilePath(__file__)
    packaged = here.parents[2] / "crds"
    return packaged if packaged.is_dir() else here.parents[4] / "crds"


def _defaults(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (name, inner["default"])
        for name, inner in schema["properties"].items()
        if "default" in inner
    ]


def _without(value: Any, wrong: list[Path]) -> Any:
    """A copy without the fields at those paths; an element of a list removes the whole field."""
    if not isinstance(value, dict):
        return value
    gone = {path[0] for path in wrong if len(path) == 1 or isinstance(path[1], int)}
    return {
        key: _without(inner, [path[1:] for path in wrong if path[0] == key])
        for key, inner in value.items()
        if key not in gone
    }


def _with_stand_ins(
    schema: Mapping[str, Any], value: Any, wrong: Collection[Path], numbers: Iterator[int]
) -> Any:
    """A copy with stand-ins at those paths; a field that may be absent is left out instead."""
    if () in wrong:
        return _stand_in(schema, numbers)
    if not wrong:
        return value
    below: dict[str | int, set[Path]] = defaultdict(set)
    for path in wrong:
        below[path[0]].add(path[1:])
    if isinstance(value, list):
        return [
            _with_stand_ins(schema["items"], item, below[number], numbers)
            for number, item in enumerate(value)
        ]
    needed = schema.get("required", ())
    present = {*value, *needed}
    return {
        name: _with_stand_ins(_schema_of(schema, name), value.get(name), below[name], numbers)
        for name in sorted(present)
        if () not in below[name] or name in needed
    }


def _schema_of(schema: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The schema of a field of a mapping."""
    others = schema.get("additionalProperties")
    known: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    return known.get(name) or (others if isinstance(others, dict) else {})


def _stand_in(schema: Mapping[str, Any], numbers: Iterator[int]) -> Any:
    """A value of the schema's type, and no other's equal: it is in nobody's way."""
    kinds = schema.get("type", "string")
    match kinds if isinstance(kinds, str) else kinds[0]:
        case "object":
            needed = schema.get("required", ())
            return {name: _stand_in(_schema_of(schema, name), numbers) for name in needed}
        case "array":
            return []
        case "integer" | "number":
            return -next(numbers)
        case "boolean":
            return False
    return schema["enum"][0] if "enum" in schema else f"?{next(numbers)}"
