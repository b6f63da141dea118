"""The least that the API server takes of each kind; tests merge what they are about into these."""

from typing import Any

API_VERSION = "poolkeeper.dev/v1alpha1"


def body(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    """A resource of ours."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}


CLUSTER = body("KafkaCluster", "main", {"zookeeper": {"connect": "zk-1:2181"}})
POOL = body("ResourcePool", "fast", {"clusterRef": {"name": "main"}, "brokers": {"ids": [1, 2, 3]}})
REBALANCE = body("Rebalance", "evening", {})
TOPIC = body("Topic", "orders", {"poolRef": {"name": "fast"}}, "default")
