"""Custom resources as the API server hands them over, and a small cluster that they are about."""

from collections.abc import Iterable, Mapping
from typing import Any

import builders
import manifests
from poolkeeper.model.topology import Cluster, Controller, Topic
from poolkeeper.resources.checks.assembly import Assembly, assemble
from poolkeeper.resources.checks.verdicts import Verdict
from poolkeeper.resources.kinds.custom_resource import FINALIZER, CustomResource, read_object

GIB = 1024**3
Body = dict[str, Any]
TRUSTING: Body = {"adoption": {"policy": "Open"}, "systemTopics": {"namespaces": ["shop"]}}


def body(kind: str, name: str, spec: Mapping[str, Any], **marks: Any) -> Body:
    """`marks` are those of `metadata`, and the status."""
    return _marked(manifests.body(kind, name, spec), **marks)


def _marked(
    found: Body,
    *,
    namespace: str = "",
    deleting: bool = False,
    guarded: bool = False,
    generation: int = 1,
    status: Mapping[str, Any] | None = None,
) -> Body:
    name = found["metadata"]["name"]
    metadata: Body = {"name": name, "uid": f"uid-{name}", "generation": generation}
    if namespace:
        metadata["namespace"] = namespace
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if guarded:
        metadata["finalizers"] = [FINALIZER]
    whole = {**found, "metadata": metadata}
    return whole if status is None else {**whole, "status": status}


def kafka_cluster(
    name: str = "main", connect: str = "zk:2181/kafka", **fields: Any
) -> CustomResource:
    """`mode`, `approval` and the like go into the spec; what `body` knows does not.

    What exists may be taken over without a question, unless `adoption` says otherwise.
    """
    spec, marks = _apart(fields)
    spec = {**TRUSTING, **spec}
    return read_object(_marked(manifests.kafka_cluster(name, connect, **spec), **marks))


def pool(name: str, *ids: int, cluster: str = "main", **fields: Any) -> CustomResource:
    spec, marks = _apart(fields)
    return read_object(
        _marked(manifests.resource_pool(name, *ids, cluster=cluster, **spec), **marks)
    )


def topic(name: str, in_pool: str, namespace: str = "shop", **fields: Any) -> CustomResource:
    spec, marks = _apart(fields)
    return read_object(
        _marked(manifests.topic(name, in_pool, **spec), namespace=namespace, **marks)
    )


def _apart(fields: Mapping[str, Any]) -> tuple[Body, Body]:
    ours = ("namespace", "deleting", "guarded", "generation", "status")
    return (
        {key: value for key, value in fields.items() if key not in ours},
        {key: value for key, value in fields.items() if key in ours},
    )


def assembly(
    *objects: CustomResource,
    labels: Mapping[str, Mapping[str, str]] | None = None,
    name: str = "main",
) -> Assembly:
    return assemble(objects, labels)[name]


def kafka_topic(
    name: str,
    *lists: tuple[int, ...],
    config: Mapping[str, str] | None = None,
    size: int | None = GIB,
) -> Topic:
    found = dict(config or {})
    return builders.topic(name, *lists, topic_id=f"id-{name}", config=found, size_bytes=size)


def kafka(topics: Iterable[Topic] = (), brokers: Iterable[int] = range(1, 7)) -> Cluster:
    return builders.cluster(
        brokers, *topics, id="kafka-id", kafka_version="2.8.2", controller=Controller(1, 1, 1)
    )


def verdicts(found: Assembly) -> dict[str, Verdict]:
    """The verdicts of an assembly by the text of their key."""
    return {str(key): verdict for key, verdict in found.verdicts.items()}
