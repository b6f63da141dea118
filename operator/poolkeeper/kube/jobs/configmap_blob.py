"""A long text in several ConfigMaps: one chunk each, and a digest of the whole.

    daily-plan-1a2b3c4d-answer-0    binaryData: {chunk-000000: …}   annotations: digest, chunks
    daily-plan-1a2b3c4d-answer-1    binaryData: {chunk-000001: …}

The first ConfigMap is written last: once it exists, all others do. Writing the same text again
changes nothing, and completes a text that was written in part. All ConfigMaps belong to one owner,
and are deleted with it.

A text that is kept elsewhere has one ConfigMap without a piece: its annotation says where.

Their keys differ, so that a pod can mount all of them into one folder.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.names import GROUP

Body = dict[str, Any]

MANAGER = "poolkeeper-planning"
DIGEST = f"{GROUP}/digest"
CHUNKS = f"{GROUP}/chunks"
STORED_AT = f"{GROUP}/stored-at"
PIECES_MAX = 4096


class ConfigMapApi(Protocol):
    """The methods of `client.Api` that this module needs."""

    def get(self, path: str) -> Body | None:
        """Return an object, or None."""

    def apply(self, path: str, body: Body, manager: str) -> Body:
        """Apply an object by server-side apply."""


@frozen
class Text:
    """The chunks of a text and its digest; `files`: short texts beside the first chunk, by key.

    `stored_at`: the URI of the folder that has the text instead of the ConfigMaps.
    """

    chunks: Sequence[bytes]
    digest: str
    files: Mapping[str, str] = field(default_factory=dict)
    stored_at: str = ""


def names(name: str, count: int) -> list[str]:
    """The names of the ConfigMaps of a text with that many chunks."""
    return [f"{name}-{number}" for number in range(count)]


def write(
    api: ConfigMapApi, namespace: str, name: str, owner: Body, text: Text, labels: Mapping[str, str]
) -> None:
    """Write the text; `owner` is an ownerReference. Raises `Refused` for too many chunks."""
    if len(text.chunks) > PIECES_MAX:
        raise Refused(f"{name} has {len(text.chunks)} pieces (expected at most {PIECES_MAX})")
    for body in reversed(bodies(namespace, name, owner, text, labels)):
        api.apply(_path(namespace, body["metadata"]["name"]), body, MANAGER)


def bodies(
    namespace: str, name: str, owner: Body, text: Text, labels: Mapping[str, str]
) -> list[Body]:
    """The ConfigMaps of the text; the first chunk's comes first."""
    found = []
    for number, chunk in enumerate((b"",) if text.stored_at else text.chunks):
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
        if text.stored_at:
            del body["binaryData"]
            metadata["annotations"] |= {CHUNKS: "0", STORED_AT: text.stored_at}
        found.append(body)
    return found


def read(api: ConfigMapApi, namespace: str, name: str) -> Text | None:
    """The chunks of the text, or None if one is missing; the digest is not checked.

    A text that is kept elsewhere has no chunks.
    """
    head = api.get(_path(namespace, f"{name}-0"))
    if head is None:
        return None
    annotations = head["metadata"].get("annotations") or {}
    if DIGEST not in annotations or not annotations.get(CHUNKS, "").isdigit():
        return None
    if stored_at := annotations.get(STORED_AT, ""):
        return Text((), annotations[DIGEST], stored_at=stored_at)
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
