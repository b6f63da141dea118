"""Parses a body as far as it is readable: the spec, and every problem.

Schema, defaults and metadata are common to all kinds.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from poolkeeper.errors import Problem
from poolkeeper.frozen import frozen
from poolkeeper.resources.parse import schemas
from poolkeeper.resources.parse.locations import Findings, Places
from poolkeeper.resources.parse.schema_messages import excerpt

S = TypeVar("S")

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_WORD_MAX = 63
_PREFIX_MAX = 253
_ANNOTATIONS_MAX = 256 * 1024


@frozen
class ParsedBody(Generic[S]):
    """A parsed body.

    `spec` is None if the body is too incomplete. Fields with problems count as absent. `whole` has
    stand-ins in their place, brokers below zero among them; checks of single values take it. `name`
    is "" if the body has none.
    """

    kind: str
    name: str
    namespace: str
    spec: S | None
    whole: S
    problems: tuple[Problem, ...]
    places: Places

    @property
    def sound(self) -> S | None:
        """The spec, or None if there is any problem."""
        return None if self.problems else self.spec


def parse_body(
    kind: str,
    body: Mapping[str, Any],
    places: Places,
    spec_of: Callable[[dict[str, Any], Findings], S],
    default_namespace: str = "",
) -> ParsedBody[S]:
    """Parse a body of that kind; `spec_of` makes the spec from a body that matches the schema.

    Cluster-scoped kinds have no default namespace.
    """
    findings = Findings(places)
    checked = _checked_body(kind, body, findings)
    whole = spec_of(checked.whole, findings)
    spec: S | None = whole
    if checked.sound is not checked.whole:
        spec = None if checked.sound is None else spec_of(checked.sound, Findings(places))
    namespace = default_namespace and (name_of(body, "namespace") or default_namespace)
    return ParsedBody(kind, name_of(body), namespace, spec, whole, tuple(findings.problems), places)


def _checked_body(kind: str, body: Mapping[str, Any], findings: Findings) -> schemas.CheckedBody:
    """The body with defaults; adds every problem of its schema and metadata."""
    definition = schemas.kinds()[kind]
    found = schemas.check_body(definition, body, findings)
    metadata = found.whole["metadata"]
    findings.add(("metadata", "name"), name_problem(metadata["name"]))
    _check_labels(metadata, findings)
    namespace = metadata.get("namespace")
    if namespace is None:
        return found
    path = ("metadata", "namespace")
    if not definition.namespaced:
        findings.add(path, f"a {kind} belongs to the whole cluster (expected no namespace)")
    elif not _LABEL.fullmatch(namespace):
        findings.add(path, f"{namespace!r} is no namespace {_EXPECTED_LABEL}")
    return found


def name_problem(name: str) -> str | None:
    """Why Kubernetes accepts no resource of that name, or None."""
    return None if _SUBDOMAIN.fullmatch(name) else f"{name!r} is no name {_EXPECTED}"


def _check_labels(metadata: Mapping[str, Any], findings: Findings) -> None:
    """Check labels and annotations as the API server does."""
    labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
    for key, value in labels.items():
        path = ("metadata", "labels", key)
        findings.add(path, _key_problem(key))
        if value and not (_WORD.fullmatch(value) and len(value) <= _WORD_MAX):
            findings.add(path, f"{excerpt(value)} is no value of a label {_EXPECTED_WORD}")
    for key in annotations:
        # Kubernetes takes capitals before the slash here, though not in labels.
        findings.add(("metadata", "annotations", key), _key_problem(key.lower()))
    size = sum(
        len(text.encode(errors="surrogatepass")) for pair in annotations.items() for text in pair
    )
    if size > _ANNOTATIONS_MAX:
        message = f"has {size} bytes in all (expected at most {_ANNOTATIONS_MAX})"
        findings.add(("metadata", "annotations"), message)


def _key_problem(key: str) -> str | None:
    prefix, slash, word = key.rpartition("/")
    sound = _WORD.fullmatch(word) and len(word) <= _WORD_MAX
    if slash:
        sound = sound and _SUBDOMAIN.fullmatch(prefix) and len(prefix) <= _PREFIX_MAX
    return None if sound else f"is no key {_EXPECTED_KEY}"


def name_of(body: Mapping[str, Any], field: str = "name") -> str:
    """A text field of the metadata, or "" if it is absent."""
    metadata = body.get("metadata")
    found = metadata.get(field) if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""


_EXPECTED_WORD = (
    f"(expected at most {_WORD_MAX} letters, digits, '-', '_' and '.',"
    " with a letter or digit at both ends)"
)
_EXPECTED_KEY = "(expected such as tier or example.com/tier)"
_EXPECTED_LABEL = "(expected a-z, 0-9 and '-', with a letter or digit at both ends)"
_EXPECTED = "(expected a-z, 0-9, '-' and '.', with a letter or digit at both ends)"
