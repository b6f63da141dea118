"""A custom resource as the operator stores it: the parsed spec, and the live status.

Bodies are parsed once, when they arrive from the API server, and dropped. Thousands of Topics are
kept in memory, and most of a body is bookkeeping of the server. The live status is kept for
comparison with a new one, and stays where nothing new is known.

Most bodies of a Topic arrive because its status was written, and tell the same spec once more. So
a Topic keeps a digest of the spec as it arrived, and what is the same is not parsed again.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from hashlib import blake2b
from typing import Any, NamedTuple

from poolkeeper.errors import Problem
from poolkeeper.frozen import frozen
from poolkeeper.model.names import ABANDON, DELETION, FINALIZER, REQUEST
from poolkeeper.model.rebalances import RebalanceSpec
from poolkeeper.model.specs import KafkaClusterSpec, ResourcePoolSpec, TopicSpec
from poolkeeper.resources.kinds import kafka_cluster, rebalance, resource_pool, topic
from poolkeeper.resources.parse.body import ParsedBody
from poolkeeper.resources.parse.pruning import prune

Status = Mapping[str, Any]
"""A status as the API server holds it; JSON values."""

Spec = KafkaClusterSpec | ResourcePoolSpec | TopicSpec | RebalanceSpec

READERS: Mapping[str, Callable[[Mapping[str, Any]], ParsedBody[Any]]] = {
    kafka_cluster.KIND: kafka_cluster.read_cluster,
    resource_pool.KIND: resource_pool.read_pool,
    topic.KIND: topic.read_topic,
    rebalance.KIND: rebalance.read_rebalance,
}

_REFERENCES = {resource_pool.KIND: "clusterRef", topic.KIND: "poolRef"}


class ObjectKey(NamedTuple):
    """The identity of a resource; `namespace` is "" for cluster-scoped kinds."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {named}"


@frozen
class CustomResource:
    """One resource.

    `refers` is the name in its clusterRef or poolRef. `spec` is None if the body is too incomplete;
    with `problems` it holds the readable part. `deleting`: the resource is being deleted, and
    finalizers keep it. `status` is None before the first one is written. `labels` are kept for
    kinds that Rebalances select by labels; Topics are not. `request` is what a person asks for in
    our annotation of a KafkaCluster (`model.execution.person_requests`). `given_up`: a person said
    that a KafkaCluster may be deleted without a look at the cluster. `digest` is that of a Topic's
    spec as it arrived. `unknown`: fields of a later release, which are left out (`parse.pruning`).
    `revision`: that of the API server's store at which it was written; 0 if that is no number.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    deleting: bool
    finalizers: tuple[str, ...]
    spec: Spec | None
    refers: str = ""
    problems: tuple[Problem, ...] = ()
    status: Status | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    request: str = ""
    given_up: bool = False
    digest: bytes = field(default=b"", compare=False)
    unknown: tuple[str, ...] = field(default=(), compare=False)
    revision: int = field(default=0, compare=False)

    @property
    def key(self) -> ObjectKey:
        """Its identity."""
        return ObjectKey(self.kind, self.namespace, self.name)

    @property
    def version(self) -> tuple[int, int]:
        """What only grows while it exists, unless the API server's store was restored."""
        return self.revision, self.generation

    @property
    def sound(self) -> bool:
        """Whether it has no problems."""
        return self.spec is not None and not self.problems

    @property
    def has_finalizer(self) -> bool:
        """Whether it has our finalizer."""
        return FINALIZER in self.finalizers

    @property
    def keepers(self) -> tuple[str, ...]:
        """The finalizers of others, where it is being deleted and ours does not keep it."""
        kept = self.deleting and not self.has_finalizer
        return self.finalizers if kept else ()


def key_of(body: Mapping[str, Any]) -> ObjectKey:
    """Return the identity of a resource from its body."""
    kind, metadata = body["kind"], body["metadata"]
    namespace = metadata.get("namespace", "") if kind == topic.KIND else ""
    return ObjectKey(kind, namespace, metadata["name"])


def read_object(body: Mapping[str, Any], before: CustomResource | None = None) -> CustomResource:
    """Parse the body of one of our resources as the API server sends it.

    `before`: the resource of the same key as it was known, whose spec is taken if it is the same.
    Raises KeyError for other kinds.
    """
    kind = body["kind"]
    metadata = body["metadata"]
    digest = _digest(body) if kind == topic.KIND else b""
    reading: ParsedBody[Any] | CustomResource
    if before is not None and digest and before.digest == digest:
        reading, unknown = before, before.unknown
    else:
        read = READERS[kind]
        known, unknown = prune(kind, body)
        reading = read(known)
    status = body.get("status")
    key = key_of(body)
    return CustomResource(
        kind=kind,
        namespace=key.namespace,
        name=key.name,
        uid=metadata.get("uid", ""),
        generation=metadata.get("generation", 0),
        deleting="deletionTimestamp" in metadata,
        finalizers=tuple(metadata.get("finalizers", ())),
        spec=reading.spec,
        refers=_reference(body.get("spec"), _REFERENCES.get(kind, "")),
        problems=reading.problems,
        status=dict(status) if status else None,
        labels={} if kind == topic.KIND else dict(metadata.get("labels") or {}),
        request=_annotations(metadata).get(REQUEST, "") if kind == kafka_cluster.KIND else "",
        given_up=_annotations(metadata).get(DELETION) == ABANDON,
        digest=digest,
        unknown=unknown,
        revision=_revision(metadata),
    )


def _revision(metadata: Mapping[str, Any]) -> int:
    version = str(metadata.get("resourceVersion", ""))
    return int(version) if version.isascii() and version.isdecimal() else 0


def _digest(body: Mapping[str, Any]) -> bytes:
    """Return a digest of all that a Topic's spec is parsed from."""
    metadata = body["metadata"]
    parts = (body.get("apiVersion"), metadata["name"], metadata.get("namespace"), body.get("spec"))
    return blake2b(json.dumps(parts).encode(), digest_size=16).digest()


def _annotations(metadata: Mapping[str, Any]) -> Mapping[str, str]:
    return metadata.get("annotations") or {}


def _reference(spec: Any, field: str) -> str:
    """The name in a reference, even if the body has other problems."""
    reference = spec.get(field) if isinstance(spec, Mapping) else None
    name = reference.get("name") if isinstance(reference, Mapping) else None
    return name if isinstance(name, str) else ""
