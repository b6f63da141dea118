"""Resources of a small cluster, and what a pass tells of them."""

from typing import Any

from poolkeeper.resources.checks.assembly import assemble
from poolkeeper.resources.kinds.custom_resource import CustomResource, ObjectKey
from unit.resources.bodies import kafka, kafka_cluster, kafka_topic, pool, topic
from unit.resources.stages import (
    at_rest,
    conditions,
    planned,
    seen,
    told,
)

MAIN = ObjectKey("KafkaCluster", "", "main")
FAST = ObjectKey("ResourcePool", "", "fast")
SLOW = ObjectKey("ResourcePool", "", "slow")
ORDERS = ObjectKey("Topic", "shop", "orders")
AUTO = kafka_cluster(mode="Apply", approval={"policy": "Auto"})
MANUAL = kafka_cluster(mode="Apply")
POOLS = (pool("fast", 1, 2, 3), pool("slow", 4, 5, 6))
WANTED = topic("orders", "fast", partitions=4, replicationFactor=2)
IN_FAST = kafka_topic(
    "orders", (1, 2), (2, 3), (3, 1), (2, 1), config={"cleanup.policy": "compact"}
)
IN_SLOW = kafka_topic("orders", (4, 5), (5, 6), (6, 4), (5, 4))
FACTS = {
    "topicName": "orders",
    "topicId": "id-orders",
    "cluster": "main",
    "partitions": 4,
    "replicationFactor": 2,
}


def topic_status(*says: str, generation: int = 1, **fields: Any) -> dict[str, Any]:
    told_of = {"observedGeneration": generation, **fields}
    return told_of | {"conditions": conditions(*says, generation=generation)}


def of(
    key: ObjectKey, objects: tuple[CustomResource, ...], *topics: Any, **owners: str
) -> dict[str, Any]:
    """The status after a pass that planned and waits for nothing special."""
    what = seen(kafka(topics), **owners)
    return told(objects, what, at_rest(assemble(objects)["main"], what))[key]


def hash_of(objects: tuple[CustomResource, ...], *topics: Any) -> str:
    return planned(assemble(objects)["main"], seen(kafka(topics))).hash


CLUSTER_FACTS = {
    "clusterId": "kafka-id",
    "connect": "zk:2181/kafka",
    "kafkaVersion": "2.8.2",
    "brokers": 6,
    "brokersUp": "6/6",
    "topics": 1,
    "partitions": 4,
}
