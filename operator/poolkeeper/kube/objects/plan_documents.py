"""The plan of a KafkaCluster, whole, in ConfigMaps of fixed names in the operator's namespace.

    poolkeeper-plan-main-0      binaryData: {chunk-000000: …}     at most `CHUNKS_MAX` of 900 KiB

A status has no room for a plan, and not everybody who reads it may read ZooKeeper. The chunks are
one gzip file of JSON, {"version": 1, "cluster", "hash", "text", "plan"}: `text` is what `poolkeeper
plan` prints, `plan` is `plan.json`, or null where it would not fit. The names are fixed, so that a
Role can name them; they belong to the KafkaCluster and go with it.
"""

import gzip
import hashlib
import json
import zlib
from io import BytesIO
from typing import Any

from poolkeeper.errors import OtherFormat, Refused
from poolkeeper.frozen import frozen
from poolkeeper.jsontext import compact
from poolkeeper.kube.client.references import Reference
from poolkeeper.kube.jobs import configmap_blob
from poolkeeper.kube.jobs.configmap_blob import ConfigMapApi
from poolkeeper.model.names import API_VERSION, GROUP

VERSION = 1
CHUNK_BYTES = 900 * 1024
CHUNKS_MAX = 8
JSON_BYTES_MAX = 256 << 20
TEXT_CHARS_MAX = 1_000_000
LEVEL = 6
PREFIX = "poolkeeper-plan"
LABELS = {"app.kubernetes.io/managed-by": "poolkeeper", f"{GROUP}/holds": "plan"}
_NAME_MAX = 253 - len("-0")

Body = dict[str, Any]


@frozen
class PlanDocument:
    """A plan as it is kept: its hash, as text, and as plan.json (None if that is too large)."""

    cluster: str
    hash: str
    text: str
    plan: Body | None


def name_of(cluster: str) -> str:
    """The name of a cluster's ConfigMaps, without the number."""
    name = f"{PREFIX}-{cluster}"
    if len(name) <= _NAME_MAX:
        return name
    return f"{PREFIX}-{hashlib.sha256(cluster.encode()).hexdigest()[:32]}"


def pack(document: PlanDocument) -> bytes:
    """Compress a document; without the plan's JSON where it would not fit."""
    packed = _packed(document, document.plan)
    if len(packed) > CHUNK_BYTES * CHUNKS_MAX:
        packed = _packed(document, None)
    return packed


def unpack(packed: bytes) -> PlanDocument:
    """Read a document; raises `OtherFormat` for that of a later release, else `Refused`."""
    try:
        with gzip.GzipFile(fileobj=BytesIO(packed)) as file:
            data = file.read(JSON_BYTES_MAX + 1)
        body = json.loads(data) if len(data) <= JSON_BYTES_MAX else {}
        if (version := body["version"]) != VERSION:
            raise OtherFormat(
                f"the operator wrote the plan in format version {version}, and this release knows"
                f" {VERSION}: use the operator's"
            )
        return PlanDocument(body["cluster"], body["hash"], body["text"], body["plan"])
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as broken:
        raise Refused(f"the ConfigMaps hold no plan that can be read: {broken!r}") from broken


def write(api: ConfigMapApi, namespace: str, cluster: Reference, document: PlanDocument) -> str:
    """Write the document, unless it is there; return its digest. Removes what an earlier one left.

    What somebody else has edited, or the owner of which is gone, is written again.
    """
    packed, name = pack(document), name_of(cluster.name)
    digest = hashlib.sha256(packed).hexdigest()
    if is_there(api, namespace, cluster, digest):
        return digest
    head = api.get(_path(namespace, f"{name}-0"))
    before = (head and configmap_blob.chunk_count(head)) or 0
    chunks = [packed[at : at + CHUNK_BYTES] for at in range(0, len(packed), CHUNK_BYTES)]
    text = configmap_blob.Text(chunks, digest)
    configmap_blob.write(api, namespace, name, _owner(cluster), text, LABELS)
    for number in range(len(chunks), min(before, CHUNKS_MAX)):
        api.delete(_path(namespace, f"{name}-{number}"))
    return digest


def is_there(api: ConfigMapApi, namespace: str, cluster: Reference, digest: str) -> bool:
    """Whether the document with that digest is there, whole, and belongs to the KafkaCluster."""
    name = name_of(cluster.name)
    try:
        text = configmap_blob.read(api, namespace, name)
    except Refused:
        return False
    if text is None or hashlib.sha256(b"".join(text.chunks)).hexdigest() != digest:
        return False
    head = api.get(_path(namespace, f"{name}-0")) or {"metadata": {}}
    owners = head["metadata"].get("ownerReferences") or ()
    return text.digest == digest and cluster.uid in {owner["uid"] for owner in owners}


def read(api: ConfigMapApi, namespace: str, cluster: str) -> PlanDocument | None:
    """Read a cluster's document; None if there is none, or one that is being written."""
    text = configmap_blob.read(api, namespace, name_of(cluster))
    if text is None:
        return None
    packed = b"".join(text.chunks)
    return unpack(packed) if hashlib.sha256(packed).hexdigest() == text.digest else None


def _packed(document: PlanDocument, plan: Body | None) -> bytes:
    text = document.text
    if len(text) > TEXT_CHARS_MAX:
        text = text[:TEXT_CHARS_MAX] + "\n… (cut)"
    body = {
        "version": VERSION,
        "cluster": document.cluster,
        "hash": document.hash,
        "text": text,
        "plan": plan,
    }
    return gzip.compress(compact(body).encode(), LEVEL, mtime=0)


def _owner(cluster: Reference) -> Body:
    return {
        "apiVersion": API_VERSION,
        "kind": cluster.kind,
        "name": cluster.name,
        "uid": cluster.uid,
    }


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"
