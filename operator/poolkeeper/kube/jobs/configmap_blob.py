"""A long text in several ConfigMaps: one chunk each, and a digest of the whole.

    daily-plan-1a2b3c4d-answer-0    binaryData: {chunk-000000: …}   annotations: digest, chunks
    daily-plan-1a2b3c4d-answer-1    binaryData: {chunk-000001: …}

The first ConfigMap is written last: once it exists, all others do. Writing the same text again
changes nothing, and completes a text that was written in part. All ConfigMaps belong to one owner,
and are deleted with it. One that somebody made immutable, or filled with keys of his own, makes way
where it keeps the text from being written. A webhook that takes off annotations is told of when the
text is written: afterwards the text would be missed.

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

    def delete(self, path: str, uid: str | None = None) -> bool:
        """Delete an object; false if it is gone."""


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
        _put(api, _path(namespace, body["metadata"]["name"]), body)


def _put(api: ConfigMapApi, path: str, body: Body) -> None:
    try:
        stored = api.apply(path, body, MANAGER)
    except Refused:
        found = api.get(path)
        if found is None or not _is_spoiled(found, body):
            raise
        api.delete(path, found["metadata"]["uid"])
        stored = api.apply(path, body, MANAGER)
    if changed := _changed(stored, body):
        # Whoever reads it later would take the text for one that is gone.
        namespace = body["metadata"]["namespace"]
        raise Refused(
            f"{path} was stored without {', '.join(changed)}: an admission webhook changes the"
            f" ConfigMaps of namespace {namespace}; exempt the namespace from it"
        )


def _changed(stored: Body, wanted: Body) -> list[str]:
    """What of a ConfigMap was taken off or changed on its way into the store."""
    parts = (
        ("annotations", wanted["metadata"], stored["metadata"]),
        ("data", wanted, stored),
        ("binaryData", wanted, stored),
    )
    return [
        f"{part}[{key}]"
        for part, ours, theirs in parts
        for key, value in (ours.get(part) or {}).items()
        if (theirs.get(part) or {}).get(key) != value
    ]


def _is_spoiled(found: Body, wanted: Body) -> bool:
    """Whether a ConfigMap is immutable, or holds what is not ours: both may keep ours out."""
    foreign = _keys(found) - _keys(wanted)
    return bool(found.get("immutable") or foreign)


def _keys(body: Body) -> set[str]:
    return {key for part in ("data", "binaryData") for key in body.get(part) or ()}


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
    count = chunk_count(head)
    if DIGEST not in annotations or count is None:
        return None
    if stored_at := annotations.get(STORED_AT, ""):
        return Text((), annotations[DIGEST], stored_at=stored_at)
    found = [head]
    for number in range(1, count):
        body = api.get(_path(namespace, f"{name}-{number}"))
        if body is None:
            return None
        found.append(body)
    try:
        chunks = [_chunk(body, number) for number, body in enumerate(found)]
    except (KeyError, binascii.Error) as broken:
        raise Refused(f"ConfigMaps {name}-… hold no pieces of a text: {broken!r}") from broken
    return Text(chunks, annotations[DIGEST])


def chunk_count(head: Body) -> int | None:
    """How many chunks the first ConfigMap of a text names; None if it names no number of them."""
    named = (head["metadata"].get("annotations") or {}).get(CHUNKS, "")
    # A number of thousands of digits, as somebody may write it, is more than `int` reads.
    is_number = named.isascii() and named.isdecimal() and len(named) <= len(str(PIECES_MAX))
    return min(int(named), PIECES_MAX) if is_number else None


def _chunk(body: Body, number: int) -> bytes:
    return base64.b64decode((body.get("binaryData") or {})[f"chunk-{number:06}"], validate=True)


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"
