"""Our custom resources as bodies: the least that the API server takes of each kind, and more.

Keywords are fields of the spec; tests of what the server refuses merge theirs into `CLUSTER`,
`POOL`, `TOPIC` and `REBALANCE`.
"""

from collections.abc import Mapping
from typing import Any

API_VERSION = "poolkeeper.dev/v1alpha1"
Body = dict[str, Any]


def body(
    kind: str, name: str, spec: Mapping[str, Any], namespace: str = "", **metadata: Any
) -> Body:
    """A resource of ours; keywords are the other fields of its `metadata`."""
    named = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {**named, **metadata},
        "spec": dict(spec),
    }


def kafka_cluster(name: str = "main", connect: str = "zk-1:2181", **spec: Any) -> Body:
    """A KafkaCluster of this ZooKeeper."""
    return body("KafkaCluster", name, {"zookeeper": {"connect": connect}, **spec})


def resource_pool(name: str, *ids: int, cluster: str = "main", **spec: Any) -> Body:
    """A ResourcePool of these brokers."""
    of = {"clusterRef": {"name": cluster}, "brokers": {"ids": list(ids)}}
    return body("ResourcePool", name, {**of, **spec})


def topic(name: str, pool: str, namespace: str = "default", **spec: Any) -> Body:
    """A Topic in that pool."""
    return body("Topic", name, {"poolRef": {"name": pool}, **spec}, namespace)


CLUSTER = kafka_cluster()
POOL = resource_pool("fast", 1, 2, 3)
REBALANCE = body("Rebalance", "evening", {})
TOPIC = topic("orders", "fast")
