"""A long text in ConfigMaps: its pieces, one each, and a digest that tells whether all are there.

    daily-plan-1a2b3c4d-answer-0    binaryData: {chunk-000000: …}   annotations: digest, chunks
    daily-plan-1a2b3c4d-answer-1    binaryData: {chunk-000001: …}

The first is written last: once it is there, so are the others. Writing the same text again changes
nothing, a text that was written in part is completed. All belong to an owner, and go with it.

Keys differ, so that a pod can mount all pieces into one folder.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from poolkeeper.errors import Refused
from poolkeeper.model.names import GROUP

Body = dict[str, Any]

MANAGER = "poolkeeper-planning"
DIGEST = f"{GROUP}/digest"
CHUNKS = f"{GROUP}/chunks"
PIECES_MAX = 4096


class ConfigMapApi(Protocol):
    """The part of `client.Api` that is needed here."""

    def get(self, path: str) -> Body | None:
        """Return an object."""

    def apply(self, path: str, body: Body, manager: str) -> Body:
        """Apply a part of an object."""


@dataclass(frozen=True, slots=True)
class Text:
    """The pieces of a text, and its digest; `files`: short texts beside the first piece, by key."""

    chunks: Sequence[bytes]
    digest: str
    files: Mapping[str, str] = field(default_factory=dict)


def names(name: str, count: int) -> list[str]:
    """The ConfigMaps of a text of so many pieces."""
    return [f"{name}-{number}" for number in range(count)]


def write(
    api: ConfigMapApi, namespace: str, name: str, owner: Body, text: Text, labels: Mapping[str, str]
) -> None:
    """Write the text; `owner` is an ownerReference. Raises `Refused` for too many pieces."""
    if len(text.chunks) > PIECES_MAX:
        raise Refused(f"{name} has {len(text.chunks)} pieces (expected at most {PIECES_MAX})")
    for body in reversed(bodies(namespace, name, owner, text, labels)):
        api.apply(_path(namespace, body["metadata"]["name"]), body, MANAGER)


def bodies(
    namespace: str, name: str, owner: Body, text: Text, labels: Mapping[str, str]
) -> list[Body]:
    """The ConfigMaps, the first first."""
    found = []
    for number, chunk in enumerate(text.chunks):
        metadata: Body = {
            "name": f"{name}-{number}",
            "namespace": namespace,
            "labels": dict(labels),
            "ownerReferences": [owner],
        }
        body: Body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "binaryData": {f"chunk-{number:06}": base64.b64encode(chunk).decode()},
        }
        if number == 0:
            metadata["annotations"] = {DIGEST: text.digest, CHUNKS: str(len(text.chunks))}
            body["data"] = dict(text.files)
        found.append(body)
    return found


def read(api: ConfigMapApi, namespace: str, name: str) -> Text | None:
    """The text's pieces; None where they are not all there. What they make, is not looked at."""
    head = api.get(_path(namespace, f"{name}-0"))
    if head is None:
        return None
    annotations = head["metadata"].get("annotations") or {}
    if DIGEST not in annotations or not annotations.get(CHUNKS, "").isdigit():
        return None
    found, count = [head], int(annotations[CHUNKS])
    for number in range(1, min(count, PIECES_MAX)):
        body = api.get(_path(namespace, f"{name}-{number}"))
        if body is None:
            return None
        found.append(body)
    try:
        chunks = [_chunk(body, number) for number, body in enumerate(found)]
    except (KeyError, binascii.Error) as broken:
        raise Refused(f"ConfigMaps {name}-… hold no pieces of a text: {broken!r}") from broken
    return Text(chunks, annotations[DIGEST])


def _chunk(body: Body, number: int) -> bytes:
    return base64.b64decode((body.get("binaryData") or {})[f"chunk-{number:06}"], validate=True)


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"
